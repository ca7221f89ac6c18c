# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The emulated sensors as a recording: /tracker/raw in a rosbag, without ROS, driver or waiting.

The same performance, mounting, noise, drop-outs and outliers as on the ports, by the same
seed; bytes on a line, and what the driver makes of them, are left out. The same arguments
give the same bytes.

"""

import os
from pathlib import Path
import shutil
import tempfile
from typing import Any

import numpy as np
from puppet_core.errors import ConfigError
from puppet_core.motion_loop import LoopedMotion
from puppet_driver.emulator.assembly import EmulatorConfig, measured_source
from puppet_driver.emulator.faults import Faults
from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

TOPIC, STATIC_TOPIC = '/tracker/raw', '/tf_static'
WORLD, TRANSMITTER = 'world', 'transmitter'
MESSAGE = 'puppet_msgs/msg/TrackerFrame'
SUFFIX = '.mcap'
START_NS = 1_000_000_000  # of the first frame; a stamp of zero means none
BLOCK = 1024  # frames made at once; noise is a function of the block
_MISSING, _OK = 1, 0
_XYZW = [0, 1, 2, 4, 5, 6, 3]  # poses of the emulator have w first


def export_recording(
    config: EmulatorConfig, looped: LoopedMotion, path: Path, duration_s: float | None = None
) -> int:
    """
    Write what the sensors measure; return the number of frames.

    Parameters
    ----------
    config : EmulatorConfig
        Sensors, rate, transmitter, noise, faults, seed.
    looped : LoopedMotion
        The performance.
    path : Path
        An .mcap file, or a folder for a whole rosbag2 recording.
    duration_s : float, optional
        How long; one pass of the performance if not given [s].

    Raises
    ------
    ConfigError : if the path is taken or cannot be written.

    """
    n_frames = looped.motion.n_frames
    if duration_s is not None:
        if not 0.0 < duration_s <= 86400.0:
            raise ConfigError(f'export_s: expected 0 < seconds <= 86400, got {duration_s:g}')
        n_frames = max(round(duration_s * config.rate_hz), 1)
    if path.is_dir() or (path.exists() and path.suffix.lower() != SUFFIX):
        raise ConfigError(f'export: expected a name that is free, got {str(path)!r}')
    try:
        with tempfile.TemporaryDirectory(prefix='.export_', dir=path.parent) as folder:
            bag = Path(folder) / path.stem
            _write(config, looped, bag, n_frames)
            if path.suffix.lower() == SUFFIX:
                os.replace(next(bag.glob(f'*{SUFFIX}')), path)
            else:
                shutil.move(bag, path)
    except OSError as err:
        raise ConfigError(
            f'export: expected a place to write to, got {str(path)!r} ({err.strerror})'
        ) from err
    return n_frames


def _write(config: EmulatorConfig, looped: LoopedMotion, bag: Path, n_frames: int) -> None:
    types = get_typestore(Stores.ROS2_JAZZY)
    types.register(get_types_from_msg(_definition(), MESSAGE))
    faults = Faults(config.faults, config.seed)
    source = measured_source(config, looped, faults)
    with Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        static = writer.add_connection(
            STATIC_TOPIC, 'tf2_msgs/msg/TFMessage', typestore=types,
            offered_qos_profiles=(_latched(),),
        )  # fmt: skip
        frames = writer.add_connection(TOPIC, MESSAGE, typestore=types)
        transform = _transmitter(types, config)
        writer.write(static, START_NS, types.serialize_cdr(transform, static.msgtype))
        for first in range(0, n_frames, BLOCK):
            count = min(BLOCK, n_frames - first)
            # Whole blocks are made, so that a longer recording begins with the shorter one.
            poses = source.block(first, BLOCK)
            dropped = faults.drops(BLOCK, source.n_sensors)
            poses[dropped] = np.nan
            for row in range(count):
                tick = first + row
                stamp_ns = START_NS + round(tick * 1e9 / config.rate_hz)
                message = _frame(types, config, tick, stamp_ns, poses[row], dropped[row])
                writer.write(frames, stamp_ns, types.serialize_cdr(message, MESSAGE))


def _frame(
    types: Any, config: EmulatorConfig, tick: int, stamp_ns: int, poses: np.ndarray,
    dropped: np.ndarray,
) -> Any:  # fmt: skip
    return types.types[MESSAGE](
        header=_header(types, stamp_ns, TRANSMITTER),
        frame_index=tick,
        sensors=list(config.sensors),
        poses=np.ascontiguousarray(poses[:, _XYZW]).reshape(-1),
        ages_s=np.zeros(len(poses)),
        status=np.where(dropped, _MISSING, _OK).astype(np.uint8),
    )


def _header(types: Any, stamp_ns: int, frame_id: str) -> Any:
    seconds, rest = divmod(stamp_ns, 1_000_000_000)
    time = types.types['builtin_interfaces/msg/Time'](sec=seconds, nanosec=rest)
    return types.types['std_msgs/msg/Header'](stamp=time, frame_id=frame_id)


def _transmitter(types: Any, config: EmulatorConfig) -> Any:
    """Return the message that says where the transmitter stands in world."""
    x, y, z = (float(value) for value in config.transmitter_position_m)
    transform = types.types['geometry_msgs/msg/Transform'](
        translation=types.types['geometry_msgs/msg/Vector3'](x=x, y=y, z=z),
        rotation=types.types['geometry_msgs/msg/Quaternion'](x=0.0, y=0.0, z=0.0, w=1.0),
    )
    stamped = types.types['geometry_msgs/msg/TransformStamped'](
        header=_header(types, START_NS, WORLD), child_frame_id=TRANSMITTER, transform=transform
    )
    return types.types['tf2_msgs/msg/TFMessage'](transforms=[stamped])


def _latched() -> Qos:
    never = QosTime(sec=2147483647, nsec=4294967295)
    return Qos(
        QosHistory.KEEP_LAST, 1, QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL,
        never, never, QosLiveliness.AUTOMATIC, never, False,
    )  # fmt: skip


def _definition() -> str:
    """Return the text of the message's definition, installed or in the repository."""
    name = Path('msg') / 'TrackerFrame.msg'
    prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    places = [Path(prefix) / 'share' / 'puppet_msgs' / name for prefix in prefixes]
    places += [parent / 'puppet_msgs' / name for parent in Path(__file__).resolve().parents]
    for place in places:
        if place.is_file():
            return place.read_text(encoding='utf-8')
    raise ConfigError('puppet_msgs: expected an installed package, found none')
