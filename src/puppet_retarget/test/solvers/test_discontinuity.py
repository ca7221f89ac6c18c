# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Discontinuities are found, held and blended; unusable input is refused."""

import numpy as np
from puppet_core.body.motion_measures import FASTEST_M_S, FASTEST_RAD_S, LONGEST_S, SHORTEST_S
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Quats, Vec3
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE, RADIUS
from puppet_retarget.importance.self_interaction import (
    CONTACT_WIDTH,
    DISPLACEMENT,
    FIRST_CONTACT,
    MAX_CONTACTS,
    SAMPLE,
    SELF_DISTANCE,
    SELF_IMPORTANCE,
    SELF_ROW,
    WEIGHT,
)
from puppet_retarget.solvers.discontinuity import (
    DiscontinuityDetector,
    EASE_M_S,
    EASE_RAD_S,
    HoldAndBlend,
    is_usable,
    PUPPET_RATIO,
    RESUME_S,
    WARY_M_S,
    WARY_RAD_S,
)
import pytest
from scipy.spatial.transform import Rotation

DT_S, EASE_S = 0.01, 0.5
TOL = 1e-12
LEAP_M_S, LEAP_RAD_S = PUPPET_RATIO * FASTEST_M_S, PUPPET_RATIO * FASTEST_RAD_S
MOST_M_S, MOST_RAD_S = LEAP_M_S + EASE_M_S, LEAP_RAD_S + EASE_RAD_S
WALK_M_S = 1.4
N_FRAMES, SPAN_S = 400, (SHORTEST_S, LONGEST_S)
LAST_USED = FIRST_CONTACT + (MAX_CONTACTS - 2) * CONTACT_WIDTH


def random_posture(rng: np.random.Generator) -> tuple[Vec3, Quats]:
    """Return a root and rotations; roots are so near that the easing takes its time."""
    return rng.uniform(-0.4, 0.4, size=3), qb.normalize(rng.normal(size=(16, 4)))


def turn_between(a: Quats, b: Quats) -> np.ndarray:
    """Return angles [rad]."""
    return np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1)


def step(
    ease: HoldAndBlend, root: Vec3, rotations: Quats, dt_s: float = DT_S, ease_s: float = EASE_S
) -> tuple[Vec3, Quats, bool]:
    """Return what becomes of a posture, and whether it was changed."""
    root, rotations = root.copy(), rotations.copy()
    changed = ease.step(root, rotations, dt_s, ease_s)
    return root, rotations, changed


def test_easing_never_moves_faster_than_its_share(rng):
    """The ease 3 s^2 - 2 s^3 is at most half as fast again as a straight line."""
    ease = HoldAndBlend()
    old, new = random_posture(rng), random_posture(rng)
    step(ease, *old)
    ease.start()
    out = [step(ease, *new) for _ in range(52)]
    limit = 1.5 * DT_S / EASE_S + 1e-9
    roots = np.array([o[0] for o in out])
    assert np.linalg.norm(np.diff(roots, axis=0), axis=1).max() <= limit * np.linalg.norm(
        new[0] - old[0]
    )
    turns = [turn_between(a[1], b[1]).max() for a, b in zip(out, out[1:])]
    assert max(turns) <= limit * np.pi


def test_after_a_restart_it_is_held_until_listeners_have_found_the_node(rng):
    """Whoever hears the first frames late sees the puppet where it was nevertheless."""
    ease = HoldAndBlend()
    old, new = random_posture(rng), random_posture(rng)
    ease.resume(*old)
    step(ease, *new, dt_s=np.inf)
    held = [np.abs(step(ease, *new)[0] - old[0]).max() < 1e-9 for _ in range(60)]
    assert sum(held) == pytest.approx(RESUME_S / DT_S + 1, abs=1) and not held[-1]
    for _ in range(100):
        last = step(ease, *new)
    assert not last[2]


@pytest.mark.parametrize('seed', range(20))
def test_nothing_moves_faster_than_a_body_whatever_comes(seed):
    """Random motion, leaps, gaps, stamps that go back, starts, times of easing, restarts."""
    rng = np.random.default_rng(seed)
    ease = HoldAndBlend()
    root, rotations = random_posture(rng)
    last = None
    for _ in range(400):
        dt_s = float(rng.choice([DT_S, 0.0, 0.004, 0.1, np.inf], p=[0.8, 0.05, 0.05, 0.05, 0.05]))
        within_s = min(max(dt_s, SHORTEST_S), LONGEST_S)
        fate = rng.random()
        if fate < 0.05:
            root, rotations = random_posture(rng)
            root = root * 10.0 ** rng.uniform(0.0, 4.0)
        else:
            way, turn = rng.normal(size=3), rng.normal(size=(16, 3))
            share = rng.uniform(0.0, 1.5)  # some are leaps too
            way *= share * LEAP_M_S * within_s / np.linalg.norm(way)
            turn *= share * LEAP_RAD_S * within_s / np.linalg.norm(turn, axis=1, keepdims=True)
            root, rotations = root + way, qb.multiply(qb.exp(turn), rotations)
        if fate > 0.98:
            ease.start()
        elif fate > 0.96 and last is not None:
            ease = HoldAndBlend()
            ease.resume(*last)
        out = step(ease, root, rotations, dt_s, float(rng.choice([0.0, 1e-3, 0.5, 10.0])))
        assert np.isfinite(out[0]).all() and np.isfinite(out[1]).all()
        if last is not None:
            # after a gap the posture is held; an easing that goes on does so by a frame at most
            assert np.linalg.norm(out[0] - last[0]) <= MOST_M_S * LONGEST_S + 1e-9
            assert turn_between(out[1], last[1]).max() <= MOST_RAD_S * LONGEST_S + 1e-6
            if dt_s <= LONGEST_S:
                assert np.linalg.norm(out[0] - last[0]) <= MOST_M_S * within_s + 1e-9
                assert turn_between(out[1], last[1]).max() <= MOST_RAD_S * within_s + 1e-6
        last = out[0].copy(), out[1].copy()


def test_a_leap_is_held_then_eased_and_counted(rng):
    ease = HoldAndBlend()
    old, new = random_posture(rng), random_posture(rng)
    step(ease, *old)
    assert ease.leaps == 0
    np.testing.assert_allclose(step(ease, *new)[0], old[0], atol=TOL)
    assert ease.leaps == 1
    for _ in range(100):
        last = step(ease, *new)
    assert ease.leaps == 1 and not last[2]
    np.testing.assert_array_equal(last[0], new[0])


def test_the_puppet_of_a_runner_does_not_stay_behind(rng):
    ease = HoldAndBlend()
    root, rotations = random_posture(rng)
    speed = np.array([3.0 * WARY_M_S, 0.0, 0.0])
    step(ease, root, rotations)
    ease.start()
    for _ in range(round(8.0 / DT_S)):
        root = root + speed * DT_S
        out = step(ease, root, rotations)
    assert not out[2]
    np.testing.assert_array_equal(out[0], root)


@pytest.mark.parametrize('hz', [5.0, 10.0, 120.0])
def test_a_walker_whose_frames_come_late_is_eased_and_not_left_behind(hz):
    ease, steps, behind = HoldAndBlend(), [], []
    root, rotations = np.zeros(3), np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
    for dt_s in [DT_S] * 50 + [1.0 / hz] + [DT_S] * 80 + [1.0 / hz] * 60:
        root = root + [WALK_M_S * dt_s, 0.0, 0.0]
        out, _, _ = step(ease, root, rotations, dt_s)
        behind.append(root[0] - out[0])
        steps.append(WALK_M_S * dt_s + behind[-2] - behind[-1] if len(behind) > 1 else 0.0)
    assert max(steps[:130]) < 0.05 and behind[130] == 0.0
    assert max(behind) <= WALK_M_S * (EASE_S + 2.0 / hz)


@pytest.mark.parametrize(('ratio', 'size'), [(1.0, 1.0), (0.75, 1.0), (1.0, 2.5)])
def test_what_moves_faster_than_a_body_leaps(ratio, size, rng):
    watch = DiscontinuityDetector(ratio)
    root, turns = np.zeros(3), Rotation.identity(16)
    found = []
    for i in range(N_FRAMES):
        reach = 10.0 ** rng.uniform(-4.0, 0.3)
        way, turn = reach * rng.normal(size=3), 0.5 * reach * rng.normal(size=(16, 3))
        root, before, turns = root + way, turns, turns * Rotation.from_rotvec(turn)
        rotations = turns.as_quat(scalar_first=True) * rng.choice([-1.0, 1.0], size=(16, 1))
        dt_s, is_wary = rng.choice([1.0 / 120.0, 1e-4, 0.2]), rng.random() < 0.5
        leaps, within_s = watch.leaps(root, rotations, dt_s, size, is_wary), np.clip(dt_s, *SPAN_S)
        m_s = np.linalg.norm(way) / within_s / size
        rad_s = (before.inv() * turns).magnitude().max() / within_s
        fastest = ratio * FASTEST_M_S, ratio * FASTEST_RAD_S
        most = (WARY_M_S, WARY_RAD_S) if is_wary else fastest
        assert leaps == (i > 0 and bool(m_s > most[0] or rad_s > most[1]))
        found.append((leaps, is_wary))
    assert all(0.05 < np.mean([leap for leap, wary in found if wary == w]) < 0.95 for w in (0, 1))


JIT_AND_PY = pytest.mark.parametrize('run', [is_usable, is_usable.py_func], ids=['jit', 'py'])


@pytest.fixture
def given(rng):
    """Return a good root, segments, rotations and rows; every other contact is in use."""
    rows = rng.uniform(size=(4, 8))
    self_rows = rng.uniform(size=(8, SELF_ROW))
    contacts = self_rows[:, FIRST_CONTACT:].reshape(8, MAX_CONTACTS, CONTACT_WIDTH)
    contacts[..., SAMPLE] = rng.integers(0, 640, (8, MAX_CONTACTS))
    contacts[0, 0, SAMPLE], contacts[7, -2, SAMPLE] = 0.0, 639.0
    contacts[:, 1::2, SAMPLE] = -1.0
    return [
        rng.normal(size=3),
        rng.normal(size=(16, 3)),
        qb.normalize(rng.normal(size=(16, 4))),
        rows,
        self_rows,
    ]


@JIT_AND_PY
def test_ordinary_input_is_usable(run, given):
    assert run(*given)


PLACES = {
    'root': (0, (1,)),
    'segment': (1, (15, 2)),
    'rotation': (2, (3, 0)),
    'importance': (3, (0, IMPORTANCE)),
    'radius': (3, (3, RADIUS)),
    'goal': (3, (2, GOAL + 1)),
    'self importance': (4, (7, SELF_IMPORTANCE)),
    'sample': (4, (7, LAST_USED + SAMPLE)),
    'weight': (4, (0, FIRST_CONTACT + WEIGHT)),
    'displacement': (4, (1, LAST_USED + DISPLACEMENT + 2)),
}


@JIT_AND_PY
@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf, 1e150])
@pytest.mark.parametrize(('which', 'place'), PLACES.values(), ids=PLACES)
def test_one_bad_number_is_enough(run, given, which, place, bad):
    given[which][place] = bad
    assert not run(*given)


@JIT_AND_PY
@pytest.mark.parametrize(
    ('which', 'column', 'value'),
    [
        (3, IMPORTANCE, -0.01),
        (3, IMPORTANCE, 1.01),
        (4, SELF_IMPORTANCE, -0.01),
        (4, SELF_IMPORTANCE, 1.01),
        (4, SELF_DISTANCE, -200.0),
        (4, SELF_DISTANCE, np.nan),
        (4, FIRST_CONTACT + SAMPLE, 640.0),
        (4, FIRST_CONTACT + SAMPLE, -2.0),
        (4, FIRST_CONTACT + SAMPLE, -0.5),
        (4, FIRST_CONTACT + SAMPLE, 3.5),
        (4, FIRST_CONTACT + WEIGHT, -0.01),
        (4, FIRST_CONTACT + DISPLACEMENT, -200.0),
    ],
)
def test_what_is_out_of_range_is_refused(run, given, which, column, value):
    """A sample is an index: solvers would read outside of their arrays."""
    given[which][3, column] = value
    assert not run(*given)
