# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Measurement noise R of the sensors (Shin2002 eq. 3.7), estimated at rest; its file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from puppet_core.body.motion_measures import runs
from puppet_core.io import CalibrationError, load_yaml, write_text
from puppet_core.math import Floats, Mat6, Quat, Quats, read_only, Vec3, Vec3s
from puppet_core.math import quaternions as quaternion_batch
import yaml

FILE_FORMAT = 'puppet-sensor-noise/1'
HEADER = """\
# Measurement noise of tracker sensors: R of Shin2002 eq. 3.7, 6 x 6 row by row.
# Order: x y z [m], rotation vector x y z in the sensor's axes [rad].
"""

MIN_SAMPLES = 50  # R has 21 numbers; fewer samples leave it ill-determined
N_WINDOWS = 4
DRIFT_LIMIT = 4.0  # standard errors between window means that white noise does not reach
SPREAD_LIMIT_M = 0.02  # no tracker is this noisy: the sensor was moved
SPREAD_LIMIT_RAD = 0.05
LEAST_POSITION_M = 1e-5  # no tracker is this quiet; keeps R from being singular
LEAST_ROTATION_RAD = 1e-5
# A hand that holds a sensor sways evenly about a mean, which no drift shows. White noise has
# squared steps of twice its variance on average, a sway far less.
SWAY_LIMIT = 0.3
SWAY_LEAST_M = 2e-4  # below it steps of the device's resolution resemble sway
SWAY_LEAST_RAD = 5e-4
# A smaller sway is a line in the spectrum. The ordinates of white noise are exponential about its
# variance, so the largest of K exceeds ln(K / ALARM) variances in ALARM of all recordings. What is
# faster than a tenth of the rate is not a body's, but mains hum.
ALARM, SLOW = 1e-4, 0.1
# The filter's gate keeps out what is somewhere else altogether; R is that of the others.
OUTLIER_DEVIATIONS = 10.0  # from the median, by the median deviation
OUTLIER_LEAST_M, OUTLIER_LEAST_RAD = 5e-3, 1e-2
NORMAL_BY_MEDIAN = 1.4826  # standard deviation of normal numbers, by their median deviation
OUTLIER_SHARE, OUTLIER_RUN = 0.05, 5  # more, or more in a row, are none: the sensor was moved
GRAIN_M, GRAIN = 1e-6, 1e-5  # finer than any device reports: [m], quaternion
QUANTISED = 4  # samples for each different value that distinguish steps of the device from noise


def load_noise(path: str | Path) -> dict[str, Mat6]:
    """Return R by sensor of a noise file, (6, 6) [m^2, m rad, rad^2]; or InputFileError."""
    tree = load_yaml(path, FILE_FORMAT)
    sensors = tree.section('sensors')
    matrices: dict[str, Mat6] = {}
    for name in sensors.keys():
        matrix = sensors.numbers(name, 36).reshape(6, 6)
        scale = np.sqrt(np.abs(np.diag(matrix)))
        if not np.allclose(matrix, matrix.T, atol=1e-6 * np.outer(scale, scale).max()):
            raise sensors.error(name, 'a symmetric 6 x 6 matrix', 'one that is not')
        if np.linalg.eigvalsh(matrix)[0] <= 0.0:
            raise sensors.error(name, 'a positive definite 6 x 6 matrix', 'one that is not')
        matrices[name] = read_only(0.5 * (matrix + matrix.T))
    tree.finish()
    return matrices


def save_noise(matrices: Mapping[str, Mat6], path: str | Path) -> None:
    lines = [HEADER, f'format: {FILE_FORMAT}\n', 'sensors:\n']
    for name, matrix in matrices.items():
        rows = [', '.join(f'{value:.6e}' for value in row) for row in matrix]
        key = yaml.safe_dump(name, default_style=None).split('\n')[0]
        lines.append(f'  {key}: [\n    ' + ',\n    '.join(rows) + ']\n')
    write_text(path, ''.join(lines))


@dataclass(frozen=True, slots=True)
class NoiseEstimate:
    """Noise of one sensor, and reasons to doubt it."""

    # R of position and sensor-frame rotation vector, shape (6, 6) [m^2, m rad, rad^2]
    matrix: Mat6
    position: Vec3  # Mean position, shape (3,) [m]
    quaternion: Quat  # Mean orientation, shape (4,)
    n_samples: int  # Samples used
    n_outliers: int  # Samples left out because they are far from all others
    drift: float  # Largest difference between means of parts of the recording [standard errors]
    warning: str  # Why the sensor was not at rest; '' if it was

    @property
    def position_mm(self) -> float:
        """RMS noise per axis of position [mm]."""
        return float(np.sqrt(np.trace(self.matrix[:3, :3]) / 3.0)) * 1e3

    @property
    def orientation_deg(self) -> float:
        """RMS noise per axis of orientation [deg]."""
        return float(np.degrees(np.sqrt(np.trace(self.matrix[3:, 3:]) / 3.0)))


def estimate_noise(positions: Vec3s, quaternions: Quats) -> NoiseEstimate:
    """Return R and mean pose of positions [m] and quaternions, NaN left out; CalibrationError."""
    good = np.isfinite(positions).all(axis=1) & np.isfinite(quaternions).all(axis=1)
    positions, quaternions = positions[good], quaternions[good]
    if len(positions) < MIN_SAMPLES:
        raise CalibrationError(
            f'expected at least {MIN_SAMPLES} samples of a resting sensor, got {len(positions)}'
        )
    outliers = _find_outliers(positions, quaternions)
    n_outliers = int(outliers.sum())
    positions, quaternions = positions[~outliers], quaternions[~outliers]
    mean_position = positions.mean(axis=0)
    mean_quaternion = quaternion_batch.mean(quaternions)
    turns = quaternion_batch.multiply(quaternion_batch.conjugate(mean_quaternion), quaternions)
    deviations = np.hstack((positions - mean_position, quaternion_batch.log(turns)))
    matrix = np.cov(deviations.T)
    # uniform error within a step of the device; a turn is twice the quaternion's change
    least = (
        max(LEAST_POSITION_M, resolution(positions, GRAIN_M) / np.sqrt(12.0)),
        max(LEAST_ROTATION_RAD, 2.0 * resolution(np.abs(quaternions), GRAIN) / np.sqrt(12.0)),
    )
    floor = np.repeat(least, 3) ** 2
    matrix[np.diag_indices(6)] = np.maximum(np.diag(matrix), floor) + 1e-3 * floor
    drift = _drift(deviations)
    return NoiseEstimate(
        matrix=read_only(matrix),
        position=read_only(mean_position),
        quaternion=read_only(mean_quaternion),
        n_samples=len(positions),
        n_outliers=n_outliers,
        drift=drift,
        warning=_judge(matrix, drift, _sways(deviations) or _swings(deviations, floor)),
    )


def _find_outliers(positions: Vec3s, quaternions: Quats) -> NDArray[np.bool_]:
    """Return which samples are outliers, shape (n,); none if a motion would explain them."""
    signed = quaternions * np.sign(quaternions @ quaternions[0])[:, None]
    middle = np.median(signed, axis=0)
    turns = quaternion_batch.multiply(
        quaternion_batch.conjugate(middle / np.linalg.norm(middle)), quaternions
    )
    found = np.zeros(len(positions), dtype=bool)
    for values, least in (
        (positions, OUTLIER_LEAST_M),
        (quaternion_batch.log(turns), OUTLIER_LEAST_RAD),
    ):
        far = np.abs(values - np.median(values, axis=0))
        spread = NORMAL_BY_MEDIAN * np.median(far, axis=0)
        found |= (far > np.maximum(OUTLIER_DEVIATIONS * spread, least)).any(axis=1)
    longest = max((end - first for first, end in runs(found)), default=0)
    if found.mean() > OUTLIER_SHARE or longest > OUTLIER_RUN:
        found[:] = False
    return found


def resolution(columns: Floats, grain: float) -> float:
    """
    Return the step in which a device reports, 0 if its samples are too fine or too few to decide.

    Columns (n, k) are samples of one kind; differences below `grain` are of arithmetic.
    """
    step = 0.0
    for column in columns.T:
        values = np.unique(np.round(column / grain)) * grain
        if 1 < len(values) <= len(column) / QUANTISED:
            step = max(step, float(np.diff(values).min()))
    return step


def _sways(deviations: Floats) -> bool:
    """Return whether an axis moves slowly to and fro rather than at random."""
    variance = deviations.var(axis=0)
    steps = np.mean(np.diff(deviations, axis=0) ** 2, axis=0)
    least = np.repeat([SWAY_LEAST_M, SWAY_LEAST_RAD], 3) ** 2
    return bool(np.any((variance > least) & (steps < SWAY_LIMIT * variance)))


def _swings(deviations: Floats, floor: Floats) -> bool:
    """Return whether an axis swings slowly above its slow noise's level, and a floor."""
    n = len(deviations)
    spectrum = np.abs(np.fft.rfft(deviations, axis=0)[1:]) ** 2 / n
    slow = spectrum[: max(int(SLOW * n), 1)]
    level = np.maximum(np.median(slow, axis=0) / np.log(2.0), deviations.var(axis=0))
    limit = np.log(slow.size / ALARM)
    return bool(np.any((slow > limit * level) & (2.0 * slow / n > floor)))


def _drift(deviations: Floats) -> float:
    """Return the largest deviation of a window's mean from the whole's [standard errors]."""
    windows = np.array_split(deviations, N_WINDOWS)
    means = np.array([window.mean(axis=0) for window in windows])
    # noise within the windows, so that a drift does not hide itself by inflating it
    within = np.sqrt(np.mean([window.var(axis=0) for window in windows], axis=0))
    error = within / np.sqrt(len(windows[0]))
    return float(np.max(np.abs(means) / np.maximum(error, 1e-12)))


def _judge(matrix: Mat6, drift: float, sways: bool) -> str:
    spread_m = float(np.sqrt(np.diag(matrix)[:3].max()))
    spread_rad = float(np.sqrt(np.diag(matrix)[3:].max()))
    if spread_m > SPREAD_LIMIT_M:
        return f'spread of {spread_m * 1e3:.1f} mm: the sensor was moved'
    if spread_rad > SPREAD_LIMIT_RAD:
        return f'spread of {np.degrees(spread_rad):.1f} deg: the sensor was turned'
    if drift > DRIFT_LIMIT:
        return f'mean drifted by {drift:.1f} standard errors: not at rest, or slow interference'
    if sways:
        return "samples sway slowly: not at rest, or the device's own filter is on"
    return ''
