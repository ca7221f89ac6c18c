# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From what the emulator is asked for to a server that is ready to run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats
from puppet_core.character import Character
from puppet_core.errors import ConfigError
from puppet_core.motion_loop import clip_loop, LoopedMotion
from puppet_core.posture import Motion
from puppet_core.procedural_performer import procedural_motion
from puppet_core.procedural_range import range_of_motion
from puppet_driver.emulator.bursts import LineBursts
from puppet_driver.emulator.faults import FaultRates, Faults
from puppet_driver.emulator.mounting import DEFAULT_SENSORS, random_mounting
from puppet_driver.emulator.noise import disturb, NoiseLevels, SensorNoise
from puppet_driver.emulator.performer_source import PerformerSource, sensor_poses, TransmitterPose
from puppet_driver.emulator.pty_line import PtyLine
from puppet_driver.emulator.pty_server import EmulatedLine, PtyServer
from puppet_driver.emulator.twins import make_twins, TWINS
from puppet_driver.line_plan import spread

SHOW, RANGE = 'show', 'range'
SCRIPTS = {SHOW: procedural_motion, RANGE: range_of_motion}  # without a clip
RANGE_MARGIN = 0.98  # of full scale


@dataclass(frozen=True, slots=True)
class EmulatorConfig:
    """Everything but the performance itself."""

    links: tuple[Path, ...]
    """Name of each line's port."""

    device: str = 'flock_of_birds'
    """What is played, a key of TWINS."""

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
        if self.device not in TWINS:
            raise ConfigError(f'device: expected one of {", ".join(TWINS)}, got {self.device!r}')


def performance(
    config: EmulatorConfig, body: Character, clip: Motion | None, t_pose_s: float,
    script: str = SHOW,
) -> LoopedMotion:  # fmt: skip
    """Return what is performed: the clip if there is one, else a procedural script."""
    if clip is None:
        return LoopedMotion(SCRIPTS[script](body, config.rate_hz, t_pose_s), 0)
    return clip_loop(clip, config.rate_hz, t_pose_s)


def within_range(config: EmulatorConfig, looped: LoopedMotion) -> LoopedMotion:
    """
    Return the performance moved sideways, if need be, to where the tracker can see it.

    Raises
    ------
    ConfigError : if it takes more room than the tracker's range.

    """
    points = np.concatenate((looped.motion.root_positions, *_limb_points(looped.motion)))
    relative = points - config.transmitter_position_m
    limit = RANGE_MARGIN * TWINS[config.device].range_m(config)
    if np.abs(relative).max() <= limit:
        return looped
    middle = 0.5 * (relative.min(axis=0) + relative.max(axis=0)) * (1.0, 1.0, 0.0)
    if np.abs(relative - middle).max() > limit:
        room = np.ptp(relative, axis=0).max()
        raise ConfigError(
            f'performance: expected to stay within {limit:.2f} m of the transmitter, '
            f'got one that spans {room:.2f} m; use a shorter clip or a larger range'
        )
    motion = looped.motion
    moved = Motion(
        motion.skeleton,
        motion.rate_hz,
        motion.root_positions - middle,
        motion.rotations,
        motion.end_effectors - middle,
    )
    return LoopedMotion(moved, looped.loop_start)


def build_server(config: EmulatorConfig, looped: LoopedMotion) -> PtyServer:
    """
    Return a server whose ports exist.

    Raises
    ------
    ConfigError : if the sensors do not fit on the lines or a port cannot be made.

    """
    counts = spread(len(config.sensors), len(config.links))
    faults = Faults(config.faults, config.seed)
    source = measured_source(config, looped, faults)
    lines = []
    first = 0
    for link, device, count in zip(config.links, make_twins(config, counts), counts):
        bursts = LineBursts(device, slice(first, first + count), faults)
        lines.append(EmulatedLine(PtyLine(link), device, bursts))
        first += count
    return PtyServer(lines, source, config.rate_hz, config.restart_after_s)


def measured_source(
    config: EmulatorConfig, looped: LoopedMotion, faults: Faults
) -> PerformerSource:
    """Return what the sensors measure, mounting, noise and outliers included."""
    mounting = random_mounting(config.sensors, looped.motion.skeleton, config.seed)
    transmitter = TransmitterPose(
        np.array(config.transmitter_position_m), np.array([1.0, 0.0, 0.0, 0.0])
    )
    poses = sensor_poses(looped, mounting, transmitter)
    poses[..., 3:] = quaternion_batch.normalize(poses[..., 3:])
    noise = SensorNoise(config.noise, len(config.sensors), config.rate_hz, config.seed)

    def measure(block: Floats, start_tick: int) -> Floats:
        return faults.throw_outliers(disturb(block, noise.block(start_tick, len(block))))

    return PerformerSource(poses, looped.loop_start, measure)


def _limb_points(motion: Motion) -> Sequence[Floats]:
    return [motion.end_effectors[:, i] for i in range(motion.end_effectors.shape[1])]
