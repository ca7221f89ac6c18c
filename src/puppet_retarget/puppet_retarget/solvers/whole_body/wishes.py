# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
From a performer's frame to what the puppet should do: reference, goals, touches (kernels).

The reference root puts the puppet's hips where its own leg length wants them (errata 2): the
performer's mid-hip, scaled with the world along the ground and by the ratio of root heights
upwards. Where the trunk rests on something, its height is that of the scaled world: legs do not
carry who lies.
"""

from typing import NamedTuple

from puppet_core.math import copy, Floats, kernel, Quats
from puppet_core.math.values import (
    conjugate,
    exp,
    IDENTITY,
    log,
    multiply,
    norm,
    Quat,
    rotate,
    scale,
    sub,
    Vec3,
    vec3,
    Vec3Like,
)
from puppet_retarget.importance import (
    distance_from,
    GOAL,
    IMPORTANCE,
    MAX_RESTS,
    OBJECT,
    PLANE,
    real_solid,
    REST_GAP,
    REST_IMPORTANCE,
    REST_OBJECT,
    REST_SEGMENT,
)
from puppet_retarget.solvers.whole_body.carried import fill_thing
from puppet_retarget.solvers.whole_body.frame import Frame
from puppet_retarget.solvers.whole_body.gaze import fill_gaze
from puppet_retarget.solvers.whole_body.hinges import (
    fill_angles,
    fill_reach,
    fill_segments,
    LEAST_S,
)
from puppet_retarget.solvers.whole_body.joints import mend_captured
from puppet_retarget.solvers.whole_body.mounts import fill_mounts
from puppet_retarget.solvers.whole_body.own_body import fill_touches
from puppet_retarget.solvers.whole_body.stance import part_soles
from puppet_retarget.solvers.whole_body.tree import ENDS, pose_tree, STARTS
from puppet_retarget.solvers.whole_body.world import TRUNK


class Captured(NamedTuple):
    """The performer's posture as far as a solver needs it."""

    root: Vec3Like  # pelvis in world [m]
    hips: Vec3Like  # mid-point of the hip joints in world [m]
    rotations: Quats  # of joints, (16, 4), row 0 the pelvis in world
    head: Vec3Like  # head joint in world [m]; out of sight where nothing is looked at


@kernel
def fill_wishes(
    frame: Frame, captured: Captured, rows: Floats, self_rows: Floats, rests: Floats, dt: float
) -> None:
    """Fill the wishes of a frame; pose and unknowns are used for the captured posture."""
    wishes, pose = frame.wishes, frame.pose
    wishes.dt = max(dt, LEAST_S)
    _fill_goals(frame, rows)
    _fill_rests(frame, rests)
    for s in range(16):
        copy(captured.rotations[s], wishes.rotations[s])
    lies = _lies(frame, vec3(captured.root))
    x, y, z = scale(captured.root, frame.world_scale)
    copy((x, y, z + (1.0 - lies) * frame.raised), wishes.path)
    copy(_reference_root(frame, captured, lies), wishes.root)
    frame.x[:] = 0.0
    _pose_captured(frame)
    if frame.tree.is_robot:
        part_soles(frame)
    for limb in range(4):
        turned = multiply(_turn_with(frame, rows, limb), wishes.segments[ENDS[limb]])
        copy(turned, wishes.orientations[limb])
        start = STARTS[limb]
        line = sub(pose.p[start + 2], pose.p[start])
        length = norm(sub(pose.p[start + 1], pose.p[start]))
        length += norm(sub(pose.p[start + 2], pose.p[start + 1]))
        copy(scale(line, 1.0 / length), wishes.stretches[limb])
    fill_touches(frame, self_rows)
    fill_gaze(frame, captured.head)
    fill_mounts(frame, rows)
    if mend_captured(frame):
        _pose_captured(frame)
    fill_thing(frame, rows)


@kernel
def _pose_captured(frame: Frame) -> None:
    wishes = frame.wishes
    rotations, angles = wishes.rotations[:], wishes.angles[:]
    fill_segments(frame)
    if frame.tree.is_robot:
        fill_angles(frame)
        fill_reach(frame)
    else:
        pose_tree(frame.tree, rotations, angles, vec3(wishes.root), frame.x[:], frame.pose)


@kernel
def _fill_goals(frame: Frame, rows: Floats) -> None:
    wishes = frame.wishes
    wishes.importances[:] = 0.0
    for j in range(len(rows)):
        wishes.importances[j] = min(max(rows[j, IMPORTANCE], 0.0), 1.0)
        copy(scale(rows[j, GOAL : GOAL + 3], frame.world_scale), wishes.goals[j])


@kernel
def _fill_rests(frame: Frame, rests: Floats) -> None:
    frame.allowed[:] = 0.0
    for i in range(MAX_RESTS):
        copy(rests[i], frame.wishes.rests[i])
        j, s = int(rests[i, REST_OBJECT]), int(rests[i, REST_SEGMENT])
        if j < 0:
            break
        if frame.objects.shapes[j] != PLANE:
            frame.allowed[j, s] = frame.world_scale * max(-rests[i, REST_GAP], 0.0)


@kernel
def _reference_root(frame: Frame, captured: Captured, lies: float) -> Vec3Like:
    across, up = frame.world_scale, frame.root_ratio
    hips = (across * captured.hips[0], across * captured.hips[1], up * captured.hips[2])
    x, y, z = sub(hips, rotate(captured.rotations[0], frame.hip_centre))
    return x, y, z + lies * (across * captured.root[2] - z)


@kernel
def _lies(frame: Frame, root: Vec3) -> float:
    """Return how much the trunk rests on what is below the performer's root, no wall."""
    objects, lies = frame.objects, 0.0
    for i in range(MAX_RESTS):
        rest = frame.wishes.rests[i]
        if rest[REST_OBJECT] < 0.0:
            break
        if rest[REST_SEGMENT] < TRUNK:
            _, up = distance_from(real_solid(objects, int(rest[REST_OBJECT])), root)
            lies = max(lies, max(up[2], 0.0) * rest[REST_IMPORTANCE])
    return lies


@kernel
def _turn_with(frame: Frame, rows: Floats, limb: int) -> Quat:
    """Return how a hand or foot turns with a counterpart that stands otherwise, by importance."""
    objects, j = frame.objects, int(rows[limb, OBJECT])
    if not 0 <= j < objects.n_objects or objects.segments[j] >= 0:
        return IDENTITY
    turn = multiply(objects.puppet_orientations[j], conjugate(objects.orientations[j]))
    return exp(scale(log(turn), rows[limb, IMPORTANCE]))
