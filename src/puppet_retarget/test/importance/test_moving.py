# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Objects that follow sensors: their place and velocity, and what their counterparts stand on."""

from dataclasses import replace

import numpy as np
from puppet_core.body import Motion, NO_PROPS, Posture, Props, SEGMENT_INDEX, SEGMENTS
from puppet_core.body.character import load_character
from puppet_core.body.posture import world_segments
from puppet_core.io import InputFileError
from puppet_core.math import quaternions as qb
from puppet_core.procedural import carry, carry_motion
from puppet_retarget.importance import (
    Counterparts,
    filled_up,
    followed,
    half_extent,
    IMPORTANCE,
    ImportanceConfig,
    ImportanceEstimator,
    load_environment,
    MovingObjects,
    OBJECT,
    objects,
)
from puppet_retarget.offline import retarget_motion, RetargetJob
import pytest

BOX = np.array([0.4, 0.3, 0.2])
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def _at(position, orientation=UPRIGHT, name='box'):
    return Props((name,), np.array([position]), np.array([orientation]))


def _seen(props, palms=((9.0, 0.0, 0.0), (-9.0, 0.0, 0.0))):
    points = np.zeros((8, 3))
    points[:2] = palms
    return Posture(np.zeros(3), np.tile(UPRIGHT, (16, 1)), points, np.zeros((8, 3)), props)


@pytest.fixture
def table(scene):
    """Return a floor, a table that is lower and wider for the puppet, and a box that moves."""
    table = {'puppet_size': (2.0, 2.0, 0.5), 'puppet_position': (1.0, 0.0, 0.25)}
    return scene(
        scene.floor,
        scene.thing('box', (1.0, 0.0, 0.4), (1.0, 1.0, 0.8), name='table', **table),
        scene.thing('box', np.zeros(3), BOX, puppet_size=1.5 * BOX, follows='sensor', name='box'),
    )


def _world(environment, scale=1.0):
    return filled_up(environment.arrays(0.6, 0.0, scale))


def test_object_is_where_the_sensor_says_mounted_as_in_the_file(scene, rng):
    mount, turn = rng.normal(size=3), qb.exp(rng.normal(size=3))
    thing = scene.thing('box', mount, BOX, orientation=turn, follows='sensor', name='box')
    place, orientation = rng.normal(size=3), qb.exp(rng.normal(size=3))
    body = np.zeros((16, 4)), np.zeros((16, 3))
    seen_at, seen_turned = followed(thing, _at(place, orientation, 'sensor'), *body)
    corner = rng.normal(size=3)
    expected = place + qb.rotate(orientation, mount + qb.rotate(turn, corner))
    np.testing.assert_allclose(seen_at + qb.rotate(seen_turned, corner), expected, atol=1e-12)
    assert followed(thing, _at(place), *body) is None


def test_what_stands_on_a_table_stands_on_its_counterpart(table):
    counterparts, world = Counterparts(table), _world(table, 0.5)
    counterparts.place(_at([1.2, 0.1, 0.8 + 0.5 * BOX[2]]), world, 0.5)
    height = 0.5 * (0.5 + 0.5 * 1.5 * BOX[2])
    np.testing.assert_allclose(world.puppet_positions[2], [0.5 * 1.4, 0.5 * 0.2, height])
    assert world.looseness[2] == 0.0


def test_what_stands_still_carries_whatever_its_place_in_the_file(table):
    other = replace(table, objects=(table.objects[2], *table.objects[:2]))
    place = _at([1.2, 0.1, 0.8 + 0.5 * BOX[2]])
    first, last = _world(other), _world(table)
    Counterparts(other).place(place, first)
    Counterparts(table).place(place, last)
    np.testing.assert_allclose(first.puppet_positions[0], last.puppet_positions[2])


def test_counterpart_never_sinks_where_noise_makes_the_box_sink(table, rng):
    counterparts, world = Counterparts(table), _world(table)
    for _ in range(20):
        counterparts.place(_at([1.0, 0.0, 0.9] + 1e-3 * rng.normal(size=3)), world)
        gap = world.puppet_positions[2, 2] - 0.5 - 0.75 * BOX[2]
        assert -1e-12 <= gap < 5e-3


def test_lifted_box_rises_without_a_jump_and_is_loose_in_the_air(table):
    counterparts, world, heights, loose = Counterparts(table), _world(table), [], []
    for lift in np.linspace(0.0, 1.5, 1501):
        counterparts.place(_at([1.0, 0.0, 0.9 + lift]), world)
        heights.append(world.puppet_positions[2, 2])
        loose.append(world.looseness[2])
    assert np.max(np.abs(np.diff(heights))) < 5e-3
    assert np.all(np.diff(loose) >= 0.0) and loose[0] == 0.0 and loose[-1] == 1.0


def test_unseen_object_matters_to_nobody_and_a_lost_one_stays(table):
    moving, world = MovingObjects(table), _world(table)
    unseen = moving.step(0, _seen(NO_PROPS), world)
    assert np.linalg.norm(unseen.positions) > 100.0 and moving.unseen == ['box']
    Counterparts(table).place(unseen, world)
    assert world.puppet_positions[2, 2] < -100.0
    moving.step(1, _seen(_at([1.0, 0.0, 2.0], name='sensor')), world)
    assert moving.unseen == []
    lost = moving.step(10_000_000, _seen(_at([1.0, 0.0, np.nan], name='sensor')), world)
    np.testing.assert_array_equal(lost.positions[0], [1.0, 0.0, 2.0])
    np.testing.assert_array_equal(world.velocities[2], np.zeros(6))


def test_box_without_a_sensor_goes_with_the_hands_that_hold_it(scene):
    """It stays until both palms are on opposite sides, turns with their line, and is let go."""
    thing = scene.thing('box', (1.0, 0.0, 0.5), BOX, held=True, name='box')
    environment = scene(scene.floor, thing)
    moving, world = MovingObjects(environment), _world(environment)

    def step(i, middle, half, turn=0.0):
        line = half * np.array([np.sin(turn), np.cos(turn), 0.0])
        palms = np.asarray(middle) + [line, -line]
        return moving.step(10_000_000 * i, _seen(NO_PROPS, palms), world)

    half = 0.5 * BOX[1]
    assert step(0, [1.0, 0.0, 0.55], half + 0.1).positions[0, 0] == 1.0
    step(1, [1.0, 0.0, 0.55], half + 0.01)
    held = step(2, [1.01, 0.0, 0.56], half)
    np.testing.assert_allclose(held.positions[0], [1.01, 0.0, 0.51], atol=1e-12)
    np.testing.assert_allclose(world.velocities[1, :3], [1.0, 0.0, 1.0], atol=1e-9)
    turned = step(3, [2.0, 1.0, 1.05], half, 0.3)
    np.testing.assert_allclose(qb.log(turned.orientations[0]), [0.0, 0.0, -0.3], atol=1e-12)
    np.testing.assert_allclose(turned.positions[0], [2.0, 1.0, 1.0], atol=1e-12)
    step(4, [2.0, 1.0, 1.05], half + 0.005, 0.3)
    left = step(5, [2.0, 0.0, 1.05], half + 0.3, 0.3)
    np.testing.assert_allclose(left.positions[0], [2.0, 1.0, 1.0], atol=1e-12)
    np.testing.assert_array_equal(world.velocities[1], np.zeros(6))


def test_box_whose_sensor_is_lost_while_hands_hold_it_goes_with_them(table):
    moving, world = MovingObjects(table), _world(table)
    place, palms = np.array([1.0, 0.0, 2.0]), [[0.0, 0.5 * BOX[1], 0.0], [0.0, -0.5 * BOX[1], 0.0]]
    moving.step(0, _seen(_at(place, name='sensor'), place + palms), world)
    moving.step(1, _seen(NO_PROPS, place + palms), world)
    carried = moving.step(2, _seen(NO_PROPS, place + [0.3, 0.0, 0.1] + palms), world)
    np.testing.assert_allclose(carried.positions[0], [1.3, 0.0, 2.1], atol=1e-12)
    back = moving.step(3, _seen(_at(place, name='sensor'), place + palms), world)
    np.testing.assert_array_equal(back.positions[0], place)


def test_rate_is_of_the_hand_against_the_thing(scene, rng):
    """The distance's rate is that of finite differences, while hand and box move and turn."""
    thing = scene.thing('box', np.zeros(3), BOX, follows='sensor', name='box')
    environment, dt_ns = scene(thing), 1000
    dt = 1e-9 * dt_ns
    speed, turning, hand = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    rows = []
    estimator = ImportanceEstimator(environment, ImportanceConfig(smoothing_s=0.0))
    moving, counterparts = MovingObjects(environment), Counterparts(environment)
    for i in range(2):
        box = _at(0.1 * speed + i * dt * speed, qb.exp(i * dt * turning), 'sensor')
        places = moving.step(i * dt_ns, _seen(box), estimator.objects)
        counterparts.place(places, estimator.objects)
        points = np.array([[0.4, 0.1, 0.05], *np.zeros((7, 3))]) + i * dt * hand
        rows.append(estimator.step(i, points, np.tile(hand, (8, 1)))[0].copy())
    difference = (rows[1][1] - rows[0][1]) / dt
    assert rows[1][2] == pytest.approx(difference, rel=1e-4)


def test_extent_is_that_of_sampled_points(rng):
    for shape, size in (
        (objects.BOX, BOX),
        (objects.SPHERE, np.full(3, 0.2)),
        (objects.CYLINDER, np.array([0.2, 0.2, 0.5])),
        (objects.CAPSULE, np.array([0.2, 0.2, 0.5])),
    ):
        points = rng.uniform(-0.5, 0.5, (40000, 3))
        inside = [p for p in points if objects.signed_distance(shape, size, p)[0] <= 0.0]
        along = qb.normalize(rng.normal(size=4))[:3]
        along /= np.linalg.norm(along)
        reach = np.max(np.array(inside) @ along)
        assert abs(half_extent(shape, size, along) - reach) < 0.05
    np.testing.assert_allclose([half_extent(objects.BOX, BOX, e) for e in np.eye(3)], 0.5 * BOX)


def test_environment_file_names_the_sensor_and_a_plane_follows_none(tmp_path):
    text = (
        'format: puppet-environment/1\nobjects:\n'
        '- {name: box, shape: box, size_m: [1, 1, 1], follows: {sensor: s}, puppet: {SIZE}}\n'
    )
    path = tmp_path / 'a.yaml'
    path.write_text(text.replace('{SIZE}', '{size_m: [2, 2, 2]}'))
    (box,) = load_environment(path).objects
    assert box.follows == 's' and box.puppet.size[0] == 2.0
    assert replace(box, follows='').start is box.real.position
    path.write_text(text.replace('{SIZE}', '{}').replace('{sensor: s}', 'hands'))
    assert load_environment(path).objects[0].held
    there = '{size_m: [2, 2, 2], position_m: [0, 0, 3]}'
    path.write_text(text.replace('{SIZE}', there).replace('sensor: s', 'segment: head'))
    (hat,) = load_environment(path).objects
    assert SEGMENTS[hat.segment] == 'head' and hat.moves and hat.puppet.position[2] == 3.0
    path.write_text(text.replace('sensor: s', 'segment: hat'))
    with pytest.raises(Exception, match='segment: expected .*head'):
        load_environment(path)
    for bad in ('head', '{}', '{sensor: s, segment: head}', '[segment]', '{tail: a}'):
        path.write_text(text.replace('{sensor: s}', bad))
        with pytest.raises(InputFileError, match='follows: expected hands, {sensor: NAME} or'):
            load_environment(path)
    path.write_text(text.replace('{SIZE}', '{position_m: [2, 2, 2]}'))
    with pytest.raises(Exception, match='position_m: expected a known key'):
        load_environment(path)
    plane = '- {name: a, shape: plane, follows: {sensor: s}}\n'
    path.write_text('format: puppet-environment/1\nobjects:\n' + plane)
    with pytest.raises(Exception, match='expected a shape that is no plane'):
        load_environment(path)


def test_the_environment_of_the_carried_box_is_where_it_is_performed(characters_dir):
    environment = load_environment(characters_dir.parent / 'environments' / 'carry.yaml')
    _, stand, table, box = environment.objects
    np.testing.assert_allclose(stand.real.position, carry.STAND_CENTRE_M)
    np.testing.assert_allclose([stand.real.size, table.real.size], [carry.TABLE_SIZE_M] * 2)
    np.testing.assert_allclose(box.real.size, carry.BOX_SIZE_M)
    assert (table.follows, box.follows) == carry.PROPS[::-1]
    np.testing.assert_array_equal([table.real.position, box.real.position], 0.0)


@pytest.mark.parametrize('name', ['sally', 'frog'])
@pytest.mark.parametrize('segment', ['chest', 'left_forearm', 'right_hand'])
def test_what_is_fixed_to_a_segment_goes_with_it_and_its_own_limb_is_not_drawn(
    scene, characters_dir, name, segment
):
    """Both carry it as mounted; a right palm on it is on the puppet's too, but on its own limb."""
    person, puppet = (load_character(characters_dir / f'{n}.yaml') for n in ('performer', name))
    whole = carry_motion(person, 30.0)
    frames = slice(280, 322)  # elbows bent, a box in both hands
    motion = Motion.from_rotations(
        whole.skeleton, 30.0, whole.root_positions[frames], whole.rotations[frames]
    )
    k, turn = SEGMENT_INDEX[segment], qb.exp(np.array([0.4, -0.2, 0.9]))
    turns, places = motion.world_segments()
    radius, palm = 0.06, motion.end_effectors[40, 1]
    mount = qb.rotate(qb.conjugate(turns[40, k]), palm - places[40, k]) - [0.0, 0.0, radius]
    ball = scene.thing(
        'sphere', mount, np.full(3, radius), orientation=turn, segment=k, influence=0.2
    )
    world = scene(scene.floor, ball)
    result = retarget_motion(motion, RetargetJob(puppet, world))
    scale = puppet.scale_for(motion.skeleton.leg_length)
    own = world_segments(puppet.skeleton, result.puppet.root_positions, result.puppet.rotations)
    for moving, (q, p), size in (
        (result.moving, (turns, places), 1.0),
        (result.puppet_moving, own, scale),
    ):
        expected = p[:, k] + qb.rotate(q[:, k], size * mount)
        np.testing.assert_allclose(moving.positions[:, 0], expected, atol=1e-9)
        corner = qb.rotate(moving.orientations[:, 0], np.ones(3))
        np.testing.assert_allclose(
            corner, qb.rotate(q[:, k], qb.rotate(turn, np.ones(3))), atol=1e-9
        )
    if segment == 'right_hand':
        assert not np.any(result.rows[:, 1, OBJECT] == 1)
        return
    assert result.rows[40, 1, OBJECT] == 1 and result.rows[40, 1, IMPORTANCE] > 0.9
    reach = result.puppet.end_effectors[40, 1] - result.puppet_moving.positions[40, 0]
    at_most = 0.001 if name == 'sally' else 0.025
    assert abs(np.linalg.norm(reach) - scale * radius) < at_most


def test_a_hand_goes_over_from_a_thing_on_the_body_to_another_without_a_leap(
    scene, characters_dir
):
    """Steps of the palm fall in proportion to the rate."""
    person, puppet = (load_character(characters_dir / f'{n}.yaml') for n in ('performer', 'sally'))
    chest, steps = SEGMENT_INDEX['chest'], []
    for rate_hz in (60.0, 240.0):
        whole = carry_motion(person, rate_hz)
        frames = slice(int(8.6 * rate_hz), int(11.0 * rate_hz))  # lifts a box
        motion = Motion.from_rotations(
            whole.skeleton, rate_hz, whole.root_positions[frames], whole.rotations[frames]
        )
        turns, places = motion.world_segments()
        first, last = motion.end_effectors[[0, -1], 1]
        mount = qb.rotate(qb.conjugate(turns[-1, chest]), last - places[-1, chest])
        mount, first = mount - [0.0, 0.0, 0.06], first - [0.0, 0.0, 0.1]
        things = (
            scene.thing('sphere', mount, np.full(3, 0.06), segment=chest, influence=0.6),
            scene.thing('sphere', first, np.full(3, 0.1), influence=0.6, name='box'),
        )
        result = retarget_motion(motion, RetargetJob(puppet, scene(scene.floor, *things)))
        assert set(result.rows[:, 1, OBJECT]) == {1.0, 2.0}
        assert result.rows[:, 1, IMPORTANCE].min() > 0.7
        moves = np.diff(result.puppet.end_effectors[:, 1], axis=0)
        steps.append(np.linalg.norm(moves, axis=1).max())
    assert steps[1] < 0.3 * steps[0]


def test_a_held_box_stays_in_the_hands_as_the_environment_changes(scene):
    """It is known by its name; one that moves with something else begins anew."""
    thing = scene.thing('box', (0.5, 0.0, 1.0), BOX, held=True, name='box')
    first, other = scene(thing), scene(scene.floor, thing)
    palms = (0.5, 0.15, 1.0), (0.5, -0.15, 1.0)
    moving, lifted = MovingObjects(first), np.array([0.0, 0.0, 0.3])
    for k in range(31):
        raised = np.array(palms) + k / 30.0 * lifted
        moving.step(k * 10_000_000, _seen(NO_PROPS, raised), _world(first))
    after = MovingObjects(other)
    after.go_on(moving)
    props = after.step(310_000_000, _seen(NO_PROPS, raised + 0.1 * lifted), _world(other))
    np.testing.assert_allclose(props.positions[0], thing.real.position + 1.1 * lifted, atol=1e-9)
    anew = MovingObjects(scene(replace(thing, held=False, follows='sensor')))
    anew.go_on(moving)
    assert (
        anew.unseen == ['box']
        and anew.step(0, _seen(NO_PROPS), _world(first)).positions[0][2] < -1
    )
