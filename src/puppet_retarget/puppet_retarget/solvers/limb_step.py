# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The third step of a frame: limbs into their ranges, and out of what they are in (kernel).

Legs first: what an arm does on a leg is done on the leg as it finally stands.

"""

import math

from puppet_core.arrays import Floats, Vec3
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import rotate
from puppet_core.work_array import work_array
from puppet_retarget.importance.contact_rows import SELF_DEPTH, SELF_IMPORTANCE
from puppet_retarget.importance.environment import ObjectArrays
from puppet_retarget.solvers.elbow_circle import solve_limb_on_circle
from puppet_retarget.solvers.frame_arrays import (
    ATTACHED_TO,
    Frame,
    Goals,
    STARTS,
    update_kinematics,
)
from puppet_retarget.solvers.joint_limits import limit_joints
from puppet_retarget.solvers.limb_position import into_range_ball, into_reach
from puppet_retarget.solvers.limb_ranges import ease, solve_limb_in_ranges, swing_elbow
from puppet_retarget.solvers.limb_rotation import solve_limb
from puppet_retarget.solvers.puppet_model import ELBOW_CIRCLE, PuppetModel, Tuning
from puppet_retarget.solvers.push_out import leave_objects
from puppet_retarget.solvers.root_balls import MIN_IMPORTANCE
from puppet_retarget.solvers.self_push_out import ALLOWED_M, bounding_centres, leave_body
from puppet_retarget.solvers.self_targets import limb_self_balls

PUSH_ATTEMPTS = 6
SELF_PUSH_ATTEMPTS = 7
HELD_ATTEMPTS = 2  # in which hands that touch the body stay while elbows move


@kernel
def _solve_one_limb(
    model: PuppetModel, tuning: Tuning, frame: Frame, limb: int, goal: Vec3, q_end: Floats,
    current: float, weight: float,
) -> None:  # fmt: skip
    start, parent = STARTS[limb], ATTACHED_TO[limb]
    own = frame.rotations[start: start + 3]
    q_parent, shoulder = frame.q_world[parent], frame.p_world[start]
    offsets = model.offsets[start + 1: start + 3]
    upper, lower = model.upper_lengths[limb], model.lower_lengths[limb]
    if tuning.limb_form == ELBOW_CIRCLE:
        solve_limb_on_circle(
            limb, q_parent, shoulder, own, q_end, offsets, upper, lower, goal, current, weight,
            own,
        )  # fmt: skip
    else:
        solve_limb(
            limb, q_parent, shoulder, own, q_end, offsets, upper, lower, goal, current, weight,
            own,
        )  # fmt: skip


@kernel
def _pose_limb(
    model: PuppetModel, tuning: Tuning, goals: Goals, limb: int, frame: Frame
) -> None:
    """Bring a limb into its ranges; one without importance stays as captured."""
    w = goals.importances[limb]
    balls = frame.self_balls
    w_end, w_elbow = balls.importances[limb], balls.importances[limb + 4]
    start = STARTS[limb]
    upper, lower = model.upper_lengths[limb], model.lower_lengths[limb]
    reach = tuning.stretch_limit * (upper + lower)
    if tuning.limb_form != ELBOW_CIRCLE and max(w_end, w_elbow) > MIN_IMPORTANCE:
        ranges, palm = frame.ranges, work_array(3)
        rotate(frame.q_ends[limb], model.interaction_points[limb], palm)
        for k in range(3):
            ranges.centres[0, k] = frame.wrist_goals[limb, k]
            ranges.centres[1, k] = balls.centres[limb, k] - palm[k]
            ranges.centres[2, k] = balls.centres[limb + 4, k]
        ranges.radii[0], ranges.importances[0] = goals.radii[limb], w
        ranges.radii[1], ranges.importances[1] = balls.radii[limb], w_end
        ranges.radii[2], ranges.importances[2] = balls.radii[limb + 4], w_elbow
        own = frame.rotations[start: start + 3]
        solve_limb_in_ranges(
            limb, frame.q_world[ATTACHED_TO[limb]], frame.p_world[start], own,
            frame.q_ends[limb], model.offsets[start + 1: start + 3], upper, lower, reach,
            tuning.eased_blend, ranges, own,
        )  # fmt: skip
    elif w > MIN_IMPORTANCE:
        goal = work_array(3)
        share = ease(w) if tuning.eased_blend else w
        into_range_ball(
            frame.p_world[start + 2], frame.wrist_goals[limb], goals.radii[limb],
            1.0 - w if tuning.eased_blend else 1.0, goal,
        )  # fmt: skip
        into_reach(frame.p_world[start], frame.p_world[start + 2], reach, 1.0 - w, goal)
        _solve_one_limb(model, tuning, frame, limb, goal, frame.q_ends[limb], 0.0, share)


@kernel
def pose_limbs(
    model: PuppetModel, tuning: Tuning, objects: ObjectArrays, goals: Goals, frame: Frame
) -> None:
    """
    Pose the four limbs of a frame whose root and body are in place.

    Parameters
    ----------
    model, tuning : PuppetModel, Tuning
        The puppet.
    objects : ObjectArrays
        The environment with the puppet's counterparts in its scaled world.
    goals : Goals
        Goals in the puppet's world.
    frame : Frame
        In: root and rotations, kinematics up to date, wrist goals; out: all of the posture.

    """
    for first in (2, 0):
        for limb in range(first, first + 2):
            limb_self_balls(
                limb, goals.importances[limb], goals.self_rows, model.body.samples,
                tuning.world_scale, frame.q_world, frame.p_world, frame.end_effectors,
                frame.self_balls,
            )  # fmt: skip
        for limb in range(first, first + 2):
            _pose_limb(model, tuning, goals, limb, frame)
        update_kinematics(model, frame)
    if tuning.self_push_out:
        _push_out_of_body(model, tuning, goals, frame)
    _push_out_of_objects(model, tuning, objects, frame)
    if tuning.joint_limits and limit_joints(model.limits, frame.rotations) > 0:
        update_kinematics(model, frame)


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
    _solve_one_limb(model, tuning, frame, limb, palm, q_end, current, 1.0)


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
def _push_out_of_body(
    model: PuppetModel, tuning: Tuning, goals: Goals, frame: Frame
) -> None:
    """
    Move end-effectors, elbows and knees that ended inside the puppet to its surface.

    Hands first, then elbows with the hands in place if those matter; where that fails only
    what holds on to the environment still holds.

    """
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


@kernel
def _push_out_of_objects(
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
                _take_end_to(model, tuning, limb, point, frame)
                has_moved = True
        if not has_moved:
            break
        update_kinematics(model, frame)
