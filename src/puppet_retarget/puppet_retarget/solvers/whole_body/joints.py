# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rows of the joints: hinges of knees and elbows, limits, and how fast corrections change (kernels).

What is captured is brought within the limits first, so that a body of which nothing is asked obeys
them; the rows keep the others from taking a joint out again, so that the whole body knows of
limits; and what is left, a hundredth of a limit, is taken off at last, without a kink.
"""

import math

from puppet_core.body import swing_axes
from puppet_core.math import copy, kernel, work_array
from puppet_core.math.values import (
    add,
    clamp,
    conjugate,
    cross,
    dot,
    ease,
    exp,
    log,
    multiply,
    norm,
    normalized,
    Quat,
    quat,
    rotate,
    rotate_inverse,
    scale,
    smooth_ramp,
    sub,
    Vec3,
)
from puppet_retarget.solvers.joint_limits import (
    beyond_ellipse,
    KEPT,
    limit_joints,
    parts_of,
    split_swing_twist,
)
from puppet_retarget.solvers.whole_body.frame import Frame
from puppet_retarget.solvers.whole_body.problem import close_row, ramp
from puppet_retarget.solvers.whole_body.tree import ENDS, MIDDLES

LOCKED = 0.35  # sine of an angle by which captured knees and elbows may bend backward [-]
SOFT_LOCK = 0.05  # over which they come to be straight [-]
EDGE = 0.99  # fraction of a limit at which its rows begin [-]


@kernel
def mend_captured(frame: Frame) -> bool:
    """
    Straighten what is captured of knees and elbows that bend backward, and keep it within limits.

    Markers and skeletons that err by a few degrees let knees bend backward by as much. Up to
    LOCKED they are straightened, softly; what bends backward by twice that is another skeleton's
    way to bend and stays. Return whether anything changed.
    """
    if frame.tree.is_robot:
        return False
    rotations, changed = frame.wishes.rotations, False
    for limb in range(4):
        middle, end = MIDDLES[limb], ENDS[limb]
        own, (axis, sine, _) = quat(rotations[middle]), _bend(frame, limb, quat(rotations[middle]))
        fade = ease(clamp((2.0 * LOCKED + sine) / LOCKED, 0.0, 1.0))
        turn = exp(scale(axis, smooth_ramp(-sine, SOFT_LOCK) * fade))
        if turn[0] == 1.0:
            continue
        # the hand keeps its orientation
        back = multiply(conjugate(own), multiply(conjugate(turn), own))
        copy(multiply(back, quat(rotations[end])), rotations[end])
        copy(multiply(turn, own), rotations[middle])
        changed = True
    return limit_joints(frame.limits, rotations[:], KEPT) > 0 or changed


@kernel
def _bend(frame: Frame, limb: int, q: Quat) -> tuple[Vec3, float, Vec3]:
    """
    Return the axis about which an elbow or knee bends, the sine of how far, and its gradient.

    The joint's rotation is q; the axis is in the upper segment's frame, the gradient by turns in
    that of the lower one. What bends backward has a negative sine.
    """
    offsets = frame.tree.offsets
    upper, tip = normalized(offsets[MIDDLES[limb]]), normalized(offsets[ENDS[limb]])
    ahead = (-1.0, 0.0, 0.0) if limb < 2 else (1.0, 0.0, 0.0)
    axis = normalized(cross(ahead, upper))
    across = cross(axis, upper)
    sine = dot(across, rotate(q, tip))
    return axis, sine, cross(tip, rotate_inverse(q, across))


@kernel
def add_hinges(frame: Frame) -> None:
    """Add the rows that keep knees and elbows from bending sideways and backward."""
    tree, x, weights, problem = frame.tree, frame.x, frame.weights, frame.problem
    if tree.is_robot:
        return
    for limb in range(4):
        s = MIDDLES[limb]
        captured, k = quat(frame.wishes.rotations[s]), tree.first[s]
        # the segment above has its lateral axis along X at rest, of arms and legs
        lateral = rotate_inverse(captured, (1.0, 0.0, 0.0))
        for i in range(3):
            problem.row[k + i] = lateral[i]
        close_row(problem, weights.lateral, -dot(lateral, x[k : k + 3]))
        least = min(_bend(frame, limb, captured)[1], 0.0)
        _, sine, gradient = _bend(frame, limb, quat(frame.pose.rotations[s]))
        beyond, slope = ramp(least - sine, weights.limit_rad)
        if beyond > 0.0:
            _add_joint(frame, s, scale(gradient, slope))
            close_row(problem, weights.limit, beyond)


@kernel
def _add_joint(frame: Frame, s: int, axis: Vec3) -> None:
    """Add to the row how a joint turns about an axis in its segment's frame."""
    axes, turned = frame.pose.axes, rotate(frame.pose.q[s], axis)
    k = frame.tree.first[s]
    for i in range(k, k + frame.tree.counts[s]):
        frame.problem.row[i] += dot(axes[i], turned)


@kernel
def add_rates(frame: Frame) -> None:
    """Add one-sided rows for corrections of joints that change too fast."""
    tree, weights, problem, dt = frame.tree, frame.weights, frame.problem, frame.wishes.dt
    if not dt < math.inf:
        return
    for s in range(16):
        k, count = tree.first[s], tree.counts[s]
        square = 0.0
        for i in range(k, k + count):
            square += (frame.x[i] - frame.memory.last[i]) ** 2
        change = math.sqrt(square)
        beyond, slope = ramp(change - weights.rate_rad_s * dt, 0.25 * weights.rate_rad_s * dt)
        if beyond > 0.0:
            for i in range(k, k + count):
                problem.row[i] = slope * (frame.x[i] - frame.memory.last[i]) / change
            close_row(problem, weights.rate, -beyond)


@kernel
def add_limits(frame: Frame) -> None:
    """Add the rows that keep joint rotations within their limits."""
    if frame.tree.is_robot:
        return
    limits, pose = frame.limits, frame.pose
    for s in range(1, 16):
        if not limits.has[s]:
            continue
        x, y, offset = parts_of(limits, s, pose.rotations[s])
        a, b = EDGE * limits.swings[s, 0], EDGE * limits.swings[s, 1]
        beyond, nx, ny = beyond_ellipse(x, y, a, b)
        if beyond > 0.0:
            _add_limit(frame, s, _gradient_of_swing(frame, s, nx, ny), beyond)
        half = 0.5 * EDGE * (limits.twists[s, 1] - limits.twists[s, 0])
        if abs(offset) > half:
            gradient = scale(_gradient_of_twist(frame, s), math.copysign(1.0, offset))
            _add_limit(frame, s, gradient, abs(offset) - half)


@kernel
def _add_limit(frame: Frame, s: int, gradient: Vec3, beyond: float) -> None:
    """Add the row of an angle so far beyond its limit; its gradient is in the limit's frame."""
    missing, slope = ramp(beyond, frame.weights.limit_rad)
    q = multiply(conjugate(frame.limits.frames[s]), frame.pose.rotations[s])
    _add_joint(frame, s, scale(rotate_inverse(q, gradient), -slope))
    close_row(frame.problem, frame.weights.limit, missing)


@kernel
def _gradient_of_swing(frame: Frame, s: int, nx: float, ny: float) -> Vec3:
    """
    Return how a joint's swing changes along a direction of it, by turns in the limit's frame.

    With the twist's axis a, the swing t k (k unit) and u where it takes a to: a turn w changes the
    swing by (w k) k - t / sin(t) (w (u x k)) (k x a).
    """
    limits, swing = frame.limits, work_array(3)
    a = limits.axes[s]
    q = multiply(conjugate(limits.frames[s]), frame.pose.rotations[s])
    split_swing_twist(q, a, swing)
    first, second = swing_axes(a)
    direction = add(scale(first, nx), scale(second, ny))
    angle = norm(swing)
    if angle < 1e-6:
        return direction
    k = scale(swing, 1.0 / angle)
    aside = angle / max(math.sin(angle), 1e-3) * dot(direction, cross(k, a))
    return sub(scale(k, dot(direction, k)), scale(cross(rotate(q, a), k), aside))


@kernel
def _gradient_of_twist(frame: Frame, s: int) -> Vec3:
    """
    Return how a joint's twist changes by turns in the limit's frame.

    With the twist's axis a and u where the swing takes it to: by w (a + u) / (1 + a u).
    """
    a = frame.limits.axes[s]
    u = rotate(multiply(conjugate(frame.limits.frames[s]), frame.pose.rotations[s]), a)
    return scale(add(a, u), 1.0 / max(1.0 + dot(a, u), 1e-3))


@kernel
def bring_within_limits(frame: Frame) -> bool:
    """Take off what the rows left of joints beyond their limits; return whether any was."""
    tree, rotations, captured = frame.tree, frame.pose.rotations, frame.wishes.rotations
    if tree.is_robot or limit_joints(frame.limits, rotations[:], EDGE) == 0:
        return False
    for s in range(1, 16):
        k = tree.first[s]
        if frame.limits.has[s]:
            turn = multiply(conjugate(captured[s]), rotations[s])
            copy(log(turn), frame.x[k : k + 3])
    return True
