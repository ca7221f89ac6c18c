# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Node `visualization`: TF of performer and puppet, and markers, for RViz.

Subscribes to /performer/posture, /puppet/posture and /importance. Publishes /tf at a limited
rate with the stamps of the postures, /markers at 30 Hz or less, and /puppet/markers, which
colour the puppet's limbs. A robot puppet has the frames of its own links, from /joint_states
and /tf_static. Nothing is computed or decoded that nobody subscribes to or that is not due. All
markers are deleted when time jumps back or the puppet changes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import sys
import time
from typing import Any

from puppet_core.io import build_config, rows_of, setting
from puppet_core.marker_spec import MarkerSpec
from puppet_msgs.msg import Importance, Posture
from puppet_retarget.importance import GOAL, IMPORTANCE, load_environment, RADIUS
from puppet_ros import config_files
from puppet_ros.messages import decoded, importance_msg, marker_message, posture_of, raw_header
from puppet_ros.node import (
    ClockJumpDetector,
    Diagnostics,
    ExactTimeSynchronizer,
    NODE_OPTIONS,
    ParameterTable,
    qos,
    RateLimit,
    spin_node,
)
from puppet_view.rviz.frames import BodyView, WORLD
from puppet_view.rviz.markers import (
    body_names,
    BodyTint,
    environment_markers,
    goal_markers,
    label_markers,
    LIFETIME_S,
    range_ball_markers,
    self_ball_markers,
    SelfBallView,
)
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

NODE_NAME = 'visualization'
PERFORMER_TOPIC, PUPPET_TOPIC = '/performer/posture', '/puppet/posture'
BODIES = {PERFORMER_TOPIC: 'performer/', PUPPET_TOPIC: 'puppet/'}
IMPORTANCE_TOPIC = '/importance'
JOINT_STATES_TOPIC = '/joint_states'
TF_TOPIC, TF_STATIC_TOPIC = '/tf', '/tf_static'
MARKERS_TOPIC, BODY_MARKERS_TOPIC = '/markers', '/puppet/markers'
ENVIRONMENT_PERIOD_S = 1.0
ENVIRONMENT_LIFETIME_S = 3.0
GOAL_LIFETIME_S = 0.25
BODY_RATE_HZ = 10.0  # of colours; the limbs move with their frames
Group = tuple[int, float, tuple[MarkerSpec, ...]]  # stamp [ns], lifetime [s] and the markers
NO_MARKERS: Group = (0, GOAL_LIFETIME_S, ())


@dataclass(frozen=True, slots=True)
class VisualizationConfig:
    """Parameters of the visualization node."""

    environment: str = setting(
        'floor', description='Environment, by name or path of its YAML file.', live=False
    )
    character: str = setting(
        'blubby', description='Puppet, by name or path of its YAML file; its world scale is drawn.'
    )
    tf_rate_hz: float = setting(60.0, 'Hz', 0.0, 240.0, 'Rate of /tf for each body; 0 is none.')
    marker_rate_hz: float = setting(
        20.0, 'Hz', 0.0, 30.0, 'Rate of /markers and, up to 10 Hz, of /puppet/markers; 0 is none.'
    )
    show_range_balls: bool = setting(True, description='Draw the range balls of the goals.')
    show_labels: bool = setting(
        True, description='Write names over the bodies, and importance over the goals.'
    )


VISUALIZATION_ROWS = rows_of(VisualizationConfig)


class VisualizationNode(Node):
    """Postures and importance to TF and markers."""

    def __init__(self, **kwargs: Any) -> None:
        self._drawn: list[Any] = []  # publishers of markers; also of a node that is refused
        super().__init__(NODE_NAME, **NODE_OPTIONS, **kwargs)
        self._table = ParameterTable(self, VISUALIZATION_ROWS, self._build_config, self._on_config)
        config = self._table.config
        self._environment = load_environment(config_files.environment_file(config.environment))
        self._views = {topic: BodyView(prefix) for topic, prefix in BODIES.items()}
        self._diagnostics = Diagnostics(self)
        self._joints_input: Any = None
        self._tf_static: Any = None
        self._shown = config.character
        self._importance_watch = ClockJumpDetector()
        self._tf = self.create_publisher(TFMessage, TF_TOPIC, qos.TRANSFORMS)
        self._markers = self.create_publisher(MarkerArray, MARKERS_TOPIC, 10)
        self._body_markers = self.create_publisher(MarkerArray, BODY_MARKERS_TOPIC, 10)
        self._drawn += [self._markers, self._body_markers]
        self._on_config(config)
        self._inputs = [
            self._subscribe(Posture, topic, self._posture_callback(topic, view))
            for topic, view in self._views.items()
        ]
        self._inputs.append(self._subscribe(Importance, IMPORTANCE_TOPIC, self._on_importance))
        self._steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(
            ENVIRONMENT_PERIOD_S, self._on_timer, clock=self._steady_clock
        )

    def _posture_callback(self, topic: str, view: BodyView) -> Callable[[bytes], None]:
        def on_posture(data: bytes) -> None:
            self._show_self_balls(topic, data)
            if view.robot is None:
                self._show_body(view, data)
            else:
                self._show_robot(self._robot_join.push_left(raw_header.stamp_ns(data), data))

        return on_posture

    def _on_joints(self, data: bytes) -> None:
        self._show_robot(self._robot_join.push_right(raw_header.stamp_ns(data), data))

    def _show_robot(self, pair: tuple[bytes, bytes] | None) -> None:
        if pair is not None:
            self._show_body(self._views[PUPPET_TOPIC], *pair)

    def _show_body(self, view: BodyView, data: bytes, joints: bytes | None = None) -> None:
        """Publish the frames of a posture, and of the joints with its stamp, if they are due."""
        watched = self._tf.get_subscription_count() > 0
        if not (view.limit if watched else view.idle_limit).passes(time.monotonic_ns()):
            return
        record = posture_of(data)
        view.leg_length, view.body = record.leg_length, record.body
        self._diagnostics.frame(record.stamp_ns)
        if not watched:
            return
        states = None if joints is None else decoded(joints, JointState)
        transforms = view.transforms(record, states)
        if transforms is None:
            self._diagnostics.drop('joints_of_another_robot')
        else:
            self._tf.publish(transforms)

    def _show_self_balls(self, topic: str, data: bytes) -> None:
        """Keep the balls of the puppet's own body if this completes a frame that is due."""
        if not self._table.config.show_range_balls or not self._markers.get_subscription_count():
            return
        stamp_ns = raw_header.stamp_ns(data)
        if topic == PUPPET_TOPIC:
            frame = self._frame_join.push_right(stamp_ns, data)
        else:
            join = self._input_join
            push = join.push_left if topic == PERFORMER_TOPIC else join.push_right
            inputs = push(stamp_ns, data)
            frame = None if inputs is None else self._frame_join.push_left(stamp_ns, inputs)
        if frame is None or not self._ball_limit.passes(time.monotonic_ns()):
            return
        (performer, importance), puppet = frame
        near = importance_msg.from_msg(decoded(importance, Importance))
        balls = self._self_balls.balls(
            posture_of(puppet).posture,
            posture_of(performer).posture.rotations,
            near.rows,
            near.self_rows,
            self._world_scale(),
        )
        self._balls = (
            stamp_ns,
            GOAL_LIFETIME_S,
            self_ball_markers(balls.importances, balls.centres, balls.radii),
        )

    def _on_importance(self, data: bytes) -> None:
        if self._importance_watch.went_back(raw_header.stamp_ns(data)):
            self._restart(self._table.config)
            self._take_away()
        self._show_self_balls(IMPORTANCE_TOPIC, data)
        now_ns = time.monotonic_ns()
        draws = self._markers.get_subscription_count() > 0 and self._limit.passes(now_ns)
        tints = self._body_markers.get_subscription_count() > 0
        tints = tints and self._body_limit.passes(now_ns)
        if not draws and not tints:
            return
        record = importance_msg.from_msg(decoded(data, Importance))
        if draws:
            self._draw(record.stamp_ns, self._frame_markers(record))
        if tints:
            limbs = self._tint.step(record.rows[:, IMPORTANCE], now_ns)
            self._publish(self._body_markers, [(0, LIFETIME_S, limbs)])

    def _frame_markers(self, record: importance_msg.ImportanceRecord) -> tuple[MarkerSpec, ...]:
        """Return what an importance shows by itself."""
        importances, scale = record.rows[:, IMPORTANCE], self._world_scale()
        goals = scale * record.rows[:, GOAL : GOAL + 3]
        markers = goal_markers(importances, goals)
        if self._table.config.show_labels:
            markers += label_markers(importances, goals)
        if self._table.config.show_range_balls:
            markers += range_ball_markers(importances, goals, scale * record.rows[:, RADIUS])
        return markers

    def _on_timer(self) -> None:
        if self._markers.get_subscription_count() > 0:
            self._is_environment_due = self._limit.is_open
            if self._limit.passes(time.monotonic_ns()):
                self._draw(0, ())

    def _draw(self, stamp_ns: int, markers: tuple[MarkerSpec, ...]) -> None:
        """Publish the markers of a frame with all that waits, in one message."""
        groups = [(stamp_ns, GOAL_LIFETIME_S, markers), self._balls]
        self._balls = NO_MARKERS
        if self._is_environment_due:
            self._is_environment_due = False
            # stamp zero: RViz takes the latest transform
            groups.append((0, ENVIRONMENT_LIFETIME_S, self._lasting_markers()))
        self._publish(self._markers, groups)

    def _lasting_markers(self) -> tuple[MarkerSpec, ...]:
        markers = environment_markers(self._environment, self._world_scale())
        if self._table.config.show_labels and self._table.config.tf_rate_hz > 0.0:
            seen = {view.prefix: (view.body, view.leg_length) for view in self._views.values()}
            markers += body_names(seen, self._character)
        return markers

    def _publish(self, publisher: Any, groups: Sequence[Group]) -> None:
        """Publish groups of markers, unless all of them are empty."""
        message = MarkerArray()
        for stamp_ns, lifetime_s, markers in groups:
            message.markers += marker_message.to_msg(markers, WORLD, stamp_ns, lifetime_s).markers
        if message.markers:
            publisher.publish(message)

    def _restart(self, config: VisualizationConfig) -> None:
        """Forget what waits to be drawn."""
        self._input_join: ExactTimeSynchronizer[bytes, bytes] = ExactTimeSynchronizer()
        self._frame_join: ExactTimeSynchronizer[Any, bytes] = ExactTimeSynchronizer()
        self._limit = RateLimit(config.marker_rate_hz)
        self._ball_limit = RateLimit(config.marker_rate_hz)
        self._is_environment_due, self._balls = False, NO_MARKERS
        self._body_limit = RateLimit(min(BODY_RATE_HZ, config.marker_rate_hz))
        self._tint = BodyTint(self._character, BODIES[PUPPET_TOPIC])

    def _take_away(self) -> None:
        """Delete all markers wherever they are shown."""
        for publisher in self._drawn:
            publisher.publish(marker_message.delete_all(WORLD))

    def destroy_node(self) -> None:
        """Take all markers away while that is possible; after a signal they expire."""
        if self.context.ok():
            self._take_away()
        self._drawn.clear()
        super().destroy_node()

    def _world_scale(self) -> float:
        leg_length = self._views[PERFORMER_TOPIC].leg_length
        return self._character.scale_for(leg_length) if leg_length > 0.0 else 1.0

    def _subscribe(self, kind: type, topic: str, callback: Callable[[bytes], None]) -> Any:
        return self.create_subscription(
            kind, topic, self._diagnostics.guarded(callback), qos.STREAM, raw=True
        )

    def _build_config(self, values: Any) -> VisualizationConfig:
        """Return the config, refusing a character that cannot be read."""
        config = build_config(VisualizationConfig, values)
        config_files.character(config.character)
        return config

    def _on_config(self, config: VisualizationConfig) -> None:
        self._character = config_files.character(config.character)
        self._self_balls = SelfBallView(self._character)
        self._views[PUPPET_TOPIC].become(self._character.robot)
        self._robot_join: ExactTimeSynchronizer[bytes, bytes] = ExactTimeSynchronizer()
        if self._joints_input is not None:
            self.destroy_subscription(self._joints_input)
            self._joints_input = None
        if self._character.robot is not None:
            self._joints_input = self._subscribe(JointState, JOINT_STATES_TOPIC, self._on_joints)
        self._announce_fixed(config)
        for view in self._views.values():
            view.limit = RateLimit(config.tf_rate_hz)
        self._restart(config)
        if config.character != self._shown:
            self._shown = config.character
            self._take_away()

    def _announce_fixed(self, config: VisualizationConfig) -> None:
        """Publish the frames that never move; late listeners get those of this puppet only."""
        if self._tf_static is not None:
            self.destroy_publisher(self._tf_static)
            self._tf_static = None
        now_ns = self.get_clock().now().nanoseconds
        fixed = self._views[PUPPET_TOPIC].fixed_transforms(now_ns)
        if fixed is not None and config.tf_rate_hz > 0.0:
            self._tf_static = self.create_publisher(
                TFMessage, TF_STATIC_TOPIC, qos.STATIC_TRANSFORMS
            )
            self._tf_static.publish(fixed)


def main(argv: list[str] | None = None) -> int:
    return spin_node(VisualizationNode, argv)


if __name__ == '__main__':
    sys.exit(main())
