# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One frame of retargeting in the thesis' three steps: root, body, limbs (kernel layer).

Shared by every solver that places end-effectors; they differ in the importances, goals and
tuning they pass.

"""

from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.kinematics import end_effector_positions, forward_kinematics
from puppet_core.quaternion import conjugate, multiply, rotate
from puppet_retarget.importance.environment import ObjectArrays
from puppet_retarget.solvers.conjugate_gradient import minimise_body
from puppet_retarget.solvers.limb_position import into_range_ball
from puppet_retarget.solvers.limb_rotation import solve_limb
from puppet_retarget.solvers.puppet_model import PuppetModel, Tuning
from puppet_retarget.solvers.push_out import deepest, leave_objects
from puppet_retarget.solvers.root_offset import (
    empty_balls,
    LimbBalls,
    MIN_IMPORTANCE,
    place_root,
    reference_root,
    smooth_root,
)

REACHABLE_TOL_M = 1e-9
PUSH_ATTEMPTS = 6
_STARTS = (4, 7, 10, 13)
_ATTACHED_TO = (2, 2, 0, 0)


class Goals(NamedTuple):
    """What the end-effectors should do, in the puppet's world."""

    positions: Vec3s  # (4, 3) [m]
    importances: Floats  # (4,)
    radii: Floats  # (4,) of the range balls [m]


class Frame(NamedTuple):
    """The puppet's posture and working space, owned by a solver and refilled each frame."""

    root: Vec3  # (3,)
    rotations: Quats  # (16, 4)
    q_world: Quats  # (16, 4)
    p_world: Vec3s  # (16, 3)
    end_effectors: Vec3s  # (8, 3)
    root_offset: Vec3  # (3,) from the reference root to the estimate
    goal_errors: Floats  # (4,)
    penetrations: Floats  # (4,)
    wrist_goals: Vec3s  # (4, 3)
    q_ends: Quats  # (4, 4) captured orientations of hands and feet in world
    balls: LimbBalls
    q_body: Quats  # (3, 4)
    p_body: Vec3s  # (3, 3)
    unknowns: Floats  # (12,)
    relaxation: Floats  # (1,) growth of the balls that gives them a common point; 0 in reach
    follower: Floats  # (3, 2) smoothing of the root, the only memory from frame to frame


def empty_frame() -> Frame:
    """Return a frame of zeros."""
    return Frame(
        np.zeros(3), np.zeros((16, 4)), np.zeros((16, 4)), np.zeros((16, 3)), np.zeros((8, 3)),
        np.zeros(3), np.zeros(4), np.zeros(4), np.zeros((4, 3)), np.zeros((4, 4)),
        empty_balls(), np.zeros((3, 4)), np.zeros((3, 3)), np.zeros(12),
        np.zeros(1), np.zeros((3, 2)),
    )  # fmt: skip


@njit(cache=True)
def pose_captured(
    model: PuppetModel, tuning: Tuning, hips: Vec3, rotations: Quats, frame: Frame
) -> None:
    """Put the puppet at its reference root with the captured rotations."""
    frame.rotations[:] = rotations
    reference_root(model, tuning, hips, rotations[0], frame.root)
    _update_kinematics(model, frame)


@njit(cache=True)
def _update_kinematics(model: PuppetModel, frame: Frame) -> None:
    forward_kinematics(
        model.offsets, frame.root, frame.rotations, frame.q_world, frame.p_world
    )
    end_effector_positions(
        model.interaction_points, frame.q_world, frame.p_world, frame.end_effectors
    )


@njit(cache=True)
def _keep_end_orientations(model: PuppetModel, goals: Goals, frame: Frame) -> None:
    """Note the captured hand and foot orientations, and where they want wrist and ankle."""
    palm = np.empty(3)
    for limb in range(4):
        end = _STARTS[limb] + 2
        frame.q_ends[limb] = frame.q_world[end]
        rotate(frame.q_world[end], model.interaction_points[limb], palm)
        for k in range(3):
            frame.wrist_goals[limb, k] = goals.positions[limb, k] - palm[k]


@njit(cache=True)
def _estimate_body(
    model: PuppetModel, tuning: Tuning, captured_root: Vec3, goals: Goals, dt: float,
    frame: Frame,
) -> int:  # fmt: skip
    """Place the root and, if that does not reach all goals, the body; return iterations."""
    before = frame.root.copy()
    relaxation = place_root(
        model, tuning, goals.positions, frame.wrist_goals, goals.importances,
        frame.end_effectors, frame.p_world, frame.balls, frame.root,
    )  # fmt: skip
    frame.relaxation[0] = relaxation
    iterations = 0
    if relaxation > REACHABLE_TOL_M and tuning.max_iterations > 0:
        iterations = _adapt_body(model, tuning, frame)
    smooth_root(tuning, captured_root, frame.follower, dt, frame.root)
    for k in range(3):
        frame.root_offset[k] = frame.root[k] - before[k]
    return iterations


@njit(cache=True)
def _adapt_body(model: PuppetModel, tuning: Tuning, frame: Frame) -> int:
    """Bend the body towards goals that the root alone cannot reach; return iterations."""
    weights = np.array(
        (tuning.posture_weight, tuning.orientation_weight, tuning.position_weight)
    )
    frame.unknowns[:] = 0.0
    iterations = minimise_body(
        frame.unknowns, model.offsets, frame.root, frame.rotations, frame.wrist_goals,
        frame.balls.radii, weights, tuning.max_iterations, frame.q_body, frame.p_body,
    )  # fmt: skip
    frame.root[:] = frame.p_body[0]
    frame.rotations[0] = frame.q_body[0]
    for segment in range(1, 3):
        conjugate(frame.q_body[segment - 1], frame.rotations[segment])
        multiply(frame.rotations[segment], frame.q_body[segment], frame.rotations[segment])
    return iterations


@njit(cache=True)
def _solve_one_limb(
    model: PuppetModel, frame: Frame, limb: int, goal: Vec3, q_end: Floats, current: float,
    weight: float,
) -> None:  # fmt: skip
    start, parent = _STARTS[limb], _ATTACHED_TO[limb]
    own = frame.rotations[start: start + 3]
    solve_limb(
        limb, frame.q_world[parent], frame.p_world[start], own, q_end,
        model.offsets[start + 1: start + 3], model.upper_lengths[limb],
        model.lower_lengths[limb], goal, current, weight, own,
    )  # fmt: skip


@njit(cache=True)
def _push_out(model: PuppetModel, objects: ObjectArrays, frame: Frame) -> None:
    """Move end-effectors that ended inside objects to their surface."""
    point, palm = np.empty(3), np.empty(3)
    for attempt in range(PUSH_ATTEMPTS):
        # a straight limb turns out of an object in a few attempts, or the surface is out of
        # reach; the way back to the shoulder is not
        ray_only = attempt == PUSH_ATTEMPTS - 1
        has_moved = False
        for limb in range(4):
            start = _STARTS[limb]
            if leave_objects(
                objects, frame.p_world[start], frame.end_effectors[limb], ray_only, point
            ):
                q_end = frame.q_world[start + 2].copy()
                rotate(q_end, model.interaction_points[limb], palm)
                square = 0.0
                for k in range(3):
                    point[k] -= palm[k]
                    square += (frame.p_world[start + 2, k] - frame.p_world[start, k]) ** 2
                _solve_one_limb(model, frame, limb, point, q_end, np.sqrt(square), 1.0)
                has_moved = True
        if not has_moved:
            break
        _update_kinematics(model, frame)


@njit(cache=True)
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
    _keep_end_orientations(model, goals, frame)
    iterations = _estimate_body(model, tuning, captured_root, goals, dt, frame)
    _update_kinematics(model, frame)
    goal = np.empty(3)
    for limb in range(4):
        w = goals.importances[limb]
        if w > MIN_IMPORTANCE:
            share = w * w * (3.0 - 2.0 * w) if tuning.eased_blend else w
            into_range_ball(
                frame.p_world[_STARTS[limb] + 2], frame.wrist_goals[limb], goals.radii[limb], goal
            )
            _solve_one_limb(model, frame, limb, goal, frame.q_ends[limb], 0.0, share)
    _update_kinematics(model, frame)
    _push_out(model, objects, frame)
    measure(objects, goals, frame)
    return iterations


@njit(cache=True)
def measure(objects: ObjectArrays, goals: Goals, frame: Frame) -> None:
    """Fill the goal errors and penetrations of the four end-effectors [m]."""
    for i in range(4):
        square = 0.0
        for k in range(3):
            square += (frame.end_effectors[i, k] - goals.positions[i, k]) ** 2
        frame.goal_errors[i] = np.sqrt(square)
        frame.penetrations[i] = max(-deepest(objects, frame.end_effectors[i]), 0.0)
