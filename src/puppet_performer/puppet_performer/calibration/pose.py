# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Pose calibration: one second of T-pose fixes how every sensor sits on its segment.

In the T-pose all segments have the performer's heading as their orientation and the
skeleton's rest places, so a sensor's mean pose in world is its mounting. Nothing is taken
from a recording that cannot be trusted: the errors say which sensor, and by how much.

"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import Character
from puppet_core.io import CalibrationError
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_performer.calibration.calibration import Calibration
from puppet_performer.calibration.robust_mean import robust_mean, robust_mean_rotation
from puppet_performer.calibration.t_pose import fit_t_pose, require_t_pose
from puppet_performer.sensor_layout import SensorLayout

NOISE_FLOOR_M = 5e-4  # deviations below it are never outliers
NOISE_FLOOR_RAD = 2e-3
SPREAD_QUANTILE = 0.9  # a tenth of the samples may be outliers without looking like movement
MIN_USABLE_SHARE = 0.5  # of the frames, for each sensor


@dataclass(frozen=True, slots=True)
class CalibrationLimits:
    """What a recording may differ by from a still T-pose."""

    max_movement_m: float = 0.02
    """Of nine tenths of a sensor's samples about their mean [m]."""

    max_movement_deg: float = 3.0
    """The same for its rotation [deg]."""

    max_mismatch_m: float = 0.2
    """Of a sensor's place from where skeleton and layout put it [m]."""


@dataclass(frozen=True, slots=True)
class PoseRecording:
    """Sensor poses in world over some frames, in the order of a layout."""

    positions: Vec3s
    """Shape (frames, sensors, 3) [m]; anything where not usable."""

    rotations: Quats
    """Shape (frames, sensors, 4)."""

    usable: NDArray[np.bool_]
    """True where a sensor was measured, shape (frames, sensors), bool."""


class MeanPose(NamedTuple):
    """Sensors in world while the performer holds still, outliers left out."""

    positions: Vec3s
    """Shape (n, 3) [m]."""

    rotations: Quats
    """Shape (n, 4)."""

    spreads_m: Floats
    """RMS movement of each sensor's position, shape (n,) [m]."""

    spreads_rad: Floats
    """The same of its rotation, shape (n,) [rad]."""


def calibrate_pose(
    recording: PoseRecording,
    layout: SensorLayout,
    performer: Character,
    limits: CalibrationLimits,
    date: str,
) -> Calibration:
    """
    Return the mounting of every sensor from a recording of the T-pose.

    Raises
    ------
    CalibrationError : if a sensor is missing, the performer moves, or this is no T-pose.

    """
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
    """
    Return where the sensors are while the performer holds a pose.

    Raises
    ------
    CalibrationError : if a sensor is missing or the performer moves.

    """
    _require_all_sensors(recording, layout)
    positions, rotations = _mean_poses(recording)
    spreads_m, spreads_rad = _require_still(recording, layout, limits, positions, rotations)
    return MeanPose(positions, rotations, spreads_m, spreads_rad)


def _require_all_sensors(recording: PoseRecording, layout: SensorLayout) -> None:
    if not len(recording.usable):
        raise CalibrationError('recording: expected at least one frame, got none')
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


def _mean_poses(recording: PoseRecording) -> tuple[Vec3s, Quats]:
    n = recording.usable.shape[1]
    positions, rotations = np.empty((n, 3)), np.empty((n, 4))
    for sensor in range(n):
        good = recording.usable[:, sensor]
        positions[sensor] = robust_mean(recording.positions[good, sensor], NOISE_FLOOR_M)
        rotations[sensor] = robust_mean_rotation(
            recording.rotations[good, sensor], NOISE_FLOOR_RAD
        )
    return positions, rotations


def _require_still(
    recording: PoseRecording,
    layout: SensorLayout,
    limits: CalibrationLimits,
    positions: Vec3s,
    rotations: Quats,
) -> tuple[Floats, Floats]:
    """Return each sensor's RMS deviations [m] and [rad]; refuse if one moved too much."""
    inverse = quaternions.conjugate(rotations)
    turned = quaternions.log(quaternions.multiply(inverse, recording.rotations))
    moved = np.linalg.norm(recording.positions - positions, axis=2)
    spreads, movements = [], []
    for deviations in (moved, np.linalg.norm(turned, axis=2)):
        held = np.where(recording.usable, deviations, np.nan)
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
    return spreads[0], spreads[1]
