# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Sensor frames out of a recorded bag, MCAP or SQLite, filtered or raw.

The messages are decoded by the suite's own types. What the tracker stands on comes from the bag's
/tf_static.

"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.io import InputFileError
from puppet_core.math import Quat, Vec3
from puppet_core.sensor_frames import FilteredFrame, SensorFrame
from puppet_msgs.msg import PoseFrame, TrackerFrame
from puppet_performer.calibration import MotionRecording, StreamRecorder
from puppet_ros.bags import BagReader
from puppet_ros.messages import decoded, from_pose_frame, from_tracker_frame, MessageError, WORLD
from puppet_ros.node import StaticTransformTree, TF_STATIC_TOPIC
from tf2_msgs.msg import TFMessage

FILTERED_TOPIC, RAW_TOPIC = '/tracker/filtered', '/tracker/raw'
_KINDS: dict[str, tuple[type, Callable[[Any], FilteredFrame | SensorFrame]]] = {
    'puppet_msgs/msg/PoseFrame': (PoseFrame, from_pose_frame),
    'puppet_msgs/msg/TrackerFrame': (TrackerFrame, from_tracker_frame),
}
Place = tuple[Vec3, Quat]


def read_bag(
    path: Path, sensors: tuple[str, ...], topic: str = '', place: Place | None = None
) -> MotionRecording:
    """
    Return what the sensors of a layout measured, in this order.

    The topic is the filtered one if there is any by default; `place` is that of the tracker in
    world, for a bag without /tf_static.

    Raises
    ------
    InputFileError : if this is no bag, or what is needed is not in it.
    CalibrationError : if there are hardly any frames.

    """
    with BagReader(path) as reader:
        try:
            return _read(reader, path, sensors, topic, place)
        except MessageError as err:
            raise InputFileError(path, 'messages of the installed types', str(err)) from err


def _read(
    reader: BagReader, path: Path, sensors: tuple[str, ...], topic: str, place: Place | None
) -> MotionRecording:
    topics = reader.topics
    name = topic or (FILTERED_TOPIC if FILTERED_TOPIC in topics else RAW_TOPIC)
    if topics.get(name) not in _KINDS:
        known = ', '.join(sorted(t for t, kind in topics.items() if kind in _KINDS)) or 'none'
        raise InputFileError(
            path,
            f'a topic {name} of sensor frames',
            topics.get(name, 'none'),
            hint=f'such topics here: {known}',
        )
    message, from_msg = _KINDS[topics[name]]
    tree = _transforms(reader)
    recorder = StreamRecorder(sensors)
    for recorded in reader.messages([name]):
        msg = decoded(recorded.data, message)
        stands = place or tree.lookup(WORLD, msg.header.frame_id)
        if stands is None:
            raise InputFileError(
                path,
                f'a transform {WORLD} -> {msg.header.frame_id} on {TF_STATIC_TOPIC}',
                'none',
                hint='give --transmitter-m X Y Z',
            )
        recorder.add(from_msg(msg), *stands)
    _require(path, sensors, recorder)
    return recorder.recording()


def _require(path: Path, sensors: tuple[str, ...], recorder: StreamRecorder) -> None:
    usable = recorder.recording().poses.usable
    missing = [name for i, name in enumerate(sensors) if not np.any(usable[:, i])]
    if missing:
        raise InputFileError(
            path,
            f'the sensors of the layout: {", ".join(sensors)}',
            f'none of {", ".join(missing)}',
            hint='choose another --layout',
        )


def _transforms(reader: BagReader) -> StaticTransformTree:
    tree = StaticTransformTree()
    for recorded in reader.messages([TF_STATIC_TOPIC]):
        for edge in decoded(recorded.data, TFMessage).transforms:
            tree.add(edge)
    return tree
