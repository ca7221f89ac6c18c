# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`puppet_view`: the running graph in a browser, bound to this machine.

A process of its own, so that drawing delays nothing that is measured. Shows the bodies of the
latched robot descriptions in the latest postures, and /markers; its controls set the
parameters of the nodes.

"""

import argparse
from collections import deque
from collections.abc import Callable, Sequence
import os
import queue
import sys
import time
from typing import Any

import numpy as np
from puppet_bringup.live_view import LiveView, PERFORMER, PUPPET
from puppet_bringup.living_solids import LivingSolids
from puppet_bringup.view_settings import NodeSettings
from puppet_core.errors import ConfigError, PuppetError
from puppet_core.skeleton import END_EFFECTORS
from puppet_core.urdf_shape import merged_parts, read_shape, world_orientations
from puppet_msgs.msg import Importance, Posture
from puppet_ros import importance_msg, posture_msg, qos, raw_header, share
from puppet_ros.browser_stage import LOOPBACK
from puppet_ros.spin import spin_node
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

NODE_NAME = 'puppet_view'
DRAW_PERIOD_S = 1.0 / 30.0
PANEL_PERIOD_S = 0.1
LATENCY_FRAMES = 480
WINDOW_NS = 2_000_000_000  # of rate and latency
NICENESS = 5  # drawing gives way to the graph
EXIT_BAD_INPUT = 2
EXAMPLE = 'example: puppet_view --port 8080'


class ViewNode(Node):
    """Topics to the picture, controls to the parameters."""

    def __init__(self, view: LiveView, changes: 'queue.SimpleQueue[tuple[str, object]]') -> None:
        super().__init__(NODE_NAME)
        self._view = view
        self._settings = NodeSettings(self, changes, view.panel)
        self._latest: dict[str, bytes] = {}
        self._solids = LivingSolids()
        self._arrivals: deque[tuple[int, int]] = deque(maxlen=LATENCY_FRAMES)
        for who, topic in ((PERFORMER, '/performer/posture'), (PUPPET, '/puppet/posture')):
            self._keep_latest(Posture, topic, who)
        self._keep_latest(Importance, '/importance', 'importance')
        for who, topic in (
            (PERFORMER, '/performer/robot_description'),
            (PUPPET, '/puppet/robot_description'),
        ):  # fmt: skip
            self.create_subscription(String, topic, self._description_callback(who), qos.LATCHED)
        self.create_subscription(MarkerArray, '/markers', self._on_markers, 10)
        self.create_subscription(
            JointState, '/joint_states', self._on_joints, qos.STREAM, raw=True
        )
        self.create_timer(DRAW_PERIOD_S, self._draw)
        self.create_timer(PANEL_PERIOD_S, self._fill_panel)

    def _keep_latest(self, kind: type, topic: str, key: str) -> None:
        def keep(data: Any) -> None:
            self._latest[key] = data

        self.create_subscription(kind, topic, keep, qos.STREAM, raw=True)

    def _description_callback(self, who: str) -> Callable[[String], None]:
        return lambda msg: self._on_description(who, msg)

    def _on_joints(self, data: bytes) -> None:
        now_ns = time.time_ns()
        self._arrivals.append((raw_header.stamp_ns(data), now_ns))

    def _on_description(self, who: str, msg: String) -> None:
        try:
            self._view.set_body(who, merged_parts(read_shape(msg.data)))
        except ConfigError as err:
            self.get_logger().warning(str(err))

    def _on_markers(self, msg: MarkerArray) -> None:
        for marker in msg.markers:
            self._solids.add(marker)

    def _draw(self) -> None:
        if not self._view.is_watched:
            return
        for who in (PERFORMER, PUPPET):
            data = self._latest.pop(who, None)
            if data is not None:
                self._move(who, data)
        for group in self._solids.groups():
            self._view.set_solids(group, self._solids.shown(group, self._view.is_side_by_side))

    def _move(self, who: str, data: bytes) -> None:
        record = posture_msg.from_msg(deserialize_message(data, Posture))
        q_world = world_orientations(record.posture.rotations)
        self._view.move_body(who, q_world, record.segments)

    def _fill_panel(self) -> None:
        self._settings.step()
        if not self._view.is_watched:
            return
        self._view.panel.show_numbers(*self._rate_and_latency())
        data = self._latest.get('importance')
        if data is not None:
            rows = importance_msg.from_msg(deserialize_message(data, Importance)).rows
            values = rows[:, Importance.COLUMN_IMPORTANCE]
            self._view.panel.show_importance(
                {name: float(values[i]) for i, name in enumerate(END_EFFECTORS)}
            )
            self._view.set_importance(values)

    def _rate_and_latency(self) -> tuple[float | None, tuple[float, float] | None]:
        """Return frames per second, and median and 99th percentile of the latency [ms]."""
        since_ns = time.time_ns() - WINDOW_NS
        recent = np.array([row for row in self._arrivals if row[1] > since_ns])
        if len(recent) < 2 or recent[-1, 0] <= recent[0, 0]:
            return None, None
        rate_hz = 1e9 * (len(recent) - 1) / (recent[-1, 0] - recent[0, 0])
        p50, p99 = np.percentile(1e-6 * (recent[:, 1] - recent[:, 0]), (50, 99))
        return float(rate_hz), (float(p50), float(p99))


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = argparse.ArgumentParser(
        prog='puppet_view', description='Show the running graph in a browser.', epilog=EXAMPLE
    )
    p.add_argument('--port', type=int, default=0, help='8080 or any free one if absent')
    p.add_argument('--follow', action='store_true', help='keep the performer in the picture')
    p.add_argument('--host', default=LOOPBACK, help='default %(default)s: only this machine')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Serve the page until interrupted; return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = parser().parse_args(remove_ros_args(words))
    changes: queue.SimpleQueue[tuple[str, object]] = queue.SimpleQueue()
    try:
        view = LiveView(
            lambda name, value: changes.put((name, value)), share.available('characters'),
            options.host, options.port, options.follow,
        )  # fmt: skip
    except (PuppetError, OSError) as err:
        print(f'puppet_view: {err}', file=sys.stderr)
        return EXIT_BAD_INPUT
    print(f'open {view.address} in a browser', flush=True)
    os.nice(NICENESS)
    try:
        own = [word for word in words if word not in remove_ros_args(words)]
        return spin_node(lambda: ViewNode(view, changes), own)
    finally:
        view.close()


if __name__ == '__main__':
    sys.exit(main())
