# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From the emulator's options to a server that is ready to run: devices, performance, ports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, Motion
from puppet_core.io import ConfigError
from puppet_core.math import Floats, quaternions
from puppet_core.procedural import clip_loop, LoopedMotion, procedural_motion, range_of_motion
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.devices.birdnet import (
    MAX_UNITS,
    POSITION_QUATERNION,
    RATE_RANGE_HZ,
    record_bytes,
)
from puppet_driver.devices.liberty import Liberty, Patriot
from puppet_driver.emulator.faults import FaultRates, Faults
from puppet_driver.emulator.flock_simulator import FlockSimulator
from puppet_driver.emulator.motionstar_simulator import MotionStarSimulator
from puppet_driver.emulator.performer import (
    add_noise,
    DEFAULT_SENSORS,
    NoiseLevels,
    random_mounting,
    sensor_poses,
    SensorNoise,
    SensorPoses,
    TransmitterPose,
)
from puppet_driver.emulator.polhemus_simulator import FastrakSimulator, LibertySimulator
from puppet_driver.emulator.server import EmulatedLine, EmulatorServer
from puppet_driver.emulator.simulator import DeviceSimulator, LinePackets
from puppet_driver.emulator.transports import NetworkTransport, PtyTransport, Transport
from puppet_driver.transport import Endpoint, spread

RANGE_M = 3.0  # of Polhemus devices with the large transmitter

SHOW, RANGE = 'show', 'range'
SCRIPTS = {SHOW: procedural_motion, RANGE: range_of_motion}  # without a clip
RANGE_MARGIN = 0.98  # of full scale


class SimulatorKind(NamedTuple):
    """What the emulator must know of a kind of device."""

    # Make the device of a line with so many sensors; may raise ConfigError
    make: 'Callable[[EmulatorConfig, int], DeviceSimulator]'
    record_bytes: int  # Size of the records that the driver asks for
    max_sensors: int  # How many a device has at most
    has_range_in: bool = False  # Whether its range is `range_in`, otherwise RANGE_M


def _check_addresses(first: int, last: int, limit: int) -> None:
    if not 1 <= first <= last <= limit:
        raise ConfigError(
            f'first_address: expected addresses within 1 to {limit}, got {first} to {last}'
        )


def _flock(config: 'EmulatorConfig', n_sensors: int) -> DeviceSimulator:
    first = config.first_address
    _check_addresses(first, first + len(config.sensors) - 1, flock.MAX_ADDRESS)
    return FlockSimulator(n_sensors, first, config.range_in, config.rate_hz)


def _motionstar(config: 'EmulatorConfig', n_sensors: int) -> DeviceSimulator:
    low, high = RATE_RANGE_HZ
    if not low <= config.rate_hz <= high:
        raise ConfigError(
            f'rate_hz: expected {low} <= value <= {high} for a MotionStar, got {config.rate_hz}'
        )
    first = config.first_address
    _check_addresses(first, first + n_sensors - 1, MAX_UNITS)
    return MotionStarSimulator(n_sensors, first, config.range_in, config.rate_hz)


def _fastrak(config: 'EmulatorConfig', n_sensors: int) -> DeviceSimulator:
    return FastrakSimulator(n_sensors)  # the host chooses how it writes numbers


def _liberty(config: 'EmulatorConfig', n_sensors: int) -> DeviceSimulator:
    model = Patriot if config.device == 'patriot' else Liberty
    return LibertySimulator(n_sensors, config.rate_hz, model)


SIMULATORS = {
    'flock_of_birds': SimulatorKind(
        _flock, flock.POSITION_QUATERNION_BYTES + 1, flock.MAX_ADDRESS, has_range_in=True
    ),
    'motionstar': SimulatorKind(
        _motionstar, record_bytes(POSITION_QUATERNION), MAX_UNITS, has_range_in=True
    ),
    'fastrak': SimulatorKind(_fastrak, 33, 4),
    'fastrak_ascii': SimulatorKind(_fastrak, 54, 4),
    'liberty': SimulatorKind(_liberty, 38, 16),
    'patriot': SimulatorKind(_liberty, 38, 2),
}


def make_simulators(config: 'EmulatorConfig', counts: tuple[int, ...]) -> list[DeviceSimulator]:
    """
    Return the device of each line.

    Raise ConfigError if a line has more sensors than a device.
    """
    kind = SIMULATORS[config.device]
    if max(counts) > kind.max_sensors:
        needed = -(-sum(counts) // kind.max_sensors)
        raise ConfigError(
            f'lines: expected {needed} or more for {sum(counts)} sensors, '
            f'{kind.max_sensors} each, got {len(counts)}'
        )
    return [kind.make(config, count) for count in counts]


@dataclass(frozen=True, slots=True)
class EmulatorConfig:
    """Everything but the performance itself."""

    links: tuple[Path, ...]
    """Name of each line's port."""

    device: str = 'flock_of_birds'
    """What is played, a key of SIMULATORS."""

    sensors: tuple[str, ...] = DEFAULT_SENSORS
    """Segments that wear a sensor."""

    rate_hz: float = 120.0
    """Measurements per second."""

    range_in: int = 144
    """Full scale of positions [inch]."""

    first_address: int = 2
    """Bus address of each line's first sensor."""

    transmitter_position_m: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """In world [m]; its axes are the world's."""

    noise: NoiseLevels = NoiseLevels()
    """Measurement noise."""

    faults: FaultRates = FaultRates()
    """What goes wrong."""

    seed: int = 1
    """Of mounting, noise and faults."""

    restart_after_s: float = 2.0
    """Silence after which the performance begins anew; 0 never [s]."""

    def __post_init__(self) -> None:
        if not 1.0 <= self.rate_hz <= 1000.0:
            raise ConfigError(f'rate_hz: expected 1.0 <= value <= 1000.0, got {self.rate_hz}')
        if self.device not in SIMULATORS:
            raise ConfigError(
                f'device: expected one of {", ".join(SIMULATORS)}, got {self.device!r}'
            )


def performance(
    config: EmulatorConfig,
    body: Character,
    clip: Motion | None,
    t_pose_s: float,
    script: str = SHOW,
) -> LoopedMotion:
    """Return what is performed: the clip if there is one, else a procedural script."""
    if clip is None:
        return LoopedMotion(SCRIPTS[script](body, config.rate_hz, t_pose_s), 0)
    return clip_loop(clip, config.rate_hz, t_pose_s)


def within_range(config: EmulatorConfig, looped: LoopedMotion) -> LoopedMotion:
    """
    Return the performance moved sideways, if need be, to where the tracker can see it.

    Raise ConfigError if it takes more room than the tracker's range.
    """
    motion = looped.motion
    points = np.concatenate((motion.root_positions, motion.end_effectors.reshape(-1, 3)))
    relative = points - config.transmitter_position_m
    has_range_in = SIMULATORS[config.device].has_range_in
    limit = RANGE_MARGIN * (flock.full_scale_m(config.range_in) if has_range_in else RANGE_M)
    if np.abs(relative).max() <= limit:
        return looped
    middle = 0.5 * (relative.min(axis=0) + relative.max(axis=0)) * (1.0, 1.0, 0.0)
    if np.abs(relative - middle).max() > limit:
        room = np.ptp(relative, axis=0).max()
        raise ConfigError(
            f'performance: expected to stay within {limit:.2f} m of the transmitter, '
            f'got one that spans {room:.2f} m; use a shorter clip or a larger range'
        )
    moved = Motion(
        motion.skeleton,
        motion.rate_hz,
        motion.root_positions - middle,
        motion.rotations,
        motion.end_effectors - middle,
    )
    return LoopedMotion(moved, looped.loop_start)


def build_server(
    config: EmulatorConfig, looped: LoopedMotion, addresses: Sequence[Endpoint] = ()
) -> EmulatorServer:
    """
    Return a server whose ports exist: pseudo-terminals, or TCP and UDP at each address.

    Raise ConfigError if the device cannot do what it should or a port cannot be made.
    """
    places: Sequence[Path | Endpoint] = addresses or config.links
    counts = spread(len(config.sensors), len(places))
    faults = Faults(config.faults, config.seed)
    source = measured_poses(config, looped, faults)
    lines: list[EmulatedLine] = []
    first = 0
    try:
        devices = make_simulators(config, counts)
        for place, device, count in zip(places, devices, counts):
            packets = LinePackets(device, slice(first, first + count), faults)
            lines.append(EmulatedLine(_open(place), device, packets))
            first += count
    except ConfigError:
        for line in lines:
            line.pty.close()
        raise
    return EmulatorServer(lines, source, config.rate_hz, config.restart_after_s)


def _open(place: Path | Endpoint) -> Transport:
    if isinstance(place, Endpoint):
        return NetworkTransport(place.host, place.port)
    return PtyTransport(place)


def measured_poses(config: EmulatorConfig, looped: LoopedMotion, faults: Faults) -> SensorPoses:
    """Return what the sensors measure, mounting, noise and outliers included."""
    mounting = random_mounting(config.sensors, looped.motion.skeleton, config.seed)
    transmitter = TransmitterPose(
        np.array(config.transmitter_position_m), np.array([1.0, 0.0, 0.0, 0.0])
    )
    poses = sensor_poses(looped, mounting, transmitter)
    poses[..., 3:] = quaternions.normalize(poses[..., 3:])
    noise = SensorNoise(config.noise, len(config.sensors), config.rate_hz, config.seed)

    def measure(block: Floats, start_tick: int) -> Floats:
        return faults.add_outliers(add_noise(block, noise.block(start_tick, len(block))))

    return SensorPoses(poses, looped.loop_start, measure)
