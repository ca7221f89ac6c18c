# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The third step of a frame: limbs into their ranges, and out of what they are in (kernel).

Legs first: what an arm does on a leg is done on the leg as it finally stands.

"""

from puppet_core.kernel import kernel
from puppet_core.quaternion import rotate
from puppet_core.work_array import work_array
from puppet_retarget.importance.environment import ObjectArrays
from puppet_retarget.solvers.frame_arrays import (
    ATTACHED_TO,
    Frame,
    Goals,
    STARTS,
    update_kinematics,
)
from puppet_retarget.solvers.joint_limits import limit_joints
from puppet_retarget.solvers.limb_position import into_range_ball, into_reach
from puppet_retarget.solvers.limb_push_out import push_out_of_body, push_out_of_objects
from puppet_retarget.solvers.limb_ranges import ease, solve_limb_in_ranges
from puppet_retarget.solvers.one_limb import solve_one_limb
from puppet_retarget.solvers.puppet_model import ELBOW_CIRCLE, PuppetModel, Tuning
from puppet_retarget.solvers.root_balls import MIN_IMPORTANCE
from puppet_retarget.solvers.self_targets import limb_self_balls


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
        solve_one_limb(model, tuning, frame, limb, goal, frame.q_ends[limb], 0.0, share)


@kernel
def pose_limbs(
    model: PuppetModel, tuning: Tuning, objects: ObjectArrays, goals: Goals, dt: float,
    frame: Frame,
) -> None:  # fmt: skip
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
    dt : float
        Time since the frame before [s]; infinity starts anew.
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
        push_out_of_body(model, tuning, goals, dt, frame)
    push_out_of_objects(model, tuning, objects, frame)
    if tuning.joint_limits and limit_joints(model.limits, frame.rotations) > 0:
        update_kinematics(model, frame)
