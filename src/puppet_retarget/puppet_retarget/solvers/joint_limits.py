# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint rotations kept within a cone of swing and a range of twist (kernel).

A joint's rotation, from the rest rotation at the middle of its cone, is a swing after a twist
about the segment's axis. Up to nine tenths of its limit either stays exactly as it is; beyond,
the limit is approached and never passed. The swing moves along the normal of its ellipse, not
towards the centre: an elbow that is asked to bend a little sideways must not straighten.

No continuous rule can bring all rotations to the limit they have passed: at a swing of half a
turn the twist is undefined, and from there every side is as near. So what is asked for beyond
150 degrees from the middle, far out of all limits, fades back to the middle, which half a turn
gives exactly. The whole then is continuous with its first derivative everywhere.
"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, MAX_ANGLE_DEG, N_SEGMENTS, segment_axis, swing_axes
from puppet_core.math import (
    add,
    align_sign,
    conjugate,
    copy,
    dot,
    exp,
    Floats,
    kernel,
    multiply,
    quat,
    Quats,
    scale,
    Vec3s,
    work_array,
)
from puppet_core.math.values import ease, Quat, QuatLike, Vec3Like

KEPT = 0.9  # fraction of a limit up to which nothing changes [-]
FADE_START_RAD = math.radians(MAX_ANGLE_DEG)  # no limit is beyond this
NO_TWIST = 1e-12  # cosine of half the swing below which the twist is undefined [-]
NEWTON_STEPS = 20
NEWTON_TOL = 1e-15


class LimitArrays(NamedTuple):
    """Limits of all joints, by segment; rows of joints without any are not used."""

    has: np.ndarray  # (16,) uint8, 1 where there are limits
    axes: Vec3s  # (16, 3) unit, of the twist, in the segment's frame
    frames: Quats  # (16, 4) joint rotation in the middle of the cone
    swings: Floats  # (16, 2) half angles about `swing_axes` [rad]
    twists: Floats  # (16, 2) least and greatest twist [rad]


def limit_arrays(character: Character) -> LimitArrays:
    """Return a character's joint limits as kernel arrays."""
    arrays = LimitArrays(
        np.zeros(N_SEGMENTS, dtype=np.uint8),
        np.zeros((N_SEGMENTS, 3)),
        np.zeros((N_SEGMENTS, 4)),
        np.zeros((N_SEGMENTS, 2)),
        np.zeros((N_SEGMENTS, 2)),
    )
    for limit in character.joint_limits:
        i = limit.segment
        arrays.has[i] = 1
        arrays.axes[i] = segment_axis(character.skeleton, i)
        arrays.frames[i] = limit.centre
        arrays.swings[i] = limit.swing
        arrays.twists[i] = limit.twist
    return arrays


@kernel
def split_swing_twist(q: QuatLike, axis: Vec3Like, swing: Floats) -> float:
    """
    Split q into a swing after a twist about a unit axis; write the swing, return the twist.

    The swing is a rotation vector square to the axis, at most pi long [rad]. The twist is in
    (-2 pi, 2 pi], for q and -q a whole turn apart; 0 where it is undefined, at a half turn.
    """
    along = q[1] * axis[0] + q[2] * axis[1] + q[3] * axis[2]
    cosine = math.sqrt(q[0] * q[0] + along * along)
    twist, w, a = 0.0, 1.0, 0.0
    if cosine > NO_TWIST:
        twist, w, a = 2.0 * math.atan2(along, q[0]), q[0] / cosine, along / cosine
    # vector part of q times the inverse of (w, a axis); what is along the axis cancels
    x, y, z = q[1] - along * axis[0], q[2] - along * axis[1], q[3] - along * axis[2]
    swing[0] = w * x - a * (y * axis[2] - z * axis[1])
    swing[1] = w * y - a * (z * axis[0] - x * axis[2])
    swing[2] = w * z - a * (x * axis[1] - y * axis[0])
    sine = math.sqrt(x * x + y * y + z * z)
    length = 2.0 * math.atan2(sine, cosine) / sine if sine > 1e-150 else 2.0
    for k in range(3):
        swing[k] *= length
    return twist


@kernel
def _fade(angle: float) -> float:
    """Return what is left of a rotation asked for at this angle from the middle of its limits."""
    if angle <= FADE_START_RAD:
        return 1.0
    return 1.0 - ease(min((angle - FADE_START_RAD) / (math.pi - FADE_START_RAD), 1.0))


@kernel
def soft_offset(offset: float, half: float, kept: float) -> float:
    """
    Return a twist, from the middle of its range, within half that range [rad].

    It stays the same in all but the outermost of the range, up to a fraction of it.
    """
    away, inner = abs(offset), kept * half
    if away <= inner:
        return offset
    left = half - inner
    eased = (inner + left * (1.0 - math.exp((inner - away) / left))) * _fade(away)
    return eased if offset > 0.0 else -eased


@kernel
def _multiplier(x: float, y: float, a: float, b: float) -> float:
    """
    Return the multiplier l of the point of an ellipse that is nearest to one outside.

    The point is (x a^2 / (a^2 + l), y b^2 / (b^2 + l)), a and b the half axes.
    """
    # from a bound below the root; the function is convex, so the steps approach it from there
    multiplier = max(a * abs(x) - a * a, b * abs(y) - b * b, 0.0)
    for _ in range(NEWTON_STEPS):
        u, v = a * x / (a * a + multiplier), b * y / (b * b + multiplier)
        value = u * u + v * v - 1.0
        slope = -2.0 * (u * u / (a * a + multiplier) + v * v / (b * b + multiplier))
        if value <= NEWTON_TOL:
            break
        multiplier -= value / slope
    return multiplier


@kernel
def beyond_ellipse(x: float, y: float, a: float, b: float) -> tuple[float, float, float]:
    """Return how far a swing is outside of an ellipse, 0 within, and the unit normal there."""
    if (x / a) ** 2 + (y / b) ** 2 <= 1.0:
        return 0.0, 0.0, 0.0
    multiplier = _multiplier(x, y, a, b)
    px, py = a * a * x / (a * a + multiplier), b * b * y / (b * b + multiplier)
    nx, ny = px / (a * a), py / (b * b)
    length = math.sqrt(nx * nx + ny * ny)
    nx, ny = nx / length, ny / length
    return (x - px) * nx + (y - py) * ny, nx, ny


@kernel
def soft_swing(x: float, y: float, limits: Floats, kept: float) -> tuple[bool, float, float]:
    """
    Return whether a swing is outside of its ellipse, and one that is inside [rad].

    They differ in the outermost of it only: from the nearest point of an ellipse of a fraction of
    the size the swing goes on along the normal, towards the full ellipse but not through it.
    """
    beyond, nx, ny = beyond_ellipse(x, y, kept * limits[0], kept * limits[1])
    if beyond == 0.0:
        return False, x, y
    px, py = x - beyond * nx, y - beyond * ny
    # how far the full ellipse is along the normal
    wx, wy = 1.0 / (limits[0] * limits[0]), 1.0 / (limits[1] * limits[1])
    second, first = nx * nx * wx + ny * ny * wy, px * nx * wx + py * ny * wy
    missing = max(1.0 - px * px * wx - py * py * wy, 0.0)
    left = missing / (first + math.sqrt(first * first + second * missing))
    eased = left * (1.0 - math.exp(-beyond / left))
    fade = _fade(math.sqrt(x * x + y * y))
    return True, fade * (px + eased * nx), fade * (py + eased * ny)


@kernel
def parts_of(limits: LimitArrays, i: int, q: QuatLike) -> tuple[float, float, float]:
    """
    Return a joint rotation's swing about both axes and its twist, from the middles of both [rad].

    The swing is from the rotation in the middle of the cone, the twist in (-pi, pi].
    """
    swing, axis = work_array(3), limits.axes[i]
    twist = split_swing_twist(multiply(conjugate(limits.frames[i]), q), axis, swing)
    first, second = swing_axes(axis)
    offset = twist - 0.5 * (limits.twists[i, 0] + limits.twists[i, 1])
    offset -= 2.0 * math.pi * math.floor(offset / (2.0 * math.pi) + 0.5)
    return dot(swing, first), dot(swing, second), offset


@kernel
def limit_joint(limits: LimitArrays, i: int, q: QuatLike, kept: float) -> tuple[bool, Quat]:
    """
    Return whether a joint rotation had to change for its limits, and one within them.

    Within a fraction of the limits it is q itself.
    """
    x, y, offset = parts_of(limits, i, q)
    has_swung, u, v = soft_swing(x, y, limits.swings[i], kept)
    low, high = limits.twists[i, 0], limits.twists[i, 1]
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    if not has_swung and abs(offset) <= kept * half:
        return False, quat(q)
    first, second = swing_axes(limits.axes[i])
    limited = middle + soft_offset(offset, half, kept) * _fade(math.sqrt(x * x + y * y))
    turned = multiply(limits.frames[i], exp(add(scale(first, u), scale(second, v))))
    return True, align_sign(q, multiply(turned, exp(scale(limits.axes[i], limited))))


@kernel
def limit_joints(limits: LimitArrays, rotations: Quats, kept: float) -> int:
    """Bring joint rotations, shape (16, 4), within their limits in place; return how many."""
    n_changed = 0
    for i in range(1, N_SEGMENTS):
        if limits.has[i]:
            changes, limited = limit_joint(limits, i, rotations[i], kept)
            copy(limited, rotations[i])
            n_changed += changes
    return n_changed
