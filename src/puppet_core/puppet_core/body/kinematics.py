# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics: the sixteen segments, and any tree over a whole clip (kernels)."""

import math

from puppet_core.body.skeleton import LIMB_SEGMENTS, N_SEGMENTS, PARENTS
from puppet_core.math import copy, Ints, kernel, quat, Quats, Vec3, vec3, Vec3s
from puppet_core.math.values import add, multiply, rotate, scale

_PARENTS = tuple(int(p) for p in PARENTS)
_MIDDLE_SEGMENTS = tuple(int(s) for s in LIMB_SEGMENTS[:, 1])
_END_SEGMENTS = tuple(int(s) for s in LIMB_SEGMENTS[:, 2])
_LEFT_HIP, _RIGHT_HIP = (int(s) for s in LIMB_SEGMENTS[2:, 0])


@kernel
def forward_kinematics(
    offsets: Vec3s, root_position: Vec3, rotations: Quats, q_world: Quats, p_world: Vec3s
) -> None:
    """
    Fill the world orientation (16, 4) and joint position (16, 3) of every segment [m].

    Row 0 of the rotations is the pelvis in world, the others are relative to the parent segment.
    """
    copy(quat(rotations[0]), q_world[0])
    copy(vec3(root_position), p_world[0])
    for segment in range(1, N_SEGMENTS):
        parent = _PARENTS[segment]
        q, p = quat(q_world[parent]), vec3(p_world[parent])
        copy(multiply(q, quat(rotations[segment])), q_world[segment])
        copy(add(p, rotate(q, vec3(offsets[segment]))), p_world[segment])


@kernel
def motion_kinematics(
    offsets: Vec3s, root_positions: Vec3s, rotations: Quats, q_world: Quats, p_world: Vec3s
) -> None:
    """Fill what `forward_kinematics` does for n frames: arrays of shape (n, 3) and (n, 16, …)."""
    for i in range(len(rotations)):
        forward_kinematics(offsets, root_positions[i], rotations[i], q_world[i], p_world[i])


@kernel
def end_effector_positions(
    interaction_points: Vec3s, q_world: Quats, p_world: Vec3s, out: Vec3s
) -> None:
    """
    Fill the positions of the eight general end-effectors.

    Rows 0 to 3 are the interaction points of hands and feet, rows 4 to 7 the elbows and
    knees, in the order of GENERAL_END_EFFECTORS; `out` has shape (8, 3) [m].
    """
    for limb in range(4):
        end = _END_SEGMENTS[limb]
        point = rotate(quat(q_world[end]), vec3(interaction_points[limb]))
        out[limb] = add(vec3(p_world[end]), point)
        out[4 + limb] = vec3(p_world[_MIDDLE_SEGMENTS[limb]])


@kernel
def causal_velocities(positions: Vec3s, dt_s: float, last_positions: Vec3s, out: Vec3s) -> None:
    """Fill velocities of points (n, 3) since the frame before, zero without one; keep these."""
    is_next = 0.0 < dt_s < math.inf
    for i in range(len(positions)):
        for k in range(3):
            out[i, k] = (positions[i, k] - last_positions[i, k]) / dt_s if is_next else 0.0
            last_positions[i, k] = positions[i, k]


@kernel
def hip_centre(p_world: Vec3s, out: Vec3) -> None:
    """Write the mid-point of the hip joints of a body, shape (16, 3) [m]."""
    copy(scale(add(vec3(p_world[_LEFT_HIP]), vec3(p_world[_RIGHT_HIP])), 0.5), out[:])


# Any tree of joints, for clips.


@kernel
def follow_chains(
    parents: Ints, rotations: Quats, translations: Vec3s, q_world: Quats, p_world: Vec3s
) -> None:
    """
    Fill orientation (n, j, 4) and position (n, j, 3) [m] of every joint in every frame.

    Rotations and translations are in the axes of the joint's parent, which comes before it; -1 is
    the world.
    """
    for i in range(rotations.shape[0]):
        for joint in range(len(parents)):
            parent = parents[joint]
            own, step = quat(rotations[i, joint]), vec3(translations[i, joint])
            if parent >= 0:
                q = quat(q_world[i, parent])
                own, step = multiply(q, own), add(vec3(p_world[i, parent]), rotate(q, step))
            q_world[i, joint] = own
            p_world[i, joint] = step
