# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint rotations split into three revolute angles each, without jumps.

A rotation is q = Rz(a) Ry(b) Rx(c), by two triples modulo turns, (a, b, c) and (a + pi, pi - b, c
+ pi); the one nearest to the last published angles is taken and unwrapped.

Near gimbal lock (r = |cos b| = 0) the exact a would have to turn at 1/r of the joint's own speed.
There a follows its exact value, modulo half a turn, by at most K = SPEED_RATIO times the angle
that the joint has turned since the last step, and b and c are the best for that a: a turns at most
K times, b at most 3 times and c at most K + 4 times as far as the joint (to which a joint at rest
adds REST_STEP a step); the orientation errs by at most 1.6 / K, and not at all where r > 3 / K.
"""

import math

import numpy as np
from puppet_core.body.skeleton import N_SEGMENTS, SEGMENTS
from puppet_core.math import angle_between, copy, Floats, kernel, Quat, Quats, Vec3

AXES = ('z', 'y', 'x')
JOINT_NAMES = tuple(f'{segment}_{axis}' for segment in SEGMENTS[1:] for axis in AXES)
N_JOINT_ANGLES = len(JOINT_NAMES)

SPEED_RATIO = 30.0  # most that the z angle turns per angle of the joint [-]
ZONE = 3.0 / SPEED_RATIO  # |cos b| beyond which angles are exact, 5.7 degrees from the lock
MAX_ERROR = 1.6 / SPEED_RATIO  # of the orientation within the zone, 3.1 degrees [rad]
REST_STEP = 0.002  # [rad] a step that z may turn besides: a joint at rest becomes exact


@kernel
def compose(angles: Floats, out: Quat) -> None:
    """Write Rz(a) Ry(b) Rx(c) of the three angles (a, b, c) [rad]."""
    ca, sa = math.cos(0.5 * angles[0]), math.sin(0.5 * angles[0])
    cb, sb = math.cos(0.5 * angles[1]), math.sin(0.5 * angles[1])
    cc, sc = math.cos(0.5 * angles[2]), math.sin(0.5 * angles[2])
    out[0] = ca * cb * cc + sa * sb * sc
    out[1] = ca * cb * sc - sa * sb * cc
    out[2] = ca * sb * cc + sa * cb * sc
    out[3] = sa * cb * cc - ca * sb * sc


@kernel
def _unwrap(angle: float, near: float, period: float) -> float:
    return angle + period * round((near - angle) / period)


@kernel
def _x_axis(q: Quat) -> tuple[float, float, float]:
    """Return where q turns the x axis: cos a cos b, sin a cos b, sin b."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    return w * w + x * x - y * y - z * z, 2.0 * (x * y + w * z), 2.0 * (w * y - x * z)


@kernel
def principal_angles(q: Quat, out: Vec3) -> None:
    """Write the triple of q with |b| <= pi/2; at gimbal lock c is zero [rad]."""
    ahead, left, sin_b = _x_axis(q)
    # exact near the lock
    cos_b = math.sqrt(ahead * ahead + left * left)
    out[1] = math.atan2(sin_b, cos_b)
    if cos_b > 1e-12:
        out[0] = math.atan2(left, ahead)
    else:
        out[0] = _unwrap(2.0 * math.atan2(q[3], q[0]), 0.0, 2.0 * math.pi)
    out[2] = _x_angle(q, out[0], out[1])


@kernel
def _y_angle(q: Quat, a: float) -> float:
    """Return the b for which the x axis of Rz(a) Ry(b) is nearest to that of q [rad]."""
    ahead, left, sin_b = _x_axis(q)
    return math.atan2(sin_b, math.cos(a) * ahead + math.sin(a) * left)


@kernel
def _x_angle(q: Quat, a: float, b: float) -> float:
    """Return the c for which Rz(a) Ry(b) Rx(c) is nearest to q [rad]."""
    ca, sa = math.cos(0.5 * a), math.sin(0.5 * a)
    cb, sb = math.cos(0.5 * b), math.sin(0.5 * b)
    # scalar and x of the conjugate of Rz(a) Ry(b) times q: the twist about x
    w, x, y, z = ca * cb, -sa * sb, ca * sb, sa * cb
    along = w * q[0] + x * q[1] + y * q[2] + z * q[3]
    about = w * q[1] - x * q[0] - y * q[3] + z * q[2]
    # of q and -q, the one that gives an angle within half a turn
    return 2.0 * math.atan2(about, along) if along >= 0.0 else 2.0 * math.atan2(-about, -along)


@kernel
def _nearest_z(q: Quat, near: Vec3) -> tuple[float, float]:
    """Return the exact a next to the angles `near`, and r = |cos b|, 1 / a's largest gain."""
    ahead, left, _ = _x_axis(q)
    r = math.sqrt(ahead * ahead + left * left)
    a = math.atan2(left, ahead) if r > 1e-12 else near[0]
    if r < ZONE:
        return _unwrap(a, near[0], math.pi), r
    # after a true jump the nearest a alone could put b on the far side for good
    best, chosen = math.inf, a
    for branch in range(2):
        ta = _unwrap(a + branch * math.pi, near[0], 2.0 * math.pi)
        b = _y_angle(q, ta)
        tb = _unwrap(b, near[1], 2.0 * math.pi)
        tc = _unwrap(_x_angle(q, ta, b), near[2], 2.0 * math.pi)
        cost = (ta - near[0]) ** 2 + (tb - near[1]) ** 2 + (tc - near[2]) ** 2
        if cost < best:
            best, chosen = cost, ta
    return chosen, r


@kernel
def continuous_euler_of_joint(q: Quat, turned: float, angles: Vec3) -> None:
    """Advance the published Z, Y, X angles (3,) of a joint that has turned by `turned` [rad]."""
    a, r = _nearest_z(q, angles)
    # near the lock itself a hardly matters: leave it in peace rather than chase noise
    nearness = min(r * SPEED_RATIO, 1.0)
    limit = (SPEED_RATIO * turned + REST_STEP) * nearness * nearness
    angles[0] += min(max(a - angles[0], -limit), limit)
    b = _y_angle(q, angles[0])
    c = _x_angle(q, angles[0], b)
    angles[1] = _unwrap(b, angles[1], 2.0 * math.pi)
    angles[2] = _unwrap(c, angles[2], 2.0 * math.pi)


@kernel
def continuous_euler_of_joints(rotations: Quats, previous: Quats, angles: Floats) -> None:
    """Advance angles (45,) [rad] to rotations (16, 4), but for joints that are not finite."""
    for joint in range(1, N_SEGMENTS):
        turned = angle_between(previous[joint], rotations[joint])
        if turned >= 0.0:
            continuous_euler_of_joint(rotations[joint], turned, angles[3 * joint - 3 : 3 * joint])
            copy(rotations[joint], previous[joint])


class ContinuousEuler:
    """The 45 revolute angles of a posture sequence, continuous in time."""

    def __init__(self) -> None:
        self._angles = np.zeros(N_JOINT_ANGLES)
        self._rotations = np.zeros((N_SEGMENTS, 4))
        self._previous = np.zeros((N_SEGMENTS, 4))
        self._started = False

    def reset(self) -> None:
        self._started = False

    def resume(self, angles: Floats, rotations: Quats) -> None:
        """Go on from angles published before, shape (45,) [rad], and their rotations (16, 4)."""
        self._angles[:] = angles
        self._previous[:] = rotations
        self._started = True

    def step(self, rotations: Quats) -> Floats:
        """Return the next rotations' (16, 4) angles (45,) [rad], overwritten by the next."""
        # one layout for the kernels, whatever the caller has
        self._rotations[:] = rotations
        if not self._started:
            self._start()
        continuous_euler_of_joints(self._rotations, self._previous, self._angles)
        return self._angles

    def _start(self) -> None:
        finite = np.all(np.isfinite(self._rotations), axis=1, keepdims=True)
        self._previous[:] = np.where(finite, self._rotations, [1.0, 0.0, 0.0, 0.0])
        for joint in range(1, N_SEGMENTS):
            principal_angles(self._previous[joint], self._angles[3 * joint - 3 : 3 * joint])
        self._started = True
