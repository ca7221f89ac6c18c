# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The end of a frame's third step: limbs out of the own body, then out of objects (kernel).

`self_push_out` and `push_out` say where a point is free, here the limbs go there.

"""

import math

from puppet_core.arrays import Vec3
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import rotate
from puppet_core.work_array import work_array
from puppet_retarget.importance.contact_rows import SELF_DEPTH, SELF_IMPORTANCE
from puppet_retarget.importance.environment import ObjectArrays
from puppet_retarget.solvers.frame_arrays import (
    ATTACHED_TO,
    Frame,
    Goals,
    STARTS,
    update_kinematics,
)
from puppet_retarget.solvers.limb_ranges import ease, swing_elbow
from puppet_retarget.solvers.one_limb import solve_one_limb
from puppet_retarget.solvers.passing_feet import room_for_leg
from puppet_retarget.solvers.puppet_model import PuppetModel, Tuning
from puppet_retarget.solvers.push_out import leave_objects
from puppet_retarget.solvers.push_rate import limit_push
from puppet_retarget.solvers.self_push_out import ALLOWED_M, bounding_centres, leave_body

PUSH_ATTEMPTS = 6
SELF_PUSH_ATTEMPTS = 7
REACH_SWEEPS = 40  # between a surface and a limb's reach
STALLED = 0.9  # of what is missing is left: there is no such place
ROOM_M = 1e-9  # less room for the other leg is none
HELD_ATTEMPTS = 2  # in which hands that touch the body stay while elbows move


@kernel
def _wrist_distance(frame: Frame, start: int) -> float:
    square = 0.0
    for k in range(3):
        square += (frame.p_world[start + 2, k] - frame.p_world[start, k]) ** 2
    return math.sqrt(square)


@kernel
def _take_end_to(
    model: PuppetModel, tuning: Tuning, limb: int, point: Vec3, frame: Frame
) -> None:
    """Bring a palm or sole to a point, with the orientation it has."""
    start, palm, q_end = STARTS[limb], work_array(3), work_array(4)
    for k in range(4):
        q_end[k] = frame.q_world[start + 2, k]
    rotate(q_end, model.interaction_points[limb], palm)
    for k in range(3):
        palm[k] = point[k] - palm[k]
    current = _wrist_distance(frame, start)
    solve_one_limb(model, tuning, frame, limb, palm, q_end, current, 1.0)


@kernel
def _take_elbow_out(
    model: PuppetModel, limb: int, firmness: float, frame: Frame
) -> None:
    """Bring an elbow or knee out of its ball; the hand stays as far as it is firm."""
    start = STARTS[limb]
    own = frame.rotations[start: start + 3]
    swing_elbow(
        frame.q_world[ATTACHED_TO[limb]], frame.p_world[start], own, frame.q_world[start + 2],
        model.offsets[start + 1: start + 3], model.upper_lengths[limb],
        model.lower_lengths[limb], frame.clear_points[limb + 4], frame.clear_balls[limb],
        frame.clear_radii[limb], firmness, frame.ranges, own,
    )  # fmt: skip


@kernel
def _find_inside(
    model: PuppetModel, tuning: Tuning, goals: Goals, first: int, is_last: bool, frame: Frame
) -> int:
    """Fill where four end-effectors, from `first` on, are free; return a bit for each inside."""
    shape, points, ball = model.body.shape, frame.clear_points, work_array(3)
    bounding_centres(shape, frame.q_world, frame.p_world, frame.bounding_centres)
    inside = 0
    for j in range(first, first + 4):
        copy(frame.end_effectors[j], points[j])
        allowed = tuning.world_scale * (ALLOWED_M + goals.self_rows[j, SELF_DEPTH])
        radius = leave_body(
            shape, frame.q_world, frame.p_world, frame.bounding_centres, j, allowed,
            not is_last, points[j], ball,
        )  # fmt: skip
        if 2 <= j < 4:
            # a foot that stands is not pushed away by the other
            held = goals.importances[j] * goals.importances[j]
            for k in range(3):
                points[j, k] -= held * (points[j, k] - frame.end_effectors[j, k])
            radius = 0.0 if goals.importances[j] == 1.0 else radius
        if radius > 0.0:
            inside |= 1 << (j - first)
            copy(ball, frame.clear_balls[j - first])
            frame.clear_radii[j - first] = radius
    return inside


@kernel
def _limit_pushes(model: PuppetModel, tuning: Tuning, dt: float, frame: Frame) -> None:
    """Let the limbs go where the push-out wants them no faster than they may."""
    is_pushed = False
    for limb in range(4):
        start = STARTS[limb]
        is_pushed |= limit_push(
            limb, frame.q_world[ATTACHED_TO[limb]], frame.p_world[start],
            frame.free_rotations[start: start + 3], frame.q_world[start + 2],
            model.offsets[start + 1: start + 3], model.upper_lengths[limb],
            model.lower_lengths[limb], tuning.world_scale, dt, frame.pushes[limb],
            frame.rotations[start: start + 3],
        )  # fmt: skip
    if is_pushed:
        update_kinematics(model, frame)


@kernel
def _swing_past(
    model: PuppetModel, tuning: Tuning, goals: Goals, dt: float, frame: Frame
) -> None:
    """Let swinging feet make room for the leg they are about to pass."""
    point, has_moved = work_array(3), False
    for limb in range(2, 4):
        room_for_leg(
            model.body.shape, STARTS[5 - limb], frame.q_world, frame.p_world,
            frame.end_effectors[limb],
            tuning.world_scale * (ALLOWED_M + goals.self_rows[limb, SELF_DEPTH]),
            tuning.world_scale, dt, frame.passed[limb - 2], frame.room[limb - 2], point,
        )  # fmt: skip
        # a foot that stands stays, as in the attempts that follow
        free, way = 1.0 - goals.importances[limb] ** (2 * SELF_PUSH_ATTEMPTS), 0.0
        for k in range(3):
            way += abs(free * point[k])
            point[k] = frame.end_effectors[limb, k] + free * point[k]
        if way > ROOM_M:
            _take_end_to(model, tuning, limb, point, frame)
            has_moved = True
    if has_moved:
        update_kinematics(model, frame)


@kernel
def push_out_of_body(
    model: PuppetModel, tuning: Tuning, goals: Goals, dt: float, frame: Frame
) -> None:
    """
    Move end-effectors, elbows and knees that ended inside the puppet to its surface.

    Hands first, then elbows with the hands in place if those matter; where that fails only
    what holds on to the environment still holds.

    """
    for segment in range(STARTS[0], 16):
        copy(frame.rotations[segment], frame.free_rotations[segment])
    _swing_past(model, tuning, goals, dt, frame)
    for attempt in range(SELF_PUSH_ATTEMPTS):
        is_last = attempt + 1 == SELF_PUSH_ATTEMPTS
        hands = _find_inside(model, tuning, goals, 0, is_last, frame)
        for limb in range(4):
            if hands & (1 << limb):
                _take_end_to(model, tuning, limb, frame.clear_points[limb], frame)
        if hands:
            update_kinematics(model, frame)
        elbows = _find_inside(model, tuning, goals, 4, is_last, frame)
        for limb in range(4):
            if elbows & (1 << limb):
                held = goals.importances[limb]
                if attempt < HELD_ATTEMPTS:
                    held = max(held, goals.self_rows[limb, SELF_IMPORTANCE])
                _take_elbow_out(model, limb, ease(held), frame)
        if elbows:
            update_kinematics(model, frame)
        elif not hands:
            break
    _limit_pushes(model, tuning, dt, frame)


@kernel
def _into_reach_and_out(
    model: PuppetModel, tuning: Tuning, objects: ObjectArrays, limb: int, frame: Frame,
    point: Vec3,
) -> None:  # fmt: skip
    """Move a free place of a palm or sole to one that the limb reaches, if there is one near."""
    start, centre, trial = STARTS[limb], work_array(3), work_array(3)
    reach = tuning.stretch_limit * (model.upper_lengths[limb] + model.lower_lengths[limb])
    reach = max(reach, _wrist_distance(frame, start))
    for k in range(3):
        # where the palm is when the wrist is at the shoulder
        centre[k] = frame.p_world[start, k] + frame.end_effectors[limb, k]
        centre[k] -= frame.p_world[start + 2, k]
    copy(point, trial)
    missing = math.inf
    for _ in range(REACH_SWEEPS):
        square = 0.0
        for k in range(3):
            square += (trial[k] - centre[k]) ** 2
        distance = math.sqrt(square)
        if distance <= reach:
            copy(trial, point)
            return
        if distance - reach > STALLED * missing:
            return
        missing = distance - reach
        share = reach / distance
        for k in range(3):
            trial[k] = centre[k] + share * (trial[k] - centre[k])
        leave_objects(objects, frame.p_world[start], trial, False, trial)


@kernel
def push_out_of_objects(
    model: PuppetModel, tuning: Tuning, objects: ObjectArrays, frame: Frame
) -> None:
    """Move end-effectors that ended inside objects to their surface."""
    point = work_array(3)
    for attempt in range(PUSH_ATTEMPTS):
        # a straight limb turns out of an object in a few attempts, or the surface is out of
        # reach; the way back to the shoulder is not
        ray_only = attempt == PUSH_ATTEMPTS - 1
        has_moved = False
        for limb in range(4):
            if leave_objects(
                objects, frame.p_world[STARTS[limb]], frame.end_effectors[limb], ray_only, point
            ):
                if attempt == PUSH_ATTEMPTS - 2:
                    _into_reach_and_out(model, tuning, objects, limb, frame, point)
                _take_end_to(model, tuning, limb, point, frame)
                has_moved = True
        if not has_moved:
            break
        update_kinematics(model, frame)
