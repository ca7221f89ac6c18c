# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A performer's own skeleton from joint centres: measured where it can be, else in proportion.

Limb segments are the distances between their joint centres. Spine, head, palms and the pelvis'
origin are an ordinary body's at the scale of trunk or limb; the pose then shows how far chest and
pelvis are apart, and how high the ankles are above the floor.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, PARENTS, SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.clips import canonical_direction, canonical_hinge
from puppet_core.math import Floats, Ints, Quat, quaternions, Quats, Vec3, Vec3s
from puppet_performer.calibration.joint_centres import Solution
from puppet_performer.calibration.pose import TPose, tukey_weights
from puppet_performer.calibration.recording import Joint
from puppet_performer.sensor_layout import SensorLayout

SIZES = (0.5, 1.5)  # of a performer over an ordinary body
_PELVIS, _SPINE, _CHEST, _HEAD = (
    SEGMENT_INDEX[name] for name in ('pelvis', 'spine', 'chest', 'head')
)
_HIPS, _SHOULDERS = LIMB_SEGMENTS[2:, 0], LIMB_SEGMENTS[:2, 0]


class MeasuredBody(NamedTuple):
    skeleton: Skeleton  # With the performer's lengths
    positions: Vec3s  # Each sensor's origin in its segment's frame, shape (n, 3) [m]


def measured_body(
    seen: Solution, rotations: Quats, pose: TPose, ordinary: Skeleton
) -> MeasuredBody:
    """
    Return the performer's skeleton and the places of the sensors on it.

    `rotations` are q_segment_sensor (n, 4); the `ordinary` skeleton fills in what is not measured.
    """
    places = pose.to_body(seen.means.positions)  # origin at the pelvis of the ordinary skeleton
    sensor = seen.layout.sensor_of_segment
    # each measured joint in its parent's frame from that sensor; in its own the sensor from it
    in_parent, own = {}, {}
    for (segment, parent, child), (near, far) in zip(seen.joints, seen.centres.points):
        in_parent[segment] = quaternions.rotate(rotations[parent], near)
        own[segment] = -quaternions.rotate(rotations[child], far)

    def girdle(pair: Ints) -> Vec3s | None:
        """Return both hips or shoulders in the pose, if measured, (2, 3)."""
        if any(int(segment) not in in_parent for segment in pair):
            return None
        return places[sensor[PARENTS[pair]]] + [in_parent[int(segment)] for segment in pair]

    offsets = ordinary.offsets.copy()
    hips, shoulders = girdle(_HIPS), girdle(_SHOULDERS)
    pelvis, chest = _trunk(hips, shoulders, ordinary, offsets, sensor[_CHEST] >= 0)
    own[_PELVIS] = places[sensor[_PELVIS]] - pelvis
    if chest is not None:
        own[_CHEST] = places[sensor[_CHEST]] - chest
    scales = _limb_offsets(in_parent, own, ordinary, offsets)
    points = ordinary.interaction_points * scales[:, None]
    # the soles are on the floor in the pose
    chains = LIMB_SEGMENTS[2:]
    floor = float(pose.pelvis[2]) + pelvis[2]
    heights = [floor + np.sum(offsets[chain, 2]) for chain in chains]
    if all(int(s) in in_parent for s in chains.reshape(-1)) and min(heights) > 0.02:
        points[2:, 2] = -np.mean(heights)
    skeleton = Skeleton(offsets, points)
    rest = skeleton.rest_positions()
    mounted = [
        own[int(segment)] if int(segment) in own else place - pelvis - rest[segment]
        for segment, place in zip(seen.layout.segments, places)
    ]
    return MeasuredBody(skeleton, np.array(mounted))


def sized(skeleton: Skeleton, layout: SensorLayout, positions: Vec3s) -> Skeleton:
    """Return a skeleton in the performer's size, by the heights of sensors (n, 3) in the pose."""
    heights = skeleton.rest_positions()[layout.segments, 2] + layout.mountings[:, 2]
    heights = heights + skeleton.rest_root_height
    ratios = positions[:, 2] / np.maximum(heights, 0.05)
    scale = float(np.clip(np.median(ratios), *SIZES))
    return Skeleton(skeleton.offsets * scale, skeleton.interaction_points * scale)


def _trunk(
    hips: Vec3s | None,
    shoulders: Vec3s | None,
    ordinary: Skeleton,
    offsets: Floats,
    has_chest: bool,
) -> tuple[Vec3, Vec3 | None]:
    """Fill the trunk's offsets; return the joints of pelvis and chest in the pose [m]."""
    rest, scale, pelvis = ordinary.rest_positions(), 1.0, np.zeros(3)
    if hips is not None and shoulders is not None:
        apart = shoulders.mean(axis=0) - hips.mean(axis=0)
        usual = rest[_SHOULDERS].mean(axis=0) - rest[_HIPS].mean(axis=0)
        scale = float(np.linalg.norm(apart) / np.linalg.norm(usual))
    offsets[[_SPINE, _CHEST, _HEAD]] *= scale
    if hips is not None:
        pelvis = hips.mean(axis=0) - scale * ordinary.offsets[_HIPS].mean(axis=0)
        offsets[_HIPS] = hips - pelvis
    if shoulders is None or not has_chest:
        return pelvis, None
    chest = shoulders.mean(axis=0) - scale * ordinary.offsets[_SHOULDERS].mean(axis=0)
    offsets[_SHOULDERS] = shoulders - chest
    # what the pose adds to the proportion is shared between the two unmeasured vertebrae
    offsets[[_SPINE, _CHEST]] += 0.5 * (chest - pelvis - offsets[_SPINE] - offsets[_CHEST])
    return pelvis, chest


def _limb_offsets(
    in_parent: Mapping[int, Vec3], own: Mapping[int, Vec3], ordinary: Skeleton, offsets: Floats
) -> Floats:
    """Fill the limbs' offsets; return each limb's size over an ordinary one's, (4,)."""
    scales = np.ones(4)
    for limb, chain in enumerate(LIMB_SEGMENTS):
        measured = [int(s) for s in chain[1:] if int(s) in in_parent and PARENTS[s] in own]
        for segment in measured:
            offsets[segment] = own[int(PARENTS[segment])] + in_parent[segment]
        if measured:
            lengths = np.linalg.norm(offsets[measured], axis=1)
            usual = np.linalg.norm(ordinary.offsets[measured], axis=1)
            scales[limb] = float(np.sum(lengths) / np.sum(usual))
        for segment in set(chain[1:].tolist()) - set(measured):
            offsets[segment] = ordinary.offsets[segment] * scales[limb]
    return np.repeat(scales.reshape(2, 2).mean(axis=1), 2)


# How each sensor is turned on its segment: known pose, bones and hinges, weighted.
#
# Nobody holds a T-pose to the degree. The line between a segment's two joint centres is its long
# axis, whatever the pose; the plane that the forearm or shank sweeps is normal to the hinge of
# elbow or knee, which shows how the upper arm or thigh is rolled. Each is a row of a small least-
# squares problem with the pose, weighted by how far it can be trusted.

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
SKIN_M = 0.004  # by which soft tissue moves the centres that a bone lies between
HINGE_DEG = 5.0  # how far a body's hinge is from the anatomical axis that it stands for
ITERATIONS = 10


# The hinge of an elbow or knee: the normal of the plane that the bone beyond it sweeps.
#
# Turning the palm or the toes moves that bone about itself and does not disturb the plane. Where
# the centres lie need not be exact either: a bone that is not at a right angle to the hinge
# sweeps a cone, whose circle lies in a plane with the same normal.


class Hinge(NamedTuple):
    # Unit vector in the frame of the near segment's sensor; flexion is right-handed about it
    axis: Vec3
    sd: float  # Standard deviation [rad]


def hinge_axis(bone: tuple[int, int], solution: Solution) -> Hinge | None:
    """Return the hinge at the far end of an upper arm or thigh; None if the motion hides it."""
    near, far = bone
    joints, points = solution.joints, solution.centres.points
    if SEGMENTS[PARENTS[joints[far].segment]].split('_', 1)[-1] not in HINGES:
        return None
    beyond = [j for j, joint in enumerate(joints) if joint.parent == joints[far].child]
    if len(beyond) != 1 or PARENTS[joints[beyond[0]].segment] != joints[far].segment:
        return None
    lower = points[beyond[0], 0] - points[far, 1]
    upper = points[far, 0] - points[near, 1]
    swept = solution.relatives[far].rotations @ (lower / max(float(np.linalg.norm(lower)), 1e-3))
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
    rotations: Quats  # q_segment_sensor, shape (n, 4)
    sds: Floats  # Standard deviation of each one's worst axis, shape (n,) [rad]


class _Row(NamedTuple):
    """A direction in the segment's axes by the pose, where it ought to be, and how surely."""

    seen: Vec3
    wanted: Vec3
    sd: float


def segment_rotations(solution: Solution, by_pose: Quats, still_sds: Floats) -> Turned:
    """
    Return the rotation of every sensor on its segment.

    `by_pose` (n, 4) are by the known pose alone, `still_sds` (n,) how well it was measured [rad].
    """
    rotations, sds = by_pose.copy(), np.empty(len(by_pose))
    points, centre_sds = solution.centres.points, solution.centres.sds_m()
    for sensor, name in enumerate(solution.layout.segment_names):
        bone = bone_joints(solution.joints, sensor, name)
        if bone is None:
            # the pose defines what is measured by nothing else
            sds[sensor] = still_sds[sensor]
            continue
        near, far = bone
        vector, along = points[far, 0] - points[near, 1], canonical_direction(name)
        length = max(float(np.linalg.norm(vector)), 1e-3)
        sd = np.sqrt(centre_sds[near] ** 2 + centre_sds[far] ** 2 + SKIN_M**2) / length
        rows = [_Row(quaternions.rotate(by_pose[sensor], vector / length), along, float(sd))]
        hinge = hinge_axis(bone, solution)
        if hinge is not None:
            seen = quaternions.rotate(by_pose[sensor], hinge.axis)
            sd = np.hypot(np.radians(HINGE_DEG), hinge.sd)
            rows.append(_Row(seen, canonical_hinge(name), float(sd)))
        # inverse variance of the pose about each axis of the segment
        roll = np.outer(along, along)
        weights = (np.eye(3) - roll) / np.radians(POSE_TILT_DEG) ** 2
        weights += roll / np.radians(POSE_ROLL_DEG) ** 2
        rotations[sensor], sds[sensor] = _solve(by_pose[sensor], rows, weights)
    return Turned(rotations, sds)


def bone_joints(joints: Sequence[Joint], sensor: int, name: str) -> tuple[int, int] | None:
    """Return the joints at both ends of a limb segment, indices; None if one is unmeasured."""
    near = next((j for j, joint in enumerate(joints) if joint.child == sensor), None)
    far = [j for j, joint in enumerate(joints) if joint.parent == sensor]
    is_limb = name.startswith(('left_', 'right_'))
    if near is None or len(far) != 1 or not is_limb:
        return None
    return near, far[0]


def _solve(by_pose: Quat, rows: Sequence[_Row], weights: Floats) -> tuple[Quat, float]:
    """Return the rotation nearest to the pose's that turns what is seen to what is wanted."""
    turn, matrix = np.zeros(3), weights
    for _ in range(ITERATIONS):
        matrix, right = weights.copy(), -weights @ turn
        q = quaternions.exp(turn)
        for row in rows:
            seen = quaternions.rotate(q, row.seen)
            # a small turn w moves seen by w x seen
            jacobian = np.cross(np.eye(3), seen).T
            matrix += jacobian.T @ jacobian / row.sd**2
            right += jacobian.T @ (row.wanted - seen) / row.sd**2
        step = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
        turn = quaternions.log(quaternions.multiply(quaternions.exp(step), q))
        if np.max(np.abs(step)) < 1e-13:
            break
    sd = float(np.sqrt(np.linalg.eigvalsh(np.linalg.inv(matrix))[-1]))
    return quaternions.multiply(quaternions.exp(turn), by_pose), sd
