# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One frame of retargeting in the thesis' three steps: root, body, limbs (kernel layer).

Shared by every solver that places end-effectors; they differ in the importances, goals and
tuning they pass.

"""

import numpy as np
from puppet_core.arrays import Quats, Vec3
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import conjugate, multiply, rotate
from puppet_core.work_array import work_array
from puppet_retarget.importance.environment import ObjectArrays
from puppet_retarget.solvers.conjugate_gradient import minimise_body
from puppet_retarget.solvers.frame_arrays import Frame, Goals, STARTS, update_kinematics
from puppet_retarget.solvers.limb_step import pose_limbs
from puppet_retarget.solvers.puppet_model import PuppetModel, REFERENCE, Tuning
from puppet_retarget.solvers.push_out import deepest
from puppet_retarget.solvers.root_balls import centre_balls, hold_root
from puppet_retarget.solvers.root_offset import place_root, reference_root, smooth_root
from puppet_retarget.solvers.self_push_out import self_depths

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
        rotate(frame.q_world[end], model.interaction_points[limb], palm)
        for k in range(3):
            frame.wrist_goals[limb, k] = goals.positions[limb, k] - palm[k]


@kernel
def _estimate_body(
    model: PuppetModel, tuning: Tuning, captured_root: Vec3, goals: Goals, dt: float,
    frame: Frame,
) -> int:  # fmt: skip
    """Place the root and, if that does not reach all goals, the body; return iterations."""
    before = work_array(3)
    for k in range(3):
        before[k] = frame.root[k]
    relaxation = place_root(
        model, tuning, goals.positions, frame.wrist_goals, goals.importances,
        frame.end_effectors, frame.p_world, frame.balls, frame.root,
    )  # fmt: skip
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
        frame.unknowns, model.offsets, frame.root, frame.rotations, frame.wrist_goals,
        frame.balls.radii, weights, tuning.torso_segments, tuning.max_iterations,
        frame.q_body, frame.p_body,
    )  # fmt: skip
    copy(frame.p_body[0], frame.root)
    copy(frame.q_body[0], frame.rotations[0])
    for segment in range(1, 3):
        conjugate(frame.q_body[segment - 1], frame.rotations[segment])
        multiply(frame.rotations[segment], frame.q_body[segment], frame.rotations[segment])
    return iterations


@kernel
def solve_frame(
    model: PuppetModel, tuning: Tuning, objects: ObjectArrays, captured_root: Vec3, hips: Vec3,
    rotations: Quats, goals: Goals, dt: float, frame: Frame,
) -> int:  # fmt: skip
    """
    Fill `frame` with the puppet's posture; return the body iterations.

    Parameters
    ----------
    model, tuning : PuppetModel, Tuning
        The puppet.
    objects : ObjectArrays
        The environment with the puppet's counterparts in its scaled world.
    captured_root : ndarray, shape (3,)
        The performer's pelvis in world [m].
    hips : ndarray, shape (3,)
        Mid-point of the performer's hip joints in world [m].
    rotations : ndarray, shape (16, 4)
        Captured joint rotations.
    goals : Goals
        Goals in the puppet's world.
    dt : float
        Time since the frame before [s]; infinity starts all smoothing anew.
    frame : Frame
        Out.

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
        model.body.shape, frame.q_world, frame.p_world, frame.end_effectors,
        frame.bounding_centres, frame.self_depths,
    )  # fmt: skip
