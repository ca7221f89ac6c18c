# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Joint limits: never passed, unchanged within, smooth everywhere, mirrored."""

from joint_limit_samples import adult_limits, any_rotations, JOINTS, limited, turn_between
import numpy as np
from puppet_core.body.joint_limits import swing_axes
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quats
from puppet_retarget.solvers.joint_limits import KEPT, LimitArrays, soft_swing, split_swing_twist
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation

ANGLE_TOL_RAD = 1e-9
EACH_JOINT = pytest.mark.parametrize('joint', JOINTS)


@pytest.fixture(scope='module')
def limits(adult_character, tmp_path_factory):
    """Return the adult's limits."""
    return adult_limits(adult_character, tmp_path_factory.mktemp('limits'))


def parts(limits: LimitArrays, joint: str, rotations: Quats) -> tuple[Floats, Floats]:
    """Return the swing over its limit (1 on the ellipse) and the twist's offset over half."""
    i = SEGMENT_INDEX[joint]
    local = Rotation.from_quat(limits.frames[i], scalar_first=True).inv() * Rotation.from_quat(
        rotations, scalar_first=True
    )
    axis = limits.axes[i]
    direction = local.apply(axis)
    # the swing is the least rotation to where the axis goes; scipy has what is left
    square = np.cross(axis, direction)
    sine = np.linalg.norm(square, axis=1, keepdims=True)
    angle = np.arctan2(sine[:, 0], direction @ axis)
    swing = square / np.maximum(sine, 1e-300) * angle[:, None]
    twist = (Rotation.from_rotvec(swing).inv() * local).as_rotvec() @ axis
    away = twist - limits.twists[i].mean()
    away = (away + np.pi) % (2.0 * np.pi) - np.pi
    share = np.stack([swing @ e for e in swing_axes(axis)], axis=1) / limits.swings[i]
    return np.linalg.norm(share, axis=1), away / (0.5 * np.ptp(limits.twists[i]))


def inner_rotations(limits: LimitArrays, joint: str, rng: np.random.Generator, n: int) -> Quats:
    """Return rotations within nine tenths of a joint's limits."""
    i = SEGMENT_INDEX[joint]
    radius, angle = np.sqrt(rng.random(n)), rng.uniform(0.0, 2.0 * np.pi, n)
    e1, e2 = swing_axes(limits.axes[i])
    h1, h2 = KEPT * 0.9999 * limits.swings[i]
    swing = np.outer(h1 * radius * np.cos(angle), e1) + np.outer(h2 * radius * np.sin(angle), e2)
    low, high = limits.twists[i]
    twist = 0.5 * (low + high) + rng.uniform(-0.4499, 0.4499, n) * (high - low)
    local = qb.multiply(qb.exp(swing), qb.exp(np.outer(twist, limits.axes[i])))
    return qb.multiply(limits.frames[i], local)


@pytest.mark.parametrize(
    'split', [split_swing_twist, split_swing_twist.py_func], ids=['jit', 'py']
)
def test_split_is_what_scipy_puts_together(split, rng):
    swing = np.empty(3)
    for q in any_rotations(rng, 300):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        twist = split(q, axis, swing)
        assert abs(swing @ axis) < 1e-12 and np.linalg.norm(swing) <= np.pi + 1e-12
        whole = Rotation.from_rotvec(swing) * Rotation.from_rotvec(twist * axis)
        left = whole.inv() * Rotation.from_quat(q, scalar_first=True)
        assert left.magnitude() < 1e-9


@EACH_JOINT
def test_limits_are_never_passed(joint, limits, rng):
    rotations = any_rotations(rng, 2_000)
    before = parts(limits, joint, rotations)
    after = parts(limits, joint, limited(limits, joint, rotations))
    assert before[0].max() > 1.0
    assert after[0].max() <= 1.0 + ANGLE_TOL_RAD
    assert np.abs(after[1]).max() <= 1.0 + ANGLE_TOL_RAD


@EACH_JOINT
def test_well_within_the_limits_nothing_changes(joint, limits, rng):
    rotations = inner_rotations(limits, joint, rng, 300)
    np.testing.assert_array_equal(limited(limits, joint, rotations), rotations)


def test_swing_moves_towards_the_nearest_point_of_the_smaller_ellipse(rng):
    """Found by searching that ellipse; the elbow's cone, fifteen times as long as wide."""
    halves = np.radians([5.0, 78.0])
    for x, y in rng.uniform(-1.6, 1.6, size=(100, 2)):
        if np.hypot(x / halves[0], y / halves[1]) < KEPT:
            continue
        has_swung, *out = soft_swing(x, y, halves, KEPT)
        assert has_swung

        def distance(angle: float) -> float:
            return np.hypot(
                x - KEPT * halves[0] * np.cos(angle), y - KEPT * halves[1] * np.sin(angle)
            )

        grid = np.linspace(0.0, 2.0 * np.pi, 721)
        start = grid[np.argmin(distance(grid))]
        found = minimize_scalar(
            distance,
            bounds=(start - 0.02, start + 0.02),
            method='bounded',
            options={'xatol': 1e-12},
        )
        nearest = KEPT * halves * [np.cos(found.x), np.sin(found.x)]
        step, whole = np.array(out) - nearest, np.array([x, y]) - nearest
        if np.hypot(x, y) < np.radians(150.0):
            assert abs(step[0] * whole[1] - step[1] * whole[0]) < 1e-6 * np.linalg.norm(whole)
            assert step @ whole > 0.0


def test_half_a_turn_of_swing_gives_the_middle(limits, rng):
    i = SEGMENT_INDEX['left_forearm']
    e1, e2 = swing_axes(limits.axes[i])
    angles = rng.uniform(0.0, 2.0 * np.pi, 20)
    half_turns = qb.exp(np.pi * (np.outer(np.cos(angles), e1) + np.outer(np.sin(angles), e2)))
    out = limited(limits, 'left_forearm', qb.multiply(limits.frames[i], half_turns))
    assert turn_between(out, np.tile(limits.frames[i], (20, 1))).max() < 1e-7


def mirror(q: Quats) -> Quats:
    """Return rotations in a mirror through the plane y = 0."""
    return q * [1.0, -1.0, 1.0, -1.0]


@pytest.mark.parametrize('part', ['upper_arm', 'forearm', 'hand', 'thigh', 'shank', 'foot'])
def test_right_side_is_the_mirror_image_of_the_left(part, limits, rng):
    rotations = any_rotations(rng, 300)
    left = limited(limits, f'left_{part}', rotations)
    right = limited(limits, f'right_{part}', mirror(rotations))
    np.testing.assert_allclose(right, mirror(left), atol=1e-9)
