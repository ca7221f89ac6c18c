# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Smooth input gives smooth output, through every branch of importance and solver.

Whole motions, at 120 Hz and at 12 kHz; `test_continuity_root` and `test_continuity_limbs` visit
the branches of the solver one by one.
"""

from collections.abc import Callable

from continuity_runs import bend_knees, HIGH_HZ, LOW_HZ, phase, SIDES, Speeds, speeds, swell
import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import SEGMENT_INDEX, Skeleton
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Vec3s
from puppet_retarget.importance.environment import Environment
from puppet_retarget.importance.estimator import IMPORTANCE
from puppet_retarget.offline.whole_motion import RetargetResult
import pytest


def on_the_floor(skeleton: Skeleton, rate_hz: float, vectors: Vec3s, lift: Floats) -> Motion:
    """Return the motion of rotation vectors (n, 16, 3), its lower sole `lift` above the floor."""
    rotations = qb.exp(vectors)
    roots = np.zeros((len(vectors), 3))
    motion = Motion.from_rotations(skeleton, rate_hz, roots, rotations)
    roots[:, 2] = lift - motion.end_effectors[:, 2:4, 2].min(axis=1)
    return Motion.from_rotations(skeleton, rate_hz, roots, rotations)


def splits(skeleton: Skeleton, rate_hz: float) -> Motion:
    """Return legs that spread and close: a short puppet's feet go far out of reach."""
    share = swell(phase(rate_hz))
    vectors = np.zeros((len(share), 16, 3))
    for side, sign in SIDES:
        vectors[:, SEGMENT_INDEX[f'{side}_thigh'], 0] = sign * 0.75 * share
        vectors[:, SEGMENT_INDEX[f'{side}_foot'], 0] = -sign * 0.75 * share
    return on_the_floor(skeleton, rate_hz, vectors, 0.0 * share)


def squat(skeleton: Skeleton, rate_hz: float) -> Motion:
    """Return knees that bend from straight to deep and back."""
    share = swell(phase(rate_hz))
    vectors = np.zeros((len(share), 16, 3))
    bend_knees(vectors, 1.2 * share)
    return on_the_floor(skeleton, rate_hz, vectors, 0.0 * share)


def jump(skeleton: Skeleton, rate_hz: float) -> Motion:
    """Return a leap so high that all importance vanishes, and a landing."""
    share = swell(phase(rate_hz))
    vectors = np.zeros((len(share), 16, 3))
    bend_knees(vectors, 0.3 * share)
    return on_the_floor(skeleton, rate_hz, vectors, 1.2 * share**2)


def swing_arms(skeleton: Skeleton, rate_hz: float) -> Motion:
    """Return straight arms that swing up ahead until the palms are 0.58 m before the body."""
    share = swell(phase(rate_hz))
    vectors = np.zeros((len(share), 16, 3))
    bend_knees(vectors, 0.3)
    rotations = qb.exp(vectors)
    forward = qb.exp(np.stack((0.0 * share, -1.1 * share, 0.0 * share), axis=1))
    for side, sign in SIDES:
        down = qb.exp(np.array([-1.35 * sign, 0.0, 0.0]))
        rotations[:, SEGMENT_INDEX[f'{side}_upper_arm']] = qb.multiply(forward, down)
    return on_the_floor(skeleton, rate_hz, qb.log(rotations), 0.0 * share)


def fastest_frame(result: RetargetResult) -> float:
    """Return the highest speed of hands and feet at the low rate, whichever frames it takes."""
    every = round(HIGH_HZ / LOW_HZ)
    ends = result.puppet.end_effectors[:, :4]
    return float(np.linalg.norm(ends[every:] - ends[:-every], axis=2).max() * LOW_HZ)


def compare(
    run: Callable[[float], tuple[Motion, RetargetResult]],
) -> tuple[Speeds, Speeds, Speeds, RetargetResult]:
    """
    Return speeds of input and output at the low rate, of output at the high one, and that.

    The body solver moves hands in bursts as short as a frame at the low rate, which shows less
    of them the more a frame's end falls into one; so any frames of the high rate count too.
    """
    motion, low = run(LOW_HZ)
    _, high = run(HIGH_HZ)
    given = speeds(LOW_HZ, motion.root_positions, motion.end_effectors, motion.rotations)
    slow, fast = (
        speeds(rate, r.puppet.root_positions, r.puppet.end_effectors, r.puppet.rotations)
        for rate, r in ((LOW_HZ, low), (HIGH_HZ, high))
    )
    return given, slow._replace(ends=max(slow.ends, fastest_frame(high))), fast, high


def check(given: Speeds, low: Speeds, high: Speeds, leg_length: float) -> None:
    """Assert that the output's speeds are bounded by the input's and do not grow with the rate."""
    fastest = max(given.ends, given.root)
    assert high.root < 2.0 * fastest
    assert high.ends < 4.0 * fastest
    # near full stretch a joint turns up to sixteen times per limb length
    assert high.joints < given.joints + 2.0 * 16.0 / leg_length * fastest
    # bursts shorter than a frame are missed at the low rate; a jump would be a hundredfold
    assert high.root < 1.2 * low.root
    assert high.ends < 1.2 * low.ends


@pytest.mark.parametrize('puppet', ['short_character', 'tall_character', 'adult_character'])
@pytest.mark.parametrize('move', [splits, squat, jump], ids=lambda move: move.__name__)
def test_smooth_moves_stay_smooth(
    retarget: Callable, adult_character: Character, puppet: str, move: Callable, request
) -> None:
    """Importance through 0 and 1, goals through reach, balls that vanish and no longer meet."""
    character = request.getfixturevalue(puppet)

    def run(rate_hz: float) -> tuple[Motion, RetargetResult]:
        motion = move(adult_character.skeleton, rate_hz)
        return motion, retarget(motion, character)

    *figures, out = compare(run)
    check(*figures, character.skeleton.leg_length)
    assert out.rows[:, 2:, IMPORTANCE].max() == 1.0
    if move is jump:
        assert out.rows[:, :, IMPORTANCE].min() == 0.0


@pytest.mark.parametrize('puppet', ['short_character', 'tall_character', 'adult_character'])
@pytest.mark.parametrize('shift', [-0.1, 0.3, 0.6])
def test_hands_to_a_wall_stay_smooth(
    retarget: Callable,
    adult_character: Character,
    scene: Callable,
    puppet: str,
    shift: float,
    request,
) -> None:
    """The puppet's wall stands elsewhere, for a short puppet out of reach: the body bends."""
    character = request.getfixturevalue(puppet)
    wall = scene.thing(
        'box',
        np.array([0.70, 0.0, 1.0]),
        np.array([0.2, 3.0, 2.0]),
        puppet_position=np.array([0.70 + shift, 0.0, 1.0]),
    )
    place: Environment = scene(scene.floor, wall)

    def run(rate_hz: float) -> tuple[Motion, RetargetResult]:
        motion = swing_arms(adult_character.skeleton, rate_hz)
        return motion, retarget(motion, character, place)

    given, low, high, out = compare(run)
    moved = given._replace(ends=given.ends + 6.0 * abs(shift))
    check(moved, low, high, character.skeleton.limb_lengths[0].sum())
    assert out.rows[:, 0, IMPORTANCE].max() > 0.99
    if shift > 0.2 and puppet == 'short_character':
        assert out.body_iterations.max() > 0
