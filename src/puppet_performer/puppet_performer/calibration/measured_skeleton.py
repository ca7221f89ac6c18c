# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A performer's own skeleton from joint centres: measured where it can be, else in proportion.

Limb segments are the distances between their joint centres. What no two sensors have a joint
between, spine, head, palms and where the pelvis' origin lies between the hips, is taken from
an ordinary body's skeleton at the scale of the trunk or limb that it belongs to; the pose
then shows how far chest and pelvis are apart, and how high the ankles are above the floor.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, PARENTS, SEGMENT_INDEX, Skeleton
from puppet_core.math import Floats, quaternions, Quats, Vec3, Vec3s
from puppet_performer.calibration.joint_centres import Centres
from puppet_performer.calibration.motion_recording import Joint
from puppet_performer.calibration.pose import TPose
from puppet_performer.sensor_layout import SensorLayout

SIZES = (0.5, 1.5)  # of a performer over an ordinary body
_PELVIS, _SPINE, _CHEST, _HEAD = (
    SEGMENT_INDEX[name] for name in ('pelvis', 'spine', 'chest', 'head')
)
_HIPS, _SHOULDERS = LIMB_SEGMENTS[2:, 0], LIMB_SEGMENTS[:2, 0]


class MeasuredBody(NamedTuple):
    """A skeleton, and where the sensors sit on it."""

    skeleton: Skeleton
    """With the performer's lengths."""

    positions: Vec3s
    """Each sensor's origin in its segment's frame, shape (n, 3) [m]."""


class _Pose(NamedTuple):
    """Sensors in the performer's axes, in the known pose."""

    layout: SensorLayout
    places: Vec3s  # (n, 3), origin below or at the pelvis
    rotations: Quats  # q_segment_sensor (n, 4)
    joints: dict[int, Vec3]  # centre of a measured joint in its parent segment, from its sensor
    height: float  # of the axes' origin above the floor


def measured_body(
    layout: SensorLayout,
    joints: Sequence[Joint],
    centres: Centres,
    rotations: Quats,
    pose: TPose,
    positions: Vec3s,
    ordinary: Skeleton,
) -> MeasuredBody:
    """
    Return the performer's skeleton and the places of the sensors on it.

    `rotations` are q_segment_sensor (n, 4), `positions` the sensors' means (n, 3) in the known
    pose in world [m]; proportions of the `ordinary` skeleton, at about the performer's size, fill
    in what is not measured.
    """
    in_parent = {
        joint.segment: quaternions.rotate(rotations[joint.parent], centres.points[j, 0])
        for j, joint in enumerate(joints)
    }
    places = pose.to_body(positions)
    seen = _Pose(layout, places, rotations, in_parent, float(pose.pelvis[2]))
    own = {
        joint.segment: -quaternions.rotate(rotations[joint.child], centres.points[j, 1])
        for j, joint in enumerate(joints)
    }
    offsets = ordinary.offsets.copy()
    pelvis, chest = _trunk(seen, ordinary, offsets)
    own.update(_trunk_sensors(seen, pelvis, chest))
    scales = _limb_offsets(seen, own, ordinary, offsets)
    points = ordinary.interaction_points * scales[:, None]
    skeleton = Skeleton(offsets, _on_the_floor(seen, pelvis, offsets, points))
    return MeasuredBody(skeleton, _sensor_places(seen, own, pelvis, skeleton))


def sized(skeleton: Skeleton, layout: SensorLayout, positions: Vec3s) -> Skeleton:
    """Return a skeleton in the performer's size, by the heights of sensors (n, 3) in the pose."""
    heights = skeleton.rest_positions()[layout.segments, 2] + layout.mountings[:, 2]
    heights = heights + skeleton.rest_root_height
    ratios = positions[:, 2] / np.maximum(heights, 0.05)
    scale = float(np.clip(np.median(ratios), *SIZES))
    return Skeleton(skeleton.offsets * scale, skeleton.interaction_points * scale)


def _trunk(seen: _Pose, ordinary: Skeleton, offsets: Floats) -> tuple[Vec3, Vec3 | None]:
    """Fill the trunk's offsets; return the joints of pelvis and chest in the pose [m]."""
    sensor = seen.layout.sensor_of_segment
    rest = ordinary.rest_positions()
    hips, shoulders = (_places_of(seen, pair) for pair in (_HIPS, _SHOULDERS))
    if hips is None or shoulders is None:
        scale = 1.0
    else:
        apart = np.linalg.norm(shoulders.mean(axis=0) - hips.mean(axis=0))
        scale = float(
            apart / np.linalg.norm(rest[_SHOULDERS].mean(axis=0) - rest[_HIPS].mean(axis=0))
        )
    offsets[[_SPINE, _CHEST, _HEAD]] *= scale
    pelvis = np.zeros(3)
    if hips is not None:
        pelvis = hips.mean(axis=0) - scale * ordinary.offsets[_HIPS].mean(axis=0)
        offsets[_HIPS] = hips - pelvis
    if shoulders is None or sensor[_CHEST] < 0:
        return pelvis, None
    chest = shoulders.mean(axis=0) - scale * ordinary.offsets[_SHOULDERS].mean(axis=0)
    offsets[_SHOULDERS] = shoulders - chest
    # what the pose adds to the proportion is shared between the two unmeasured vertebrae
    more = chest - pelvis - offsets[_SPINE] - offsets[_CHEST]
    offsets[_SPINE] += 0.5 * more
    offsets[_CHEST] += 0.5 * more
    return pelvis, chest


def _places_of(seen: _Pose, pair: np.ndarray) -> Vec3s | None:
    """Return two measured joints in the pose, in the performer's axes, (2, 3) [m]."""
    if not all(int(segment) in seen.joints for segment in pair):
        return None
    sensor = seen.layout.sensor_of_segment
    return np.array(
        [seen.places[sensor[PARENTS[segment]]] + seen.joints[int(segment)] for segment in pair]
    )


def _trunk_sensors(seen: _Pose, pelvis: Vec3, chest: Vec3 | None) -> dict[int, Vec3]:
    sensor = seen.layout.sensor_of_segment
    own = {_PELVIS: seen.places[sensor[_PELVIS]] - pelvis}
    if chest is not None:
        own[_CHEST] = seen.places[sensor[_CHEST]] - chest
    return own


def _limb_offsets(
    seen: _Pose, own: Mapping[int, Vec3], ordinary: Skeleton, offsets: Floats
) -> Floats:
    """Fill the limbs' offsets; return each limb's size over an ordinary one's, (4,)."""
    scales = np.ones(4)
    for limb, chain in enumerate(LIMB_SEGMENTS):
        measured = [int(s) for s in chain[1:] if int(s) in seen.joints and PARENTS[s] in own]
        for segment in measured:
            offsets[segment] = own[int(PARENTS[segment])] + seen.joints[segment]
        if measured:
            lengths = np.linalg.norm(offsets[measured], axis=1)
            usual = np.linalg.norm(ordinary.offsets[measured], axis=1)
            scales[limb] = float(np.sum(lengths) / np.sum(usual))
        for segment in set(chain[1:].tolist()) - set(measured):
            offsets[segment] = ordinary.offsets[segment] * scales[limb]
    for first in (0, 2):
        scales[first : first + 2] = scales[first : first + 2].mean()
    return scales


def _on_the_floor(seen: _Pose, pelvis: Vec3, offsets: Floats, points: Vec3s) -> Vec3s:
    """Return interaction points with the soles on the floor in the pose."""
    grounded = points.copy()
    chains = LIMB_SEGMENTS[2:]
    heights = [seen.height + pelvis[2] + np.sum(offsets[chain, 2]) for chain in chains.tolist()]
    if all(int(s) in seen.joints for s in chains.reshape(-1)) and min(heights) > 0.02:
        grounded[2:, 2] = -np.mean(heights)
    return grounded


def _sensor_places(
    seen: _Pose, own: Mapping[int, Vec3], pelvis: Vec3, skeleton: Skeleton
) -> Vec3s:
    rest = skeleton.rest_positions()
    return np.array(
        [
            own[int(segment)] if int(segment) in own else place - pelvis - rest[segment]
            for segment, place in zip(seen.layout.segments, seen.places)
        ]
    )
