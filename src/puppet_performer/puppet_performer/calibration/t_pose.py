# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Where a performer in the T-pose stands and faces, from the places of the sensors.

The skeleton stands on the floor (z = 0) with its rest pose; heading and horizontal place
are fitted to the left-right pairs of sensors, which are as good as symmetric, by robust
least squares. Whether what was measured can be a T-pose of this skeleton is checked here too.

"""

from dataclasses import dataclass
import math

import numpy as np
from puppet_core.body import Skeleton
from puppet_core.io import CalibrationError
from puppet_core.math import Floats, Quat, quaternions, read_only, Vec3, Vec3s
from puppet_performer.calibration.robust_mean import robust_mean, tukey_weights
from puppet_performer.sensor_layout import SensorLayout

ASYMMETRY_M = 0.02  # how unequally the sensors of a pair are mounted, a hand's breadth at most
SPAN_SHARE = 1.5  # an arm span may differ by this much more than one sensor's place
ITERATIONS = 20
ARM_PAIRS = ('left_hand', 'left_forearm', 'left_upper_arm')  # widest first
POSE_HINT = "stand in the T-pose, or give the performer's own character"


@dataclass(frozen=True, slots=True)
class TPose:
    """A skeleton in its rest pose, somewhere on the floor."""

    heading: float
    """Yaw that it faces, in (-pi, pi] [rad]."""

    pelvis: Vec3
    """Pelvis joint in world, shape (3,) [m]."""

    def __post_init__(self) -> None:
        object.__setattr__(self, 'pelvis', read_only(self.pelvis))

    @property
    def orientation(self) -> Quat:
        """Orientation of every segment in world, shape (4,)."""
        return np.array([math.cos(0.5 * self.heading), 0.0, 0.0, math.sin(0.5 * self.heading)])

    def to_body(self, points: Vec3s) -> Vec3s:
        """Return world points (n, 3) in the axes of the performer, pelvis at the origin [m]."""
        inverse = quaternions.conjugate(self.orientation)
        return quaternions.rotate(inverse, points - self.pelvis)


def fit_t_pose(layout: SensorLayout, skeleton: Skeleton, positions: Vec3s) -> TPose:
    """
    Return the T-pose that fits the sensors best.

    Parameters
    ----------
    layout : SensorLayout
        Which sensor sits where.
    skeleton : Skeleton
        The performer's.
    positions : ndarray, shape (n, 3)
        Sensors in world [m].

    Raises
    ------
    CalibrationError : if the sensors of a pair stand on the wrong sides.

    """
    expected = _expected_places(layout, skeleton)
    left, right = layout.pairs.T
    across = (positions[left] - positions[right])[:, :2]
    heading = fit_heading(across, (expected[left] - expected[right])[:, :2])
    pose = TPose(heading, np.array([0.0, 0.0, skeleton.rest_root_height]))
    _require_sides(layout, pose, positions)
    middles = 0.5 * (pose.to_body(positions[left]) + pose.to_body(positions[right]))
    middles_rest = 0.5 * (expected[left] + expected[right])
    place = robust_mean((middles - middles_rest)[:, :2], ASYMMETRY_M)
    offset = quaternions.rotate(pose.orientation, np.append(place, 0.0))
    return TPose(heading, pose.pelvis + offset)


def fit_heading(across: Floats, across_rest: Floats) -> float:
    """
    Return the yaw that turns left-right pairs' rest directions into the measured ones [rad].

    Parameters
    ----------
    across, across_rest : ndarray, shape (k, 2)
        From the right one of each pair to the left one, measured in world and at rest facing
        +X, horizontally [m].

    """
    angles = np.arctan2(across[:, 1], across[:, 0])
    angles = angles - np.arctan2(across_rest[:, 1], across_rest[:, 0])
    widths = np.linalg.norm(across_rest, axis=1)

    def sideways(heading: float) -> Floats:
        return 2.0 * widths * np.sin(0.5 * (angles - heading))

    # the pair that the others agree with best is the start, so that a swapped pair is not
    costs = [float(np.sum(np.abs(sideways(angle)))) for angle in angles]
    heading = float(angles[int(np.argmin(costs))])
    for _ in range(ITERATIONS):
        errors = (angles - heading + math.pi) % (2.0 * math.pi) - math.pi
        weights = tukey_weights(np.abs(sideways(heading)), ASYMMETRY_M) * widths**2
        heading += float(weights @ errors / np.sum(weights))
    return math.atan2(math.sin(heading), math.cos(heading))


def require_t_pose(
    layout: SensorLayout, skeleton: Skeleton, pose: TPose, positions: Vec3s, limit: float
) -> None:
    """
    Refuse places of sensors that this skeleton's T-pose cannot have.

    Raises
    ------
    CalibrationError : naming the arm span, the height or the sensor that does not fit.

    """
    expected = _expected_places(layout, skeleton)
    body = pose.to_body(positions)
    _require_span(layout, expected, body, SPAN_SHARE * limit)
    height_errors = np.abs(body[:, 2] - expected[:, 2])
    worst = int(np.argmax(height_errors))
    if height_errors[worst] > limit:
        floor_to_pelvis = pose.pelvis[2]
        raise CalibrationError(
            f'T-pose: height of {layout.sensors[worst]}: expected '
            f'{expected[worst, 2] + floor_to_pelvis:.2f} m within {limit:.2f} m, '
            f'got {body[worst, 2] + floor_to_pelvis:.2f} m; {POSE_HINT}'
        )
    errors = np.linalg.norm(body - expected, axis=1)
    worst = int(np.argmax(errors))
    if errors[worst] > math.sqrt(2.0) * limit:
        raise CalibrationError(
            f'T-pose: place of {layout.sensors[worst]}: expected its segment within '
            f'{math.sqrt(2.0) * limit:.2f} m, got {errors[worst]:.2f} m; {POSE_HINT}'
        )


def _expected_places(layout: SensorLayout, skeleton: Skeleton) -> Vec3s:
    return skeleton.rest_positions()[layout.segments] + layout.mountings


def _require_sides(layout: SensorLayout, pose: TPose, positions: Vec3s) -> None:
    body = pose.to_body(positions)
    for left, right in layout.pairs:
        if body[left, 1] <= body[right, 1]:
            raise CalibrationError(
                f'T-pose: {layout.sensors[left]} and {layout.sensors[right]}: expected the first '
                'on the left of the second, got the reverse; have they been exchanged?'
            )


def _require_span(layout: SensorLayout, expected: Vec3s, body: Vec3s, limit: float) -> None:
    names = layout.segment_names
    for left, right in layout.pairs:
        if names[left] != next((arm for arm in ARM_PAIRS if arm in names), None):
            continue
        span = float(np.linalg.norm(body[left] - body[right]))
        wanted = float(np.linalg.norm(expected[left] - expected[right]))
        if abs(span - wanted) > limit:
            raise CalibrationError(
                f'T-pose: arm span between {layout.sensors[left]} and {layout.sensors[right]}: '
                f'expected {wanted:.2f} m within {limit:.2f} m, got {span:.2f} m; {POSE_HINT}'
            )
