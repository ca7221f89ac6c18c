# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bodies in the world: a belly at a table, feet on a slope, who sits, kneels and falls."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from puppet_core.body.capsules import shape_arrays
from puppet_core.body.posture import world_segments
from puppet_core.math import quaternions as qb
from puppet_core.robots import character_from_urdf, RobotMap
from puppet_retarget.importance import (
    GOAL,
    IMPORTANCE,
    no_rests,
    OBJECT,
    ROW,
    signed_distance,
    to_object,
)
from puppet_retarget.importance.rests import estimate_rests, REST_OBJECT
from puppet_retarget.solvers import make_solver, NO_RESTS, SOLVER_NAMES, SolverConfig
import pytest

HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'
TORSO_AND_HEAD = range(4)
FEET = (12, 15)
HEAD, LEFT_HAND, LEFT_SHANK, RIGHT_SHANK = 3, 6, 11, 14
TICK_S = 1.0 / 120.0
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
DIP_M = 0.007  # that capsules may be in what they touch: twice the width of the ramp


def depth_in(shape, objects, j, segment, q, p):
    """Return the largest depth in object j of 50 balls along each capsule of a segment [m]."""
    deepest = 0.0
    for i in range(shape.first[segment], shape.first[segment + 1]):
        ends = np.array([shape.starts[i], shape.ends[i]])
        for place in np.linspace(*(p + qb.rotate(q, ends)), 50):
            local = to_object(objects.orientations[j], objects.positions[j], place)
            distance = signed_distance(objects.shapes[j], objects.sizes[j], local)[0]
            deepest = max(deepest, shape.radii[i] - distance)
    return deepest


def standing_solver(character, performer, environment):
    """Return a solver, and what it solves: rows of a performer who stands, soles held."""
    skeleton = performer.skeleton
    given = character, environment, skeleton.leg_length, SolverConfig()
    solver = make_solver(SOLVER_NAMES[0], *given)
    rows = np.zeros((4, ROW))
    rows[2:, IMPORTANCE] = 1.0
    rows[2:, GOAL : GOAL + 3] = [[0.0, 0.1, 0.0], [0.0, -0.1, 0.0]]
    return solver, rows, np.array([0.0, 0.0, skeleton.rest_root_height])


def test_a_belly_that_would_be_in_a_table_is_outside(scene, short_character, adult_character):
    table = scene.thing('box', np.array([0.45, 0.0, 0.3]), np.array([0.6, 1.2, 0.6]))
    environment = scene(scene.floor, table)
    solver, rows, root = standing_solver(short_character, adult_character, environment)
    objects = environment.arrays(1.0, 0.0)
    shape = shape_arrays(short_character.capsules)

    def depth(out):
        return max(
            depth_in(shape, objects, 1, s, out.q_world[s], out.p_world[s]) for s in TORSO_AND_HEAD
        )

    rotations = np.tile(UPRIGHT, (16, 1))
    roots, depths = [], []
    for k in range(240):
        out = solver.solve(root, root, rotations, rows, np.inf if k == 0 else TICK_S)
        roots.append(out.root_position.copy())
        depths.append(depth(out))
    assert max(depths) < DIP_M
    steps = np.diff(roots, axis=0)
    assert np.linalg.norm(np.diff(steps, axis=0), axis=1).max() < 5e-3
    assert np.linalg.norm(steps[-1]) < 1e-5


def test_who_sits_stays_seated_with_shanks_against_the_seat(scene, adult_character):
    seat = scene.thing('box', np.array([0.08, 0.0, 0.2]), np.array([0.6, 1.2, 0.4]))
    solver, rows, root = standing_solver(adult_character, adult_character, scene(seat))
    rotations = np.tile(UPRIGHT, (16, 1))
    rotations[[10, 13]] = qb.from_rpy(np.array([0.0, -np.pi / 2, 0.0]))
    rotations[[11, 14]] = qb.from_rpy(np.array([0.0, np.pi / 2, 0.0]))
    free = solver.solve(root, root, rotations, np.zeros((4, ROW)), np.inf)
    soles = free.end_effectors[2:4] - [0.0, 0.0, free.end_effectors[2, 2]]
    root = root - [0.0, 0.0, free.end_effectors[2, 2]]
    rows[2:, GOAL : GOAL + 3] = soles
    for k in range(600):
        out = solver.solve(root, root, rotations, rows, np.inf if k == 0 else TICK_S)
    objects = scene(seat).arrays(1.0, 0.0)
    shape = shape_arrays(adult_character.capsules)
    depth = depth_in(
        shape, objects, 0, LEFT_SHANK, out.q_world[LEFT_SHANK], out.p_world[LEFT_SHANK]
    )
    assert depth < 1e-3
    assert 0.01 < out.root_position[0] < 0.05  # it slid forward until they came out
    assert out.root_position[2] < free.root_position[2] - free.end_effectors[2, 2] + 0.03


def test_legs_that_leave_a_table_lower_the_root_again(scene, tall_character, adult_character):
    """Straight ones in the air too, with neither floor nor knees to tell that it is too high."""
    table = scene.thing('box', np.array([0.5, 0.0, 0.3]), np.array([0.6, 1.2, 0.6]))
    solver, rows, root = standing_solver(tall_character, adult_character, scene(table))
    rows[0, IMPORTANCE] = 1.0
    rows[0, GOAL : GOAL + 3] = 0.3, 0.3, 0.6
    rotations = np.tile(UPRIGHT, (16, 1))
    for k in range(360):
        solver.solve(root, root, rotations, rows, np.inf if k == 0 else TICK_S)
    away = root - [2.0, 0.0, 0.0]
    for _ in range(360):
        out = solver.solve(away, away, rotations, np.zeros((4, ROW)), TICK_S)
    height = out.root_position[2]
    assert height == pytest.approx(
        solver.solve(away, away, rotations, np.zeros((4, ROW)), np.inf).root_position[2], abs=2e-2
    )


def test_an_arm_over_a_tables_edge_is_lifted_out_while_its_palm_stays(
    scene, tall_character, adult_character
):
    """The hand goes forward over a table as high as its breast, elbow held low."""
    table = scene.thing('box', np.array([0.65, 0.0, 0.75]), np.array([1.0, 2.0, 1.5]))
    environment = scene(scene.floor, table)
    solver, rows, root = standing_solver(tall_character, adult_character, environment)
    objects, shape = environment.arrays(1.0, 0.0), shape_arrays(tall_character.capsules)
    rotations = np.tile(UPRIGHT, (16, 1))
    rotations[4] = qb.exp(np.array([-1.4, 0.0, 0.0]))  # upper arm down, forearm forward
    rotations[5] = qb.exp(np.array([0.0, -1.2, 0.0]))
    rows[0, IMPORTANCE] = 1.0
    depths, elbows = [], []
    for k in range(240):
        rows[0, GOAL : GOAL + 3] = 0.2 + 0.0012 * k, 0.25, 1.51
        out = solver.solve(root, root, rotations, rows, np.inf if k == 0 else TICK_S)
        np.testing.assert_allclose(out.end_effectors[0], rows[0, GOAL : GOAL + 3], atol=1e-3)
        elbows.append(out.end_effectors[4].copy())
        depths.append(
            max(depth_in(shape, objects, 1, s, out.q_world[s], out.p_world[s]) for s in (4, 5))
        )
    assert max(depths) < 0.075  # 91 mm without
    assert np.linalg.norm(np.diff(elbows, axis=0), axis=1).max() < 0.01


def test_feet_on_a_slope_lie_on_it(scene, tall_character, adult_character):
    """The slope rises to the front, so that level toes are inside it."""
    tilt = qb.exp(np.array([0.0, -0.25, 0.0]))
    slope = scene.thing('plane', np.zeros(3), orientation=tilt)
    environment = scene(slope)
    solver, rows, root = standing_solver(tall_character, adult_character, environment)
    rotations = np.tile(UPRIGHT, (16, 1))
    for k in range(60):
        out = solver.solve(root, root, rotations, rows, np.inf if k == 0 else TICK_S)
    objects, shape = environment.arrays(1.0, 0.0), shape_arrays(tall_character.capsules)
    for foot, sole in zip(FEET, (2, 3)):
        q, p = out.q_world[foot], out.p_world[foot]
        assert depth_in(shape, objects, 0, foot, UPRIGHT, p) > 0.02
        assert depth_in(shape, objects, 0, foot, q, p) < DIP_M
        np.testing.assert_allclose(out.end_effectors[sole], rows[sole, GOAL : GOAL + 3], atol=1e-3)


@pytest.mark.parametrize('rate_hz', [30.0, 120.0])
def test_a_body_that_comes_down_fast_stays_on_the_floor(
    scene, tall_character, adult_character, rate_hz
):
    """Knees bent and legs free, it falls on its knees at 2 m/s: nothing of it goes in."""
    environment = scene(scene.floor)
    solver, rows, root = standing_solver(tall_character, adult_character, environment)
    rows[:] = 0.0
    _, rotations = kneeling_low(root)
    objects, shape = environment.arrays(1.0, 0.0), shape_arrays(tall_character.capsules)
    depths = []
    for k in range(int(0.6 * rate_hz)):
        place = root - [0.0, 0.0, 2.0 * k / rate_hz]
        out = solver.solve(place, place, rotations, rows, np.inf if k == 0 else 1.0 / rate_hz)
        depths.append(
            max(depth_in(shape, objects, 0, s, out.q_world[s], out.p_world[s]) for s in range(16))
        )
    assert root[2] - 2.0 * 0.6 < -0.2  # asked for: pelvis and all under the floor
    assert max(depths) < DIP_M + 1e-4


def kneeling_low(root):
    """Return a root and rotations whose knees are in the floor, unless they are lifted."""
    rotations = np.tile(UPRIGHT, (16, 1))
    rotations[[LEFT_SHANK, RIGHT_SHANK]] = qb.exp(np.array([0.0, np.pi / 2.0, 0.0]))
    return root * [1.0, 1.0, 0.3], rotations


def test_a_lifted_body_comes_down_smoothly(scene, tall_character, adult_character):
    """Its knees are in the floor, and from one frame to the next its legs are out to the front."""
    solver, rows, root = standing_solver(tall_character, adult_character, scene(scene.floor))
    low, rotations = kneeling_low(root)
    rows[:] = 0.0
    free = rotations.copy()
    free[[10, 13]] = qb.exp(np.array([0.0, -np.pi / 2.0, 0.0]))
    unlifted = solver.solve(low, low, free, rows, np.inf).root_position[2]
    heights = [solver.solve(low, low, rotations, rows, np.inf).root_position[2] - unlifted]
    heights += [
        solver.solve(low, low, free, rows, TICK_S).root_position[2] - unlifted for _ in range(120)
    ]
    lift, steps = heights[0], np.diff(heights)
    assert lift > 0.05
    # as what fades within 0.1 s at most
    assert -1.01 * lift * TICK_S / (np.e * 0.1) < steps.min()
    assert steps.max() < 0.05  # the legs swing through the floor
    assert heights[-1] < lift


def test_toes_are_laid_on_a_step(scene, tall_character, adult_character):
    """Toes down, the sole above the step."""
    step = scene.thing('box', np.array([0.3, 0.0, 0.025]), np.array([0.2, 1.0, 0.05]))
    environment = scene(scene.floor, step)
    solver, rows, root = standing_solver(tall_character, adult_character, environment)
    rotations = np.tile(UPRIGHT, (16, 1))
    rotations[FEET[0]] = captured = qb.exp(np.array([0.0, 0.4, 0.0]))
    rows[2, GOAL : GOAL + 3] = 0.25, 0.1, 0.06
    out = solver.solve(root, root, rotations, rows, np.inf)
    q, p = out.q_world[FEET[0]], out.p_world[FEET[0]]
    assert np.linalg.norm(qb.log(qb.multiply(qb.conjugate(captured), q))) > 0.1
    objects, shape = environment.arrays(1.0, 0.0), shape_arrays(tall_character.capsules)
    assert depth_in(shape, objects, 1, FEET[0], q, p) < DIP_M
    assert out.goal_errors[2] < 1e-3


@pytest.mark.parametrize('importance', [0.0, 1.0])
def test_a_palm_lies_on_a_table_that_stands_otherwise_as_on_the_performers(
    scene, tall_character, adult_character, importance
):
    tilt = qb.from_rpy(np.array([0.0, 0.4, 0.6]))
    table = scene.thing('box', np.array([0.4, 0.2, 0.5]), np.array([0.5, 0.5, 0.1]))
    counterpart = replace(table.puppet, orientation=tilt)
    environment = scene(scene.floor, replace(table, puppet=counterpart))
    solver, rows, root = standing_solver(tall_character, adult_character, environment)
    rotations = np.tile(UPRIGHT, (16, 1))
    rotations[LEFT_HAND] = captured = qb.from_rpy(np.array([0.1, 0.2, 0.3]))
    rows[0, [IMPORTANCE, OBJECT]] = importance, 1.0
    rows[0, GOAL : GOAL + 3] = counterpart.position + qb.rotate(tilt, np.array([0.0, 0.0, 0.1]))
    q = solver.solve(root, root, rotations, rows, np.inf).q_world[LEFT_HAND]
    wanted = qb.multiply(tilt, captured) if importance else captured
    off = np.linalg.norm(qb.log(qb.multiply(q, qb.conjugate(wanted))))
    # it comes from a T-pose: a wrist and an elbow that are turned by half a turn give way
    assert off < (0.6 if importance else 0.01)


@pytest.mark.parametrize(('gap_m', 'height_m'), [(0.0, 0.43), (0.0, 0.55), (0.3, 0.43)])
@pytest.mark.parametrize('part', ['hips', 'head'])
def test_hips_and_head_rest_as_the_performers_do(
    scene, tall_character, adult_character, part, gap_m, height_m
):
    size = np.array([0.4, 0.4, height_m])
    stool = scene.thing(
        'box',
        np.array([0.0, 0.0, 0.215]),
        np.array([0.4, 0.4, 0.43]),
        puppet_position=0.5 * height_m * np.array([0.0, 0.0, 1.0]),
        puppet_size=size,
        rests=(0.2, np.nan) if part == 'hips' else (np.nan, 0.2),
    )
    rotations = np.tile(UPRIGHT, (16, 1))
    segment = 0 if part == 'hips' else HEAD
    if part == 'hips':
        for thigh, shank in ((10, 11), (13, 14)):
            rotations[thigh] = qb.exp(np.array([0.0, -0.5 * np.pi, 0.0]))
            rotations[shank] = qb.exp(np.array([0.0, 0.5 * np.pi, 0.0]))
    else:  # upside down
        rotations[0] = qb.exp(np.array([np.pi, 0.0, 0.0]))

    def lowest(character, root, q, p):
        own = [c for c in character.capsules if c.segment == segment]
        ends = [(c.radius, p + qb.rotate(q, end)) for c in own for end in (c.start, c.end)]
        return min(end[2] - radius for radius, end in ends)

    joint = adult_character.skeleton.offsets[1 : HEAD + 1].sum(axis=0) if segment else np.zeros(3)
    joint = qb.rotate(rotations[0], joint)
    at_origin = lowest(adult_character, np.zeros(3), rotations[0], joint)
    root = np.array([0.0, 0.0, 0.43 + gap_m - at_origin])

    def height(item, is_told=True):
        solver, rows, _ = standing_solver(
            tall_character, adult_character, scene(scene.floor, item)
        )
        rows[2:, GOAL] += 0.4  # feet in front
        rows[2:, IMPORTANCE] = part == 'hips'
        rests, own = no_rests(), adult_character
        q, p = world_segments(own.skeleton, root[None], rotations[None])
        objects = scene(scene.floor, item).arrays(1.0, 0.0)
        estimate_rests(shape_arrays(own.capsules), q[0], p[0], objects, rests)
        out = solver.solve(
            root, root, rotations, rows, np.inf, rests=rests if is_told else NO_RESTS
        )
        return lowest(tall_character, root, out.q_world[segment], out.p_world[segment])

    if gap_m == 0.0:
        assert height(stool) == pytest.approx(height_m, abs=12e-3)
        assert abs(height(stool) - height(stool, is_told=False)) > 0.04
    else:
        assert height(stool) == pytest.approx(height(stool, is_told=False), abs=0.01)


def test_feet_that_hold_on_turn_out_of_the_floor_however_they_stand(
    scene, tall_character, adult_character, rng
):
    environment = scene(scene.floor)
    solver, rows, root = standing_solver(tall_character, adult_character, environment)
    objects, shape = environment.arrays(1.0, 0.0), shape_arrays(tall_character.capsules)
    deepest, turned = 0.0, 0
    for _ in range(200):
        rotations = np.tile(UPRIGHT, (16, 1))
        rotations[FEET[0]] = captured = qb.normalize(rng.normal(size=4))
        rows[2, GOAL + 2] = rng.uniform(0.0, 0.1)
        out = solver.solve(root, root, rotations, rows, np.inf)
        q = out.q_world[FEET[0]]
        depth = depth_in(shape, objects, 0, FEET[0], q, out.p_world[FEET[0]])
        deepest = max(deepest, depth)
        turned += np.linalg.norm(qb.log(qb.multiply(qb.conjugate(captured), q))) > 0.01
    assert turned > 50
    assert deepest < 1.7 * DIP_M


def test_a_robots_sole_that_comes_down_steeply_is_hardly_in_the_floor(scene, adult_character):
    """Toes down by 1 rad from one frame to the next."""
    character = character_from_urdf(HUMANOID, RobotMap()).character
    environment = scene(scene.floor)
    solver, rows, root = standing_solver(character, adult_character, environment)
    objects, shape = environment.arrays(1.0, 0.0), shape_arrays(character.capsules)
    depths = []
    for k in range(20):
        rotations = np.tile(UPRIGHT, (16, 1))
        rotations[FEET[0]] = qb.exp(np.array([0.0, 1.0 if k > 1 else 0.0, 0.0]))
        rows[2, GOAL + 2] = 0.07 if k > 1 else 0.15
        out = solver.solve(root, root, rotations, rows, np.inf if k == 0 else 1.0 / 120.0)
        q, p = out.q_world[FEET[0]], out.p_world[FEET[0]]
        depths.append(depth_in(shape, objects, 0, FEET[0], q, p))
    assert max(depths) < 1.5 * DIP_M
    assert depths[-1] < DIP_M


def test_a_plane_that_is_there_twice_lifts_a_body_once(scene, tall_character, adult_character):
    again = scene.thing('plane', np.zeros(3))
    found = []
    for environment in (scene(scene.floor), scene(scene.floor, again)):
        solver, rows, root = standing_solver(tall_character, adult_character, environment)
        low, rotations = kneeling_low(root)
        out = solver.solve(low, low, rotations, 0.0 * rows, np.inf)
        found.append(np.vstack((out.root_position, out.p_world)))
    assert found[0][0, 2] > 0.02 + low[2]  # lifted
    np.testing.assert_allclose(found[1], found[0], atol=DIP_M)


@pytest.mark.parametrize('dt', [0.0, -1.0])
def test_a_frame_that_comes_again_does_no_harm(scene, tall_character, adult_character, dt):
    solver, rows, root = standing_solver(tall_character, adult_character, scene(scene.floor))
    rotations = np.tile(UPRIGHT, (16, 1))
    before = solver.solve(root, root, rotations, rows, np.inf).p_world.copy()
    for step in (dt, TICK_S):
        after = solver.solve(root, root, rotations, rows, step).p_world
        np.testing.assert_allclose(after, before, atol=1e-3)


def test_who_stands_with_the_back_to_a_wall_stands_as_without(
    scene, tall_character, adult_character
):
    wall = scene.thing('box', np.array([-0.7, 0.0, 1.0]), np.array([1.0, 4.0, 2.0]))
    rotations = np.tile(UPRIGHT, (16, 1))
    heights = []
    for environment in (scene(scene.floor), scene(scene.floor, wall)):
        solver, rows, root = standing_solver(tall_character, adult_character, environment)
        q, p = world_segments(adult_character.skeleton, root[None], rotations[None])
        rests = no_rests()
        shape = shape_arrays(adult_character.capsules)
        estimate_rests(shape, q[0], p[0], environment.arrays(1.0, 0.0), rests)
        rows[2:, GOAL : GOAL + 2] /= tall_character.scale_for(adult_character.skeleton.leg_length)
        for k in range(240):
            dt = np.inf if k == 0 else TICK_S
            out = solver.solve(root, root, rotations, rows, dt, rests=rests)
        heights.append(out.root_position[2])
    assert (rests[:, REST_OBJECT] == 1.0).any()  # the wall is felt
    assert heights[1] == pytest.approx(heights[0], abs=0.01)
