# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pose calibration: one second of T-pose fixes how every sensor sits on its segment."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import Character, PARENTS, SEGMENTS, Skeleton
from puppet_core.io import CalibrationError, setting
from puppet_core.math import Floats, Quat, quaternions, Quats, read_only, Vec3, Vec3s
from puppet_performer.calibration.calibration import Calibration
from puppet_performer.sensor_layout import SensorLayout

ASYMMETRY_M = 0.02  # how unequally the sensors of a pair are mounted, a hand's breadth at most
SPAN_SHARE = 1.5  # an arm span may differ by this much more than one sensor's place
ITERATIONS = 20  # of a robust mean
ARM_PAIRS = ('left_hand', 'left_forearm', 'left_upper_arm')  # widest first
POSE_HINT = "stand in the T-pose, or give the performer's own character"


Recorded = TypeVar('Recorded', bound='PoseRecording')


@dataclass(frozen=True, slots=True)
class TPose:
    """A skeleton in its rest pose, somewhere on the floor."""

    heading: float  # Yaw that it faces, in (-pi, pi] [rad]
    pelvis: Vec3  # Pelvis joint in world, shape (3,) [m]

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
    """Return the T-pose nearest to sensors (n, 3) [m]; CalibrationError for pairs exchanged."""
    expected = expected_places(layout, skeleton)
    left, right = layout.pairs.T
    across = (positions[left] - positions[right])[:, :2]
    heading = fit_heading(across, (expected[left] - expected[right])[:, :2])
    pose = TPose(heading, np.array([0.0, 0.0, skeleton.rest_root_height]))
    body = pose.to_body(positions)
    for i, j in layout.pairs[body[left, 1] <= body[right, 1]][:1]:
        raise CalibrationError(
            f'T-pose: {layout.sensors[i]} and {layout.sensors[j]}: expected the first '
            'on the left of the second, got the reverse; have they been exchanged?'
        )
    middles = 0.5 * (body[left] + body[right])
    middles_rest = 0.5 * (expected[left] + expected[right])
    place = robust_mean((middles - middles_rest)[:, :2], ASYMMETRY_M)
    offset = quaternions.rotate(pose.orientation, np.append(place, 0.0))
    return TPose(heading, pose.pelvis + offset)


def fit_heading(across: Floats, across_rest: Floats) -> float:
    """
    Return the yaw that turns left-right pairs' rest directions into the measured ones [rad].

    Both are horizontal, from right to left, shape (k, 2) [m]; at rest the performer faces +X.
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
    """Raise CalibrationError for an arm span, height or sensor that no such T-pose has."""
    expected = expected_places(layout, skeleton)
    body = pose.to_body(positions)
    names = layout.segment_names
    widest = next((arm for arm in ARM_PAIRS if arm in names), None)
    for left, right in layout.pairs:
        span, wanted = (float(np.linalg.norm(x[left] - x[right])) for x in (body, expected))
        if names[left] == widest and abs(span - wanted) > SPAN_SHARE * limit:
            raise CalibrationError(
                f'T-pose: arm span between {layout.sensors[left]} and {layout.sensors[right]}: '
                f'expected {wanted:.2f} m within {SPAN_SHARE * limit:.2f} m, got {span:.2f} m; '
                + POSE_HINT
            )
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


def expected_places(layout: SensorLayout, skeleton: Skeleton) -> Vec3s:
    """Return the sensors on a skeleton in the T-pose, pelvis at the origin, shape (n, 3) [m]."""
    return skeleton.rest_positions()[layout.segments] + layout.mountings


NOISE_FLOOR_M = 5e-4  # deviations below it are never outliers
NOISE_FLOOR_RAD = 2e-3
SPREAD_QUANTILE = 0.9  # a tenth of the samples may be outliers without looking like movement
MIN_USABLE_SHARE = 0.5  # of the frames, for each sensor


@dataclass(frozen=True)
class CalibrationLimits:
    """What a recording may differ by from a still T-pose; movement is of nine tenths of it."""

    max_movement_m: float = setting(
        0.02, 'm', 0.0, 1.0, 'Largest movement of a sensor during calibration.', low_open=True
    )
    max_movement_deg: float = setting(
        3.0, 'deg', 0.0, 90.0, 'Largest rotation of a sensor during calibration.', low_open=True
    )
    max_mismatch_m: float = setting(
        0.2,
        'm',
        0.0,
        2.0,
        'Largest distance of a sensor from where skeleton and layout predict it.',
        low_open=True,
    )


@dataclass(frozen=True, slots=True)
class PoseRecording:
    """Sensor poses in world over some frames, in the order of a layout."""

    positions: Vec3s  # Shape (frames, sensors, 3) [m]; anything where not usable
    rotations: Quats  # Shape (frames, sensors, 4)
    usable: NDArray[np.bool_]  # True where a sensor was measured, shape (frames, sensors), bool

    def __getitem__(self: Recorded, index: Any) -> Recorded:
        """Return some frames, or some sensors of all frames, as numpy indexes them."""
        return replace(
            self,
            positions=self.positions[index],
            rotations=self.rotations[index],
            usable=self.usable[index],
        )


class MeanPose(NamedTuple):
    """Sensors in world while the performer holds still, outliers left out."""

    positions: Vec3s  # Shape (n, 3) [m]
    rotations: Quats  # Shape (n, 4)
    spreads_m: Floats  # RMS movement of each sensor's position, shape (n,) [m]
    spreads_rad: Floats  # The same of its rotation, shape (n,) [rad]


def calibrate_pose(
    recording: PoseRecording,
    layout: SensorLayout,
    performer: Character,
    limits: CalibrationLimits,
    date: str,
) -> Calibration:
    """Return the mounting of every sensor from a recorded T-pose; or CalibrationError."""
    positions, rotations, spreads_m, spreads_rad = mean_pose(recording, layout, limits)
    skeleton = performer.skeleton
    pose = fit_t_pose(layout, skeleton, positions)
    require_t_pose(layout, skeleton, pose, positions, limits.max_mismatch_m)
    to_segment = quaternions.conjugate(pose.orientation)
    rest = skeleton.rest_positions()[layout.segments]
    return Calibration(
        performer=performer.name,
        layout=layout.name,
        date=date,
        sensors=layout.sensors,
        segments=layout.segments,
        rotations=quaternions.multiply(to_segment, rotations),
        positions=pose.to_body(positions) - rest,
        spreads_m=spreads_m,
        spreads_rad=spreads_rad,
        heading=pose.heading,
    )


def mean_pose(
    recording: PoseRecording, layout: SensorLayout, limits: CalibrationLimits
) -> MeanPose:
    """Return sensors in a held pose; CalibrationError for a missing or moving one."""
    share = np.mean(recording.usable, axis=0)
    missing = [
        f'{layout.sensors[i]} ({share[i]:.0%})'
        for i in np.argsort(share)
        if share[i] < MIN_USABLE_SHARE
    ]
    if missing:
        raise CalibrationError(
            f'sensors: expected each in {MIN_USABLE_SHARE:.0%} of the frames or more, '
            f'got {", ".join(missing)}; check their cables or take them out of the layout'
        )
    n = len(share)
    positions, rotations = np.empty((n, 3)), np.empty((n, 4))
    for i, good in enumerate(recording.usable.T):
        positions[i] = robust_mean(recording.positions[good, i], NOISE_FLOOR_M)
        rotations[i] = robust_mean_rotation(recording.rotations[good, i], NOISE_FLOOR_RAD)
    turned = quaternions.multiply(quaternions.conjugate(rotations), recording.rotations)
    spreads, movements = [], []
    for deviations in (recording.positions - positions, quaternions.log(turned)):
        held = np.where(recording.usable, np.linalg.norm(deviations, axis=2), np.nan)
        movement = np.nanquantile(held, SPREAD_QUANTILE, axis=0)
        # the spread is of the samples that count, so that outliers do not inflate it
        inside = np.where(held <= movement, held, np.nan)
        spreads.append(np.sqrt(np.nanmean(inside**2, axis=0)))
        movements.append(movement)
    turn_limit = np.radians(limits.max_movement_deg)
    excess = np.maximum(movements[0] / limits.max_movement_m, movements[1] / turn_limit)
    worst = int(np.argmax(excess))
    if excess[worst] > 1.0:
        raise CalibrationError(
            f'{layout.sensors[worst]}: expected it to stay within {limits.max_movement_m:g} m '
            f'and {limits.max_movement_deg:g} deg, got {movements[0][worst]:.3f} m and '
            f'{np.degrees(movements[1][worst]):.1f} deg; hold the pose still'
        )
    return MeanPose(positions, rotations, *spreads)


# One sensor calibrated anew, after it was moved: the others show where the performer stands.

POSE_TOLERANCE_DEG = 20.0  # of each other segment from the T-pose; two poses differ by some
AGREEMENT_RAD, AGREEMENT_M = 0.05, 0.02  # within which sensors agree on stance and place
MIN_OTHERS = 2


def rezero_sensor(
    calibration: Calibration,
    recording: PoseRecording,
    layout: SensorLayout,
    sensor: str,
    skeleton: Skeleton,
    limits: CalibrationLimits,
    date: str,
) -> Calibration:
    """
    Return the calibration with one sensor's mounting changed, and nothing else but the date.

    `skeleton` is for a calibration that has none of its own. Raise CalibrationError if there is no
    such sensor, the performer moves, or this is no T-pose.
    """
    if sensor not in calibration.sensors:
        known = ', '.join(calibration.sensors)
        raise CalibrationError(f'sensor: expected one of {known}, got {sensor!r}')
    calibration.require_layout(layout)
    if len(calibration.sensors) <= MIN_OTHERS:
        raise CalibrationError(
            f'sensors: expected at least {MIN_OTHERS} others to tell the stance by, '
            f'got {len(calibration.sensors) - 1}; calibrate again'
        )
    row = calibration.sensors.index(sensor)
    means = mean_pose(recording, layout, limits)
    order = [layout.sensors.index(name) for name in calibration.sensors]
    means = MeanPose(*(values[order] for values in means))
    body = calibration.skeleton or skeleton
    others = [i for i in range(len(order)) if i != row]
    stance = _stance(calibration, means, others)
    rest, segments = body.rest_positions()[calibration.segments], calibration.segments
    # the pelvis joint in world, by the neighbours of the sensor or else by all others
    own = segments[row]
    near = [i for i in others if PARENTS[segments[i]] == own or PARENTS[own] == segments[i]]
    used = near or others
    local = rest[used] + calibration.positions[used]
    root = robust_mean(means.positions[used] - quaternions.rotate(stance, local), AGREEMENT_M)
    to_body = quaternions.conjugate(stance)
    place = quaternions.rotate(to_body, means.positions[row] - root)
    rotations, positions = calibration.rotations.copy(), calibration.positions.copy()
    rotations[row] = quaternions.multiply(to_body, means.rotations[row])
    positions[row] = place - rest[row]
    if np.linalg.norm(positions[row] - layout.mountings[order[row]]) > limits.max_mismatch_m:
        raise CalibrationError(
            f'{sensor}: expected it within {limits.max_mismatch_m:g} m of its place on the '
            f'{SEGMENTS[calibration.segments[row]]}, got {positions[row].round(2).tolist()} m; '
            'is it on the right segment?'
        )
    spreads_m, spreads_rad = calibration.spreads_m.copy(), calibration.spreads_rad.copy()
    spreads_m[row], spreads_rad[row] = means.spreads_m[row], means.spreads_rad[row]
    return replace(
        calibration,
        date=date,
        rotations=rotations,
        positions=positions,
        spreads_m=spreads_m,
        spreads_rad=spreads_rad,
    )


def _stance(calibration: Calibration, means: MeanPose, others: Sequence[int]) -> Quat:
    """Return the orientation of all segments in the T-pose, upright, by the other sensors."""
    inverse = quaternions.conjugate(calibration.rotations[others])
    segments = quaternions.multiply(means.rotations[others], inverse)
    mean = robust_mean_rotation(segments, AGREEMENT_RAD)
    upright = quaternions.normalize(mean * np.array([1.0, 0.0, 0.0, 1.0]))
    off = quaternions.log(quaternions.multiply(quaternions.conjugate(upright), segments))
    angles = np.degrees(np.linalg.norm(off, axis=1))
    worst = int(np.argmax(angles))
    if angles[worst] > POSE_TOLERANCE_DEG:
        raise CalibrationError(
            f'T-pose: {calibration.sensors[others[worst]]}: expected within '
            f'{POSE_TOLERANCE_DEG:g} deg of it, got {angles[worst]:.0f} deg; '
            'stand in the T-pose, or re-zero that sensor, too'
        )
    return upright


# Means that a few wild samples cannot move: Tukey's biweight, by reweighted least squares.
#
# Outliers get weight zero beyond CUTOFF robust standard deviations, so what is exact without them
# stays exact with them.

CUTOFF = 4.685  # in standard deviations: 95 % efficient on Gaussian samples
MAD_TO_SIGMA = 1.4826  # median absolute deviation of a Gaussian to its standard deviation
TOLERANCE = 1e-12


def robust_mean(points: Floats, scale_floor: float) -> Floats:
    """Return the robust mean (k,) of points (n, k); deviations below `scale_floor` are good."""
    centre = np.median(points, axis=0)
    for _ in range(ITERATIONS):
        w = tukey_weights(np.linalg.norm(points - centre, axis=1), scale_floor)
        moved = w @ points / np.sum(w) - centre
        centre = centre + moved
        if np.max(np.abs(moved)) < TOLERANCE:
            break
    return centre


def robust_mean_rotation(rotations: Quats, scale_floor: float) -> Quat:
    """Return the robust mean, w >= 0, of (n, 4); deviations below `scale_floor` [rad] are good."""
    # the sample nearest to all others starts the descent: a median for rotations
    dots = np.abs(rotations @ rotations.T)
    centre = rotations[np.argmax(np.sum(dots, axis=1))]
    for _ in range(ITERATIONS):
        errors = quaternions.log(quaternions.multiply(quaternions.conjugate(centre), rotations))
        w = tukey_weights(np.linalg.norm(errors, axis=1), scale_floor)
        moved = w @ errors / np.sum(w)
        centre = quaternions.multiply(centre, quaternions.exp(moved))
        if np.max(np.abs(moved)) < TOLERANCE:
            break
    centre = quaternions.normalize(centre)
    return centre if centre[0] >= 0.0 else -centre


def tukey_weights(deviations: Floats, scale_floor: float) -> Floats:
    """Return Tukey's biweight of deviations >= 0, shape (n,), scaled by their own median."""
    sigma = max(MAD_TO_SIGMA * float(np.median(deviations)), scale_floor)
    share = deviations / (CUTOFF * sigma)
    return np.where(share < 1.0, (1.0 - share**2) ** 2, 0.0)
