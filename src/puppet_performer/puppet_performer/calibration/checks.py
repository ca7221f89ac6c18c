# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a calibration's recording: names, amounts and what to do about it."""

from collections.abc import Sequence
import itertools
import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, SEGMENTS, Skeleton
from puppet_core.clips import (
    canonical_direction,
    canonical_hinge,
    HIGH_STATURE_M,
    LEG_PER_STATURE,
    LOW_STATURE_M,
)
from puppet_core.io import CalibrationError
from puppet_core.math import Floats, quaternions, Vec3, Vec3s
from puppet_performer.calibration.calibration import (
    Finding,
    JointReport,
    POSE,
    RANGE,
    RESIDUAL,
    SLIPPED,
    SWAPPED,
    UNIT,
)
from puppet_performer.calibration.joint_centres import (
    fit_joint,
    normal_equations,
    plain_residual,
    residual_vectors,
    Solution,
)
from puppet_performer.calibration.measured_body import bone_joints, hinge_axis
from puppet_performer.calibration.pose import (
    CalibrationLimits,
    expected_places,
    MeanPose,
    require_t_pose,
    robust_mean_rotation,
    TPose,
)
from puppet_performer.calibration.recording import (
    Joint,
    MotionRecording,
    relative_poses,
    RelativePoses,
)
from puppet_performer.sensor_layout import SensorLayout

FIRST_RANGE_DEG = 30.0  # what every joint must move through, from end to end
SECOND_RANGE_DEG = {'head': 30.0, 'upper_arm': 30.0, 'thigh': 15.0, 'hand': 15.0, 'foot': 10.0}
UNSURE_M = 0.006  # of a centre, beyond which a second axis is asked for
MAX_SD_M = 0.015  # of a centre, with which a calibration should not be used
TAILS = (0.005, 0.995)  # beyond are outliers
MEAN_SAMPLES = 300
PROMPTS = {
    'upper_arm': 'swing the arm forward and back, up and down, and roll it',
    'forearm': 'bend and stretch the elbow fully, and turn the palm up and down',
    'hand': 'bend the wrist up and down and to both sides',
    'thigh': 'raise the leg forward, backward and sideways',
    'shank': 'bend the knee fully, and turn the toes in and out while it is bent',
    'foot': 'point the toes and pull them up, and roll the foot to both sides',
    'head': 'nod, turn the head to both sides, and tip it',
    'chest': 'bow, turn the chest to both sides, and lean to both sides',
    'spine': 'bow, turn the chest to both sides, and lean to both sides',
}

MIN_APART_M = 0.15  # of two sensors on an ordinary body, to estimate a size from


def joint_range(relative: RelativePoses) -> Floats:
    """Return what a joint was moved through about its main axes, falling, shape (3,) [deg]."""
    turns = quaternions.from_matrix(relative.rotations)
    step = max(len(turns) // MEAN_SAMPLES, 1)
    mean = robust_mean_rotation(turns[::step], 0.5)
    # in the parent's axes, about the mean; a rotation vector is the angle about each axis
    vectors = quaternions.log(quaternions.multiply(turns, quaternions.conjugate(mean)))
    centred = vectors - np.median(vectors, axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    low, high = np.quantile(centred @ axes, TAILS, axis=0)
    return np.sort(np.degrees(high - low))[::-1]


def range_complaint(
    joint: Joint, extents_deg: Sequence[float] | Floats, sd_m: float = math.inf
) -> str:
    """
    Return what was too small and what to do about it; '' if nothing.

    `extents_deg` are of the joint about its main axes, falling; one is enough if `sd_m` is small.
    """
    name = SEGMENTS[joint.segment]
    part = name.split('_', 1)[-1]
    first, second = extents_deg[:2]
    if first < FIRST_RANGE_DEG:
        text = f'moved through {first:.0f} deg, expected {FIRST_RANGE_DEG:.0f}'
    elif sd_m > UNSURE_M and second < SECOND_RANGE_DEG.get(part, 0.0):
        text = (
            f'moved about one axis only ({second:.0f} deg about a second one, expected '
            f'{SECOND_RANGE_DEG[part]:.0f})'
        )
    elif math.isfinite(sd_m) and sd_m > MAX_SD_M:
        text = (
            f'its centre is unsure by {1e3 * sd_m:.0f} mm, expected at most '
            f'{1e3 * MAX_SD_M:.0f}; move it farther and longer'
        )
    else:
        return ''
    return f'{name}: {text}; {PROMPTS.get(part, "move it more")}'


def stature_m(layout: SensorLayout, skeleton: Skeleton, positions: Vec3s) -> float:
    """Return a performer's stature by the places of the sensors (n, 3) in the known pose [m]."""
    rest = expected_places(layout, skeleton)
    shares = []
    for i, j in itertools.combinations(range(len(rest)), 2):
        wanted = float(np.linalg.norm(rest[i] - rest[j]))
        if wanted > MIN_APART_M:
            shares.append(float(np.linalg.norm(positions[i] - positions[j])) / wanted)
    share = float(np.median(shares)) if shares else 1.0
    legs = float(np.mean(skeleton.limb_lengths[2:].sum(axis=1)))
    return share * legs / LEG_PER_STATURE


def size_findings(layout: SensorLayout, skeleton: Skeleton, positions: Vec3s) -> list[Finding]:
    """Return that the recording's unit cannot be metres, if so."""
    stature = stature_m(layout, skeleton, positions)
    if LOW_STATURE_M <= stature <= HIGH_STATURE_M:
        return []
    text = (
        f'the performer would be about {stature:.3g} m tall, expected {LOW_STATURE_M:g} '
        f'.. {HIGH_STATURE_M:g} m; the positions must be in metres, check the unit of the source'
    )
    return [Finding(UNIT, (), text)]


FRAMES = 250  # of the recording, evenly; enough to distinguish centimetres from decimetres
CAP_M = 0.08  # residuals above it are all equally wrong
MIN_GAIN_M = 0.03  # summed over the joints, below which nothing is exchanged
MIN_GAIN_SHARE = 0.3
MAX_SWAPS = 3
FLEXION = {'forearm': 1.0, 'shank': -1.0}  # forward or backward
MIN_BENDING_M = 0.02  # of elbows and knees together, to determine where the performer faces

CHUNKS = 50  # instants that are tried
MARGIN = 3  # chunks that must lie on both sides
MIN_SLIP_GAIN_M = 0.0045  # RMS movement that a slip must explain
MIN_SLIP_GAIN_SHARE = 0.45  # of the sum of squares that it must explain
CORRELATION_S = 0.5  # of the residuals: frames nearer to each other are correlated
NOISE_M = 0.002  # below it a residual is as good as none
RIDGE = 1e-9
WILD_M = 0.2  # no slip moves a joint this far; an outlier does

MAX_RESIDUAL_M = 0.03  # RMS; what no soft tissue moves by
MAX_OUTLIERS = 0.1  # fraction of the samples
MAX_POSE_OFF_M = 0.03  # of a joint in the pose from where the motion has it
MIRRORED = ' (or all is upside down or mirrored: see where the tracker stands, and its axes)'
LOOK = 'look for metal nearby and loose sensors'

MAX_LIMB_DEG = 18.0  # of a limb segment from where the T-pose has it
MAX_ROLL_DEG = 25.0  # about its length, beyond twice what the hinge is unsure by
MAX_TRUNK_DEG = 12.0  # of the line from hips to shoulders
AGAIN = 'stand in the T-pose, upright, arms level, palms down, and record again'
_LATERAL = np.array([0.0, 1.0, 0.0])


# Exchanged sensors: an assignment of sensors to segments that fits better.
#
# Every two sensors get the residual of the best point fixed in both; sensors on neighbouring
# segments have a small one, others do not, because what lies between them moved. Exchanging two
# sensors is believed if it makes the residuals of the joints much smaller. Whole limbs worn on
# the wrong side fit each other perfectly; they are recognised by the sides of the known pose.


def swapped_sensors(
    recording: MotionRecording, joints: Sequence[Joint], n_sensors: int
) -> list[tuple[int, int]]:
    """Return the pairs of sensors whose exchange explains the motion, none if all is well."""
    costs = _pair_costs(recording, n_sensors)
    order = np.arange(n_sensors)
    swaps: list[tuple[int, int]] = []
    pairs = list(itertools.combinations(range(n_sensors), 2))

    def cost(swap: Sequence[int]) -> float:
        tried = exchange(order, swap)
        return float(sum(costs[tried[joint.parent], tried[joint.child]] for joint in joints))

    for _ in range(MAX_SWAPS):
        now, best = cost(()), min(pairs, key=cost)
        if now - cost(best) < max(MIN_GAIN_M, MIN_GAIN_SHARE * now):
            break
        order = exchange(order, best)
        swaps.append(best)
    return swaps


def exchange(order: np.ndarray, swap: Sequence[int]) -> np.ndarray:
    """Return an order with two of its numbers exchanged, or none."""
    exchanged = order.copy()
    exchanged[list(swap)] = order[list(swap)[::-1]]
    return exchanged


def swapped_sides(
    recording: MotionRecording, joints: Sequence[Joint], layout: SensorLayout, pose: MeanPose
) -> list[tuple[int, int]]:
    """Return the left-right pairs on wrong sides in the pose, by knees back and elbows ahead."""
    forward = np.zeros(2)
    for joint in joints:
        sign = FLEXION.get(SEGMENTS[joint.segment].split('_', 1)[-1], 0.0)
        if sign == 0.0:
            continue
        # how far the child's sensor is from its place in the pose on average
        relative = relative_poses(recording, joint.parent, joint.child, names=layout.sensors)
        q_parent = pose.rotations[joint.parent]
        moved = quaternions.rotate(q_parent, np.mean(relative.positions, axis=0))
        moved -= pose.positions[joint.child] - pose.positions[joint.parent]
        forward += sign * moved[:2]
    size = float(np.linalg.norm(forward))
    if size < MIN_BENDING_M:
        return []
    leftward = np.array([-forward[1], forward[0]]) / size
    return [
        (int(left), int(right))
        for left, right in layout.pairs
        if (pose.positions[left] - pose.positions[right])[:2] @ leftward < 0.0
    ]


def _pair_costs(recording: MotionRecording, n: int) -> Floats:
    costs = np.full((n, n), CAP_M)
    step = max(recording.n_frames // FRAMES, 1)
    for i, j in itertools.combinations(range(n), 2):
        try:
            relative = relative_poses(recording, i, j, step)
        except CalibrationError:
            continue
        costs[i, j] = costs[j, i] = min(plain_residual(relative), CAP_M)
    return costs


# Which sensor slipped on its segment during a recording, and when.
#
# A sensor that slips sees its joints in one place before and in another after. For each sensor
# and each instant the joints next to it are fitted again with two centres in that sensor's frame;
# the sensor and instant whose second centre removes most of the residual are named, if it removes
# much. A slip of the sensor's neighbour would not stay in one place in its frame.


class Slip(NamedTuple):
    sensor: int  # Which
    share: float  # When, as a fraction of the recording, 0 .. 1.
    moved_m: float  # RMS movement of its joints in its frame that this explains [m]


def slipped_sensors(
    joints: Sequence[Joint], relatives: Sequence[RelativePoses], n_frames: int, rate_hz: float
) -> list[Slip]:
    """Return the sensors that slipped, the worst first; none if all stayed."""
    sums = [_cumulated(relative, n_frames) for relative in relatives]
    left = list(range(len(joints)))
    slips: list[Slip] = []
    while left:
        sensors = sorted({s for j in left for s in joints[j][1:]})
        own = [[j for j in left if sensor in joints[j][1:]] for sensor in sensors]
        found = [
            _best_instant(s, [(sums[j], joints[j].child == s) for j in mine], rate_hz)
            for s, mine in zip(sensors, own)
        ]
        score, slip = max(found, key=lambda pair: pair[0])
        if score <= 0.0:
            break
        slips.append(slip)
        left = [j for j in left if slip.sensor not in joints[j][1:]]
    return slips


def _best_instant(
    sensor: int, own: Sequence[tuple[Floats, bool]], rate_hz: float
) -> tuple[float, Slip]:
    """
    Return how much better a slip of this sensor explains its joints, 0 if it does not.

    `own` are the cumulated sums of its joints, and whether it is on the child's side.
    """
    counts = np.array([sums[-1, 0, 0] for sums, _ in own])
    floors = counts * NOISE_M**2
    before = np.array([_rss(sums[-1]) for sums, _ in own])
    best = (0.0, Slip(sensor, 0.0, 0.0))
    for chunk in range(MARGIN, CHUNKS - MARGIN + 1):
        after = np.array([_split_rss(sums, chunk, in_child) for sums, in_child in own])
        gain = float(np.sum(before - after))
        moved = np.sqrt(max(gain, 0.0) / max(np.sum(counts), 1.0))
        if moved < MIN_SLIP_GAIN_M or gain < MIN_SLIP_GAIN_SHARE * float(np.sum(before)):
            continue
        # Bayesian information criterion, a joint at a time, for a noise that is not known: a
        # slip must pay for the three coordinates that it adds to each joint of the sensor
        independent = np.maximum(counts / rate_hz / CORRELATION_S, 2.0)
        gains = independent * np.log((before + floors) / (after + floors))
        score = float(np.sum(gains - 3.0 * np.log(independent)))
        if score > best[0]:
            best = (score, Slip(sensor, chunk / CHUNKS, float(moved)))
    return best


def _cumulated(relative: RelativePoses, n_frames: int) -> Floats:
    """
    Return a joint's equations summed over the first chunks, shape (CHUNKS + 1, 7, 7).

    The last row and column are the right side and the sum of squares; [0, 0] counts the frames.
    """
    sums = np.zeros((CHUNKS + 1, 7, 7))
    distances = np.linalg.norm(residual_vectors(relative, fit_joint(relative).centre), axis=1)
    chunk_of = np.where(distances < WILD_M, relative.frames * CHUNKS // n_frames, -1)
    for chunk in range(CHUNKS):
        part = RelativePoses(*(values[chunk_of == chunk] for values in relative))
        matrix, right, square = normal_equations(part, np.ones(len(part.frames)))
        sums[chunk + 1] = np.block([[matrix, right[:, None]], [right, square]])
    return np.cumsum(sums, axis=0)


def _split_rss(sums: Floats, chunk: int, in_child: bool) -> float:
    """Return the sum of squares with two centres in one sensor's frame, parted at a chunk."""
    order = np.r_[0:6, 6] if in_child else np.r_[3:6, 0:3, 6]  # the centre that is split last
    both = np.zeros((10, 10))
    for part, first in ((sums[chunk], 3), (sums[-1] - sums[chunk], 6)):
        rows = np.r_[0:3, first : first + 3, 9]
        both[np.ix_(rows, rows)] += part[np.ix_(order, order)]
    return _rss(both)


def _rss(sums: Floats) -> float:
    """Return the sum of squares that the best solution leaves of equations with right side."""
    matrix, right = sums[:-1, :-1], sums[:-1, -1]
    ridge = RIDGE * np.trace(matrix) * np.eye(len(right))
    return max(float(sums[-1, -1] - right @ np.linalg.solve(matrix + ridge, right)), 0.0)


# Findings.


def joint_reports(solution: Solution) -> tuple[JointReport, ...]:
    centres = solution.centres
    rows = zip(solution.joints, solution.relatives, centres.residuals_m, centres.sds_m())
    return tuple(
        JointReport(
            SEGMENTS[joint.segment], float(residual), float(sd), tuple(joint_range(seen).tolist())
        )
        for joint, seen, residual, sd in rows
    )


def swap_findings(
    motion: MotionRecording, joints: Sequence[Joint], layout: SensorLayout, means: MeanPose
) -> list[Finding]:
    """Return the sensors that were exchanged, by the motion and by the sides in the pose."""
    pairs = swapped_sensors(motion, joints, len(layout.sensors))
    order = np.arange(len(layout.sensors))
    for pair in pairs:
        order = exchange(order, pair)
    motion = motion[:, order]
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
    solution: Solution, reports: Sequence[JointReport], motion: MotionRecording
) -> tuple[Finding, ...]:
    """Return what is wrong with a recording whose sensors are where they belong."""
    joints = solution.joints
    findings = []
    slips = slipped_sensors(joints, solution.relatives, motion.n_frames, motion.rate_hz)
    for slip in slips:
        name = solution.layout.sensors[slip.sensor]
        text = (
            f'{name} slipped on its segment after {slip.share * motion.duration_s:.0f} s, its '
            f'joints moved by about {2e3 * slip.moved_m:.0f} mm; fasten it and record again'
        )
        findings.append(Finding(SLIPPED, (name,), text))
    blamed = {slip.sensor for slip in slips}
    for j, (joint, report) in enumerate(zip(joints, reports)):
        name = SEGMENTS[joint.segment]
        if blamed.isdisjoint(joint[1:]):
            kind, text = _joint_complaint(j, solution)
            if text:
                findings.append(Finding(kind, (name,), f'{name}: {text}'))
        complaint = range_complaint(joint, report.range_deg, report.sd_m)
        if complaint:
            findings.append(Finding(RANGE, (name,), complaint))
    return tuple(findings)


def _joint_complaint(j: int, solution: Solution) -> tuple[str, str]:
    """Return what is wrong with a joint's centre, the kind first; '' if nothing."""
    means, centres = solution.means, solution.centres
    residual, outliers = centres.residuals_m[j], centres.outliers[j]
    if residual > MAX_RESIDUAL_M:
        return RESIDUAL, (
            f'its sensors disagree by {1e3 * residual:.0f} mm, expected at most '
            f'{1e3 * MAX_RESIDUAL_M:.0f}; {LOOK}'
        )
    if outliers > MAX_OUTLIERS:
        return RESIDUAL, (
            f'{outliers:.0%} of the samples do not fit, expected at most {MAX_OUTLIERS:.0%}; '
            + LOOK
        )
    ends = [
        means.positions[sensor] + quaternions.rotate(means.rotations[sensor], point)
        for sensor, point in zip(solution.joints[j][1:], centres.points[j])
    ]
    off = float(np.linalg.norm(ends[0] - ends[1]))
    if off > MAX_POSE_OFF_M + residual:
        return POSE, (
            f'a sensor next to it moved by about {1e3 * off:.0f} mm between the pose and the '
            'motion; fasten it and record both again'
        )
    return POSE, ''


# Whether the known pose was a T-pose: how the joint centres and the hinges lie in it.
#
# The motion gives the centres and hinges in the sensors' frames whatever the pose was. Put into
# the world by the sensors' poses while the performer held still they show limbs that hang, arms
# that are rolled, a trunk that leans. Where only the pose is known, in the hands, feet and head
# and in the roll of forearms and shanks, nothing can be checked.


def pose_findings(solution: Solution, stance: TPose) -> list[Finding]:
    """Return how a pose differs from a T-pose, by the joint centres found in the motion."""
    to_body = quaternions.conjugate(stance.orientation)
    turns = quaternions.multiply(to_body, solution.means.rotations)
    points, findings = solution.centres.points, []
    for sensor, name in enumerate(solution.layout.segment_names):
        bone = bone_joints(solution.joints, sensor, name)
        if bone is None:
            continue
        length = points[bone[1], 0] - points[bone[0], 1]
        off = _angle_deg(quaternions.rotate(turns[sensor], length), canonical_direction(name))
        if off > MAX_LIMB_DEG:
            findings.append(_finding(name, 'points', off, MAX_LIMB_DEG))
            continue
        hinge = hinge_axis(bone, solution)
        if hinge is None:
            continue
        limit = MAX_ROLL_DEG + 2.0 * float(np.degrees(hinge.sd))
        # about the segment's length, from where it belongs
        axis, wanted = quaternions.rotate(turns[sensor], hinge.axis), canonical_hinge(name)
        beside = np.cross(canonical_direction(name), wanted)
        rolled = abs(float(np.degrees(np.arctan2(axis @ beside, axis @ wanted))))
        if rolled > limit:
            findings.append(_finding(name, 'is rolled', rolled, limit))
    return findings + _trunk_findings(solution, stance)


def place_findings(
    solution: Solution, skeleton: Skeleton, stance: TPose, limits: CalibrationLimits
) -> list[Finding]:
    """Return why the sensors' places cannot be those of a T-pose; no more than one reason."""
    layout, positions = solution.layout, solution.means.positions
    try:
        require_t_pose(layout, skeleton, stance, positions, limits.max_mismatch_m)
    except CalibrationError as err:
        return [Finding(POSE, (), f'{err}; record again')]
    return []


def _trunk_findings(solution: Solution, stance: TPose) -> list[Finding]:
    """Return whether the trunk leans, and whether shoulders or hips are turned or oblique."""
    means, joints = solution.means, solution.joints
    parents = [joint.parent for joint in joints]
    turned = quaternions.rotate(means.rotations[parents], solution.centres.points[:, 0])
    places = stance.to_body(means.positions[parents] + turned)
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
    text = f'{name} {does} {off:.0f} deg off the T-pose, expected at most {limit:.0f}; {AGAIN}'
    return Finding(POSE, (name,), text)


def _angle_deg(vector: Vec3, wanted: Vec3) -> float:
    cosine = vector @ wanted / max(float(np.linalg.norm(vector)), 1e-9)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
