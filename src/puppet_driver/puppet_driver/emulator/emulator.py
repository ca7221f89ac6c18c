# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From the emulator's options to a server that is ready to run: devices, performance, ports."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, Motion
from puppet_core.io import ConfigError
from puppet_core.math import Floats
from puppet_core.procedural import clip_loop, LoopedMotion, SCRIPTS, SHOW
from puppet_driver.devices.birdnet import MAX_UNITS, RATE_RANGE_HZ
from puppet_driver.devices.flock_of_birds import full_scale_m, MAX_ADDRESS
from puppet_driver.devices.polhemus import Patriot
from puppet_driver.emulator.flock_simulator import Bus, FlockSimulator, Unit
from puppet_driver.emulator.motionstar_simulator import MotionStarSimulator
from puppet_driver.emulator.performer import (
    add_noise,
    NoiseLevels,
    random_mounting,
    sensor_poses,
    SensorNoise,
    SensorPoses,
)
from puppet_driver.emulator.polhemus_simulator import FastrakSimulator, LibertySimulator
from puppet_driver.emulator.server import EmulatedLine, EmulatorServer
from puppet_driver.emulator.simulator import DeviceSimulator, FaultRates, Faults, LinePackets
from puppet_driver.emulator.transports import NetworkTransport, PtyTransport, Transport
from puppet_driver.parameters import DEFAULT_SENSORS
from puppet_driver.transport import Endpoint, spread

RANGE_M = 3.0  # of Polhemus devices with the large transmitter
RANGE_MARGIN = 0.98  # of full scale


class SimulatorKind(NamedTuple):
    # Make the device of a line with so many sensors
    make: 'Callable[[EmulatorConfig, int], DeviceSimulator]'
    record_bytes: int  # Size of the records that the driver asks for
    max_sensors: int  # How many a device has at most
    # Highest bus address; 0 for devices without one, whose range is RANGE_M and not `range_in`
    max_address: int = 0
    rates_hz: tuple[float, float] = (1.0, 1000.0)


SIMULATORS = {
    'flock_of_birds': SimulatorKind(
        lambda c, n: FlockSimulator(n, c.first_address, c.range_in),
        record_bytes=15,
        max_sensors=MAX_ADDRESS,
        max_address=MAX_ADDRESS,
    ),
    'motionstar': SimulatorKind(
        lambda c, n: MotionStarSimulator(n, c.first_address, c.range_in, c.rate_hz),
        record_bytes=16,
        max_sensors=MAX_UNITS,
        max_address=MAX_UNITS,
        rates_hz=RATE_RANGE_HZ,
    ),
    # the host chooses how it writes numbers
    'fastrak': SimulatorKind(lambda c, n: FastrakSimulator(n), 33, 4),
    'fastrak_ascii': SimulatorKind(lambda c, n: FastrakSimulator(n), 54, 4),
    'liberty': SimulatorKind(lambda c, n: LibertySimulator(n), 38, 16),
    'patriot': SimulatorKind(lambda c, n: LibertySimulator(n, Patriot), 38, 2),
}


@dataclass(frozen=True, slots=True)
class EmulatorConfig:
    """Everything but the performance itself."""

    links: tuple[Path | Endpoint, ...]  # Of each line a pseudo-terminal's name, or an address
    device: str = 'flock_of_birds'  # What is played, a key of SIMULATORS
    # Segments that wear a sensor, and props that have one
    sensors: tuple[str, ...] = DEFAULT_SENSORS
    rate_hz: float = 120.0  # Measurements per second
    range_in: int = 144  # Full scale of positions [inch]
    first_address: int = 2  # Bus address of each line's first sensor
    # Whether each line is a unit of one Flock, the first its master
    shares_bus: bool = False
    # In world [m]; its axes are the world's
    transmitter_position_m: tuple[float, float, float] = (0.0, 0.0, 1.0)
    noise: NoiseLevels = NoiseLevels()
    faults: FaultRates = FaultRates()
    seed: int = 1  # Of mounting, noise and faults
    restart_after_s: float = 2.0  # Silence after which the performance begins anew; 0 never [s]

    def __post_init__(self) -> None:
        if self.device not in SIMULATORS:
            raise ConfigError(
                f'device: expected one of {", ".join(SIMULATORS)}, got {self.device!r}'
            )
        low, high = SIMULATORS[self.device].rates_hz
        if not low <= self.rate_hz <= high:
            raise ConfigError(
                f'rate_hz: expected {low} <= value <= {high} for device {self.device}, '
                f'got {self.rate_hz}'
            )

    def make_devices(self) -> list[DeviceSimulator]:
        """Return the device of each line; ConfigError if one has too many sensors or addresses."""
        kind, counts = SIMULATORS[self.device], spread(len(self.sensors), len(self.links))
        if counts[0] > kind.max_sensors:
            needed = -(-sum(counts) // kind.max_sensors)
            raise ConfigError(
                f'lines: expected {needed} or more for {sum(counts)} sensors, '
                f'{kind.max_sensors} each, got {len(counts)}'
            )
        last = self.first_address + counts[0] - 1
        if kind.max_address and not 1 <= self.first_address <= last <= kind.max_address:
            raise ConfigError(
                f'first_address: expected addresses within 1 to {kind.max_address}, '
                f'got {self.first_address} to {last}'
            )
        if not self.shares_bus:
            return [kind.make(self, count) for count in counts]
        if self.device != 'flock_of_birds' or set(counts) != {1}:
            raise ConfigError(
                'shares_bus: expected a flock_of_birds with a line for each sensor, got '
                f'{self.device} with {sum(counts)} sensors on {len(counts)} lines'
            )
        bus = Bus({address: Unit(address, True) for address in range(1, len(counts) + 1)})
        return [FlockSimulator(1, a, self.range_in, bus) for a in bus.units]


def performance(
    config: EmulatorConfig,
    body: Character,
    clip: Motion | None,
    t_pose_s: float,
    script: str = SHOW,
) -> LoopedMotion:
    """Return what is performed: the clip if there is one, else a procedural script."""
    if clip is None:
        return LoopedMotion(SCRIPTS[script].motion(body, config.rate_hz, t_pose_s), 0)
    return clip_loop(clip, config.rate_hz, t_pose_s)


def within_range(config: EmulatorConfig, looped: LoopedMotion) -> LoopedMotion:
    """Return the performance, moved sideways into range if need be; ConfigError if too wide."""
    motion = looped.motion
    places = motion.root_positions, motion.end_effectors, motion.props.positions
    points = np.concatenate([p.reshape(-1, 3) for p in places])
    relative = points - config.transmitter_position_m
    has_range_in = SIMULATORS[config.device].max_address > 0
    limit = RANGE_MARGIN * (full_scale_m(config.range_in) if has_range_in else RANGE_M)
    if np.abs(relative).max() <= limit:
        return looped
    middle = 0.5 * (relative.min(axis=0) + relative.max(axis=0)) * (1.0, 1.0, 0.0)
    if np.abs(relative - middle).max() > limit:
        room = np.ptp(relative, axis=0).max()
        raise ConfigError(
            f'performance: expected to stay within {limit:.2f} m of the transmitter, '
            f'got one that spans {room:.2f} m; use a shorter clip or a larger range'
        )
    moved = replace(
        motion,
        root_positions=motion.root_positions - middle,
        end_effectors=motion.end_effectors - middle,
        props=motion.props._replace(positions=motion.props.positions - middle),
    )
    return LoopedMotion(moved, looped.loop_start)


def build_server(config: EmulatorConfig, looped: LoopedMotion) -> EmulatorServer:
    """Return a server whose ports exist; ConfigError if device or ports cannot be made."""
    faults = Faults(config.faults, config.seed)
    source = measured_poses(config, looped, faults)
    lines: list[EmulatedLine] = []
    counts = spread(len(config.sensors), len(config.links))
    try:
        for link, device, count in zip(config.links, config.make_devices(), counts):
            first = sum(counts[: len(lines)])
            packets = LinePackets(device, slice(first, first + count), faults)
            port: Transport
            if isinstance(link, Endpoint):
                port = NetworkTransport(link.host, link.port)
            else:
                port = PtyTransport(link)
            lines.append(EmulatedLine(port, device, packets))
    except ConfigError:
        for line in lines:
            line.pty.close()
        raise
    return EmulatorServer(lines, source, config.rate_hz, config.restart_after_s)


def measured_poses(config: EmulatorConfig, looped: LoopedMotion, faults: Faults) -> SensorPoses:
    """Return what the sensors measure, mounting, noise and outliers included."""
    motion = looped.motion
    mounting = random_mounting(config.sensors, motion.skeleton, config.seed, motion.props.names)
    poses = sensor_poses(looped, mounting, np.array(config.transmitter_position_m))
    noise = SensorNoise(config.noise, len(config.sensors), config.rate_hz, config.seed)

    def measure(block: Floats, start_tick: int) -> Floats:
        return faults.add_outliers(add_noise(block, noise.block(start_tick, len(block))))

    return SensorPoses(poses, looped.loop_start, measure)
