# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`puppet_view`: the running graph in a browser, bound to this machine.

A process of its own, so that drawing delays nothing that is measured. Shows the bodies of the
latched robot descriptions in the latest postures, of every puppet that somebody publishes, and
/markers; its controls set the parameters of the nodes.

"""

import argparse
from collections import deque
from collections.abc import Callable, Sequence
from functools import wraps
import os
import queue
import sys
import time
from typing import Any

import numpy as np
from puppet_bringup.live_view import LiveView, PERFORMER, PUPPET
from puppet_bringup.view_calibration import CalibrationCall
from puppet_bringup.view_panel import CALIBRATE
from puppet_bringup.view_settings import NodeSettings
from puppet_core.arrays import Quats, Vec3s
from puppet_core.errors import PuppetError
from puppet_core.skeleton import END_EFFECTORS
from puppet_core.urdf_shape import merged_parts, read_shape, robot_name, world_orientations
from puppet_msgs.msg import Importance, Posture
from puppet_ros import importance_msg, qos, raw_header, share
from puppet_ros.browser_stage import is_open, LOOPBACK, OPEN_WARNING
from puppet_ros.kept_cdr import decoded
from puppet_ros.living_solids import LivingSolids
from puppet_ros.posture_msg import posture_of
from puppet_ros.spin import spin_node
from rclpy.node import Node
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

NODE_NAME = 'puppet_view'
DRAW_PERIOD_S = 1.0 / 60.0
SOLIDS_PERIOD_S = 1.0 / 30.0
PANEL_PERIOD_S = 0.1
SEARCH_PERIOD_S = 1.0
LATENCY_FRAMES = 480
WINDOW_NS = 2_000_000_000  # of rate and latency
COMPLAINT_PERIOD_S = 5.0
NICENESS = 5  # drawing gives way to the graph
MAX_PUPPETS = 8
POSTURE, POSTURE_NAME = 'puppet_msgs/msg/Posture', '/posture'
EXIT_OK, EXIT_BAD_INPUT = 0, 2
EXAMPLE = 'example: puppet_view --port 8080'
Changes = queue.SimpleQueue[tuple[str, object]]
Postures = dict[str, tuple[Quats, Vec3s]]  # orientations and joints in world of each body


class ViewNode(Node):
    """Topics to the picture, controls to the parameters."""

    def __init__(self, view: LiveView, changes: Changes, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **kwargs)
        self._view = view
        self._changes = changes
        self._set: Changes = queue.SimpleQueue()
        self._settings = NodeSettings(self, self._set, view.panel)
        self._calibration = CalibrationCall(self, view.panel)
        self._latest: dict[str, bytes] = {}
        self._solids = LivingSolids()
        self._arrivals: deque[tuple[int, int]] = deque(maxlen=LATENCY_FRAMES)
        self._shown: list[str] = []
        for who in (PERFORMER, PUPPET):
            self._show_body(who)
        self._keep_latest(Importance, '/importance', 'importance')
        guarded = self._guarded
        self.create_subscription(MarkerArray, '/markers', guarded(self._on_markers), 10)
        self.create_subscription(
            JointState, '/joint_states', guarded(self._on_joints), qos.STREAM, raw=True
        )
        self.create_timer(DRAW_PERIOD_S, guarded(self._draw))
        self.create_timer(SOLIDS_PERIOD_S, guarded(self._draw_solids))
        self.create_timer(PANEL_PERIOD_S, guarded(self._fill_panel))
        self.create_timer(SEARCH_PERIOD_S, self._search)

    def _show_body(self, who: str) -> None:
        """Draw what moves on /WHO/posture, in the shape that /WHO/robot_description gives."""
        self._shown.append(who)
        self._keep_latest(Posture, f'/{who}{POSTURE_NAME}', who)
        self.create_subscription(
            String, f'/{who}/robot_description', self._description_callback(who), qos.LATCHED
        )

    def _guarded(self, callback: Callable[..., None]) -> Callable[..., None]:
        """Return the callback such that a message that is none is told and not shown."""
        @wraps(callback)
        def run(*given: object) -> None:
            try:
                callback(*given)
            except PuppetError as err:
                self.get_logger().warning(str(err), throttle_duration_sec=COMPLAINT_PERIOD_S)

        return run

    def _search(self) -> None:
        """Draw every other posture that somebody publishes, too: puppets of other nodes."""
        for topic, types in sorted(self.get_topic_names_and_types()):
            who = topic.removesuffix(POSTURE_NAME).strip('/')
            if POSTURE in types and topic == f'/{who}{POSTURE_NAME}' and who not in self._shown:
                if len(self._shown) <= MAX_PUPPETS:
                    self._show_body(who)

    def _keep_latest(self, kind: type, topic: str, key: str) -> None:
        def keep(data: Any) -> None:
            self._latest[key] = data

        self.create_subscription(kind, topic, keep, qos.STREAM, raw=True)

    def _description_callback(self, who: str) -> Callable[[String], None]:
        return self._guarded(lambda msg: self._on_description(who, msg))

    def _on_joints(self, data: bytes) -> None:
        now_ns = time.time_ns()
        self._arrivals.append((raw_header.stamp_ns(data), now_ns))

    def _on_description(self, who: str, msg: String) -> None:
        parts, name = merged_parts(read_shape(msg.data)), robot_name(msg.data)
        self._view.set_body(who, parts, name or who)

    def _on_markers(self, msg: MarkerArray) -> None:
        for marker in msg.markers:
            self._solids.add(marker)

    def _draw(self) -> None:
        if not self._view.is_watched:
            return
        postures: Postures = {}
        for who in self._shown:
            data = self._latest.pop(who, None)
            if data is not None:
                self._guarded(self._keep_posture)(postures, who, data)
        if postures:
            self._view.move_bodies(postures)

    def _keep_posture(self, postures: Postures, who: str, data: bytes) -> None:
        record = posture_of(data)
        postures[who] = world_orientations(record.posture.rotations), record.segments

    def _draw_solids(self) -> None:
        if self._view.is_watched:
            for group in self._solids.groups():
                shown = self._solids.shown(group, self._view.is_side_by_side)
                self._view.set_solids(group, shown)

    def _do_changes(self) -> None:
        while not self._changes.empty():
            name, value = self._changes.get()
            if name == CALIBRATE:
                self._calibration.start()
            else:
                self._set.put((name, value))
        self._settings.step()
        self._calibration.step()

    def _fill_panel(self) -> None:
        self._do_changes()
        if not self._view.is_watched:
            return
        self._view.panel.show_numbers(*self._rate_and_latency())
        data = self._latest.get('importance')
        if data is not None:
            rows = importance_msg.from_msg(decoded(data, Importance)).rows
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
    p.add_argument(
        '--follow', action=argparse.BooleanOptionalAction, default=True,
        help='keep the bodies in the middle of the picture from the start',
    )
    p.add_argument('--host', default=LOOPBACK, help='default %(default)s: only this machine')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Serve the page until interrupted; return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = parser().parse_args(remove_ros_args(words))
    changes: Changes = queue.SimpleQueue()
    try:
        view = LiveView(
            lambda name, value: changes.put((name, value)), share.available('characters'),
            options.host, options.port, options.follow,
        )  # fmt: skip
    except (PuppetError, OSError) as err:
        print(f'puppet_view: {err}', file=sys.stderr)
        return EXIT_BAD_INPUT
    try:
        print(f'open {view.address} in a browser', flush=True)
        if is_open(options.host):
            print(f'puppet_view: {OPEN_WARNING}', file=sys.stderr, flush=True)
        os.nice(NICENESS)
        own = [word for word in words if word not in remove_ros_args(words)]
        return spin_node(lambda: ViewNode(view, changes), own)
    except KeyboardInterrupt:  # Ctrl-C before the node spins, which takes it for a wish to end
        return EXIT_OK
    finally:
        view.close()


if __name__ == '__main__':
    sys.exit(main())
