# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the pose filter: rows shared by node and offline commands, and the config."""

from collections.abc import Mapping
from dataclasses import dataclass
import math
from typing import Any, NamedTuple

from puppet_core.body import FASTEST_M_S, FASTEST_RAD_S
from puppet_core.io import build_config, ConfigError, InputFileError, rows_of, setting
from puppet_core.math import Mat6
from puppet_core.sensor_frames import POSE_ARRAY_MODES, POSES_OFF
from puppet_filter.sensor_noise import load_noise


def _positive(default: float, unit: str, high: float, description: str) -> Any:
    return setting(default, unit, 0.0, high, description, low_open=True)


@dataclass(frozen=True, slots=True)
class PoseFilterConfig:
    frame_id: str = setting(
        'transmitter', description='Frame of the poses if the input names none.'
    )
    expected_rate_hz: float = setting(
        120.0,
        'Hz',
        0.0,
        1000.0,
        'Expected frame rate; diagnostics warn below 90 % of it; 0: no check.',
    )
    noise_position_mm: float = _positive(
        0.5, 'mm', 100.0, 'Standard deviation of a position sample, if no measured noise is given.'
    )
    noise_orientation_deg: float = _positive(
        0.05, 'deg', 30.0, 'Standard deviation of an orientation sample about each axis, likewise.'
    )
    noise_file: str = setting(
        '', description='YAML file of measure_noise, R of each sensor; set again to reload it.'
    )
    process_model: str = setting(
        'adaptive',
        description='Process model: adaptive or constant (physical) density of white '
        'acceleration, or q1 to q8 of Shin2002 eq. 3.5 (printed).',
        choices=('adaptive', 'physical', 'printed'),
    )
    process_linear_m2_s3: float = _positive(
        20.0,
        'm^2/s^3',
        1e6,
        'Spectral density of linear acceleration; adaptive: used while samples are missing.',
    )
    process_angular_rad2_s3: float = _positive(
        500.0, 'rad^2/s^3', 1e7, 'Spectral density of angular acceleration, likewise.'
    )
    process_quiet_linear_m2_s3: float = _positive(
        1e-05, 'm^2/s^3', 1e6, 'Linear density at rest (adaptive).'
    )
    process_quiet_angular_rad2_s3: float = _positive(
        3e-05, 'rad^2/s^3', 1e7, 'Angular density at rest (adaptive).'
    )
    process_highest_linear_m2_s3: float = _positive(
        200.0, 'm^2/s^3', 1e6, 'Linear density for the strongest accelerations (adaptive).'
    )
    process_highest_angular_rad2_s3: float = _positive(
        20000.0, 'rad^2/s^3', 1e7, 'Angular density for the strongest accelerations (adaptive).'
    )
    process_surprise_limit: float = setting(
        18.0,
        '-',
        3.0,
        1000.0,
        'Squared Mahalanobis distance of a sample, or of the mean of recent ones, above which '
        'the density is raised; 3 on average (adaptive).',
    )
    process_trend_s: float = _positive(
        0.03, 's', 10.0, 'Memory of that mean, which detects slow motion in noise (adaptive).'
    )
    process_settle_s: float = _positive(
        0.03, 's', 10.0, 'Time constant with which a raised density decays (adaptive).'
    )
    process_q1: float = setting(3.9e-06, 'm^2', 0.0, 1.0, 'Position noise (printed).')
    process_q2: float = setting(0.0007, 'm^2/s', 0.0, 10.0, 'Position-velocity noise (printed).')
    process_q3: float = setting(0.0007, 'm^2/s', 0.0, 10.0, 'Equal to q2 (printed).')
    process_q4: float = setting(0.17, 'm^2/s^2', 0.0, 1000.0, 'Velocity noise (printed).')
    process_q5: float = setting(9.6e-05, 'rad^2', 0.0, 10.0, 'Rotation noise (printed).')
    process_q6: float = setting(0.017, 'rad^2/s', 0.0, 100.0, 'Rotation-rate noise (printed).')
    process_q7: float = setting(0.017, 'rad^2/s', 0.0, 100.0, 'Equal to q6 (printed).')
    process_q8: float = setting(4.2, 'rad^2/s^2', 0.0, 10000.0, 'Angular rate noise (printed).')
    initial_speed_m_s: float = _positive(
        3.0, 'm/s', 100.0, 'Standard deviation of the velocity of a new state.'
    )
    initial_rate_rad_s: float = _positive(
        10.0, 'rad/s', 1000.0, 'Standard deviation of the angular velocity of a new state.'
    )
    gate_mahalanobis_limit: float = setting(
        6.0, '-', 1.0, 1e6, 'Samples farther than this from the prediction are outliers.'
    )
    gate_jump_count: int = setting(
        2,
        '-',
        1,
        1000,
        'Number of consecutive, mutually consistent outliers that count as a true jump, which is '
        'followed with a delay of one sample less; 1 lets every outlier through.',
    )
    gate_jump_speed_m_s: float = _positive(
        FASTEST_M_S,
        'm/s',
        1000.0,
        'Fastest motion of a body: the limit for consistent outliers and for bridging a gap.',
    )
    gate_jump_rate_rad_s: float = _positive(
        FASTEST_RAD_S, 'rad/s', 1000.0, 'Fastest rotation, likewise.'
    )
    gap_hold_s: float = setting(
        0.03, 's', 0.0, 10.0, 'Length of a gap that is bridged at constant velocity.'
    )
    gap_decay_s: float = _positive(
        0.3, 's', 10.0, 'Time constant of the decay of velocity in a longer gap.'
    )
    gap_reach_m: float = _positive(
        0.5,
        'm',
        100.0,
        'Approximate distance that a sensor is extrapolated in a gap; the velocity of fast '
        'sensors decays sooner.',
    )
    gap_lost_after_s: float = _positive(
        0.5, 's', 60.0, 'Length of a gap after which a sensor is lost and its state restarts.'
    )
    gap_restart_s: float = _positive(
        1.0,
        's',
        1e6,
        'Backward step of the stamps that means a new recording at once; after a smaller step, a '
        'few frames are treated as late.',
    )
    lookahead_s: float = setting(
        0.0,
        's',
        0.0,
        0.2,
        'How far beyond the stamp poses are predicted, to offset known latency.',
    )
    pose_array: str = setting(
        POSES_OFF,
        description='Whether to publish a geometry_msgs/PoseArray as well: of all sensors, NaN '
        'where lost, or of valid ones only.',
        choices=POSE_ARRAY_MODES,
    )

    def __post_init__(self) -> None:
        for a, b in ((2, 3), (6, 7)):
            low, high = getattr(self, f'process_q{a}'), getattr(self, f'process_q{b}')
            if low != high:
                raise ConfigError(f'process.q{b}: expected process.q{a} = {low}, got {high}')
        for first in (1, 5):
            variance, cross, rate = (getattr(self, f'process_q{first + k}') for k in (0, 1, 3))
            limit = math.sqrt(variance * rate)
            if cross > limit:
                raise ConfigError(
                    f'process.q{first + 1}: expected value <= sqrt(q{first} q{first + 3}) = '
                    f'{limit:g}, got {cross:g}'
                )
        for part in ('linear_m2_s3', 'angular_rad2_s3'):
            highest = getattr(self, f'process_highest_{part}')
            quiet = getattr(self, f'process_quiet_{part}')
            if quiet > highest:
                raise ConfigError(
                    f'process.quiet_{part}: expected value <= process.highest_{part} = '
                    f'{highest}, got {quiet}'
                )
        if self.gap_lost_after_s < self.gap_hold_s:
            raise ConfigError(
                f'gap.lost_after_s: expected value >= gap.hold_s = {self.gap_hold_s}, '
                f'got {self.gap_lost_after_s}'
            )


ROWS = rows_of(PoseFilterConfig, groups=('noise', 'process', 'initial', 'gate', 'gap'))


class Tuning(NamedTuple):
    parameters: PoseFilterConfig  # Checked values of ROWS
    noise: Mapping[str, Mat6]  # R of the sensors in `noise.file`; of none without a file


def load_tuning(values: Mapping[str, Any]) -> Tuning:
    """Return the tuning of checked values, the noise file read; or ConfigError."""
    config = build_config(PoseFilterConfig, values)
    if not config.noise_file:
        return Tuning(config, {})
    try:
        return Tuning(config, load_noise(config.noise_file))
    except InputFileError as err:
        raise ConfigError(f'noise.file: {err}') from err
