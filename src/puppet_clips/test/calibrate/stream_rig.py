# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A tracker that stands somewhere in world and whose frames are published from a thread."""

import threading

import numpy as np
from puppet_core.sensor_frames import FILTER_OK, FilteredFrame
from puppet_msgs.msg import PoseFrame
from puppet_ros.messages import PoseFrameWriter
from puppet_ros.messages.tf_message import TransformsWriter
from puppet_ros.node import qos
from rclpy.node import Node
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage


def place_message(position, quaternion):
    writer = TransformsWriter([('world', 'transmitter')])
    return writer.fill(0, position[None], quaternion[None])


def sensor_frame(stamp_ns, index, sensors, positions, rotations):
    n = len(sensors)
    still, status = np.zeros((n, 3)), np.full(n, FILTER_OK, dtype=np.uint8)
    fixed = positions, rotations, still, still, np.zeros((n, 6, 6))
    return FilteredFrame(stamp_ns, index, sensors, *fixed, status)


def header(stamp_ns):
    made = Header(frame_id='transmitter')
    made.stamp.sec, made.stamp.nanosec = divmod(stamp_ns, 10**9)
    return made


def filtered_message(frame):
    return PoseFrameWriter('transmitter').fill(frame)


class Stream:
    """
    Publishes frames while it is entered, as long as `publish`, which is to be given, says so.

    `place` is None for a tracker of unknown place.
    """

    def __init__(self, context, place):
        self.place = place
        self.node = Node('stream', context=context)
        publisher = self.node.create_publisher
        self.frames = publisher(PoseFrame, '/tracker/filtered', qos.STREAM)
        self._statics = publisher(TFMessage, '/tf_static', qos.STATIC_TRANSFORMS)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        if self.place is not None:
            self._statics.publish(place_message(*self.place))
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self.node.destroy_node()

    def _run(self):
        while not self._stop.wait(0.001) and self.publish():
            pass
