# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot's own joints: the angles nearest to a captured posture, and what its motors can do.

From the pelvis on, which stands as captured, the directions in world of upper arms, forearms,
thighs and shanks count, and the turns about them little: few wrists can twist. A direction is off
by the difference of two unit vectors, which is smooth wherever it points. Near a gimbal lock turns
about two axes are one, so nothing that is asked for tells them apart; there a robot is drawn
slowly to its neutral posture, and goes on as it moved. What contacts ask for comes afterwards, as
corrections of these angles.

Limits are bounds of every step: of the angles themselves, of what a motor can reach since the
frame before, and of where it could still stop before a limit. Nothing can violate them, and what
one joint may not do the others make up for.
"""

import math

from puppet_core.math import copy, Floats, kernel
from puppet_core.math.values import dot, multiply, norm, rotate, sub, vec3, Vec3Like
from puppet_retarget.solvers.whole_body.frame import Frame
from puppet_retarget.solvers.whole_body.problem import (
    add_diagonal,
    clear,
    close_row,
    KEEP,
    solve_within,
)
from puppet_retarget.solvers.whole_body.tree import above, pose_tree, STARTS, Tree
from puppet_retarget.solvers.whole_body.weights import Weights

MAX_STEPS, MAX_FIRST_STEPS = 20, 100
RAMP_S = 0.02  # in which a joint gets from rest to its full speed
LEAST_S, LONGEST_S = 1e-6, 0.1  # a frame counts as so long at least, and at most
STOP_SHARE = 1.125  # the last of a stop takes part of a frame
HEAD = 3
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@kernel
def fill_angles(frame: Frame) -> None:
    """Fill the angles nearest to the captured posture, and pose the robot by them."""
    tree, wishes, memory = frame.tree, frame.wishes, frame.memory
    angles, last, before = wishes.angles, memory.angles[0], memory.angles[1]
    is_known, has_time = memory.known[0] > 0.0, wishes.dt < math.inf
    left = math.exp(-wishes.dt / frame.weights.foresee_s) if has_time else 0.0
    firm = frame.weights.follow_s / (wishes.dt * (1.0 - left)) if is_known and has_time else 0.0
    for i in range(tree.n - 6):
        angles[i] = memory.ahead[i] = last[i] + left * (last[i] - before[i])
        if not is_known:
            angles[i] = _neutral(tree, i)
    most = MAX_STEPS if is_known else MAX_FIRST_STEPS
    come_near(frame, tree.lower[:], tree.upper[:], (frame.weights.neutral, firm), most)
    if is_known:
        leave_corners(frame)
    for i in range(tree.n - 6):
        before[i] = last[i] if has_time and is_known else angles[i]
        last[i] = angles[i]


@kernel
def _neutral(tree: Tree, i: int) -> float:
    return min(max(0.0, tree.lower[i]), tree.upper[i])


@kernel
def leave_corners(frame: Frame) -> None:
    """
    Begin anew with limbs that are far from where a way from the neutral posture leads.

    Joints of a shoulder that were wound up may end at limits, with the arm elsewhere. Corrections
    take up the difference, and fade.
    """
    tree, angles, memory = frame.tree, frame.wishes.angles, frame.memory
    for limb in range(4):
        cost = _limb_cost(frame, STARTS[limb])
        if cost < frame.weights.lost:
            continue
        first = tree.first[STARTS[limb] + 2]
        end = tree.first[STARTS[limb]] + tree.counts[STARTS[limb]]
        for i in range(tree.n - 6):
            memory.ahead[i] = angles[i]
            if first <= i < end:
                angles[i] = _neutral(tree, i)
        pulls = frame.weights.neutral, 0.0
        come_near(frame, tree.lower[:], tree.upper[:], pulls, MAX_FIRST_STEPS)
        if _limb_cost(frame, STARTS[limb]) > cost - frame.weights.lost:
            for i in range(tree.n - 6):
                angles[i] = memory.ahead[i]
            place_angles(frame)
            continue
        for i in range(first, end):
            jump = angles[i] - memory.ahead[i]
            memory.last[i] -= jump
            memory.before[i] -= jump
            memory.angles[0, i] += jump


@kernel
def _limb_cost(frame: Frame, start: int) -> float:
    """Return the weighted square of what a limb's directions are off [-]."""
    cost = 0.0
    for s in range(start, start + 3):
        along, about = bearing_weights(frame.weights, s)
        axes = (Y, Z) if s < STARTS[2] else (Z, X)
        q, goal = frame.pose.q[s], frame.wishes.segments[s]
        off = norm(sub(rotate(q, axes[0]), rotate(goal, axes[0])))
        turned = norm(sub(rotate(q, axes[1]), rotate(goal, axes[1])))
        cost += along * off * off + about * turned * turned
    return cost


@kernel
def place_angles(frame: Frame) -> None:
    """Pose the robot by the angles alone."""
    wishes = frame.wishes
    root = vec3(wishes.root)
    pose_tree(frame.tree, wishes.rotations[:], wishes.angles[:], root, frame.x[:], frame.pose)


@kernel
def come_near(
    frame: Frame, lower: Floats, upper: Floats, pulls: tuple[float, float], most: int
) -> None:
    """
    Take steps from the angles that are there, within bounds (51,) [rad].

    `pulls` are the weights of the neutral posture, and of where the angles would be by themselves.
    """
    tree, weights, problem = frame.tree, frame.weights, frame.problem
    angles, ahead = frame.wishes.angles, frame.memory.ahead
    for i in range(tree.n - 6):
        angles[i] = min(max(angles[i], lower[i]), upper[i])
    for step in range(most + 1):
        place_angles(frame)
        if step == most:
            break
        clear(problem)
        for i in range(problem.n):
            add_diagonal(problem, i, 1.0 if i >= tree.n - 6 else KEEP, 0.0)
            problem.low[i], problem.high[i] = -math.inf, math.inf
        for i in range(tree.n - 6):
            problem.low[i], problem.high[i] = lower[i] - angles[i], upper[i] - angles[i]
            add_diagonal(problem, i, pulls[0], _neutral(tree, i) - angles[i])
            add_diagonal(problem, i, pulls[1], ahead[i] - angles[i])
        add_bearings(frame)
        solve_within(problem)
        largest = 0.0
        for i in range(tree.n - 6):
            largest = max(largest, abs(problem.step[i]))
        share = min(1.0, weights.step_rad / max(largest, 1e-9))
        for i in range(tree.n - 6):
            angle = angles[i] + share * problem.step[i]
            angles[i] = min(max(angle, lower[i]), upper[i])
        if largest < weights.step_tol_rad:
            most = step + 1


@kernel
def add_bearings(frame: Frame) -> None:
    """Add the rows of the orientations in world that segments should have."""
    for s in range(1, 16):
        along, about = bearing_weights(frame.weights, s)
        if STARTS[0] <= s < STARTS[2]:
            _add_bearing(frame, s, (Y, Z, X), along, about)
        else:
            _add_bearing(frame, s, (Z, X, Y), along, about)


@kernel
def bearing_weights(weights: Weights, s: int) -> tuple[float, float]:
    """Return the weights of a segment's direction and of its turn about that."""
    if s < HEAD:
        return weights.bearing_trunk, weights.bearing_trunk
    if s == HEAD:
        return weights.bearing_head, weights.bearing_head
    part = (s - STARTS[0]) % 3
    if part == 2:
        end = weights.bearing_hand if s < STARTS[2] else weights.bearing_foot
        return end, end
    return 1.0, weights.twist if part == 0 else 0.0


@kernel
def _add_bearing(
    frame: Frame, s: int, axes: tuple[Vec3Like, Vec3Like, Vec3Like], along: float, about: float
) -> None:
    """
    Add the rows of the first and second of three axes of a segment, by two weights.

    With the segment's u, v and w = u x v, a turn about w moves u along v and v against u, one
    about v moves u against w, one about u moves v along w.
    """
    q, goal = frame.pose.q[s], frame.wishes.segments[s]
    u, v, w = rotate(q, axes[0]), rotate(q, axes[1]), rotate(q, axes[2])
    u_goal, v_goal = rotate(goal, axes[0]), rotate(goal, axes[1])
    both = along * dot(u_goal, v) - about * dot(v_goal, u)
    _turn(frame, s, w)
    close_row(frame.problem, along + about, both / (along + about))
    _turn(frame, s, v)
    close_row(frame.problem, along, -dot(u_goal, w))
    if about > 0.0:
        _turn(frame, s, u)
        close_row(frame.problem, about, dot(v_goal, w))


@kernel
def _turn(frame: Frame, segment: int, axis: Vec3Like) -> None:
    """Add to the row how a segment turns about an axis, the pelvis as it is."""
    tree, s = frame.tree, segment
    while s > 0:
        for i in range(tree.first[s], tree.first[s] + tree.counts[s]):
            frame.problem.row[i] += dot(frame.pose.axes[i], axis)
        s = above(s)


@kernel
def fill_segments(frame: Frame) -> None:
    """Fill the orientations in world of the captured posture."""
    wishes = frame.wishes
    for s in range(16):
        copy(wishes.rotations[s], wishes.segments[s])
        if s > 0:
            copy(multiply(wishes.segments[above(s)], wishes.rotations[s]), wishes.segments[s])


@kernel
def fill_reach(frame: Frame) -> None:
    """
    Fill the least and greatest angles that this frame allows.

    A joint gets from rest to its speed in RAMP_S, and comes to no limit faster than it can stop.
    """
    tree, wishes, memory = frame.tree, frame.wishes, frame.memory
    dt = min(wishes.dt, LONGEST_S)
    for i in range(tree.n - 6):
        lower, upper = tree.lower[i], tree.upper[i]
        if memory.known[0] == 0.0:
            wishes.low[i], wishes.high[i] = lower, upper
            continue
        angle, rate, speed = memory.joints[i], memory.rates[i], tree.speeds[i]
        change = speed / RAMP_S * dt
        brake = speed / RAMP_S / STOP_SHARE
        least = -min(_stopping(angle - lower, brake, dt), speed)
        most = min(_stopping(upper - angle, brake, dt), speed)
        least = angle + dt * min(max(least, rate - change), rate + change)
        most = angle + dt * min(max(most, rate - change), rate + change)
        wishes.low[i] = min(max(least, lower), upper)
        wishes.high[i] = min(max(most, lower), upper)


@kernel
def _stopping(way: float, deceleration: float, dt: float) -> float:
    """Return the speed from which one stops within a way [rad]."""
    change = 0.5 * deceleration * dt
    return math.sqrt(change * change + 2.0 * deceleration * abs(way)) - change


@kernel
def bound_step(frame: Frame) -> None:
    """Fill the bounds of a step; the unknowns are within them, or are put there."""
    tree, wishes, problem, x = frame.tree, frame.wishes, frame.problem, frame.x
    for i in range(problem.n):
        problem.low[i], problem.high[i] = -math.inf, math.inf
    for i in range(tree.n - 6):
        low, high = wishes.low[i] - wishes.angles[i], wishes.high[i] - wishes.angles[i]
        x[i] = min(max(x[i], low), high)
        problem.low[i], problem.high[i] = low - x[i], high - x[i]


@kernel
def remember_joints(frame: Frame) -> None:
    """Keep where the joints are, and how fast."""
    tree, wishes, memory = frame.tree, frame.wishes, frame.memory
    dt = min(wishes.dt, LONGEST_S)
    for i in range(tree.n - 6):
        angle = min(max(wishes.angles[i] + frame.x[i], wishes.low[i]), wishes.high[i])
        memory.rates[i] = (angle - memory.joints[i]) / dt if memory.known[0] > 0.0 else 0.0
        memory.joints[i] = angle
    memory.known[0] = 1.0


@kernel
def follow_rotations(frame: Frame) -> None:
    """Bring the joints as near to the pose's root and rotations, changed since, as motors can."""
    tree, wishes, memory = frame.tree, frame.wishes, frame.memory
    dt = min(wishes.dt, LONGEST_S)
    for s in range(16):
        copy(frame.pose.rotations[s], wishes.rotations[s])
    copy(frame.pose.p[0], wishes.root)
    frame.x[: tree.n] = 0.0
    fill_segments(frame)
    for i in range(tree.n - 6):
        wishes.angles[i] = memory.ahead[i] = memory.joints[i] - dt * memory.rates[i]
    come_near(frame, wishes.low[:], wishes.high[:], (0.0, frame.weights.neutral), MAX_STEPS)
    for i in range(tree.n - 6):
        memory.joints[i] = wishes.angles[i]
        memory.rates[i] = (memory.joints[i] - memory.ahead[i]) / dt
        # corrections go on from there
        memory.last[i] = memory.before[i] = memory.joints[i] - memory.angles[0, i]
