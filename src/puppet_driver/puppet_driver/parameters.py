# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The tracker driver's parameters: rows for ROS and offline, and the frozen config they fill."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from puppet_core.body import FASTEST_M_S, SEGMENTS
from puppet_core.io import ConfigError, rows_of, setting
from puppet_core.math import Quat, Vec3
from puppet_core.math.quaternions import from_rpy
from puppet_core.sensor_frames import POSE_ARRAY_MODES, POSES_OFF
from puppet_driver.devices import DEVICES, ignored_parameters, make_trackers
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.tracker import Tracker
from puppet_driver.transport import burst_seconds, is_network_name, parse_endpoint, SCHEMES, spread

fixed = partial(setting, live=False)  # a parameter that holds from configuring on
# Fields that the nodes of trackers share, as functions: a dataclass needs its own of each.
place = partial(fixed, unit='m', low=-100.0, high=100.0, length=3)
rpy = partial(fixed, (0.0, 0.0, 0.0), 'deg', -360.0, 360.0, length=3)
transmitter_rpy = partial(
    rpy, description='Roll, pitch and yaw of the transmitter in world, REP-103 axes.'
)
transforms_rate = partial(
    fixed, 30.0, 'Hz', 0.0, 1000.0, 'Highest rate of the sensors on /tf; 0: never.'
)
world_frame = partial(fixed, 'world', description='Frame in which the transmitter stands.')
tf_prefix = partial(
    fixed, '', description='Prefix of the names of all other frames, such as robot1/.'
)
pose_array_mode = partial(
    fixed,
    POSES_OFF,
    description='Whether to publish a geometry_msgs/PoseArray as well: of all sensors, NaN where '
    'not measured, or of valid ones only.',
    choices=POSE_ARRAY_MODES,
)


def transmitter_position(height_m: float) -> Any:
    """Return the field of the transmitter's place, by default at a height [m]."""
    return place(
        (0.0, 0.0, height_m),
        description='Position of the transmitter in world, published on /tf_static.',
    )


def placed(position_m: Sequence[float], rpy_deg: Sequence[float]) -> tuple[Vec3, Quat]:
    """Return axes that two parameters place: position (3,) [m] and quaternion (4,)."""
    return np.array(position_m), from_rpy(np.radians(rpy_deg))


def require_different(name: str, values: tuple[str, ...]) -> None:
    repeated = sorted({v for v in values if values.count(v) > 1})
    if repeated or '' in values:
        got = f'{repeated[0]!r} twice' if repeated else 'an empty one'
        raise ConfigError(f'{name}: expected different names, got {got}')


WAIT_PERIODS = 3.0  # beyond the time that the last byte takes
COLLECTING_S = 0.02  # and that adapters collect bytes before they hand them over
BAUD_RATES_BPS = (2400, 4800, 9600, 19200, 38400, 57600, 115200)  # of all that have RS-232
# the usual fourteen
DEFAULT_SENSORS = tuple(name for name in SEGMENTS if name not in ('spine', 'head'))


@dataclass(frozen=True, slots=True)
class DriverConfig:
    device: str = fixed('flock_of_birds', description='Kind of tracker.', choices=tuple(DEVICES))
    ports: tuple[str, ...] = fixed(
        ('/dev/ttyUSB0', '/dev/ttyUSB1', '/dev/ttyUSB2'),
        description='Serial ports, or tcp://HOST[:PORT], udp://HOST[:PORT] and, for a '
        'MotionStar, tcp+udp://HOST[:PORT]; the sensors are spread over them in order, evenly.',
    )
    baud_rate_bps: int = fixed(115200, 'bit/s', 2400, 115200, 'Speed of the ports.')
    sensors: tuple[str, ...] = fixed(
        DEFAULT_SENSORS,
        description='Names of the sensors in the order of their units, port by port.',
    )
    rate_hz: float = fixed(120.0, 'Hz', 1.0, 1000.0, 'Measurement rate of the device.')
    frame_timeout_s: float = fixed(
        0.0,
        's',
        0.0,
        1.0,
        'Longest wait for the rest of a frame; 0: derived from rate and port speed.',
    )
    device_latency_s: float = fixed(
        0.0,
        's',
        0.0,
        0.5,
        'Delay from a measurement to its first byte; subtracted from the stamps.',
    )
    first_address: int = fixed(
        2,
        low=1,
        high=flock.MAX_ADDRESS,
        description='Bus address of the first sensor on each port; 2 with an extended-range '
        'transmitter, else 1.',
    )
    group_mode: bool = fixed(
        True,
        description='Several units per port, each record with an address; false: one per port.',
    )
    record_format: str = fixed(
        'position_quaternion', description='Content of the records.', choices=flock.POSE_FORMATS
    )
    point_mode: bool = fixed(
        False, description='Whether to request each measurement instead of streaming.'
    )
    range_in: int = fixed(
        144,
        'inch',
        36,
        144,
        'Full scale of positions: 36 or 72; 144 with an extended-range transmitter; '
        'a MotionStar reports its own.',
    )
    hemisphere: str = fixed(
        'front',
        description='Side of the transmitter on which all sensors stay.',
        choices=tuple(flock.HEMISPHERES),
    )
    inverted_quaternion: bool = fixed(
        False,
        description='Whether the device reports inverse rotations; if wrong, calibration fails.',
    )
    max_speed_mps: float = fixed(
        FASTEST_M_S,
        'm/s',
        1.0,
        1000.0,
        'Fastest plausible motion: a record that implies a faster one counts as damaged '
        'until two more confirm it.',
    )
    auto_configure_pause_s: float = fixed(
        0.6, 's', 0.0, 15.0, 'Pause after configuring the bus; old units need up to 10 s.'
    )
    reply_timeout_s: float = fixed(0.25, 's', 0.05, 10.0, 'How long to wait for a reply.')
    silence_timeout_s: float = fixed(
        0.5, 's', 0.05, 60.0, 'Silence after which a port is restarted.'
    )
    retry_first_s: float = fixed(
        0.05, 's', 0.01, 60.0, 'Pause after the first failure; doubles with each further one.'
    )
    retry_last_s: float = fixed(0.1, 's', 0.01, 60.0, 'Longest pause after a failure.')
    transmitter_position_m: tuple[float, float, float] = transmitter_position(1.0)
    transmitter_rpy_deg: tuple[float, float, float] = transmitter_rpy()
    transforms_rate_hz: float = transforms_rate()
    world_frame: str = world_frame()
    tf_prefix: str = tf_prefix()
    pose_array: str = pose_array_mode()
    autostart: bool = fixed(
        True,
        description='Whether to configure and activate at once; false: a lifecycle manager does.',
    )

    def __post_init__(self) -> None:
        require_different('sensors', self.sensors)
        require_different('ports', self.ports)
        if self.retry_first_s > self.retry_last_s:
            raise ConfigError(
                f'retry_first_s: expected value <= retry_last_s = {self.retry_last_s:g}, '
                f'got {self.retry_first_s:g}'
            )
        if self.silence_timeout_s <= 1.0 / self.rate_hz:
            raise ConfigError(
                f'silence_timeout_s: expected value > {1.0 / self.rate_hz:g}, a period of '
                f'rate_hz = {self.rate_hz:g}, got {self.silence_timeout_s:g}'
            )
        is_serial = DEVICES[self.device].is_serial
        if is_serial and self.baud_rate_bps not in BAUD_RATES_BPS:
            known = ', '.join(map(str, BAUD_RATES_BPS))
            raise ConfigError(f'baud_rate_bps: expected one of {known}, got {self.baud_rate_bps}')
        for port in self.ports if is_serial else ():
            if is_network_name(port) or port.partition(':')[0] in SCHEMES:
                parse_endpoint(port)
        self.trackers[0].check(self.ports, self.sensors_per_line)

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names of the parameters that were set but mean nothing to the device."""
        default = {row.name: row.default for row in DRIVER_ROWS}
        names = ignored_parameters(self.device)
        return tuple(name for name in names if getattr(self, name) != default[name])

    @property
    def trackers(self) -> tuple[Tracker, ...]:
        """Return a new device for each line, the one with the most sensors first."""
        return make_trackers(self.device, self, self.ports, self.sensors, self.sensors_per_line)

    @property
    def sensors_per_line(self) -> tuple[int, ...]:
        return spread(len(self.sensors), len(self.ports))

    @property
    def frame_wait_s(self) -> float:
        """Longest wait for the rest of a frame [s], above a busy computer's scheduling gaps."""
        if self.frame_timeout_s > 0.0:
            return self.frame_timeout_s
        burst_s = 0.0
        if DEVICES[self.device].is_serial:
            largest = max(self.sensors_per_line)
            burst_s = burst_seconds(largest, self.baud_rate_bps, self.trackers[0].record_bytes)
            burst_s += COLLECTING_S
        return burst_s + WAIT_PERIODS / self.rate_hz

    @property
    def transmitter(self) -> tuple[Vec3, Quat]:
        return placed(self.transmitter_position_m, self.transmitter_rpy_deg)


DRIVER_ROWS = rows_of(DriverConfig, groups=('transmitter',))
