# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether the known pose was a T-pose: how the joint centres lie in it, and how the hinges.

The motion tells the centres and hinges in the sensors' frames whatever the pose was. Put into
the world by the sensors' poses while the performer held still they show limbs that hang, arms
that are rolled, a trunk that leans. Where only the pose tells, in the hands, feet and head and
in the roll of forearms and shanks, nothing can be checked.

"""

from collections.abc import Sequence

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Vec3
from puppet_core.clip_rest_pose import canonical_direction, canonical_hinge
from puppet_core.errors import CalibrationError
from puppet_core.skeleton import LIMB_SEGMENTS, SEGMENTS, Skeleton
from puppet_retarget.performer.hinge_axis import hinge_axis
from puppet_retarget.performer.joint_centres import Centres
from puppet_retarget.performer.motion_recording import Joint, RelativePoses
from puppet_retarget.performer.pose_calibration import CalibrationLimits, MeanPose
from puppet_retarget.performer.segment_rotations import bone_joints
from puppet_retarget.performer.sensor_layout import SensorLayout
from puppet_retarget.performer.t_pose import require_t_pose, TPose
from puppet_retarget.performer.verdict import Finding, POSE

MAX_LIMB_DEG = 18.0  # of a limb segment from where the T-pose has it
MAX_ROLL_DEG = 25.0  # about its length, beyond twice what the hinge is unsure by
MAX_TRUNK_DEG = 12.0  # of the line from hips to shoulders
AGAIN = 'stand in the T-pose, upright, arms level, palms down, and record again'
_LATERAL = np.array([0.0, 1.0, 0.0])


def pose_findings(
    joints: Sequence[Joint], relatives: Sequence[RelativePoses], centres: Centres,
    layout: SensorLayout, stance: TPose, means: MeanPose,
) -> list[Finding]:  # fmt: skip
    """
    Return how a pose differs from a T-pose.

    Parameters
    ----------
    joints, relatives, centres : sequences and Centres
        What the motion told.
    layout : SensorLayout
        Of the sensors.
    stance : TPose
        Where the performer faces.
    means : MeanPose
        The sensors in the pose.

    """
    to_body = quaternion_batch.conjugate(stance.orientation)
    turns = quaternion_batch.multiply(to_body, means.rotations)
    findings = []
    for sensor, segment in enumerate(layout.segments):
        name = SEGMENTS[segment]
        bone = bone_joints(joints, sensor, int(segment))
        if bone is None:
            continue
        length = centres.points[bone[1], 0] - centres.points[bone[0], 1]
        off = _angle_deg(quaternion_batch.rotate(turns[sensor], length), canonical_direction(name))
        if off > MAX_LIMB_DEG:
            findings.append(_finding(name, 'points', off, MAX_LIMB_DEG))
            continue
        hinge = hinge_axis(bone, joints, relatives, centres)
        if hinge is None:
            continue
        limit = MAX_ROLL_DEG + 2.0 * float(np.degrees(hinge.sd))
        rolled = _roll_deg(quaternion_batch.rotate(turns[sensor], hinge.axis), name)
        if rolled > limit:
            findings.append(_finding(name, 'is rolled', rolled, limit))
    return findings + _trunk_findings(joints, centres, stance, means)


def place_findings(
    layout: SensorLayout, skeleton: Skeleton, stance: TPose, means: MeanPose,
    limits: CalibrationLimits,
) -> list[Finding]:  # fmt: skip
    """Return why the sensors' places cannot be those of a T-pose; no more than one reason."""
    try:
        require_t_pose(layout, skeleton, stance, means.positions, limits.max_mismatch_m)
    except CalibrationError as err:
        return [Finding(POSE, (), f'{err}; record again')]
    return []


def _trunk_findings(
    joints: Sequence[Joint], centres: Centres, stance: TPose, means: MeanPose
) -> list[Finding]:
    """Return whether the trunk leans, and whether shoulders or hips are turned or oblique."""
    parents = [joint.parent for joint in joints]
    places = stance.to_body(means.positions[parents] + quaternion_batch.rotate(
        means.rotations[parents], centres.points[:, 0]
    ))  # fmt: skip
    by_segment = {joint.segment: place for joint, place in zip(joints, places)}
    firsts = LIMB_SEGMENTS[:, 0].tolist()
    findings, middles = [], []
    for left, right in (firsts[:2], firsts[2:]):
        if left not in by_segment or right not in by_segment:
            continue
        middles.append(0.5 * (by_segment[left] + by_segment[right]))
        off = _angle_deg(by_segment[left] - by_segment[right], _LATERAL)
        if off > MAX_LIMB_DEG:
            name = 'shoulders' if left == firsts[0] else 'hips'
            findings.append(_finding(name, 'are turned', off, MAX_LIMB_DEG))
    if len(middles) == 2:
        off = _angle_deg(middles[0] - middles[1], np.array([0.0, 0.0, 1.0]))
        if off > MAX_TRUNK_DEG:
            findings.append(_finding('trunk', 'leans', off, MAX_TRUNK_DEG))
    return findings


def _finding(name: str, does: str, off: float, limit: float) -> Finding:
    return Finding(POSE, (name,), (
        f'{name} {does} {off:.0f} deg off the T-pose, expected at most {limit:.0f}; {AGAIN}'
    ))  # fmt: skip


def _roll_deg(hinge: Vec3, name: str) -> float:
    """Return how far a hinge is turned about the segment's length from where it belongs [deg]."""
    along, wanted = canonical_direction(name), canonical_hinge(name)
    return abs(float(np.degrees(np.arctan2(hinge @ np.cross(along, wanted), hinge @ wanted))))


def _angle_deg(vector: Vec3, wanted: Vec3) -> float:
    cosine = vector @ wanted / max(float(np.linalg.norm(vector)), 1e-9)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
