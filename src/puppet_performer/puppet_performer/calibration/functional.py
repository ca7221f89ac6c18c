# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Functional calibration: from a known pose and a range of motion to mountings and lengths.

The pose shows how the performer stands and faces, the motion where the joint centres are
(Bodenheimer1997; OBrien2000), both together how the sensors are turned on their segments.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS, PARENTS, SEGMENTS, Skeleton
from puppet_core.io import CalibrationError
from puppet_core.math import Floats, quaternions, Vec3s
from puppet_performer.calibration.calibration import Calibration, Evaluation, LengthReport
from puppet_performer.calibration.checks import (
    joint_range,
    joint_reports,
    motion_findings,
    place_findings,
    pose_findings,
    range_complaint,
    size_findings,
    swap_findings,
)
from puppet_performer.calibration.joint_centres import Solution, solve_joints
from puppet_performer.calibration.measured_body import measured_body, segment_rotations, sized
from puppet_performer.calibration.pose import (
    calibrate_pose,
    CalibrationLimits,
    fit_heading,
    fit_t_pose,
    mean_pose,
    MeanPose,
    PoseRecording,
    TPose,
)
from puppet_performer.calibration.recording import (
    Joint,
    measured_joints,
    MotionRecording,
    part_of,
    relative_poses,
    rotation_noise,
)
from puppet_performer.sensor_layout import left_right, SensorLayout

POSE_S = 1.0
PATIENCE_S = 5.0  # after the first still pose, for one that is a T-pose
MIN_MOTION_S = 8.0
EFFECTIVE_FRAMES = 10.0  # of a held pose: slow noise repeats itself


class Outcome(NamedTuple):
    calibration: Calibration | None  # None if sensors were exchanged or the unit is wrong
    evaluation: Evaluation  # What was found


def calibrate_motion(
    pose: PoseRecording,
    motion: MotionRecording,
    layout: SensorLayout,
    performer: Character,
    limits: CalibrationLimits,
    date: str,
) -> Outcome:
    """
    Return mountings, lengths and an evaluation.

    The pose is held for a second; in 20 to 30 s of motion all joints move through their ranges.
    The performer's proportions fill in what is not measured. Raise CalibrationError if a sensor is
    missing or the performer moves in the pose.
    """
    means = mean_pose(pose, layout, limits)
    motion = motion.without_spikes()
    joints = measured_joints(layout)
    if not joints:
        raise CalibrationError(
            'layout: expected sensors on neighbouring segments, got none; calibrate by pose'
        )
    wrong = size_findings(layout, performer.skeleton, means.positions) or swap_findings(
        motion, joints, layout, means
    )
    if wrong:
        return Outcome(None, Evaluation(findings=tuple(wrong)))
    relatives = [
        relative_poses(motion, joint.parent, joint.child, names=layout.sensors) for joint in joints
    ]
    ordinary = sized(performer.skeleton, layout, means.positions)
    stance = fit_t_pose(layout, ordinary, means.positions)
    bones, noise = _bones(joints), rotation_noise(motion)
    centres = solve_joints(
        joints,
        relatives,
        _expected_centres(joints, ordinary, stance, means),
        _pairs(bones),
        motion.rate_hz,
        np.array([[noise[joint.parent], noise[joint.child]] for joint in joints]),
        straight_limbs(joints, means, stance),
    )
    solution = Solution(layout, means, joints, relatives, centres)
    stance = _faced(stance, solution)
    reports = joint_reports(solution)
    lengths, sds = centres.lengths(np.array([b for _, b in bones]).reshape(-1, 2))
    of_pose = pose_findings(solution, stance)
    of_pose = of_pose or place_findings(solution, ordinary, stance, limits)
    evaluation = Evaluation(
        reports,
        tuple(
            LengthReport(SEGMENTS[s], float(m), float(sd))
            for (s, _), m, sd in zip(bones, lengths, sds)
        ),
        (*of_pose, *motion_findings(solution, reports, motion)),
    )
    turned = segment_rotations(
        solution,
        quaternions.multiply(quaternions.conjugate(stance.orientation), means.rotations),
        means.spreads_rad / np.sqrt(EFFECTIVE_FRAMES),
    )
    body = measured_body(solution, turned.rotations, stance, ordinary)
    sds_m = means.spreads_m / np.sqrt(EFFECTIVE_FRAMES)
    for joint, sd in zip(joints, centres.sds_m()):
        sds_m[joint.child] = sd
    calibration = Calibration(
        performer=performer.name,
        layout=layout.name,
        date=date,
        sensors=layout.sensors,
        segments=layout.segments,
        rotations=turned.rotations,
        positions=body.positions,
        spreads_m=means.spreads_m,
        spreads_rad=means.spreads_rad,
        heading=stance.heading,
        sds_m=sds_m,
        sds_rad=turned.sds,
        skeleton=body.skeleton,
        evaluation=evaluation.tree(),
    )
    return Outcome(calibration, evaluation)


def _expected_centres(
    joints: Sequence[Joint], skeleton: Skeleton, stance: TPose, means: MeanPose
) -> Vec3s:
    """Return the joints by the pose alone, in both their sensors' frames, (joints, 2, 3) [m]."""
    rest = quaternions.rotate(stance.orientation, skeleton.rest_positions())
    places = np.array([rest[joint.segment] + stance.pelvis for joint in joints])
    expected = np.empty((len(joints), 2, 3))
    for side in range(2):
        sensors = [joint[1 + side] for joint in joints]
        inverse = quaternions.conjugate(means.rotations[sensors])
        expected[:, side] = quaternions.rotate(inverse, places - means.positions[sensors])
    return expected


def _faced(stance: TPose, solution: Solution) -> TPose:
    """Return the stance with the heading of the joint centres, whatever the mountings are."""
    means, joints = solution.means, solution.joints
    pairs = left_right([SEGMENTS[joint.segment] for joint in joints])
    if not pairs:
        return stance
    sensors = [joint.child for joint in joints]
    turned = quaternions.rotate(means.rotations[sensors], solution.centres.points[:, 1])
    places = means.positions[sensors] + turned
    across = np.array([places[left] - places[right] for left, right in pairs])
    widths = np.linalg.norm(across, axis=1)
    heading = fit_heading(across[:, :2], np.stack((np.zeros(len(widths)), widths), axis=1))
    return TPose(heading, stance.pelvis)


def straight_limbs(
    joints: Sequence[Joint], means: MeanPose, stance: TPose
) -> list[tuple[Floats, Floats]]:
    """Return rows that keep elbows and knees straight in the T-pose, which no bending shows."""
    index = {joint.segment: j for j, joint in enumerate(joints)}
    turns = quaternions.to_matrix(means.rotations)
    leftward = quaternions.rotate(stance.orientation, np.array([0.0, 1.0, 0.0]))
    found = []
    for chain in LIMB_SEGMENTS.tolist():
        if not all(segment in index for segment in chain):
            continue
        near, middle, far = (index[segment] for segment in chain)
        upper, lower = joints[middle].parent, joints[middle].child
        places = np.zeros((3, 3, 6 * len(joints)))
        # in world: p + R c, near and middle joint by the upper sensor, the far one by the lower
        for row, (joint, side, sensor) in enumerate(
            ((near, 1, upper), (middle, 0, upper), (far, 0, lower))
        ):
            first = 6 * joint + 3 * side
            places[row, :, first : first + 3] = turns[sensor]
        along = np.array([0.0, 0.0, 1.0]) if chain[0] in LIMB_SEGMENTS[2:] else leftward
        across = np.eye(3) - np.outer(along, along)
        # the fraction of the middle does not matter across: both ends are beside it
        rows = across @ (places[1] - 0.5 * (places[0] + places[2]))
        origin = means.positions[upper] - 0.5 * (means.positions[upper] + means.positions[lower])
        found.append((rows, -across @ origin))
    return found


def _bones(joints: Sequence[Joint]) -> list[tuple[int, tuple[int, int]]]:
    """Return the limb segments between two joints: (segment, (near joint, far joint))."""
    index = {joint.segment: j for j, joint in enumerate(joints)}
    return [
        (int(PARENTS[far]), (index[int(PARENTS[far])], index[int(far)]))
        for far in LIMB_SEGMENTS[:, 1:].reshape(-1)
        if int(far) in index and int(PARENTS[far]) in index
    ]


def _pairs(
    bones: Sequence[tuple[int, tuple[int, int]]],
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the joints at the ends of left segments and of the same on the right."""
    pairs = left_right([SEGMENTS[segment] for segment, _ in bones])
    return [(bones[left][1], bones[right][1]) for left, right in pairs]


# The held pose of a recording and the motion after it.


def split_recording(
    recording: MotionRecording,
    layout: SensorLayout,
    performer: Character,
    limits: CalibrationLimits,
) -> tuple[PoseRecording, MotionRecording]:
    """Return the held pose and the motion after it; CalibrationError if one is missing."""
    pose, start_s = find_pose(recording, layout, performer, limits)
    motion = part_of(recording, start_s + POSE_S, recording.duration_s)
    if motion.duration_s < MIN_MOTION_S:
        raise CalibrationError(
            f'recording: expected at least {MIN_MOTION_S:g} s of motion after the T-pose, '
            f'got {motion.duration_s:.1f} s'
        )
    return pose, motion


def find_pose(
    recording: MotionRecording,
    layout: SensorLayout,
    performer: Character,
    limits: CalibrationLimits,
) -> tuple[PoseRecording, float]:
    """Return the first T-pose that is held, and when it begins [s]; CalibrationError if none."""
    still: tuple[PoseRecording, float] | None = None
    refusal: CalibrationError | None = None
    for start_s in np.arange(0.0, max(recording.duration_s - POSE_S, 0.0) + 1e-9, 0.5 * POSE_S):
        if still is not None and start_s > still[1] + PATIENCE_S:
            break
        pose = part_of(recording, start_s, start_s + POSE_S)
        try:
            means = mean_pose(pose, layout, limits)
        except CalibrationError as err:
            refusal = refusal or err
            continue
        still = still or (pose, float(start_s))
        body = sized(performer.skeleton, layout, means.positions)
        try:
            calibrate_pose(pose, layout, replace(performer, skeleton=body), limits, '')
        except CalibrationError:
            continue
        return pose, float(start_s)
    if still is None:
        _require_size(recording, layout, performer)
        raise refusal or CalibrationError(
            f'recording: expected a T-pose of {POSE_S:g} s, got {recording.duration_s:.1f} s'
        )
    return still


def _require_size(recording: MotionRecording, layout: SensorLayout, performer: Character) -> None:
    """Refuse a wrong unit, in which nobody seems to stand still."""
    poses = part_of(recording, 0.0, POSE_S)
    seen = np.any(poses.usable, axis=0)
    if not np.all(seen):
        return
    held = np.where(poses.usable[..., None], poses.positions, np.nan)
    for finding in size_findings(layout, performer.skeleton, np.nanmedian(held, axis=0)):
        raise CalibrationError(f'recording: {finding.text}')


def left_to_move(
    recording: MotionRecording,
    layout: SensorLayout,
    report: Callable[[str], None] = lambda text: None,
) -> tuple[int, int]:
    """Report what has not been moved enough yet; return how many joints have, and of how many."""
    joints = measured_joints(layout)
    cleaned = recording.without_spikes()
    n_left = 0
    for joint in joints:
        try:
            moved = joint_range(
                relative_poses(cleaned, joint.parent, joint.child, names=layout.sensors)
            )
        except CalibrationError as err:
            complaint = str(err)
        else:
            complaint = range_complaint(joint, moved)
        n_left += bool(complaint)
        if complaint:
            report(complaint)
    return len(joints) - n_left, len(joints)
