# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What is wrong with a calibration's recording: names, amounts and what to do about it.

The checks themselves are in `swap_check`, `slip_check` and `joint_range`; here their answers
become findings, with those that a joint's residual alone shows.

"""

from collections.abc import Sequence

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats
from puppet_core.skeleton import SEGMENTS
from puppet_retarget.performer.joint_centres import Centres, residual_vectors
from puppet_retarget.performer.joint_range import joint_range, Range, range_complaint
from puppet_retarget.performer.motion_recording import Joint, MotionRecording, RelativePoses
from puppet_retarget.performer.pose_calibration import MeanPose, PoseRecording
from puppet_retarget.performer.sensor_layout import SensorLayout
from puppet_retarget.performer.slip_check import slipped_sensors
from puppet_retarget.performer.swap_check import swapped_sensors, swapped_sides
from puppet_retarget.performer.verdict import (
    Finding,
    JointReport,
    POSE,
    RANGE,
    RESIDUAL,
    SLIPPED,
    SWAPPED,
)

MAX_RESIDUAL_M = 0.03  # RMS; what no soft tissue moves by
MAX_OUTLIERS = 0.1  # share of the samples
MAX_POSE_OFF_M = 0.03  # of a joint in the pose from where the motion has it
MIRRORED = ' (or all is upside down or mirrored: see where the tracker stands, and its axes)'
LOOK = 'look for metal nearby and loose sensors'


def joint_reports(
    joints: Sequence[Joint], relatives: Sequence[RelativePoses], centres: Centres
) -> tuple[JointReport, ...]:
    """Return what there is to say about each joint."""
    return tuple(
        JointReport(joint.segment, float(residual), float(sd), _extents(relative))
        for joint, relative, residual, sd in zip(
            joints, relatives, centres.residuals_m, centres.sds_m()
        )
    )


def _extents(relative: RelativePoses) -> tuple[float, float, float]:
    first, second, third = (float(x) for x in joint_range(relative).extents_deg)
    return first, second, third


def swap_findings(
    motion: MotionRecording, joints: Sequence[Joint], layout: SensorLayout, means: MeanPose
) -> list[Finding]:
    """Return the sensors that were exchanged, by the motion and by the sides in the pose."""
    pairs = swapped_sensors(motion, joints, len(layout.sensors))
    order = np.arange(len(layout.sensors))
    for pair in pairs:
        order[list(pair)] = order[list(pair)[::-1]]
    poses = motion.poses
    motion = MotionRecording(motion.rate_hz, PoseRecording(
        poses.positions[:, order], poses.rotations[:, order], poses.usable[:, order]
    ))  # fmt: skip
    means = MeanPose(*(values[order] for values in means))
    sides = swapped_sides(motion, joints, layout, means)
    pairs += sides
    hint = MIRRORED if 1 < len(sides) == len(layout.pairs) else ''
    findings = []
    for i, j in pairs:
        names = (layout.sensors[min(i, j)], layout.sensors[max(i, j)])
        text = f'{names[0]} and {names[1]} seem to be exchanged; exchange them and record again'
        findings.append(Finding(SWAPPED, names, text + hint))
    return findings


def motion_findings(
    joints: Sequence[Joint], relatives: Sequence[RelativePoses], centres: Centres,
    reports: Sequence[JointReport], layout: SensorLayout, motion: MotionRecording,
    means: MeanPose,
) -> tuple[Finding, ...]:  # fmt: skip
    """Return what is wrong with a recording whose sensors are where they belong."""
    findings = []
    slips = slipped_sensors(joints, relatives, motion.n_frames, motion.rate_hz)
    for slip in slips:
        name = layout.sensors[slip.sensor]
        when = slip.share * motion.duration_s
        findings.append(Finding(SLIPPED, (name,), (
            f'{name} slipped on its segment after {when:.0f} s, its joints moved by about '
            f'{2e3 * slip.moved_m:.0f} mm; fasten it and record again'
        )))  # fmt: skip
    blamed = {slip.sensor for slip in slips}
    for j, (joint, report) in enumerate(zip(joints, reports)):
        name = SEGMENTS[joint.segment]
        if blamed.isdisjoint(joint[1:]):
            findings += _joint_findings(joint, centres, j, means, name)
        complaint = range_complaint(joint, Range(np.array(report.range_deg)), report.sd_m)
        if complaint:
            findings.append(Finding(RANGE, (name,), complaint))
    return tuple(findings)


def _joint_findings(
    joint: Joint, centres: Centres, j: int, means: MeanPose, name: str
) -> list[Finding]:
    residual = centres.residuals_m[j]
    if residual > MAX_RESIDUAL_M:
        text = (f'{name}: its sensors disagree by {1e3 * residual:.0f} mm, expected at most '
                f'{1e3 * MAX_RESIDUAL_M:.0f}; {LOOK}')  # fmt: skip
        return [Finding(RESIDUAL, (name,), text)]
    if centres.outliers[j] > MAX_OUTLIERS:
        text = (f'{name}: {centres.outliers[j]:.0%} of the samples do not fit, expected at most '
                f'{MAX_OUTLIERS:.0%}; {LOOK}')  # fmt: skip
        return [Finding(RESIDUAL, (name,), text)]
    off = float(np.linalg.norm(_pose_residual(joint, centres.points[j].reshape(6), means)))
    if off > MAX_POSE_OFF_M + residual:
        text = (f'{name}: a sensor next to it moved by about {1e3 * off:.0f} mm between the pose '
                'and the motion; fasten it and record both again')  # fmt: skip
        return [Finding(POSE, (name,), text)]
    return []


def _pose_residual(joint: Joint, centre: Floats, means: MeanPose) -> Floats:
    inverse = quaternion_batch.conjugate(means.rotations[joint.parent])
    turn = quaternion_batch.multiply(inverse, means.rotations[joint.child])
    apart = means.positions[joint.child] - means.positions[joint.parent]
    relative = RelativePoses(
        quaternion_batch.to_matrix(turn)[None],
        quaternion_batch.rotate(inverse, apart)[None],
        np.zeros(1, dtype=np.int64),
    )  # fmt: skip
    return residual_vectors(relative, centre)[0]
