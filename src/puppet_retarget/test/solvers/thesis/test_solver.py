# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The thesis' solver as a whole: beside plain numpy, as printed and corrected, live."""

from typing import NamedTuple

import numpy as np
from plain_thesis import PlainThesis
from puppet_core.body import hip_centre, LIMB_SEGMENTS, Motion, Posture, Props
from puppet_core.io import check_values, ConfigError
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quats, Vec3
from puppet_retarget.importance import (
    GOAL,
    IMPORTANCE,
    ImportanceConfig,
    ImportanceModel,
    ROW,
    SELF_ROW,
    SelfInteractionConfig,
)
from puppet_retarget.parameters import RetargetConfig, solver_config, SOLVER_ROWS
from puppet_retarget.retarget_model import RetargetModel
from puppet_retarget.solvers import make_solver, SOLVER_NAMES, SolverConfig
from puppet_retarget.solvers.thesis.errata import AS_PRINTED, ERRATA, Errata, errata_of
from puppet_retarget.solvers.thesis.solver import ImportanceBasedSolver
import pytest

THESIS = ('importance_based', 'elbow_circle')
PUPPETS = ('tall_character', 'short_character')
# of the built-in performance: it comes to a table, leans on it and walks away, then it claps
FRAMES = (*range(1000, 2240, 110), *range(2940, 3140, 20))
NOTHING = np.zeros((8, SELF_ROW))


class Given(NamedTuple):
    """A frame as solvers get it."""

    root: Vec3
    hips: Vec3
    rotations: Quats
    rows: Floats
    dt: float
    self_rows: Floats


@pytest.fixture(scope='module')
def table(scene):
    return scene(
        scene.floor, scene.thing('box', np.array([1.0, 2.06, 0.375]), np.array([1.2, 0.6, 0.75]))
    )


@pytest.fixture(scope='module')
def frames(procedural, table):
    """Return frames with contacts of hands and feet, and of the own body."""
    model = ImportanceModel(
        table, ImportanceConfig(), SelfInteractionConfig(), procedural.skeleton
    )
    velocities, segments = procedural.end_effector_velocities(), procedural.world_segments()[1]
    found = []
    for i in range(FRAMES[0] - 60, FRAMES[-1] + 1):
        place, turns = procedural.root_positions[i].copy(), procedural.rotations[i].copy()
        points, speeds = procedural.end_effectors[i].copy(), velocities[i].copy()
        near = model.step(
            round(i * 1e9 / 120.0), Posture(place, turns, points, speeds), segments[i].copy()
        )
        if i in FRAMES:
            hips = np.zeros(3)
            hip_centre(segments[i], hips)
            found.append(
                Given(place, hips, turns, near.rows.copy(), 1 / 120, near.self_rows.copy())
            )
    own = [frame.self_rows[:, 0].max() for frame in found]
    assert np.max(own) > 0.7 and max(f.rows[:2, IMPORTANCE].max() for f in found) == 1.0
    return found


def largest_turn(a: Quats, b: Quats) -> float:
    return float(np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1).max())


def solved(solver, frame: Given) -> tuple[Vec3, Quats]:
    out = solver.solve(*frame)
    return out.root_position.copy(), out.rotations.copy()


def names_of(*errata: str) -> SolverConfig:
    return SolverConfig(errata=errata)


WITHOUT = [tuple(other for other in ERRATA if other != name) for name in ERRATA]


@pytest.mark.parametrize('puppet', PUPPETS)
@pytest.mark.parametrize(
    'errata',
    [(), ERRATA, *((name,) for name in ERRATA), *WITHOUT],
    ids=['printed', 'all', *ERRATA, *(f'without {name}' for name in ERRATA)],
)
def test_frame_is_that_of_chapter_5_in_plain_numpy(frames, table, puppet, errata, request):
    character, leg = request.getfixturevalue(puppet), 0.93
    solver = ImportanceBasedSolver(character, table, leg, names_of(*errata))
    plain = PlainThesis(character, table, leg, errata_of(errata))
    # where balls that grow meet, a billionth of a metre moves the point by its root
    tolerance = 0.01 if 'growing_balls' in errata else 1e-4
    for frame in frames[::3]:
        root, rotations = solved(solver, frame)
        expected_root, expected = plain.solve(*frame[:4], frame.self_rows)
        np.testing.assert_allclose(root, expected_root, atol=1e-9)
        assert largest_turn(rotations, expected) < tolerance


@pytest.mark.parametrize('errata', [(), ERRATA], ids=['printed', 'corrected'])
def test_body_that_bends_is_that_of_plain_numpy(frames, table, short_character, errata):
    """Goals that a short puppet gets to by leaning forward, not by the root alone."""
    solver = ImportanceBasedSolver(short_character, table, 0.93, names_of(*errata))
    plain = PlainThesis(short_character, table, 0.93, errata_of(errata))
    for frame in frames[:4]:
        rows = frame.rows.copy()
        rows[:4, IMPORTANCE] = 1.0
        rows[:4, GOAL : GOAL + 3] = frame.root + [
            [0.45, 0.25, -0.3],
            [0.45, -0.25, -0.3],
            [0.0, 0.15, -0.75],
            [0.0, -0.15, -0.75],
        ]
        far = frame._replace(rows=rows, self_rows=NOTHING)
        out = solver.solve(*far)
        assert out.body_iterations > 0 and not out.reachable
        root, rotations = plain.solve(*far[:4], NOTHING)
        np.testing.assert_allclose(out.root_position, root, atol=1e-4)
        assert largest_turn(out.rotations[:3], rotations[:3]) < 1e-3


def wild(frame: Given, rng: np.random.Generator, stray_m: float, bend: float) -> Given:
    """Return a frame with other importances, goals that stray, and joints that do."""
    rows, own = frame.rows.copy(), frame.self_rows.copy()
    rows[:, IMPORTANCE] = rng.choice([0.0, 1e-12, 0.3, 0.8, 1.0, 1.0], len(rows))
    own[:, 0] = rng.choice([0.0, 1e-12, 0.3, 1.0], 8)
    rows[:4, GOAL : GOAL + 3] += stray_m * rng.normal(size=(4, 3))
    rotations = qb.multiply(frame.rotations, qb.exp(bend * rng.normal(size=(16, 3))))
    return frame._replace(rows=rows, rotations=rotations, self_rows=own)


@pytest.mark.parametrize('name', ERRATA)
def test_each_of_the_errata_changes_something(frames, table, name, rng, request):
    """One corrected, beside none and beside all others."""
    most = [0.0, 0.0]
    for puppet in PUPPETS:
        character = request.getfixturevalue(puppet)
        for side, others in enumerate(((), ERRATA)):
            without = ImportanceBasedSolver(
                character, table, 0.93, names_of(*(n for n in others if n != name))
            )
            corrected = ImportanceBasedSolver(character, table, 0.93, names_of(name, *others))
            for frame in 20 * frames:
                given = wild(frame, rng, rng.uniform(0.05, 0.4), 0.2)
                a, b = solved(without, given), solved(corrected, given)
                change = max(largest_turn(a[1], b[1]), float(np.abs(a[0] - b[0]).max()))
                most[side] = max(most[side], change)
    # without the mean of eq. 5.1 nobody divides by it; with it all roots lead to the same place
    sides = {'continuous_mean': slice(0, 1), 'own_height': slice(1, 2)}.get(name, slice(0, 2))
    assert min(most[sides]) > 1e-3


@pytest.mark.parametrize('name', THESIS)
def test_important_ends_are_at_their_goals(frames, table, tall_character, name):
    solver = make_solver(name, tall_character, table, 0.93, SolverConfig())
    for frame in frames:
        out = solver.solve(*frame._replace(self_rows=NOTHING))
        assert out.goal_errors[frame.rows[:4, IMPORTANCE] == 1.0].max() < 1e-6
        assert out.penetrations.max() < 1e-9


@pytest.mark.parametrize('name', THESIS)
def test_puppet_that_is_the_performer_repeats_it(retarget, stepping_motion, adult_character, name):
    out = retarget(stepping_motion, adult_character, solver=name)
    np.testing.assert_allclose(
        out.puppet.root_positions, stepping_motion.root_positions, atol=1e-9
    )
    assert largest_turn(out.puppet.rotations, stepping_motion.rotations) < 1e-6


@pytest.mark.parametrize('name', THESIS)
@pytest.mark.parametrize('errata', [(), ERRATA], ids=['printed', 'corrected'])
def test_whole_clip_is_finite_and_hands_stay_oriented(
    retarget, procedural, table, short_character, name, errata
):
    some = slice(900, 2400, 4)
    motion = Motion.from_rotations(
        procedural.skeleton, 30.0, procedural.root_positions[some], procedural.rotations[some]
    )
    out = retarget(motion, short_character, table, solver=name, tuning=names_of(*errata))
    for values in (
        out.puppet.root_positions,
        out.puppet.rotations,
        out.goal_errors,
        out.penetrations,
        out.self_depths,
    ):
        assert np.isfinite(values).all()
    np.testing.assert_allclose(np.linalg.norm(out.puppet.rotations, axis=-1), 1.0, atol=1e-9)
    hands = LIMB_SEGMENTS[:, 2]
    captured = motion.world_segments()[0]
    assert largest_turn(out.q_world[:, hands], captured[:, hands]) < 1e-6


def test_nothing_is_kept_from_frame_to_frame(frames, table, short_character):
    """Whatever came before, and however long ago; what comes after a gap is no start."""
    solver = ImportanceBasedSolver(short_character, table, 0.93, SolverConfig())
    forth = [solved(solver, frame) for frame in frames]
    back = [solved(solver, frame._replace(dt=np.inf)) for frame in reversed(frames)]
    for (root, rotations), (other_root, others) in zip(forth, reversed(back)):
        np.testing.assert_array_equal(root, other_root)
        np.testing.assert_array_equal(rotations, others)


def test_wild_input_stays_finite(frames, table, tall_character, rng):
    solvers = [
        make_solver(name, tall_character, table, 0.93, SolverConfig(errata=errata))
        for name in THESIS
        for errata in ((), ERRATA)
    ]
    for k in range(100):
        given = wild(frames[k % len(frames)], rng, rng.choice([0.0, 0.3, 30.0]), 2.0)
        for solver in solvers:
            root, found = solved(solver, given)
            assert np.isfinite(root).all() and np.isfinite(found).all()
            np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-9)


def test_without_root_estimation_all_is_left_to_the_body(frames, table, short_character):
    """Table 7.1."""
    solver = ImportanceBasedSolver(
        short_character, table, 0.93, SolverConfig(root_form='reference')
    )
    out = [solver.solve(*frame) for frame in frames[:1]][0]
    assert out.body_iterations > 0 and not out.root_offset.any()


def test_elbow_circle_has_the_root_and_the_ends_of_the_thesis(frames, table, short_character):
    both = [
        make_solver(name, short_character, table, 0.93, SolverConfig()).solve for name in THESIS
    ]
    differ = 0.0
    for frame in frames:
        frame = frame._replace(self_rows=NOTHING)
        by_ranges, on_circle = (solve(*frame) for solve in both)
        np.testing.assert_array_equal(by_ranges.root_position, on_circle.root_position)
        planted = by_ranges.goal_errors < 1e-9
        away = by_ranges.end_effectors[:4] - on_circle.end_effectors[:4]
        assert np.abs(away[planted]).max() < 1e-6
        differ = max(differ, largest_turn(by_ranges.rotations, on_circle.rotations))
    assert differ > 1e-3


def test_repose_brings_the_output_up_to_date(frames, table, short_character):
    solver = ImportanceBasedSolver(short_character, table, 0.93, SolverConfig())
    frame = frames[0]
    out = solver.solve(*frame)
    before = out.end_effectors.copy(), out.goal_errors.copy()
    out.root_position[:] += [0.0, 0.0, 1.0]
    solver.repose(frame.rows)
    np.testing.assert_allclose(out.end_effectors - before[0], 8 * [[0.0, 0.0, 1.0]], atol=1e-12)
    assert np.abs(out.goal_errors - before[1]).max() > 0.1


def test_things_that_move_are_where_they_stand_and_on_segments_where_the_puppet_has_them(
    frames, scene, short_character
):
    """The thesis carries nothing."""
    hat = scene.thing('box', np.array([0.0, 0.0, 0.2]), 3 * (0.1,), segment=3, name='hat')
    ball = scene.thing('sphere', np.array([0.0, 0.0, 1.0]), 3 * (0.1,), follows='b', name='ball')
    solver = ImportanceBasedSolver(
        short_character, scene(scene.floor, hat, ball), 0.93, SolverConfig()
    )
    place, turn = np.array([[9.0, 9.0, 2.0]]), np.array([[1.0, 0.0, 0.0, 0.0]])
    out = solver.solve(*frames[0], Props(('ball',), place, turn))
    assert out.moving.names == ('hat', 'ball')
    expected = out.p_world[3] + qb.rotate(out.q_world[3], np.array([0.0, 0.0, 0.2]))
    np.testing.assert_allclose(out.moving.positions, [expected, place[0]], atol=1e-9)


def test_rows_are_of_four_or_eight(frames, table, short_character):
    solver = ImportanceBasedSolver(short_character, table, 0.93, SolverConfig())
    with pytest.raises(ValueError, match='rows: expected 4 or 8, got 3'):
        solver.solve(*frames[0]._replace(rows=np.zeros((3, ROW))))


def test_it_is_chosen_by_name_and_its_errata_live(frames, table, short_character, procedural):
    """A change of either eases; then the puppet is as the new ones have it."""
    assert set(THESIS) <= set(SOLVER_NAMES)
    model = RetargetModel(
        short_character, table, RetargetConfig(solver='importance_based', ease_s=0.05)
    )
    frame, segments = frames[0], procedural.world_segments()[1][FRAMES[0]].copy()
    given = frame.root, segments, frame.rotations, frame.rows, frame.self_rows
    stamps = iter(range(0, 10**12, 8_333_333))

    for config in (SolverConfig(), SolverConfig(errata=()), SolverConfig(errata=('turn_axis',))):
        model.configure(
            short_character, RetargetConfig(solver='importance_based', ease_s=0.05, tuning=config)
        )
        eased = [model.step(next(stamps), *given, 0.93).eased for _ in range(500)]
        assert not eased[-1]
        found = model.step(next(stamps), *given, 0.93).solution.rotations
        expected = (
            ImportanceBasedSolver(short_character, table, 0.93, config).solve(*frame).rotations
        )
        assert largest_turn(found, expected) < 1e-6
    assert eased[0]


def test_default_errata_are_all_and_unknown_ones_are_refused():
    assert errata_of(SolverConfig().errata) == Errata()
    for none in ((), ('none',)):
        assert errata_of(SolverConfig(errata=none).errata) == AS_PRINTED
    assert errata_of(('no_mean',)) == AS_PRINTED._replace(no_mean=True)
    known = 'all, none, own_height, .*'
    with pytest.raises(ConfigError, match=f"errata: expected one of {known}, got 'typos'"):
        SolverConfig(errata=('typos',))
    values = check_values(SOLVER_ROWS, {'errata': []})
    assert solver_config(values).errata == ()
