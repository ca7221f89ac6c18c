# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How each sensor is turned on its segment: known pose, bones and hinges, weighted.

Nobody holds a T-pose to the degree. The line between a segment's two joint centres is its
long axis, whatever the pose; the plane that the forearm or shank sweeps is normal to the
hinge of elbow or knee, which shows how the upper arm or thigh is rolled. Each is a row of a
small least-squares problem with the pose, weighted by how far it can be trusted.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.body import PARENTS, SEGMENTS
from puppet_core.clips import canonical_direction, canonical_hinge
from puppet_core.math import Floats, Quat, quaternions, Quats, Vec3
from puppet_performer.calibration.joint_centres import Centres
from puppet_performer.calibration.motion_recording import Joint, RelativePoses
from puppet_performer.calibration.robust_mean import tukey_weights

HINGES = ('upper_arm', 'thigh')  # segments with a hinge at their far end
# The plane is determined by how far the arc bulges from its chord: its second largest variance.
# One swing through 60 degrees has 0.0016; a limb that is straight most of the time not much more.
MIN_BULGE = 0.001
MAX_UNSURE_RAD = 0.25
EFFECTIVE_FRAMES = 10.0  # soft tissue and pronation repeat themselves

POSE_TILT_DEG = 3.0  # how far a segment points from where the T-pose wants it
# How far it is rolled about its own length, which on a straight limb nobody sees: the palm may
# be turned by shoulder or forearm.
POSE_ROLL_DEG = 10.0
TRUNK_DEG = 3.0
SKIN_M = 0.004  # by which soft tissue moves the centres that a bone lies between
HINGE_DEG = 5.0  # how far a body's hinge is from the anatomical axis that it stands for
ITERATIONS = 10


# The hinge of an elbow or knee: the normal of the plane that the bone beyond it sweeps.
#
# Turning the palm or the toes moves that bone about itself and does not disturb the plane. Where
# the centres lie need not be exact either: a bone that is not at a right angle to the hinge
# sweeps a cone, whose circle lies in a plane with the same normal.


class Hinge(NamedTuple):
    """Where elbow or knee bends about."""

    axis: Vec3
    """Unit vector in the frame of the near segment's sensor; flexion is right-handed about it."""

    sd: float
    """Standard deviation [rad]."""


def hinge_axis(
    bone: tuple[int, int],
    joints: Sequence[Joint],
    relatives: Sequence[RelativePoses],
    centres: Centres,
) -> Hinge | None:
    """
    Return the hinge at the far end of an upper arm or thigh; None if the motion hides it.

    `bone` holds the joints at the segment's near and far end.
    """
    near, far = bone
    if SEGMENTS[PARENTS[joints[far].segment]].split('_', 1)[-1] not in HINGES:
        return None
    beyond = [j for j, joint in enumerate(joints) if joint.parent == joints[far].child]
    if len(beyond) != 1 or PARENTS[joints[beyond[0]].segment] != joints[far].segment:
        return None
    lower = centres.points[beyond[0], 0] - centres.points[far, 1]
    upper = centres.points[far, 0] - centres.points[near, 1]
    swept = relatives[far].rotations @ (lower / max(float(np.linalg.norm(lower)), 1e-3))
    normal, variances = _plane(swept)
    if variances[1] < MIN_BULGE:
        return None
    unsure = float(np.sqrt(max(variances[0], 0.0) / variances[1] / EFFECTIVE_FRAMES))
    if unsure > MAX_UNSURE_RAD:
        return None
    # upper x lower is along the axis, as long as the sine of the flexion
    flexion = np.mean(np.cross(upper, swept), axis=0)
    return Hinge(normal if normal @ flexion > 0.0 else -normal, unsure)


def _plane(directions: Floats) -> tuple[Vec3, Floats]:
    """Return the normal of the plane that directions (n, 3) sweep, and their variances."""
    weights = np.ones(len(directions))
    normal, variances = np.zeros(3), np.zeros(3)
    for _ in range(5):
        mean = weights @ directions / np.sum(weights)
        centred = directions - mean
        # rising: across the plane, the arc's bulge, along its chord
        variances, axes = np.linalg.eigh((centred.T * weights) @ centred / np.sum(weights))
        normal = axes[:, 0]
        weights = tukey_weights(np.abs(centred @ normal), 1e-6)
    return normal, variances


# The rotations.


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

    `by_pose` (n, 4) are the rotations as the known pose alone has them, and `still_sds` (n,) how
    well the mean rotation in the pose was measured [rad].
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
    seen = quaternions.rotate(by_pose, vector / length)
    return _Row(seen, canonical_direction(name), float(sd))


def _hinge_row(hinge: Hinge | None, by_pose: Quat, name: str) -> list[_Row]:
    """Return the hinge at a segment's far end as a row, none if the motion does not show it."""
    if hinge is None:
        return []
    seen = quaternions.rotate(by_pose, hinge.axis)
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
        q = quaternions.exp(turn)
        for row in rows:
            seen = quaternions.rotate(q, row.seen)
            # a small turn w moves seen by w x seen
            jacobian = -_cross(seen)
            matrix += jacobian.T @ jacobian / row.sd**2
            right += jacobian.T @ (row.wanted - seen) / row.sd**2
        step = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
        turn = quaternions.log(quaternions.multiply(quaternions.exp(step), q))
        if np.max(np.abs(step)) < 1e-13:
            break
    sd = float(np.sqrt(np.linalg.eigvalsh(np.linalg.inv(matrix))[-1]))
    return quaternions.multiply(quaternions.exp(turn), by_pose), sd


def _cross(v: Vec3) -> Floats:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
