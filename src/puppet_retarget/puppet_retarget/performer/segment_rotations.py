# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How each sensor is turned on its segment: what pose, bones and hinges say, weighed.

Nobody holds a T-pose to the degree. The line between a segment's two joint centres is its
long axis, whatever the pose; the plane that the forearm or shank sweeps is normal to the
hinge of elbow or knee, which tells how the upper arm or thigh is rolled. Each is a row of a
small least-squares problem with the pose, weighted by how far it can be trusted.

"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quat, Quats, Vec3
from puppet_core.clip_rest_pose import canonical_direction, canonical_hinge
from puppet_core.skeleton import SEGMENTS
from puppet_retarget.performer.hinge_axis import Hinge, hinge_axis
from puppet_retarget.performer.joint_centres import Centres
from puppet_retarget.performer.motion_recording import Joint, RelativePoses

POSE_TILT_DEG = 3.0  # how far a segment points from where the T-pose wants it
# How far it is rolled about its own length, which on a straight limb nobody sees: the palm may
# be turned by shoulder or forearm.
POSE_ROLL_DEG = 10.0
TRUNK_DEG = 3.0
SKIN_M = 0.004  # by which soft tissue moves the centres that a bone lies between
HINGE_DEG = 5.0  # how far a body's hinge is from the anatomical axis that it stands for
ITERATIONS = 10


class Turned(NamedTuple):
    """Rotations of the sensors on their segments."""

    rotations: Quats
    """q_segment_sensor, shape (n, 4)."""

    sds: Floats
    """Standard deviation of each one's worst axis, shape (n,) [rad]."""


class _Row(NamedTuple):
    """A direction in the segment's axes by the pose, where it ought to be, and how surely."""

    seen: Vec3
    wanted: Vec3
    sd: float


def segment_rotations(
    joints: Sequence[Joint],
    relatives: Sequence[RelativePoses],
    centres: Centres,
    segments: np.ndarray,
    by_pose: Quats,
    still_sds: Floats,
) -> Turned:
    """
    Return the rotation of every sensor on its segment.

    Parameters
    ----------
    joints, relatives, centres : sequences and Centres
        What the motion told.
    segments : ndarray of int, shape (n,)
        Segment of each sensor.
    by_pose : ndarray, shape (n, 4)
        The rotations as the known pose alone has them.
    still_sds : ndarray, shape (n,)
        How well the mean rotation in the pose was measured [rad].

    """
    rotations, sds = by_pose.copy(), np.empty(len(segments))
    centre_sds = centres.sds_m()
    for sensor, segment in enumerate(segments):
        name = SEGMENTS[segment]
        rows = []
        bone = bone_joints(joints, sensor, int(segment))
        if bone is not None:
            rows.append(_bone_row(bone, centres, centre_sds, by_pose[sensor], name))
            hinge = hinge_axis(bone, joints, relatives, centres)
            rows += _hinge_row(hinge, by_pose[sensor], name)
        weights = _pose_weights(name, bone is not None)
        rotations[sensor], sds[sensor] = _solve(by_pose[sensor], rows, weights)
        if not rows:
            # the pose defines what is measured by nothing else
            sds[sensor] = still_sds[sensor]
    return Turned(rotations, sds)


def bone_joints(joints: Sequence[Joint], sensor: int, segment: int) -> tuple[int, int] | None:
    """Return the joints at both ends of a limb segment, indices; None if one is unmeasured."""
    near = next((j for j, joint in enumerate(joints) if joint.child == sensor), None)
    far = [j for j, joint in enumerate(joints) if joint.parent == sensor]
    is_limb = SEGMENTS[segment].startswith(('left_', 'right_'))
    if near is None or len(far) != 1 or not is_limb:
        return None
    return near, far[0]


def _bone_row(
    bone: tuple[int, int], centres: Centres, sds: Floats, by_pose: Quat, name: str
) -> _Row:
    near, far = bone
    vector = centres.points[far, 0] - centres.points[near, 1]
    length = max(float(np.linalg.norm(vector)), 1e-3)
    sd = np.sqrt(sds[near] ** 2 + sds[far] ** 2 + SKIN_M**2) / length
    seen = quaternion_batch.rotate(by_pose, vector / length)
    return _Row(seen, canonical_direction(name), float(sd))


def _hinge_row(hinge: Hinge | None, by_pose: Quat, name: str) -> list[_Row]:
    """Return the hinge at a segment's far end as a row, none if the motion does not show it."""
    if hinge is None:
        return []
    seen = quaternion_batch.rotate(by_pose, hinge.axis)
    return [_Row(seen, canonical_hinge(name), float(np.hypot(np.radians(HINGE_DEG), hinge.sd)))]


def _pose_weights(name: str, has_bone: bool) -> Floats:
    """Return the inverse variance of the pose about each axis of the segment, (3, 3)."""
    if not has_bone:
        return np.eye(3) / np.radians(TRUNK_DEG) ** 2
    along = canonical_direction(name)
    roll = np.outer(along, along)
    return (np.eye(3) - roll) / np.radians(POSE_TILT_DEG) ** 2 + (
        roll / np.radians(POSE_ROLL_DEG) ** 2
    )


def _solve(by_pose: Quat, rows: Sequence[_Row], weights: Floats) -> tuple[Quat, float]:
    """Return the rotation nearest to the pose's that turns what is seen to what is wanted."""
    turn, matrix = np.zeros(3), weights
    for _ in range(ITERATIONS):
        matrix, right = weights.copy(), -weights @ turn
        q = quaternion_batch.exp(turn)
        for row in rows:
            seen = quaternion_batch.rotate(q, row.seen)
            # a small turn w moves seen by w x seen
            jacobian = -_cross(seen)
            matrix += jacobian.T @ jacobian / row.sd**2
            right += jacobian.T @ (row.wanted - seen) / row.sd**2
        step = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
        turn = quaternion_batch.log(quaternion_batch.multiply(quaternion_batch.exp(step), q))
        if np.max(np.abs(step)) < 1e-13:
            break
    sd = float(np.sqrt(np.linalg.eigvalsh(np.linalg.inv(matrix))[-1]))
    return quaternion_batch.multiply(quaternion_batch.exp(turn), by_pose), sd


def _cross(v: Vec3) -> Floats:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
