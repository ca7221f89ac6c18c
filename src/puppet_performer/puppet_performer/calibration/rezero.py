# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One sensor calibrated anew, after it was moved or exchanged: the others stay as they are.

The performer stands in the T-pose once more. With their existing mountings the other sensors
show where the performer stands and faces; the one sensor's mounting follows.

"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from puppet_core.body import PARENTS, SEGMENTS, Skeleton
from puppet_core.io import CalibrationError
from puppet_core.math import Floats, Quat, quaternions, Vec3
from puppet_performer.calibration.calibration import Calibration
from puppet_performer.calibration.pose import CalibrationLimits, mean_pose, MeanPose, PoseRecording
from puppet_performer.calibration.robust_mean import robust_mean, robust_mean_rotation
from puppet_performer.sensor_layout import SensorLayout

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

    Parameters
    ----------
    calibration : Calibration
        The one in use.
    recording : PoseRecording
        The T-pose, sensors in the order of the layout.
    layout : SensorLayout
        That of the calibration.
    sensor : str
        Which one was moved.
    skeleton : Skeleton
        The performer's, for a calibration that has none of its own.
    limits : CalibrationLimits
        How still the pose must be.
    date : str
        For the result.

    Raises
    ------
    CalibrationError : if there is no such sensor, the performer moves, or this is no T-pose.

    """
    row = _row(calibration, layout, sensor)
    means = mean_pose(recording, layout, limits)
    order = [layout.sensors.index(name) for name in calibration.sensors]
    means = MeanPose(*(values[order] for values in means))
    body = calibration.skeleton or skeleton
    others = [i for i in range(len(order)) if i != row]
    stance = _stance(calibration, means, others)
    root = _root(calibration, means, body, stance, others, row)
    to_body = quaternions.conjugate(stance)
    rest = body.rest_positions()[calibration.segments[row]]
    place = quaternions.rotate(to_body, means.positions[row] - root)
    rotations, positions = calibration.rotations.copy(), calibration.positions.copy()
    rotations[row] = quaternions.multiply(to_body, means.rotations[row])
    positions[row] = place - rest
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


def _row(calibration: Calibration, layout: SensorLayout, sensor: str) -> int:
    if sensor not in calibration.sensors:
        known = ', '.join(calibration.sensors)
        raise CalibrationError(f'sensor: expected one of {known}, got {sensor!r}')
    calibration.require_layout(layout)
    if len(calibration.sensors) <= MIN_OTHERS:
        raise CalibrationError(
            f'sensors: expected at least {MIN_OTHERS} others to tell the stance by, '
            f'got {len(calibration.sensors) - 1}; calibrate again'
        )
    return calibration.sensors.index(sensor)


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


def _root(
    calibration: Calibration,
    means: MeanPose,
    body: Skeleton,
    stance: Quat,
    others: Sequence[int],
    row: int,
) -> Vec3:
    """Return the pelvis joint in world, by the neighbours of a sensor or else by all others."""
    near = [i for i in others if _are_neighbours(calibration.segments[[i, row]])]
    used = near or list(others)
    local: Floats = body.rest_positions()[calibration.segments[used]]
    local = local + calibration.positions[used]
    roots = means.positions[used] - quaternions.rotate(stance, local)
    return robust_mean(roots, AGREEMENT_M)


def _are_neighbours(segments: np.ndarray) -> bool:
    return bool(PARENTS[segments[0]] == segments[1] or PARENTS[segments[1]] == segments[0])
