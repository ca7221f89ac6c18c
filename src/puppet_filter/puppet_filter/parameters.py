# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the pose filter: rows shared by node and offline commands, and the config."""

from collections.abc import Mapping
from dataclasses import dataclass
import math
from typing import Any, NamedTuple

from puppet_core.body import FASTEST_M_S, FASTEST_RAD_S
from puppet_core.io import build_config, ConfigError, InputFileError, Row
from puppet_core.sensor_frames import POSE_ARRAY_MODES, POSES_OFF
from puppet_filter.sensor_noise import load_noise, SensorNoise

ROWS = (
    Row(
        'frame_id',
        'transmitter',
        live=True,
        description='frame of the poses if the input names none',
    ),
    Row(
        'expected_rate_hz',
        120.0,
        'Hz',
        0.0,
        1000.0,
        True,
        'rate below nine tenths of which diagnostics warn; 0 for any',
    ),
    Row(
        'noise.position_mm',
        0.5,
        'mm',
        0.0,
        100.0,
        True,
        'standard deviation of a position sample, where no measured noise is given',
        low_open=True,
    ),
    Row(
        'noise.orientation_deg',
        0.05,
        'deg',
        0.0,
        30.0,
        True,
        'standard deviation of an orientation sample about each axis, likewise',
        low_open=True,
    ),
    Row(
        'noise.file',
        '',
        live=True,
        description='YAML written by measure_noise: R of each sensor; set again to read it again',
    ),
    Row(
        'process.model',
        'adaptive',
        live=True,
        choices=('adaptive', 'physical', 'printed'),
        description='adaptive or constant density of white acceleration, or q1 to q8 of '
        'Shin2002 eq. 3.5',
    ),
    Row(
        'process.linear_m2_s3',
        20.0,
        'm^2/s^3',
        0.0,
        1e6,
        True,
        'spectral density of linear acceleration; adaptive: while samples are missing',
        low_open=True,
    ),
    Row(
        'process.angular_rad2_s3',
        500.0,
        'rad^2/s^3',
        0.0,
        1e7,
        True,
        'spectral density of angular acceleration, likewise',
        low_open=True,
    ),
    Row(
        'process.quiet_linear_m2_s3',
        1e-5,
        'm^2/s^3',
        0.0,
        1e6,
        True,
        'linear density at rest (adaptive)',
        low_open=True,
    ),
    Row(
        'process.quiet_angular_rad2_s3',
        3e-5,
        'rad^2/s^3',
        0.0,
        1e7,
        True,
        'angular density at rest (adaptive)',
        low_open=True,
    ),
    Row(
        'process.highest_linear_m2_s3',
        200.0,
        'm^2/s^3',
        0.0,
        1e6,
        True,
        'linear density that explains the strongest accelerations (adaptive)',
        low_open=True,
    ),
    Row(
        'process.highest_angular_rad2_s3',
        20000.0,
        'rad^2/s^3',
        0.0,
        1e7,
        True,
        'angular density that explains the strongest accelerations (adaptive)',
        low_open=True,
    ),
    Row(
        'process.surprise_limit',
        18.0,
        '-',
        3.0,
        1e3,
        True,
        'squared distance of a position or rotation sample, or of the mean of the last ones, 3 '
        'on average, above which its density is raised (adaptive)',
    ),
    Row(
        'process.trend_s',
        0.03,
        's',
        0.0,
        10.0,
        True,
        'memory of that mean, which finds slow motion in the noise (adaptive)',
        low_open=True,
    ),
    Row(
        'process.settle_s',
        0.03,
        's',
        0.0,
        10.0,
        True,
        'time constant with which a raised density falls (adaptive)',
        low_open=True,
    ),
    Row('process.q1', 3.9e-6, 'm^2', 0.0, 1.0, True, 'position (printed)'),
    Row('process.q2', 7.0e-4, 'm^2/s', 0.0, 10.0, True, 'position and velocity (printed)'),
    Row('process.q3', 7.0e-4, 'm^2/s', 0.0, 10.0, True, 'equal to q2 (printed)'),
    Row('process.q4', 0.17, 'm^2/s^2', 0.0, 1e3, True, 'velocity (printed)'),
    Row('process.q5', 9.6e-5, 'rad^2', 0.0, 10.0, True, 'rotation (printed)'),
    Row('process.q6', 1.7e-2, 'rad^2/s', 0.0, 1e2, True, 'rotation and rate (printed)'),
    Row('process.q7', 1.7e-2, 'rad^2/s', 0.0, 1e2, True, 'equal to q6 (printed)'),
    Row('process.q8', 4.2, 'rad^2/s^2', 0.0, 1e4, True, 'rate (printed)'),
    Row(
        'initial.speed_m_s',
        3.0,
        'm/s',
        0.0,
        100.0,
        True,
        'standard deviation of the velocity of a new state',
        low_open=True,
    ),
    Row(
        'initial.rate_rad_s',
        10.0,
        'rad/s',
        0.0,
        1e3,
        True,
        'standard deviation of the angular velocity of a new state',
        low_open=True,
    ),
    Row(
        'gate.mahalanobis_limit',
        6.0,
        '-',
        1.0,
        1e6,
        True,
        'samples further than this from the prediction are outliers',
    ),
    Row(
        'gate.jump_count',
        2,
        '-',
        1,
        1000,
        True,
        'outliers in a row that agree with each other and mean a true jump, which is followed '
        'so many samples late less one; 1 lets every outlier through',
    ),
    Row(
        'gate.jump_speed_m_s',
        FASTEST_M_S,
        'm/s',
        0.0,
        1e3,
        True,
        'fastest motion of a body: with which outliers still agree, and a gap is bridged',
        low_open=True,
    ),
    Row(
        'gate.jump_rate_rad_s',
        FASTEST_RAD_S,
        'rad/s',
        0.0,
        1e3,
        True,
        'fastest rotation, likewise',
        low_open=True,
    ),
    Row(
        'gap.hold_s',
        0.03,
        's',
        0.0,
        10.0,
        True,
        'gap without samples that is bridged at constant velocity',
    ),
    Row(
        'gap.decay_s',
        0.30,
        's',
        0.0,
        10.0,
        True,
        'time constant of the velocity in a longer gap',
        low_open=True,
    ),
    Row(
        'gap.reach_m',
        0.50,
        'm',
        0.0,
        100.0,
        True,
        'about how far a sensor is carried on in a gap: the velocity of faster ones decays sooner',
        low_open=True,
    ),
    Row(
        'gap.lost_after_s',
        0.5,
        's',
        0.0,
        60.0,
        True,
        'gap after which a sensor is lost and starts anew',
        low_open=True,
    ),
    Row(
        'gap.restart_s',
        1.0,
        's',
        0.0,
        1e6,
        True,
        'step back of the stamps that is a new recording at once; of a smaller one a few frames '
        'are taken for late',
        low_open=True,
    ),
    Row(
        'lookahead_s',
        0.0,
        's',
        0.0,
        0.2,
        True,
        'how far ahead of the stamp poses are predicted, for known latency',
    ),
    Row(
        'pose_array',
        POSES_OFF,
        live=True,
        choices=POSE_ARRAY_MODES,
        description='whether to publish a geometry_msgs/PoseArray too: of all sensors, NaN '
        'where lost, or of the valid ones',
    ),
)


@dataclass(frozen=True, slots=True)
class PoseFilterConfig:
    """Values of ROWS; see there for meaning, unit and range."""

    frame_id: str = 'transmitter'
    expected_rate_hz: float = 120.0
    noise_position_mm: float = 0.5
    noise_orientation_deg: float = 0.05
    noise_file: str = ''
    process_model: str = 'adaptive'
    process_linear_m2_s3: float = 20.0
    process_angular_rad2_s3: float = 500.0
    process_quiet_linear_m2_s3: float = 1e-5
    process_quiet_angular_rad2_s3: float = 3e-5
    process_highest_linear_m2_s3: float = 200.0
    process_highest_angular_rad2_s3: float = 20000.0
    process_surprise_limit: float = 18.0
    process_trend_s: float = 0.03
    process_settle_s: float = 0.03
    process_q1: float = 3.9e-6
    process_q2: float = 7.0e-4
    process_q3: float = 7.0e-4
    process_q4: float = 0.17
    process_q5: float = 9.6e-5
    process_q6: float = 1.7e-2
    process_q7: float = 1.7e-2
    process_q8: float = 4.2
    initial_speed_m_s: float = 3.0
    initial_rate_rad_s: float = 10.0
    gate_mahalanobis_limit: float = 6.0
    gate_jump_count: int = 2
    gate_jump_speed_m_s: float = FASTEST_M_S
    gate_jump_rate_rad_s: float = FASTEST_RAD_S
    gap_hold_s: float = 0.03
    gap_decay_s: float = 0.30
    gap_reach_m: float = 0.50
    gap_lost_after_s: float = 0.5
    gap_restart_s: float = 1.0
    lookahead_s: float = 0.0
    pose_array: str = POSES_OFF

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


def make_config(values: Mapping[str, Any]) -> PoseFilterConfig:
    """Return the config of checked parameter values."""
    return build_config(PoseFilterConfig, values)


class Tuning(NamedTuple):
    """Parameters and measured noise, always taken together."""

    parameters: PoseFilterConfig
    """Checked values of ROWS."""

    noise: SensorNoise
    """R of the sensors in `noise.file`; of none without a file."""


def load_tuning(values: Mapping[str, Any]) -> Tuning:
    """
    Return the tuning of checked parameter values, the noise file read.

    Raises
    ------
    ConfigError : for an impossible combination, or a noise file that cannot be used.

    """
    config = make_config(values)
    if not config.noise_file:
        return Tuning(config, SensorNoise({}))
    try:
        return Tuning(config, load_noise(config.noise_file))
    except InputFileError as err:
        raise ConfigError(f'noise.file: {err}') from err
