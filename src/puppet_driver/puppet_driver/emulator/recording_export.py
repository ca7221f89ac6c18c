# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The emulated sensors as a recording of /tracker/raw, the same as on the ports by the seed."""

from pathlib import Path

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.procedural import LoopedMotion
from puppet_core.sensor_frames import SAMPLE_MISSING, SAMPLE_OK, SensorFrame
from puppet_driver.emulator.emulator import EmulatorConfig, measured_poses
from puppet_driver.emulator.simulator import Faults
from puppet_ros.bags import BagWriter, SUFFIX
from puppet_ros.messages import encoded, TrackerFrameWriter, TransformsWriter
from puppet_ros.node import qos, TRANSMITTER, WORLD

TOPIC, STATIC_TOPIC = '/tracker/raw', '/tf_static'
MESSAGE, STATIC_MESSAGE = 'puppet_msgs/msg/TrackerFrame', 'tf2_msgs/msg/TFMessage'
START_NS = 1_000_000_000  # of the first frame; a stamp of zero means none
BLOCK = 1024  # frames made at once; noise is a function of the block


def export_recording(
    config: EmulatorConfig, looped: LoopedMotion, path: Path, duration_s: float | None = None
) -> int:
    """
    Write what the sensors measure; return the number of frames.

    `path` is an .mcap file, or a folder for a whole rosbag2 recording. Without a duration, one
    pass of the performance is written. A path that is taken or cannot be written is a ConfigError.
    """
    n_frames = looped.motion.n_frames
    if duration_s is not None:
        if not 0.0 < duration_s <= 86400.0:
            raise ConfigError(f'export_s: expected 0 < seconds <= 86400, got {duration_s:g}')
        n_frames = max(round(duration_s * config.rate_hz), 1)
    if path.is_dir() or (path.exists() and path.suffix.lower() != SUFFIX):
        raise ConfigError(f'export: expected a name that is free, got {str(path)!r}')
    try:
        path.parent.stat()  # no folder is made for a misspelt one
        with BagWriter(path) as writer:
            _write(config, looped, writer, n_frames)
    except OSError as err:
        raise ConfigError(
            f'export: expected a place to write to, got {str(path)!r} ({err.strerror})'
        ) from err
    return n_frames


def _write(config: EmulatorConfig, looped: LoopedMotion, writer: BagWriter, n_frames: int) -> None:
    faults = Faults(config.faults, config.seed)
    source = measured_poses(config, looped, faults)
    writer.write(
        STATIC_TOPIC, STATIC_MESSAGE, START_NS, _transmitter(config), qos.STATIC_TRANSFORMS
    )
    frames = TrackerFrameWriter(TRANSMITTER)
    ages_s = np.zeros(source.n_sensors)
    for first in range(0, n_frames, BLOCK):
        # Whole blocks are made, so that a longer recording begins with the shorter one.
        poses = source.block(first, BLOCK)
        dropped = faults.drops(BLOCK, source.n_sensors)
        poses[dropped] = np.nan
        status = np.where(dropped, SAMPLE_MISSING, SAMPLE_OK).astype(np.uint8)
        for row in range(min(BLOCK, n_frames - first)):
            tick = first + row
            stamp_ns = START_NS + round(tick * 1e9 / config.rate_hz)
            frame = SensorFrame(
                stamp_ns,
                tick,
                config.sensors,
                poses[row, :, :3],
                poses[row, :, 3:],
                ages_s,
                status[row],
            )
            writer.write(TOPIC, MESSAGE, stamp_ns, frames.data(frame), qos.STREAM)


def _transmitter(config: EmulatorConfig) -> bytes:
    stands = np.array([config.transmitter_position_m], dtype=float)
    turned = np.array([[1.0, 0.0, 0.0, 0.0]])
    message = TransformsWriter([(WORLD, TRANSMITTER)]).fill(START_NS, stands, turned)
    return encoded(message)
