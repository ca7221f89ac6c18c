# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The visualization node: TF of both bodies, and markers, for RViz.

Subscribes /performer/posture, /puppet/posture and /importance; publishes /tf, thinned to a
rate, with the stamps of the postures, and /markers at 30 Hz or less. A puppet that is a robot
has the frames of its own links, from /joint_states, too. What nobody subscribes
to is not computed, and messages that are not due are not even decoded. The range balls of the
puppet's own body need all three of a frame: they wait for each other by their stamp.

"""

from collections.abc import Callable
import sys
import time
from typing import Any

from puppet_core.character import Character, load_character
from puppet_core.errors import ConfigError, PuppetError
from puppet_core.parameter_rows import build_config
from puppet_core.robot import Robot
from puppet_msgs.msg import Importance, Posture
from puppet_retarget.importance.environment import load_environment
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE, RADIUS
from puppet_retarget.link_frames import LinkFrames, WORLD
from puppet_retarget.markers import (
    environment_markers,
    goal_markers,
    range_ball_markers,
    self_ball_markers,
)
from puppet_retarget.rate_limit import RateLimit
from puppet_retarget.robot_frames import RobotFrames
from puppet_retarget.self_ball_view import SelfBallView
from puppet_retarget.visualization_parameters import VISUALIZATION_ROWS, VisualizationConfig
from puppet_ros import importance_msg, marker_message, posture_msg, qos, raw_header, share
from puppet_ros.diagnostics import Diagnostics
from puppet_ros.joint_state import angles_of
from puppet_ros.parameter_table import NODE_OPTIONS, ParameterTable
from puppet_ros.posture_msg import PostureRecord
from puppet_ros.spin import spin_node
from puppet_ros.stamped_join import StampedJoin
from puppet_ros.tf_message import TransformsWriter
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

NODE_NAME = 'visualization'
PERFORMER_TOPIC, PUPPET_TOPIC = '/performer/posture', '/puppet/posture'
BODIES = {PERFORMER_TOPIC: 'performer/', PUPPET_TOPIC: 'puppet/'}
IMPORTANCE_TOPIC = '/importance'
JOINT_STATES_TOPIC = '/joint_states'
TF_TOPIC = '/tf'
MARKERS_TOPIC = '/markers'
ENVIRONMENT_PERIOD_S = 1.0
ENVIRONMENT_LIFETIME_S = 3.0
GOAL_LIFETIME_S = 0.25
IDLE_RATE_HZ = 1.0  # of looking at a stream that nobody wants to see


class BodyView:
    """The frames of one body, and when they are due."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._frames = LinkFrames(prefix)
        self._writer = TransformsWriter(self._frames.frames)
        self._robot_frames: RobotFrames | None = None
        self.robot: Robot | None = None
        """Whose links are shown instead of the segments."""
        self.limit = RateLimit(0.0)
        self.idle_limit = RateLimit(IDLE_RATE_HZ)
        self.leg_length = 0.0
        """Of the last posture [m]; 0 before the first."""

    def become(self, robot: Robot | None) -> None:
        """Show the links of a robot, or the segments."""
        self.robot = robot
        self._robot_frames = None if robot is None else RobotFrames(robot, self._prefix)
        frames = (self._robot_frames or self._frames).frames
        self._writer = TransformsWriter(frames)

    def transforms(self, record: PostureRecord, joints: JointState | None) -> TFMessage | None:
        """Return the frames of a posture; None for joints that are not the robot's."""
        posture = record.posture
        if self.robot is None or self._robot_frames is None:
            steps = self._frames.step(posture.root_position, posture.rotations, record.segments)
            return self._writer.fill(record.stamp_ns, *steps)
        names = self.robot.published_names
        angles = None if joints is None else angles_of(joints, names)
        if angles is None:
            return None
        return self._writer.fill(
            record.stamp_ns,
            *self._robot_frames.step(posture.root_position, posture.rotations[0], angles),
        )


class RawFrames:
    """Messages of a frame, not decoded: performer, importance and puppet of one stamp."""

    def __init__(self) -> None:
        self._captured: StampedJoin[bytes, bytes] = StampedJoin()
        self._whole: StampedJoin[tuple[bytes, bytes], bytes] = StampedJoin()

    def push(self, topic: str, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        """Take a message; return the frame that it completes."""
        stamp_ns = raw_header.stamp_ns(data)
        if topic == PUPPET_TOPIC:
            found = self._whole.push_right(stamp_ns, data)
        else:
            is_left = topic == PERFORMER_TOPIC
            push = self._captured.push_left if is_left else self._captured.push_right
            pair = push(stamp_ns, data)
            found = None if pair is None else self._whole.push_left(stamp_ns, pair)
        return None if found is None else (*found[0], found[1])


class VisualizationNode(Node):
    """Postures and importance to TF and markers."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **NODE_OPTIONS, **kwargs)
        self._table = ParameterTable(
            self, VISUALIZATION_ROWS, self._build_config, self._on_config
        )
        config = self._table.config
        self._environment = load_environment(share.environment_file(config.environment))
        self._views = {topic: BodyView(prefix) for topic, prefix in BODIES.items()}
        self._diagnostics = Diagnostics(self)
        self._joints_input: Any = None
        self._on_config(config)
        self._tf = self.create_publisher(TFMessage, TF_TOPIC, qos.TRANSFORMS)
        self._markers = self.create_publisher(MarkerArray, MARKERS_TOPIC, 10)
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
        record = posture_msg.from_msg(deserialize_message(data, Posture))
        view.leg_length = record.leg_length
        self._diagnostics.frame(record.stamp_ns)
        if not watched:
            return
        states = None if joints is None else deserialize_message(joints, JointState)
        transforms = view.transforms(record, states)
        if transforms is None:
            self._diagnostics.drop('joints_of_another_robot')
        else:
            self._tf.publish(transforms)

    def _show_self_balls(self, topic: str, data: bytes) -> None:
        """Publish the balls of the puppet's own body if this completes a frame that is due."""
        if not self._table.config.show_range_balls or not self._markers.get_subscription_count():
            return
        frame = self._raw_frames.push(topic, data)
        if frame is None or not self._ball_limit.passes(time.monotonic_ns()):
            return
        captured = posture_msg.from_msg(deserialize_message(frame[0], Posture))
        near = importance_msg.from_msg(deserialize_message(frame[1], Importance))
        puppet = posture_msg.from_msg(deserialize_message(frame[2], Posture))
        balls = self._self_balls.balls(
            puppet.posture, captured.posture.rotations, near.rows, near.self_rows,
            self._world_scale(),
        )  # fmt: skip
        markers = self_ball_markers(balls.importances, balls.centres, balls.radii)
        if markers:
            self._markers.publish(
                marker_message.to_msg(markers, WORLD, puppet.stamp_ns, GOAL_LIFETIME_S)
            )

    def _on_importance(self, data: bytes) -> None:
        self._show_self_balls(IMPORTANCE_TOPIC, data)
        watched = self._markers.get_subscription_count() > 0
        if not watched or not self._marker_limit.passes(time.monotonic_ns()):
            return
        record = importance_msg.from_msg(deserialize_message(data, Importance))
        scale = self._world_scale()
        goals = scale * record.rows[:, GOAL: GOAL + 3]
        markers = goal_markers(record.rows[:, IMPORTANCE], goals)
        if self._table.config.show_range_balls:
            markers += range_ball_markers(
                record.rows[:, IMPORTANCE], goals, scale * record.rows[:, RADIUS]
            )
        if markers:
            self._markers.publish(
                marker_message.to_msg(markers, WORLD, record.stamp_ns, GOAL_LIFETIME_S)
            )

    def _on_timer(self) -> None:
        if self._markers.get_subscription_count() == 0 or not self._marker_limit.is_open:
            return
        markers = environment_markers(self._environment, self._world_scale())
        # stamp zero: RViz takes the latest transform
        self._markers.publish(marker_message.to_msg(markers, WORLD, 0, ENVIRONMENT_LIFETIME_S))

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
        try:
            _load(config)
        except PuppetError as err:
            raise ConfigError(f'character: {err}') from err
        return config

    def _on_config(self, config: VisualizationConfig) -> None:
        self._character = _load(config)
        self._self_balls = SelfBallView(self._character)
        self._views[PUPPET_TOPIC].become(self._character.robot)
        self._robot_join: StampedJoin[bytes, bytes] = StampedJoin()
        if self._joints_input is not None:
            self.destroy_subscription(self._joints_input)
            self._joints_input = None
        if self._character.robot is not None:
            self._joints_input = self._subscribe(JointState, JOINT_STATES_TOPIC, self._on_joints)
        self._raw_frames = RawFrames()
        self._ball_limit = RateLimit(config.marker_rate_hz)
        self._marker_limit = RateLimit(config.marker_rate_hz)
        for view in self._views.values():
            view.limit = RateLimit(config.tf_rate_hz)


def _load(config: VisualizationConfig) -> Character:
    return load_character(share.character_file(config.character))


def main(argv: list[str] | None = None) -> int:
    """Run the node; return its exit code."""
    return spin_node(VisualizationNode, argv)


if __name__ == '__main__':
    sys.exit(main())
