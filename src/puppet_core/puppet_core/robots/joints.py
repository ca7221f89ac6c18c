# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Our posture as a robot's joint angles: within limits, continuous in time, feet where asked.

From the pelvis outwards each segment's joints turn it as near to its orientation in world as
they can (`turns`), so the shoulders make up for what a limited waist leaves undone. Angles move
by at most SPEED_RATIO times what the joints asked for, from the pelvis to theirs, have turned
since the frame before, and REST_STEP_RAD, whatever the branch: near gimbal lock, past half a
turn, at the change from one solution to the other.

Then each limb is moved within its limits until palm or sole is where it should be, from there or
from where it was in the frame before, by damped least squares on the limb's own joints: J'J +
lambda I with lambda from the error that is left, which stays well behaved where there is no
solution (Sugihara2011); it shrinks while steps better the place, or the search ends before its
end. From the first step that does not, steps are Newton's, with the curves along which joints move
the end: a place out of reach is else overshot. Each step is the minimum of a quadratic within the
box of the joint limits. Where limits keep important palms and soles away, the base gives way.

Last, the joints follow the angles found as fast as their motors can. Where one is late, the
others of its limb make up for it within what their own motors can, then the base. Last, the base
rises until important soles are hardly lower than asked.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS, N_SEGMENTS, PARENTS
from puppet_core.math import (
    bounded_step,
    copy,
    Floats,
    frozen,
    kernel,
    Quats,
    Vec3s,
    work_array,
    work_table,
)
from puppet_core.math import quaternions as qb
from puppet_core.math.values import (
    add,
    angle_between,
    clamp,
    conjugate,
    cross,
    dot,
    log,
    multiply,
    norm,
    Quat,
    quat,
    rotate,
    scale,
    smooth_ramp,
    sub,
    Vec3,
    vec3,
)
from puppet_core.robots.stance import least_stance, part_soles, Stance
from puppet_core.robots.turns import (
    axis_turn,
    place_angle,
    refine_angles,
    remaining_angle,
    turn_angles,
)

_ENDS = tuple(int(s) for s in LIMB_SEGMENTS[:, 2])

SPEED_RATIO = 8.0  # a motor's, so less than in `continuous_euler`; exact 7 degrees off a lock [-]
REST_STEP_RAD = 0.002  # a frame
LEAST_S, LONGEST_S = 1e-6, 0.1  # a frame counts as so long at least, and at most
ROUNDS = 3  # of limbs and base, where limits keep limbs from their places
YIELD_TOL_M = 2e-4  # of base and soles
DIP_M = 0.002  # half of it may be left of what a tilted sole dips in
SOLE_BAND_M = 0.02  # what of a foot is so near to its lowest point is sole
RAMP_S = 0.02  # in which a joint gets from rest to its full speed
STAY_COST = 0.02  # of an angle's way from where it is, when both solutions would do [-]
CLAMPED_RAD = 1e-12
LATE_RAD = 1e-9
_PARENTS = tuple(int(p) for p in PARENTS)
NO_IMPORTANCE = frozen(np.zeros(4))
# down and to all sides, of a capsule's radius
_SIDES = frozen(np.array([[0, 0, -1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], float))
_MIDDLES = tuple(int(s) for s in LIMB_SEGMENTS[:, 1])


# The robot, from the pelvis outwards.


class Model(NamedTuple):
    """A robot's joints as kernels need them; of n joints, at zero pose."""

    first: np.ndarray  # (16,) int64, first joint of each segment
    n_joints: np.ndarray  # (16,) int64, how many it has
    axes: Vec3s  # (n, 3) unit
    origins: Vec3s  # (n, 3) [m]
    lower: Floats  # (n,) [rad]
    upper: Floats  # (n,) [rad]
    speeds: Floats  # (n,) [rad/s]
    limbs: np.ndarray  # (n,) int64, which limb has the joint, 0 .. 3; -1 for none
    rest: Quats  # (16, 4) from zero pose to T-pose
    centres: Vec3s  # (16, 3) joint centres [m]
    points: Vec3s  # (4, 3) palms and soles [m]
    corners: Vec3s  # (8, 3) of the soles, four each, from them in the feet's axes [m]


class State(NamedTuple):
    """What lives from frame to frame, and the pose of the bodies: x -> q x + p."""

    angles: Floats  # (n,) [rad]
    before: Floats  # (n,) those of the last frame [rad]
    tracked: Floats  # (n,) where the joints are [rad]
    rates: Floats  # (n,) [rad/s]
    low: Floats  # (n,) what this frame allows [rad]
    high: Floats  # (n,) [rad]
    asked: Quats  # (16, 4) joint rotations asked for, last frame
    turned: Floats  # (16,) how far they have turned since, summed from the pelvis [rad]
    points: Vec3s  # (4, 3) palms and soles in the pelvis asked for, last frame [m]
    aside: Vec3s  # (4, 3) of `part_soles` [m]
    goals: Vec3s  # (8, 3) general end-effectors asked for, soles lifted [m]
    turn_weights: Floats  # (4,) what a radian of a hand or foot counts [m]
    q_body: Quats  # (16, 4)
    p_body: Vec3s  # (16, 3) [m]


@kernel
def turn_joint(robot: Model, i: int, angle: float, q: Quat, p: Vec3) -> tuple[Quat, Vec3]:
    """Return the pose of the body behind a joint, from that of the body before it."""
    # about a line through o: p + q o - q' o
    origin = vec3(robot.origins[i])
    turned = multiply(q, axis_turn(robot.axes[i], angle))
    return turned, sub(add(p, rotate(q, origin)), rotate(turned, origin))


@kernel
def move_body(robot: Model, state: State, segment: int) -> None:
    """Write the pose of a segment's body from that of its parent and its joints' angles."""
    q, p = quat(state.q_body[_PARENTS[segment]]), vec3(state.p_body[_PARENTS[segment]])
    first = robot.first[segment]
    for i in range(first, first + robot.n_joints[segment]):
        q, p = turn_joint(robot, i, state.angles[i], q, p)
    state.q_body[segment], state.p_body[segment] = q, p


@kernel
def move_bodies(robot: Model, state: State, first: int, last: int) -> None:
    """Put the bodies of some segments where their angles put them."""
    for segment in range(first, last + 1):
        move_body(robot, state, segment)


@kernel
def body_point(state: State, segment: int, point: np.ndarray) -> Vec3:
    """Return where a point of the zero pose is, moved with a body [m]."""
    return add(rotate(quat(state.q_body[segment]), vec3(point)), vec3(state.p_body[segment]))


@kernel
def orientation(robot: Model, state: State, segment: int) -> Quat:
    """Return a segment's orientation in world."""
    return multiply(quat(state.q_body[segment]), conjugate(quat(robot.rest[segment])))


@kernel
def missing(robot: Model, state: State, limb: int, ends: Vec3s) -> Vec3:
    """Return the way of a palm or sole to where it should be, `ends` (8, 3) [m]."""
    return sub(vec3(ends[limb]), body_point(state, _ENDS[limb], robot.points[limb]))


@kernel
def _solve_turn(robot: Model, segment: int, q: Quat, step: float, state: State) -> None:
    """Turn a segment's joints as near to a rotation as limits and the step allow."""
    first, count = robot.first[segment], robot.n_joints[segment]
    angles, trial, best = state.angles, work_array(3), work_array(3)
    least = math.inf
    for family in range(2 if count == 3 else 1):
        found = turn_angles(robot.axes, first, count, q, angles, family)
        way = 0.0
        for k in range(count):
            i = first + k
            trial[k] = place_angle(found[k], robot.lower[i], robot.upper[i], angles[i])
            way = max(way, abs(trial[k] - angles[i]))
        cost = STAY_COST * way
        cost += remaining_angle(q, robot.axes[first : first + count], trial, 0, count)
        if cost < least:
            least = cost
            copy(trial, best)
    for k in range(count):
        i = first + k
        state.low[i] = max(robot.lower[i], angles[i] - step)
        state.high[i] = min(robot.upper[i], angles[i] + step)
        angles[i] = clamp(best[k], state.low[i], state.high[i])
    if remaining_angle(q, robot.axes, angles, first, count) > CLAMPED_RAD:
        end = first + count
        low, high = state.low[first:end], state.high[first:end]
        refine_angles(robot.axes[first:end], q, low, high, angles[first:end])


@kernel
def follow_segments(
    robot: Model, state: State, root: np.ndarray, q_world: Quats, ends: Vec3s, is_first: bool
) -> None:
    """
    Fill the state's angles and poses of all bodies, in: those of the last frame.

    Asked for are `root` (3,), orientations `q_world` (16, 4) and general end-effectors `ends`
    (8, 3) in world [m]; of these palms and soles count for the step.
    """
    copy(state.angles, state.before)
    state.q_body[0], state.p_body[0] = quat(q_world[0]), vec3(root)
    state.turned[0] = 0.0
    for segment in range(1, N_SEGMENTS):
        parent = _PARENTS[segment]
        q = quat(q_world[segment])
        asked = multiply(conjugate(quat(q_world[parent])), q)
        turned = state.turned[parent] + angle_between(state.asked[segment], asked)
        state.asked[segment], state.turned[segment] = asked, turned
        if robot.n_joints[segment] > 0:
            rest = multiply(q, quat(robot.rest[segment]))
            goal = multiply(conjugate(quat(state.q_body[parent])), rest)
            step = math.inf if is_first else SPEED_RATIO * turned + REST_STEP_RAD
            _solve_turn(robot, segment, goal, step, state)
        move_body(robot, state, segment)
    back = conjugate(quat(q_world[0]))
    for limb in range(4):
        first = _ENDS[limb] - 2
        reached = rotate(back, sub(vec3(ends[limb]), vec3(root)))
        moved = sub(reached, vec3(state.points[limb]))
        length = sub(vec3(robot.points[limb]), vec3(robot.centres[first]))
        state.points[limb] = reached
        # the limb's joints may move by another step for its end's sake
        step = SPEED_RATIO * math.sqrt(dot(moved, moved) / (dot(length, length) + 1e-9))
        step = math.inf if is_first else step
        for i in range(robot.first[first], robot.first[first + 2] + robot.n_joints[first + 2]):
            state.low[i] = max(robot.lower[i], state.low[i] - step)
            state.high[i] = min(robot.upper[i], state.high[i] + step)


@kernel
def read_posture(
    robot: Model, state: State, rotations: Quats, q_world: Quats, p_world: Vec3s, ends: Vec3s
) -> None:
    """
    Write the posture of our skeleton that the robot's bodies have.

    Joint rotations (16, 4); orientations (16, 4), joint centres (16, 3) and general end-effectors
    (8, 3) in world [m].
    """
    for segment in range(N_SEGMENTS):
        q = orientation(robot, state, segment)
        q_world[segment] = rotations[segment] = q
        p_world[segment] = vec3(state.p_body[segment])
        if segment > 0:
            parent = _PARENTS[segment]
            rotations[segment] = multiply(conjugate(quat(q_world[parent])), q)
            p_world[segment] = body_point(state, parent, robot.centres[segment])
    for limb in range(4):
        ends[limb] = body_point(state, _ENDS[limb], robot.points[limb])
        ends[4 + limb] = vec3(p_world[_MIDDLES[limb]])


# The place of palm or sole counts far more than its orientation: where a limit lets only one of
# them be right, the foot stays where it is and tilts. Elbow and knee count too: with six joints a
# hand or foot that is turned as no wrist or ankle turns would else swing them about. So do the
# orientations of upper arm and forearm, or an arm that cannot get where it should rolls over for
# little. Of arms the way of each joint from where it was counts as well, or angles rush past
# where two axes are one. A radian counts as so many metres of the end's place:
ORIENTATION_M = (0.01, 0.01, 0.006, 0.006)  # of a hand or foot
LEVEL_M = 0.1  # of a foot that is kept level
PART_M = (0.006, 0.006, 0.0, 0.0)  # of the parts above it
HOLD_M = (0.006, 0.006, 0.003, 0.003)  # of a joint's way since the last frame
MIDDLE = (0.3, 0.3, 0.02, 0.02)  # what an elbow's or knee's place counts, of the end's [-]
MAX_ITERATIONS = 30
MAX_FIRST_ITERATIONS = 300
PLACE_TOL_M = 1e-9
STEP_TOL_RAD = 1e-4
ERRORS = 15
MIN_DAMPING = 1e-9  # [m^2]
ERROR_DAMPING = 0.5  # of the squared error, at first [-]
MIN_RATIO = 1e-4
DAMPING_CHANGE = 4.0  # a better place lowers the damping so many times, a worse one raises it
MAX_STEP_RAD = 0.3
_ABOVE = tuple(int(PARENTS[s]) for s in LIMB_SEGMENTS[:, 0])


# A limb's search.


@kernel
def reach(
    robot: Model, state: State, limb: int, ends: Vec3s, q_world: Quats, is_first: bool
) -> None:
    """
    Move the joints of a limb, 0 .. 3, so that its palm or sole comes to a place.

    `ends` (8, 3) is where general end-effectors should be [m], `q_world` (16, 4) are the
    orientations asked of the segments, in world.
    """
    end = _ENDS[limb]
    first, last = robot.first[end - 2], robot.first[end] + robot.n_joints[end]
    angles, before = state.angles[first:last], state.before[first:last]
    count = len(angles)
    error, pull, rows = work_array(15), work_array(15), work_table(9, 21)[:count]
    pull[:] = 0.0
    step, kept = work_array(9)[:count], work_array(9)[:count]
    hold = 0.0 if is_first else HOLD_M[limb] ** 2
    square = _error(robot, state, limb, ends, q_world, error)
    least = square + hold * _way(angles, before)
    ratio = ERROR_DAMPING
    for _ in range(MAX_FIRST_ITERATIONS if is_first else MAX_ITERATIONS):
        if not square > PLACE_TOL_M**2:
            return
        _jacobian(robot, state, limb, pull, rows)
        weights = MIN_DAMPING + ratio * square, hold
        moved = _step(rows, error, weights, state, first, step)
        copy(angles, kept)
        for k in range(count):
            angles[k] = clamp(kept[k] + step[k], state.low[first + k], state.high[first + k])
        move_bodies(robot, state, end - 2, end)
        square = _error(robot, state, limb, ends, q_world, error)
        total = square + hold * _way(angles, before)
        if total <= least:
            least = total
            ratio = max(ratio / DAMPING_CHANGE, MIN_RATIO)
        else:
            pull = error  # from now on what is missing
            copy(kept, angles)
            move_bodies(robot, state, end - 2, end)
            square = _error(robot, state, limb, ends, q_world, error)
            ratio *= DAMPING_CHANGE
        if moved < STEP_TOL_RAD:
            return


@kernel
def start_limb(robot: Model, state: State, limb: int, ends: Vec3s, q_world: Quats) -> None:
    """Take a limb's angles of the frame before where these are nearer to what is asked."""
    end = _ENDS[limb]
    first, last = robot.first[end - 2], robot.first[end] + robot.n_joints[end]
    angles, before = state.angles[first:last], state.before[first:last]
    error, found = work_array(15), work_array(9)[: len(angles)]
    least = _error(robot, state, limb, ends, q_world, error)
    least += HOLD_M[limb] ** 2 * _way(angles, before)
    copy(angles, found)
    copy(before, angles)
    move_bodies(robot, state, end - 2, end)
    if _error(robot, state, limb, ends, q_world, error) > least:
        copy(found, angles)
        move_bodies(robot, state, end - 2, end)


@kernel
def _way(angles: Floats, before: Floats) -> float:
    """Return the squared way of some joints since the last frame [rad^2]."""
    total = 0.0
    for k in range(len(angles)):
        total += (angles[k] - before[k]) ** 2
    return total


@kernel
def _error(
    robot: Model, state: State, limb: int, ends: Vec3s, q_world: Quats, error: Floats
) -> float:
    """Write what is missing: place, middle, orientations, (15,) [m]; return its square."""
    end = _ENDS[limb]
    error[:3] = missing(robot, state, limb, ends)
    middle = body_point(state, end - 2, robot.centres[end - 1])
    error[3:6] = scale(sub(vec3(ends[4 + limb]), middle), MIDDLE[limb])
    for part in range(3):
        segment = end - part
        has = multiply(quat(robot.rest[segment]), conjugate(quat(state.q_body[segment])))
        left = log(multiply(quat(q_world[segment]), has))
        weight = state.turn_weights[limb] if part == 0 else PART_M[limb]
        error[6 + 3 * part : 9 + 3 * part] = scale(left, weight)
    square = 0.0
    for k in range(ERRORS):
        square += error[k] ** 2
    return square


@kernel
def _jacobian(robot: Model, state: State, limb: int, pull: Floats, rows: Floats) -> None:
    """
    Write how the errors shrink with each joint of the limb, a row of 15 each [m/rad].

    The last 6 of 21 are what the joint's turn makes of `pull`, errors of the place and middle [m].
    """
    end, above = _ENDS[limb], _ABOVE[limb]
    here = body_point(state, end, robot.points[limb])
    middle = body_point(state, end - 2, robot.centres[end - 1])
    q, p = quat(state.q_body[above]), vec3(state.p_body[above])
    first, lower, hand = robot.first[end - 2], robot.first[end - 1], robot.first[end]
    for i in range(first, first + len(rows)):
        axis, origin = rotate(q, vec3(robot.axes[i])), vec3(robot.origins[i])
        q, p = turn_joint(robot, i, state.angles[i], q, p)
        # a point of the joint's line, which its own turn leaves where it is
        arm = rotate(q, origin)
        row = rows[i - first]
        row[:3] = cross(axis, sub(sub(here, p), arm))
        # joints of the lower part do not move its upper end
        row[3:6] = scale(cross(axis, sub(sub(middle, p), arm)), MIDDLE[limb] if i < lower else 0.0)
        row[6:9] = scale(axis, state.turn_weights[limb])
        row[9:12] = scale(axis, PART_M[limb] if i < hand else 0.0)
        row[12:15] = scale(axis, PART_M[limb] if i < lower else 0.0)
        for m in (0, 3):
            bend = cross(axis, pull[m : m + 3])
            bend = scale(bend, 1.0 if dot(bend, row[m : m + 3]) > 0.0 else 0.0)
            row[15 + m : 18 + m] = bend


@kernel
def _step(
    rows: Floats,
    error: Floats,
    weights: tuple[float, float],
    state: State,
    first: int,
    step: Floats,
) -> float:
    """Write the damped step of each joint within what the frame allows; return the longest."""
    count, (damping, hold) = len(step), weights
    matrix, right = work_table(9, 9)[:count, :count], work_array(9)[:count]
    low, high = work_array(9)[:count], work_array(9)[:count]
    for i in range(count):
        angle = state.angles[first + i]
        right[i] = hold * (state.before[first + i] - angle)
        for m in range(ERRORS):
            right[i] += rows[i, m] * error[m]
        for k in range(i + 1):
            matrix[i, k] = damping + hold if i == k else 0.0
            for m in range(ERRORS):
                matrix[i, k] += rows[i, m] * rows[k, m]
            for m in range(6):
                matrix[i, k] += rows[i, m] * rows[k, ERRORS + m]
            matrix[k, i] = matrix[i, k]
        low[i] = clamp(state.low[first + i] - angle, -MAX_STEP_RAD, 0.0)
        high[i] = clamp(state.high[first + i] - angle, 0.0, MAX_STEP_RAD)
    bounded_step(matrix, right, low, high, step)
    longest = 0.0
    for i in range(count):
        longest = max(longest, abs(step[i]))
    return longest


# What motors can do of it.


@kernel
def track_angles(robot: Model, state: State, importances: Floats, dt: float) -> bool:
    """
    Move the joints towards the angles found, in a time [s], as fast as speeds allow.

    A joint gets from rest to its speed in RAMP_S. It closes a gap no faster than it can stop
    closing it, and comes to no limit faster than it can stop. What it could do instead is in the
    state's `low` and `high`, by the importance (4,) of its limb. Return whether a joint is late
    that palms or soles of importance depend on.
    """
    is_late = False
    for i in range(len(state.angles)):
        wanted, angle, speed = state.angles[i], state.tracked[i], robot.speeds[i]
        lower, upper, rate = robot.lower[i], robot.upper[i], state.rates[i]
        change = speed / RAMP_S * dt
        brake = speed / RAMP_S / 1.125  # the last of a stop takes part of a frame
        least = -min(_stopping(angle - lower, brake, dt), speed)
        greatest = min(_stopping(upper - angle, brake, dt), speed)
        least = angle + dt * clamp(least, rate - change, rate + change)
        greatest = angle + dt * clamp(greatest, rate - change, rate + change)
        own = (wanted - state.before[i]) / dt
        closing = _stopping(wanted - own * dt - angle, brake, dt)
        rate = clamp((wanted - angle) / dt, own - closing, own + closing)
        goal = clamp(clamp(angle + rate * dt, least, greatest), lower, upper)
        share = importances[robot.limbs[i]] if robot.limbs[i] >= 0 else 0.0
        matters = share > 0.0 or robot.limbs[i] < 0  # to palms and soles that should be somewhere
        is_late = is_late or (matters and abs(goal - wanted) > LATE_RAD)
        state.low[i] = goal + share * (clamp(least, lower, upper) - goal)
        state.high[i] = goal + share * (clamp(greatest, lower, upper) - goal)
        state.tracked[i] = goal
    return is_late


@kernel
def _stopping(way: float, deceleration: float, dt: float) -> float:
    """Return the speed from which one stops within a way [m or rad]."""
    change = 0.5 * deceleration * dt
    return math.sqrt(change * change + 2.0 * deceleration * abs(way)) - change


@kernel
def _dip(robot: Model, state: State, limb: int, q_world: Quats) -> float:
    """Return how much lower a foot's lowest corner is by its tilt than it is asked to be [m]."""
    end, asked, has = _ENDS[limb], math.inf, math.inf
    for k in range(4 * limb - 8, 4 * limb - 4):
        corner = vec3(robot.corners[k])
        asked = min(asked, rotate(quat(q_world[end]), corner)[2])
        has = min(has, rotate(orientation(robot, state, end), corner)[2])
    return asked - has


@kernel
def lift_soles(
    robot: Model, state: State, ends: Vec3s, q_world: Quats, importances: Floats
) -> float:
    """
    Write the state's goals, soles so high that a tilted foot gets as low as asked and no lower.

    `ends` (8, 3) and `q_world` (16, 4) are asked for. Return how far soles have moved [m].
    """
    moved = 0.0
    for limb in range(2, 4):
        dip = _dip(robot, state, limb, q_world)
        height = ends[limb, 2] + importances[limb] * smooth_ramp(dip, DIP_M)
        moved = max(moved, abs(height - state.goals[limb, 2]))
        state.goals[limb, 2] = height
    return moved


@kernel
def raise_base(
    robot: Model, state: State, ends: Vec3s, q_world: Quats, importances: Floats
) -> None:
    """Raise all bodies until important soles are lower than asked by half of DIP_M at most."""
    rise = 0.0
    for limb in range(2, 4):
        lower = _dip(robot, state, limb, q_world) + missing(robot, state, limb, ends)[2]
        rise = max(rise, importances[limb] * smooth_ramp(lower, DIP_M))
    for segment in range(N_SEGMENTS):
        state.p_body[segment, 2] += rise


@kernel
def move_base(robot: Model, state: State, ends: Vec3s, importances: Floats) -> float:
    """Move all bodies by what palms and soles miss, by their importance; return how far [m]."""
    shift, total = (0.0, 0.0, 0.0), 0.0
    for limb in range(4):
        shift = add(shift, scale(missing(robot, state, limb, ends), importances[limb]))
        total += importances[limb]
    shift = scale(shift, 1.0 / max(total, 1.0))
    for segment in range(N_SEGMENTS):
        state.p_body[segment] = add(vec3(state.p_body[segment]), shift)
    return norm(shift)


@kernel
def settle(
    robot: Model, state: State, ends: Vec3s, q_world: Quats, importances: Floats, is_first: bool
) -> None:
    """
    Bring palms and soles to their places, and the base to where limits let limbs be so.

    Feet are kept level at first, and the base makes room for that. What is then still missing of
    a place is made up for by tilting.
    """
    for is_last in (False, True):
        for limb in range(4):
            is_level = limb >= 2 and not is_last
            state.turn_weights[limb] = LEVEL_M if is_level else ORIENTATION_M[limb]
            if not (is_first or is_last):
                start_limb(robot, state, limb, state.goals, q_world)
        shift = math.inf
        for _ in range(ROUNDS):
            for limb in range(0 if shift > YIELD_TOL_M else 2, 4):
                if is_last or importances[limb] > 0.0:
                    reach(robot, state, limb, state.goals, q_world, is_first)
            shift = move_base(robot, state, state.goals, importances)
            if max(shift, lift_soles(robot, state, ends, q_world, importances)) < YIELD_TOL_M:
                break


# The joint angles of a robot over time.


def sole_box(points: Vec3s) -> tuple[Floats, Floats]:
    """Return the least and greatest coordinates (3,) of a foot's lowest points, of (n, 3) [m]."""
    low = points[points[:, 2] < points[:, 2].min() + SOLE_BAND_M]
    return low.min(axis=0), low.max(axis=0)


def sole_corners(character: Character) -> Vec3s:
    """Return the corners of both soles from their middles, (8, 3) [m]: of what is lowest there."""
    corners = np.zeros((2, 4, 3))
    for foot, segment in enumerate(_ENDS[2:]):
        own = [c for c in character.capsules if c.segment == segment]
        points = [p + c.radius * d for c in own for p in (c.start, c.end) for d in _SIDES]
        if points:
            sides = sole_box(np.array(points) - character.skeleton.interaction_points[2 + foot])
            corners[foot] = [(x[0], y[1], sides[0][2]) for x in sides for y in sides]
    return corners.reshape(8, 3)


def robot_model(character: Character) -> Model:
    """Return the robot of a character as kernels need it."""
    robot, skeleton = character.robot, character.skeleton
    assert robot is not None
    segments = np.arange(N_SEGMENTS)
    first = np.searchsorted(robot.segments, segments)
    centres = robot.centres(skeleton)
    ends = LIMB_SEGMENTS[:, 2]
    points = centres[ends] + qb.rotate(qb.conjugate(robot.rest[ends]), skeleton.interaction_points)
    counts = np.searchsorted(robot.segments, segments, side='right') - first
    limbs = np.maximum((robot.segments - LIMB_SEGMENTS[0, 0]) // 3, -1)
    parts = (robot.axes, robot.origins, robot.lower, robot.upper, robot.speeds, limbs, robot.rest)
    arrays = [first, counts, *(p.copy() for p in parts), centres, points]
    return Model._make([*arrays, sole_corners(character)])


class RobotJoints:
    """
    The joint angles of a robot that follows postures of its character.

    Every angle is within its limits and moves at a bounded ratio of what is asked of it. The
    posture that the robot cannot take is replaced by the one that it takes.
    """

    def __init__(self, character: Character) -> None:
        """Take a character that is a robot."""
        self._robot, robot = robot_model(character), character.robot
        leg = character.skeleton.leg_length
        self._stance = Stance(least_stance(character), leg, self._robot.corners)
        assert robot is not None
        self.names = robot.published_names
        """Names of the angles that `step` returns."""
        n = len(robot.names)
        self._angles = np.concatenate((np.zeros(n), [angle for _, angle in robot.held]))
        turns, points = (N_SEGMENTS, 4), (N_SEGMENTS, 3)
        shapes: list[Any] = [*[n] * 3, turns, N_SEGMENTS, *[(4, 3)] * 2, (8, 3), 4, turns, points]
        found = [np.zeros(n), np.zeros(n), self._angles[:n]]
        self._state = State._make([*found, *map(np.zeros, shapes)])
        self.reset()

    def reset(self) -> None:
        """Forget the past: the next step takes the angles nearest to the zero pose."""
        self._is_first = self._stands_anew = True
        self._state.angles[:] = np.clip(0.0, self._robot.lower, self._robot.upper)

    def resume(self, angles: Floats, rotations: Quats, points: Vec3s) -> None:
        """
        Go on from what was published before.

        Angles (n,) in the order of `names` [rad], joint rotations (16, 4), palms and soles (4, 3)
        from the pelvis and in its axes [m].
        """
        state = self._state
        known = angles[: len(state.angles)]
        state.angles[:] = np.clip(known, self._robot.lower, self._robot.upper)
        state.tracked[:], state.rates[:] = state.angles, 0.0
        state.asked[:] = rotations
        state.points[:] = points
        self._is_first, self._stands_anew = False, True

    def step(
        self,
        root: Floats,
        rotations: Quats,
        q_world: Quats,
        p_world: Vec3s,
        ends: Vec3s,
        importances: Floats = NO_IMPORTANCE,
        dt: float = math.inf,
        is_reaching: bool = True,
    ) -> Floats:
        """
        Return the angles of the next posture, and make the posture that of the robot.

        Asked for are `root` (3,), orientations `q_world` (16, 4) and general end-effectors `ends`
        (8, 3) in world [m]; out are those that the robot has, joint `rotations` (16, 4) and joint
        centres `p_world` (16, 3). Where limits keep palms and soles from their places, the base
        gives way by their `importances` (4,). A time [s] of more than LONGEST_S since the frame
        before counts as that; the first frame has no speed. Without `is_reaching` palms and soles
        do not count: segments turn as far as they can. The angles, in the order of `names` [rad],
        are overwritten by the next step; they stay if what is asked for is not finite.
        """
        if not math.isfinite(root.sum() + q_world.sum() + ends.sum()):
            return self._angles
        robot, state, is_first = self._robot, self._state, self._is_first
        if is_reaching:
            since = math.inf if self._stands_anew else max(dt, LEAST_S)
            part_soles(self._stance, q_world, ends, since, state.aside)
            self._stands_anew = False
        follow_segments(robot, state, root, q_world, ends, is_first)
        state.goals[:] = ends
        if is_reaching:
            settle(robot, state, ends, q_world, importances, is_first)
        if is_first:
            state.tracked[:], state.rates[:] = state.angles, 0.0
        else:
            before, dt = state.tracked.copy(), min(max(dt, LEAST_S), LONGEST_S)
            is_late = track_angles(robot, state, importances, dt)
            # late joints that nothing waits for move their bodies, too
            moved = state._replace(angles=state.tracked, before=state.tracked.copy())
            move_bodies(robot, moved, 1, N_SEGMENTS - 1)
            if is_late:
                settle(robot, moved, ends, q_world, importances, False)
            state.rates[:] = (state.tracked - before) / dt
        if is_reaching:
            raise_base(robot, state, ends, q_world, importances)
        self._is_first = False
        read_posture(robot, state, rotations, q_world, p_world, ends)
        return self._angles
