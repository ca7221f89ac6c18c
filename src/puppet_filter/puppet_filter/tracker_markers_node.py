# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Node `tracker_markers`: what RViz shows of a tracker, with or without a puppet.

Subscribes to /tracker/filtered (PoseFrame) and /tracker/raw (TrackerFrame) and publishes
/tracker/markers (MarkerArray) in the frame of the poses: every sensor's axes, name and status,
the way it came, and raw less filtered position. While nobody subscribes nothing is computed.

Example: ros2 run puppet_filter tracker_markers --ros-args -p residual_gain:=50.0

"""

from collections.abc import Sequence
import sys
import time
from typing import Any

from puppet_core.parameter_rows import build_config
from puppet_core.rate_limit import RateLimit
from puppet_core.stamp_watch import StampWatch
from puppet_filter.tracker_markers import (
    TRACKER_MARKERS_ROWS,
    TrackerMarkers,
    TrackerMarkersConfig,
)
from puppet_msgs.msg import PoseFrame, TrackerFrame
from puppet_ros import marker_message, pose_frame, qos, raw_header, tracker_frame
from puppet_ros.diagnostics import Diagnostics
from puppet_ros.kept_cdr import decoded
from puppet_ros.parameter_table import NODE_OPTIONS, ParameterTable
from puppet_ros.spin import spin_node
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

NODE_NAME = 'tracker_markers'
RAW_TOPIC, FILTERED_TOPIC = '/tracker/raw', '/tracker/filtered'
MARKERS_TOPIC = '/tracker/markers'
LIFETIME_S = 0.5
KEPT_FRAMES = 32  # raw ones, until the filter has had its turn


class TrackerMarkersNode(Node):
    """Frames of a tracker to markers."""

    def __init__(self, **kwargs: Any) -> None:
        self._publisher: Any = None  # also of a node that parameters refuse
        super().__init__(NODE_NAME, **NODE_OPTIONS, **kwargs)
        self._table = ParameterTable(
            self, TRACKER_MARKERS_ROWS,
            lambda values: build_config(TrackerMarkersConfig, values), self._on_config,
        )  # fmt: skip
        self._markers = TrackerMarkers(self._table.config)
        self._limit = RateLimit(self._table.config.rate_hz)
        self._watch = StampWatch()
        self._raw: dict[int, bytes] = {}
        self._frame_id = ''
        self._publisher = self.create_publisher(MarkerArray, MARKERS_TOPIC, 10)
        self._diagnostics = Diagnostics(self)
        guarded = self._diagnostics.guarded
        self._inputs = [
            self.create_subscription(
                TrackerFrame, RAW_TOPIC, guarded(self._on_raw), qos.STREAM, raw=True
            ),
            self.create_subscription(
                PoseFrame, FILTERED_TOPIC, guarded(self._on_filtered), qos.STREAM, raw=True
            ),
        ]

    def _on_raw(self, data: bytes) -> None:
        self._raw[raw_header.stamp_ns(data)] = data
        if len(self._raw) > KEPT_FRAMES:
            del self._raw[next(iter(self._raw))]

    def _on_filtered(self, data: bytes) -> None:
        stamp_ns = raw_header.stamp_ns(data)
        if self._watch.went_back(stamp_ns):
            self._markers.reset()
            self._publisher.publish(marker_message.delete_all(self._frame_id))
        self._diagnostics.frame(stamp_ns)
        if not self._publisher.get_subscription_count():
            self._markers.reset()
            return
        if not self._limit.passes(time.monotonic_ns()):
            return
        message = decoded(data, PoseFrame)
        raw = self._raw.get(stamp_ns)
        markers = self._markers.step(
            pose_frame.from_msg(message),
            None if raw is None else tracker_frame.from_msg(
                decoded(raw, TrackerFrame)
            ),
        )
        self._frame_id = message.header.frame_id
        self._publisher.publish(
            marker_message.to_msg(markers, self._frame_id, stamp_ns, LIFETIME_S)
        )

    def _on_config(self, config: TrackerMarkersConfig) -> None:
        self._markers.config = config
        self._limit = RateLimit(config.rate_hz)

    def destroy_node(self) -> None:
        """Take all markers away while that is possible; after a signal they expire."""
        if self._publisher is not None and self.context.ok():
            self._publisher.publish(marker_message.delete_all(self._frame_id))
        self._publisher = None
        super().destroy_node()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return spin_node(TrackerMarkersNode, argv, usage=__doc__ or '')


if __name__ == '__main__':
    sys.exit(main())
