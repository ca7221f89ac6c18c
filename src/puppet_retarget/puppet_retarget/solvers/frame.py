# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One frame of retargeting in the thesis' three steps: root, body, limbs (kernel layer).

Shared by every solver that places end-effectors; they differ in the importances, goals and
tuning they pass.
"""

import numpy as np
from puppet_core.math import (
    conjugate,
    copy,
    kernel,
    multiply,
    Quats,
    rotate,
    sub,
    values,
    Vec3,
    vec3,
    work_array,
)
from puppet_retarget.importance import ObjectArrays
from puppet_retarget.solvers.body import minimise_body
from puppet_retarget.solvers.joint_limits import limit_joints
from puppet_retarget.solvers.limbs import (
    ease,
    into_range_ball,
    into_reach,
    Range,
    solve_limb_in_ranges,
)
from puppet_retarget.solvers.penetration import (
    deepest,
    resolve_object_penetration,
    resolve_self_penetration,
    self_depths,
    solve_one_limb,
)
from puppet_retarget.solvers.root import (
    centre_balls,
    hold_root,
    MIN_IMPORTANCE,
    place_root,
    reference_root,
    smooth_root,
)
from puppet_retarget.solvers.self_contact import limb_self_balls
from puppet_retarget.solvers.state import (
    ELBOW_CIRCLE,
    Frame,
    Goals,
    limb_at,
    PuppetModel,
    REFERENCE,
    set_joints,
    STARTS,
    Tuning,
    update_kinematics,
)

REACHABLE_TOL_M = 1e-9


@kernel
def pose_captured(
    model: PuppetModel, tuning: Tuning, hips: Vec3, rotations: Quats, frame: Frame
) -> None:
    """Put the puppet at its reference root with the captured rotations."""
    for segment in range(16):
        copy(rotations[segment], frame.rotations[segment])
    reference_root(model, tuning, hips, rotations[0], frame.root)
    update_kinematics(model, frame)


@kernel
def keep_end_orientations(model: PuppetModel, goals: Goals, frame: Frame) -> None:
    """Note the captured hand and foot orientations, and where they want wrist and ankle."""
    palm = work_array(3)
    for limb in range(4):
        end = STARTS[limb] + 2
        for k in range(4):
            frame.q_ends[limb, k] = frame.q_world[end, k]
        palm[:] = rotate(frame.q_world[end], model.interaction_points[limb])
        for k in range(3):
            frame.wrist_goals[limb, k] = goals.positions[limb, k] - palm[k]


@kernel
def _estimate_body(
    model: PuppetModel, tuning: Tuning, captured_root: Vec3, goals: Goals, dt: float, frame: Frame
) -> int:
    """Place the root and, if that does not reach all goals, the body; return iterations."""
    before = work_array(3)
    for k in range(3):
        before[k] = frame.root[k]
    relaxation = place_root(
        model,
        tuning,
        goals.positions,
        frame.wrist_goals,
        goals.importances,
        frame.end_effectors,
        frame.p_world,
        frame.balls,
        frame.root,
    )
    frame.relaxation[0] = relaxation
    iterations = 0
    if relaxation > REACHABLE_TOL_M and tuning.max_iterations > 0:
        if not dt < np.inf:
            frame.unknowns[:] = 0.0
        iterations = _adapt_body(model, tuning, frame)
        update_kinematics(model, frame)  # the bent body carries its limbs elsewhere
        centre_balls(frame.wrist_goals, frame.p_world, frame.balls)
    else:
        frame.unknowns[:] = 0.0
    smooth_root(tuning, captured_root, frame.follower, dt, frame.root)
    if tuning.root_smoothing > 0.0 and tuning.root_form != REFERENCE:
        hold_root(model, tuning, goals.importances, frame.balls, frame.root)
    for k in range(3):
        frame.root_offset[k] = frame.root[k] - before[k]
    return iterations


@kernel
def _adapt_body(model: PuppetModel, tuning: Tuning, frame: Frame) -> int:
    """Bend the body towards goals that the root alone cannot reach; return iterations."""
    weights = work_array(3)
    weights[0], weights[1] = tuning.posture_weight, tuning.orientation_weight
    weights[2] = tuning.position_weight
    iterations = minimise_body(
        frame.unknowns,
        model.offsets,
        frame.root,
        frame.rotations,
        frame.wrist_goals,
        frame.balls.radii,
        weights,
        tuning.torso_segments,
        tuning.max_iterations,
        frame.q_body,
        frame.p_body,
    )
    copy(frame.p_body[0], frame.root)
    copy(frame.q_body[0], frame.rotations[0])
    for segment in range(1, 3):
        to_parent = conjugate(frame.q_body[segment - 1])
        frame.rotations[segment] = multiply(to_parent, frame.q_body[segment])
    return iterations


@kernel
def solve_frame(
    model: PuppetModel,
    tuning: Tuning,
    objects: ObjectArrays,
    captured_root: Vec3,
    hips: Vec3,
    rotations: Quats,
    goals: Goals,
    dt: float,
    frame: Frame,
) -> int:
    """
    Fill `frame` with the puppet's posture; return the body iterations.

    Captured root and mid-point of the hips are in world [m], objects and goals in the puppet's
    scaled world. An infinite time since the frame before [s] starts all smoothing anew.
    """
    pose_captured(model, tuning, hips, rotations, frame)
    keep_end_orientations(model, goals, frame)
    iterations = _estimate_body(model, tuning, captured_root, goals, dt, frame)
    update_kinematics(model, frame)
    pose_limbs(model, tuning, objects, goals, dt, frame)
    measure(model, objects, goals, frame)
    return iterations


@kernel
def measure(model: PuppetModel, objects: ObjectArrays, goals: Goals, frame: Frame) -> None:
    """Fill goal errors and penetrations of the end-effectors, and depths in the own body [m]."""
    for i in range(4):
        square = 0.0
        for k in range(3):
            square += (frame.end_effectors[i, k] - goals.positions[i, k]) ** 2
        frame.goal_errors[i] = np.sqrt(square)
        frame.penetrations[i] = max(-deepest(objects, frame.end_effectors[i]), 0.0)
    self_depths(
        model.body.shape,
        frame.q_world,
        frame.p_world,
        frame.end_effectors,
        frame.bounding_centres,
        frame.self_depths,
    )


@kernel
def _pose_limb(model: PuppetModel, tuning: Tuning, goals: Goals, index: int, frame: Frame) -> None:
    """Bring a limb into its ranges; one without importance stays as captured."""
    w, balls = goals.importances[index], frame.self_balls
    w_end, w_elbow = balls.importances[index], balls.importances[index + 4]
    limb = limb_at(model, frame, index, frame.rotations, frame.q_ends[index])
    goal, radius = vec3(frame.wrist_goals[index]), goals.radii[index]
    reach = tuning.stretch_limit * (limb.upper + limb.lower)
    if tuning.limb_form != ELBOW_CIRCLE and max(w_end, w_elbow) > MIN_IMPORTANCE:
        palm = values.rotate(limb.q_end, model.interaction_points[index])
        ranges = (
            Range(goal, radius, w),
            Range(sub(balls.centres[index], palm), balls.radii[index], w_end),
            Range(vec3(balls.centres[index + 4]), balls.radii[index + 4], w_elbow),
        )
        joints = solve_limb_in_ranges(limb, reach, tuning.eased_blend, ranges)
        set_joints(frame.rotations, index, joints)
    elif w > MIN_IMPORTANCE:
        share = ease(w) if tuning.eased_blend else w
        slack = 1.0 - w if tuning.eased_blend else 1.0
        wrist = vec3(frame.p_world[STARTS[index] + 2])
        goal = into_range_ball(wrist, goal, radius, slack)
        goal = into_reach(limb.shoulder, wrist, reach, 1.0 - w, goal)
        set_joints(frame.rotations, index, solve_one_limb(tuning, limb, goal, 0.0, share))


@kernel
def pose_limbs(
    model: PuppetModel,
    tuning: Tuning,
    objects: ObjectArrays,
    goals: Goals,
    dt: float,
    frame: Frame,
) -> None:
    """Pose the four limbs of a frame whose root and body are in place, kinematics up to date."""
    # legs first: an arm that touches a leg touches it where the leg finally is
    for first in (2, 0):
        for limb in range(first, first + 2):
            limb_self_balls(
                limb,
                goals.importances[limb],
                goals.self_rows,
                model.body.samples,
                tuning.world_scale,
                frame.q_world,
                frame.p_world,
                frame.end_effectors,
                frame.self_balls,
            )
        for limb in range(first, first + 2):
            _pose_limb(model, tuning, goals, limb, frame)
        update_kinematics(model, frame)
    if tuning.self_push_out:
        resolve_self_penetration(model, tuning, goals, dt, frame)
    resolve_object_penetration(model, tuning, objects, frame)
    if tuning.joint_limits and limit_joints(model.limits, frame.rotations) > 0:
        update_kinematics(model, frame)
