# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the eye sees, on motions whose figures are known or computed in another way."""

import numpy as np
from puppet_core.body import Capsule, LIMB_SEGMENTS, SEGMENT_INDEX, world_segments
from puppet_core.math import quaternions as qb
from puppet_retarget.importance import BOX, CAPSULE, CYLINDER, PLANE, signed_distance, SPHERE
from puppet_retarget.offline import MotionArrays, smoothness
import pytest
from scipy.spatial.transform import Rotation

RATE_HZ = 100.0
N = 50
ELBOW, KNEE = SEGMENT_INDEX['left_forearm'], SEGMENT_INDEX['right_shank']
NO_LEAP = np.zeros(N, dtype=bool)
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def rotation(axis, degrees):
    vectors = np.radians(degrees)[..., np.newaxis] * np.asarray(axis, dtype=float)
    return qb.exp(vectors)


@pytest.fixture
def still():
    return MotionArrays(np.zeros((N, 3)), np.tile(IDENTITY, (N, 16, 1)), np.zeros((N, 8, 3)))


def turns_deg(q):
    flat = [Rotation.from_quat(part.reshape(-1, 4), scalar_first=True) for part in (q[:-1], q[1:])]
    return np.degrees((flat[0].inv() * flat[1]).magnitude()).reshape(-1, 16)


# Leaps of the source.


def test_frames_to_which_a_joint_or_a_place_leaps_are_named(still):
    still.rotations[10:, ELBOW] = rotation([0, 0, 1], np.array(15.1))  # 1510 deg/s, once
    still.rotations[20:, KNEE] = rotation([0, 1, 0], np.array(14.9))
    still.root_positions[30:, 0] = 0.151  # 15.1 m/s
    still.end_effectors[40:, 3, 1] = 0.149
    still.end_effectors[45:, 7, 2] = -0.151
    leaping = smoothness.leaping_frames(still, RATE_HZ)
    assert np.flatnonzero(leaping).tolist() == [10, 30, 45]


# Whips.


def test_whips_are_counted_as_scipy_counts_them(rng):
    # around both thresholds, 10 and 3 degrees a frame
    puppet, performer = np.empty((2, N, 16, 4))
    for q, most in ((puppet, 20.0), (performer, 6.0)):
        q[0] = qb.exp(rng.normal(size=(16, 3)))
        for i in range(1, N):
            axes = rng.normal(size=(16, 3))
            axes /= np.linalg.norm(axes, axis=1, keepdims=True)
            q[i] = qb.multiply(q[i - 1], rotation(axes, rng.uniform(0.0, most, 16)))
    turns = [turns_deg(q) for q in (puppet, performer)]
    expected = (turns[0] > 10.0) & (turns[1] < 3.0)
    found = smoothness.whips(puppet, performer, RATE_HZ, NO_LEAP)
    assert expected.any() and not found[0].any()
    np.testing.assert_array_equal(found[1:], expected)
    leaping = rng.random(N) < 0.3
    left = smoothness.whips(puppet, performer, RATE_HZ, leaping)
    np.testing.assert_array_equal(left, found & ~leaping[:, np.newaxis])
    speeds = smoothness.turning_deg_s(puppet, RATE_HZ)
    np.testing.assert_allclose(speeds[1:], RATE_HZ * turns[0], rtol=1e-9)


# Snaps.


def bent(degrees):
    """Return bodies that bend their left elbow by the angles (n,) [deg]."""
    rotations = np.tile(IDENTITY, (len(degrees), 16, 1))
    rotations[:, ELBOW] = rotation([0, 0, 1], np.asarray(degrees, dtype=float))
    return rotations


def test_a_snap_is_counted_once_where_it_is():
    slow = 0.5 * np.arange(N)  # 0.87 rad/s
    snapped = slow + np.where(np.arange(N) < 20, 0.0, 5.0)  # 8.7 rad/s and more
    found = smoothness.snaps(bent(snapped), bent(slow), RATE_HZ, NO_LEAP)
    assert np.argwhere(found).tolist() == [[20, ELBOW]]
    again = smoothness.snaps(-bent(snapped), bent(slow), RATE_HZ, NO_LEAP)
    np.testing.assert_array_equal(again, found)
    for puppet, performer in ((slow, slow), (snapped, snapped), (slow, snapped)):
        assert not smoothness.snaps(bent(puppet), bent(performer), RATE_HZ, NO_LEAP).any()
    small = slow + np.where(np.arange(N) < 20, 0.0, 4.0)  # 7.9 rad/s
    assert not smoothness.snaps(bent(small), bent(slow), RATE_HZ, NO_LEAP).any()
    quick = 0.6 * np.arange(N)  # 1.05 rad/s
    assert not smoothness.snaps(bent(snapped), bent(quick), RATE_HZ, NO_LEAP).any()
    leaping = np.arange(N) == 20
    assert not smoothness.snaps(bent(snapped), bent(slow), RATE_HZ, leaping).any()


# Pops.


def directions(skeleton, degrees, root=None):
    return smoothness.limb_directions(*arm(skeleton, degrees, root))


def popped(skeleton, rate_hz, puppet, performer=None, root=None):
    """Return in which frames the left arm pops; the others must not."""
    performer = np.full(len(puppet), 30.0) if performer is None else performer
    lines = directions(skeleton, puppet, root), directions(skeleton, performer)
    found = smoothness.pops(*lines, rate_hz, np.zeros(len(puppet), dtype=bool))
    assert not found[:, 1:].any()
    return np.flatnonzero(found[:, 0]).tolist()


@pytest.mark.parametrize('rate_hz', [25.0, 30.0, 50.0, 60.0, 100.0, 120.0, 240.0])
def test_a_pop_is_counted_once_at_any_rate(adult_character, rate_hz):
    skeleton, n = adult_character.skeleton, 100
    step = 30.0 + np.where(np.arange(n) < 50, 0.0, 9.0)
    assert popped(skeleton, rate_hz, step) == [50]
    small = 30.0 + np.where(np.arange(n) < 50, 0.0, 4.5)
    assert popped(skeleton, rate_hz, small) == []
    # one that lasts a tenth of a second counts three times, as in a film
    n_tenth = round(rate_hz / 10.0)
    ramp = 30.0 + np.clip((np.arange(n) - 50) / n_tenth, 0.0, 1.0) * 40.0
    assert 2 <= len(popped(skeleton, rate_hz, ramp)) <= 4
    # slow turns are none, however far
    slow = np.minimum(150.0 * np.arange(n) / rate_hz, 120.0)
    assert popped(skeleton, rate_hz, slow) == []


def test_who_turns_as_the_performer_does_does_not_pop(adult_character):
    skeleton, n = adult_character.skeleton, 60
    step = 30.0 + np.where(np.arange(n) < 20, 0.0, 30.0)
    late = 30.0 + np.where(np.arange(n) < 21, 0.0, 30.0)
    much_later = 30.0 + np.where(np.arange(n) < 25, 0.0, 30.0)
    third = 30.0 + np.where(np.arange(n) < 20, 0.0, 9.0)
    assert popped(skeleton, 30.0, step, step) == []
    assert popped(skeleton, 30.0, late, step) == []
    assert popped(skeleton, 30.0, much_later, step) == [25]
    assert popped(skeleton, 30.0, step, third) == [20]
    # a trunk that turns carries its limbs with it
    turning = rotation([0.0, 0.0, 1.0], 20.0 * np.arange(n))
    still = np.full(n, 30.0)
    assert popped(skeleton, 30.0, still, still, turning) == []


def test_pops_at_leaps_do_not_count_and_mirrors_change_nothing(adult_character, rng):
    skeleton = adult_character.skeleton
    lines = [directions(skeleton, degrees) for degrees in (60.0 * rng.random(N), np.zeros(N))]
    found = smoothness.pops(*lines, RATE_HZ, NO_LEAP)
    assert found[:, 0].sum() > 5
    mirror = np.array([1.0, -1.0, 1.0])
    others = [mirror * part[:, [1, 0, 3, 2]] for part in lines]
    turned = smoothness.pops(*others, RATE_HZ, NO_LEAP)
    np.testing.assert_array_equal(turned[:, [1, 0, 3, 2]], found)
    step = directions(skeleton, np.where(np.arange(N) < 20, 0.0, 30.0))
    leaping = np.arange(N) == 20
    assert smoothness.pops(step, lines[1], RATE_HZ, NO_LEAP).sum() == 1
    assert not smoothness.pops(step, lines[1], RATE_HZ, leaping).any()
    assert not smoothness.pops(step[:2], lines[1][:2], RATE_HZ, NO_LEAP[:2]).any()


# Flips.


def arm(skeleton, angles, root=None):
    """Return the segments of a body that bends its left elbow by the angles [deg]."""
    n = len(angles)
    rotations = np.tile(IDENTITY, (n, 16, 1))
    rotations[:, ELBOW] = rotation([0, 0, 1], np.asarray(angles, dtype=float))
    if root is not None:
        rotations[:, 0] = root
    return world_segments(skeleton, np.zeros((n, 3)), rotations)


def test_bend_offsets_are_heights_of_triangles_in_the_frame_of_the_trunk(adult_character, rng):
    skeleton = adult_character.skeleton
    turns = qb.exp(rng.normal(size=(N, 3)))
    segments = arm(skeleton, np.full(N, 40.0), turns)
    offsets = smoothness.bend_offsets(*segments)
    np.testing.assert_allclose(offsets, np.broadcast_to(offsets[0], offsets.shape), atol=1e-12)
    a, b = skeleton.limb_lengths[0]
    c = np.sqrt(a * a + b * b + 2.0 * a * b * np.cos(np.radians(40.0)))
    height = a * b * np.sin(np.radians(40.0)) / c  # twice the triangle's area over its base
    assert np.linalg.norm(offsets[0, 0]) == pytest.approx(height)
    np.testing.assert_allclose(offsets[0, 1:], 0.0, atol=1e-12)  # straight in the rest pose


def test_flips_are_of_the_puppet_alone_and_seen(adult_character):
    skeleton = adult_character.skeleton
    angles = np.full(N, 30.0)
    angles[20:] = -30.0
    flipped = smoothness.bend_offsets(*arm(skeleton, angles))
    steady = smoothness.bend_offsets(*arm(skeleton, np.full(N, 30.0)))
    found = smoothness.flips(flipped, steady, NO_LEAP)
    assert np.argwhere(found).tolist() == [[20, 0]]
    assert not smoothness.flips(flipped, flipped, NO_LEAP).any()
    assert not smoothness.flips(steady, flipped, NO_LEAP).any()
    leaping = NO_LEAP.copy()
    leaping[20] = True
    assert not smoothness.flips(flipped, steady, leaping).any()
    small = smoothness.bend_offsets(*arm(skeleton, angles / 15.0))  # 1 cm to and fro
    assert not smoothness.flips(small, steady, NO_LEAP).any()
    slow = smoothness.bend_offsets(*arm(skeleton, np.linspace(30.0, -30.0, N)))
    assert not smoothness.flips(slow, steady, NO_LEAP).any()


def test_a_limb_folded_to_a_point_has_a_finite_offset(adult_character):
    q_world, p_world = arm(adult_character.skeleton, np.zeros(2))
    p_world[:, LIMB_SEGMENTS[0, 2]] = p_world[:, LIMB_SEGMENTS[0, 0]]
    assert np.isfinite(smoothness.bend_offsets(q_world, p_world)).all()


# Jerk.


def test_jerk_ratio_compares_third_differences():
    t = np.arange(N) / RATE_HZ
    one = np.stack((t**3, 0.0 * t, 0.0 * t), axis=1)
    assert smoothness.jerk_ratio(3.0 * one, one, 1.0) == pytest.approx(3.0)
    assert smoothness.jerk_ratio(3.0 * one, one, 3.0) == pytest.approx(1.0)
    assert smoothness.jerk_m_s3(3.0 * one, RATE_HZ) == pytest.approx(18.0)
    assert smoothness.jerk_ratio(one + t[:, None] ** 2, one, 1.0) == pytest.approx(1.0)
    # of too short or still motions it is no number
    assert np.isnan(smoothness.jerk_ratio(np.zeros((3, 3)), np.zeros((3, 3)), 1.0))
    assert np.isnan(smoothness.jerk_ratio(np.ones((9, 3)), np.ones((9, 3)), 1.0))


def test_jerk_ratios_are_of_five_parts(still, rng):
    roots, ends = rng.normal(size=(N, 3)), rng.normal(size=(N, 8, 3))
    performer = MotionArrays(roots, still.rotations, ends)
    puppet = MotionArrays(2.0 * roots, still.rotations, ends.copy())
    puppet.end_effectors[:, 2:4] *= 0.5
    puppet.end_effectors[:, 4:6] *= 3.0
    puppet.end_effectors[:, 6:] *= 4.0
    ratios = smoothness.jerk_ratios(puppet, performer, 1.0)
    expected = {'root': 2.0, 'feet': 0.5, 'hands': 1.0, 'knees': 4.0, 'elbows': 3.0}
    assert ratios == pytest.approx(expected)


def test_leaps_do_not_count_in_jerk(still, rng):
    smooth, leaping = 1e-3 * rng.normal(size=(N, 3)), NO_LEAP.copy()
    torn = smooth.copy()
    torn[20:] += 1.0
    leaping[20] = True
    assert smoothness.jerk_ratio(torn, smooth, 1.0) > 50.0
    assert smoothness.jerk_ratio(torn, smooth, 1.0, leaping) == pytest.approx(1.0)
    assert np.isnan(smoothness.jerk_ratio(torn, smooth, 1.0, np.ones(N, dtype=bool)))
    steady = qb.exp(0.01 * rng.normal(size=(N, 16, 3)))
    turned = steady.copy()
    turned[20:] = qb.multiply(qb.exp(np.array([0.0, 0.0, 2.0])), steady[20:])
    ratios = smoothness.joint_jerk_ratios(turned, steady, RATE_HZ, leaping)
    np.testing.assert_allclose(ratios, 1.0, rtol=1e-6)
    assert smoothness.joint_jerk_ratios(turned, steady, RATE_HZ, NO_LEAP).min() > 1.5


def test_joint_jerk_ratios_are_those_of_known_angular_velocities(rng):
    # about one axis the angular velocity is the difference of the angles
    axes = rng.normal(size=(16, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    angles = [rng.uniform(-20.0, 20.0, (N, 16)) for _ in range(2)]
    angles[1][:, 3] = 7.0  # a joint that is still
    angles[1][:, 4] = 1e-6 * rng.normal(size=N)  # rounded
    puppet, performer = (rotation(axes, a) for a in angles)
    found = smoothness.joint_jerk_ratios(puppet, performer, RATE_HZ, NO_LEAP)
    expected = [np.sqrt(np.mean(np.diff(a, 3, axis=0) ** 2, axis=0)) for a in angles]
    moving = np.delete(np.arange(16), [3, 4])
    wanted = expected[0][moving] / expected[1][moving]
    np.testing.assert_allclose(found[moving], wanted, rtol=1e-9)
    jerks = smoothness.joint_jerks_rad_s3(puppet, RATE_HZ, NO_LEAP)[moving]
    np.testing.assert_allclose(jerks, np.radians(expected[0][moving]) * RATE_HZ**3, rtol=1e-9)
    assert np.isnan(found[3:5]).all()
    short = smoothness.joint_jerk_ratios(puppet[:3], performer[:3], RATE_HZ, NO_LEAP[:3])
    assert np.isnan(short).all()


# Surfaces.


NOWHERE = smoothness.Surroundings(
    np.empty(0, np.int64), np.empty((0, 3)), np.empty((0, 4)), np.empty((0, 3))
)


def test_the_floor_is_at_zero(adult_character):
    # a ball in the left hand, and a bar through the pelvis
    hand = SEGMENT_INDEX['left_hand']
    capsules = (
        Capsule(hand, [0.0, 0.1, 0.0], [0.0, 0.1, 0.0], 0.05),
        Capsule(0, [0.0, 0.0, 0.2], [0.0, 0.0, -0.3], 0.1),
    )
    q_world = np.tile(IDENTITY, (3, 16, 1))
    p_world = np.full((3, 16, 3), 5.0)
    p_world[1, 0, 2] = 0.35  # the bar's lower ball 5 cm deep
    p_world[2, hand, 2] = 0.02
    depths = smoothness.surface_depths_m(capsules, q_world, p_world, NOWHERE)
    np.testing.assert_allclose(depths, [0.0, 0.05, 0.03], atol=1e-12)
    q_world[1, 0] = rotation([1, 0, 0], np.array(90.0))  # now it lies level
    depths = smoothness.surface_depths_m(capsules, q_world, p_world, NOWHERE)
    np.testing.assert_allclose(depths, [0.0, 0.0, 0.03], atol=1e-12)
    assert not smoothness.surface_depths_m((), q_world, p_world, NOWHERE).any()


def test_a_whole_body_is_as_deep_as_its_deepest_capsule(adult_character, rng):
    character = adult_character
    roots = rng.uniform([0.0, 0.0, -0.3], [0.0, 0.0, 1.0], (N, 3))
    turns = qb.exp(rng.normal(size=(N, 16, 3)))
    q_world, p_world = world_segments(character.skeleton, roots, turns)
    depths = smoothness.surface_depths_m(character.capsules, q_world, p_world, NOWHERE)
    lowest = np.min(
        [
            (p_world[:, c.segment] + qb.rotate(q_world[:, c.segment], tip))[:, 2] - c.radius
            for c in character.capsules
            for tip in (c.start, c.end)
        ],
        axis=0,
    )
    np.testing.assert_allclose(depths, np.maximum(-lowest, 0.0), atol=1e-12)
    assert 0 < np.count_nonzero(depths) < N


@pytest.mark.parametrize('shape', [PLANE, BOX, SPHERE, CYLINDER, CAPSULE])
def test_depth_in_a_solid_is_that_of_the_deepest_of_many_points(shape, rng):
    n, radius = 40, 0.07
    size = {BOX: [0.4, 0.6, 0.3]}.get(shape, [0.2, 0.2, 0.5])
    if shape == SPHERE:
        size = [0.3, 0.3, 0.3]
    solids = smoothness.Surroundings(
        np.array([shape]),
        np.array([[0.1, -0.2, 3.0]]),
        qb.exp(rng.normal(size=(1, 3))),
        np.array([size]),
    )
    start, end = rng.normal(0.0, 0.2, (2, 3))
    q_world, p_world = np.tile(IDENTITY, (n, 16, 1)), np.full((n, 16, 3), 3.0)
    q_world[:, 0] = qb.exp(rng.normal(size=(n, 3)))
    p_world[:, 0] = [0.1, -0.2, 3.0] + rng.normal(0.0, 0.3, (n, 3))
    depths = smoothness.surface_depths_m(
        (Capsule(0, start, end, radius),), q_world, p_world, solids
    )
    shares = np.linspace(0.0, 1.0, 400)[:, np.newaxis]
    for i in range(n):
        core = p_world[i, 0] + qb.rotate(q_world[i, 0], start + shares * (end - start))
        local = qb.rotate(qb.conjugate(solids.orientations[0]), core - solids.positions[0])
        least = min(signed_distance(shape, np.array(size, dtype=float), p)[0] for p in local)
        assert depths[i] == pytest.approx(max(radius - least, 0.0), abs=1e-3)
    assert depths.max() > 0.1
