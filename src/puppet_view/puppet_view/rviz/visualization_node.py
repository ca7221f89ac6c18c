# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Node `visualization`: TF of the performer and of every puppet, and markers, for RViz."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from puppet_core import named_files
from puppet_core.body import Character, END_EFFECTORS, NO_PROPS
from puppet_core.io import build_config, rows_of, setting
from puppet_core.marker_spec import IDENTITY, IDS_PER_PUPPET, MarkerSpec
from puppet_msgs.msg import Importance, Posture
from puppet_retarget.importance import current_environment, Environment, GOAL, IMPORTANCE, RADIUS
from puppet_ros import config_files, messages
from puppet_ros import node as ros
from puppet_ros.node import qos
from puppet_view.rviz import markers as drawing
from puppet_view.rviz.frames import BodyView
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

NODE_NAME = 'visualization'
PERFORMER_TOPIC, IMPORTANCE_TOPIC = 'performer/posture', 'importance'
PERFORMER, PUPPET = 'performer', 'puppet'
JOINT_STATES_TOPIC = 'joint_states'
MARKERS_TOPIC, BODY_MARKERS_TOPIC = 'markers', 'puppet/markers'
ENVIRONMENT_PERIOD_S = 1.0
ENVIRONMENT_LIFETIME_S = 3.0
GOAL_LIFETIME_S = 0.25
BODY_RATE_HZ = 10.0  # of colours; the limbs move with their frames


@dataclass(frozen=True, slots=True)
class VisualizationConfig:
    environment: str = setting(
        'floor',
        description='Environment, by name or path of its YAML file; set again to read it again.',
    )
    character: str = setting(
        'blubby',
        description='Puppet, by name or path of its YAML file; sets the scale of its objects.',
    )
    further_characters: str = setting(
        '',
        description='Second and further puppets, by name or path, separated by commas.',
        live=False,
    )
    display_offset_m: tuple[float, float, float] = setting(
        (2.0, 0.0, 0.0),
        'm',
        -100.0,
        100.0,
        'From the performer to the puppet, and from each puppet to the next, in TF and markers; '
        '0 0 0: all in one place, as for work with a real robot.',
        length=3,
    )
    world_frame: str = setting('world', description='Frame of the performer.', live=False)
    tf_prefix: str = setting(
        '', description='Prefix of the names of all other frames, such as robot1/.', live=False
    )
    tf_rate_hz: float = setting(60.0, 'Hz', 0.0, 10000.0, 'Rate of /tf for each body; 0: none.')
    marker_rate_hz: float = setting(
        20.0, 'Hz', 0.0, 30.0, 'Rate of /markers and, up to 10 Hz, of /puppet/markers; 0: none.'
    )
    show_range_balls: bool = setting(
        True, description='Whether to draw the range balls of the goals.'
    )
    show_labels: bool = setting(
        True, description='Whether to label bodies with names and goals with importance.'
    )


VISUALIZATION_ROWS = rows_of(VisualizationConfig)


class Group(NamedTuple):
    """Markers that share a header, and what is added to their identifiers."""

    markers: tuple[MarkerSpec, ...]
    frame: str
    first: int = 0
    stamp_ns: int = 0  # RViz takes the latest transform for zero
    lifetime_s: float = GOAL_LIFETIME_S


class Puppet:
    """One puppet in its world: frames, markers, and messages until those of a frame are there."""

    def __init__(self, number: int, config: VisualizationConfig, performer: BodyView) -> None:
        name = f'{PUPPET}_{number + 1}' if number else PUPPET
        self.topic = f'{name}/posture'
        self.joints_topic = f'{name}/{JOINT_STATES_TOPIC}' if number else JOINT_STATES_TOPIC
        prefix = config.tf_prefix + name
        self.view = BodyView(f'{prefix}/', f'{prefix}_world')
        self.group = partial(Group, frame=self.view.world, first=number * IDS_PER_PUPPET)
        self.is_first = number == 0
        self.last = b''  # its last posture
        self.joints_input: Any = None
        self._performer = performer

    @property
    def scale(self) -> float:
        """Scale of its world, 1 while the size of the performer is not known."""
        leg_length = self._performer.leg_length
        return self.character.scale_for(leg_length) if leg_length > 0.0 else 1.0

    def become(self, character: Character) -> None:
        self.character = character
        self.view.become(character.robot)
        self._self_balls = drawing.SelfBallView(character)
        self.tint = drawing.BodyTint(character, self.view.prefix)
        self.joints: ros.ExactTimeSynchronizer[bytes, bytes] = ros.ExactTimeSynchronizer()

    def restart(self, marker_rate_hz: float) -> None:
        self.frames: ros.ExactTimeSynchronizer[Any, bytes] = ros.ExactTimeSynchronizer()
        self._limit = ros.RateLimit(marker_rate_hz)

    def balls(self, frame: tuple[Any, bytes] | None) -> list[Group]:
        """Return the balls of the own body in a frame, if they are due."""
        if frame is None or not self._limit.passes(time.monotonic_ns()):
            return []
        (performer, importance), puppet = frame
        near = messages.importance_msg.from_msg(messages.decoded(importance, Importance))
        balls = self._self_balls.balls(
            messages.posture_of(puppet).posture,
            messages.posture_of(performer).posture.rotations,
            near.rows,
            near.self_rows,
            self.scale,
        )
        markers = drawing.self_ball_markers(balls.importances, balls.centres, balls.radii)
        return [self.group(markers, stamp_ns=near.stamp_ns)]

    def goals(self, record: messages.ImportanceRecord, config: VisualizationConfig) -> Group:
        rows, scale = record.rows, self.scale
        where = rows[:, IMPORTANCE], scale * rows[:, GOAL : GOAL + 3]
        markers = drawing.goal_markers(*where)
        if config.show_labels:
            markers += drawing.label_markers(*where)
        if config.show_range_balls:
            markers += drawing.range_ball_markers(*where, scale * rows[:, RADIUS])
        return self.group(markers, stamp_ns=record.stamp_ns)

    def moving(self, environment: Environment) -> Group:
        """Return the objects of its world that move."""
        props = messages.posture_of(self.last).posture.props if self.last else NO_PROPS
        return self.group(drawing.moving_markers(environment, props, True, self.scale))

    def lasting(self, environment: Environment, is_apart: bool, has_name: bool) -> list[Group]:
        """Return objects and names, of the first puppet also the performer's and the floor."""
        view, performer = self.view, self._performer
        solids = drawing.environment_markers(environment, self.scale, is_apart)
        shared = [s for s in solids if s.namespace == drawing.REAL]
        own = [s for s in solids if s.namespace == drawing.ENVIRONMENT]
        if has_name:
            who = performer.prefix, performer.body, performer.leg_length
            shared += drawing.body_name(0, *who)
            own += drawing.body_name(1, view.prefix, view.body, view.leg_length, self.character)
        if not self.is_first:
            shared, own = [], [s for s in own if s.colour != drawing.FLOOR_COLOUR]
        groups = Group(tuple(shared), performer.world), self.group(tuple(own))
        return [group._replace(lifetime_s=ENVIRONMENT_LIFETIME_S) for group in groups]


class VisualizationNode(Node):
    def __init__(self, **kwargs: Any) -> None:
        self._drawn: list[Any] = []  # publishers of markers; also of a node that is refused
        super().__init__(NODE_NAME, **ros.NODE_OPTIONS, **kwargs)
        self._table = ros.ParameterTable(
            self, VISUALIZATION_ROWS, self._build_config, self._on_config
        )
        config = self._table.config
        self._environment = _environment_of(config)
        self._performer = BodyView(f'{config.tf_prefix}{PERFORMER}/', config.world_frame)
        further = _names(config.further_characters)
        self._puppets = [Puppet(i, config, self._performer) for i in range(1 + len(further))]
        for puppet, name in zip(self._puppets[1:], further):
            puppet.become(config_files.character(name))
        self._diagnostics = ros.Diagnostics(self)
        self._tf_static: Any = None
        self._shown = config.character
        self._importance_watch = ros.ClockJumpDetector()
        self._tf = self.create_publisher(TFMessage, ros.TF_TOPIC, qos.TRANSFORMS)
        self._markers = self.create_publisher(MarkerArray, MARKERS_TOPIC, 10)
        self._body_markers = self.create_publisher(MarkerArray, BODY_MARKERS_TOPIC, 10)
        self._drawn += [self._markers, self._body_markers]
        self._on_config(config)
        self._inputs = [
            self._subscribe(Posture, PERFORMER_TOPIC, self._on_performer),
            *(self._subscribe(Posture, p.topic, self._on_puppet(p)) for p in self._puppets),
            self._subscribe(Importance, IMPORTANCE_TOPIC, self._on_importance),
        ]
        self._steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(
            ENVIRONMENT_PERIOD_S, self._on_timer, clock=self._steady_clock
        )

    def _on_performer(self, data: bytes) -> None:
        self._pair(self._input_join.push_left, data)
        self._show_body(self._performer, data)

    def _on_puppet(self, puppet: Puppet) -> Callable[[bytes], None]:
        def on_posture(data: bytes) -> None:
            stamp_ns, puppet.last = messages.stamp_ns(data), data
            if self._draws_balls():
                self._waiting += puppet.balls(puppet.frames.push_right(stamp_ns, data))
            if puppet.view.robot is None:
                self._show_body(puppet.view, data)
            elif pair := puppet.joints.push_left(stamp_ns, data):
                self._show_body(puppet.view, *pair)

        return on_posture

    def _on_joints(self, puppet: Puppet) -> Callable[[bytes], None]:
        def on_joints(data: bytes) -> None:
            if pair := puppet.joints.push_right(messages.stamp_ns(data), data):
                self._show_body(puppet.view, *pair)

        return on_joints

    def _show_body(self, view: BodyView, data: bytes, joints: bytes | None = None) -> None:
        """Publish the frames of a posture, and of the joints with its stamp, if they are due."""
        watched = self._tf.get_subscription_count() > 0
        if not (view.limit if watched else view.idle_limit).passes(time.monotonic_ns()):
            return
        record = messages.posture_of(data)
        view.leg_length, view.body = record.leg_length, record.body
        self._diagnostics.frame(record.stamp_ns)
        if not watched:
            return
        states = None if joints is None else messages.decoded(joints, JointState)
        transforms = view.transforms(record, states)
        if transforms is None:
            self._diagnostics.drop('joints_of_another_robot')
        else:
            self._tf.publish(transforms)

    def _draws_balls(self) -> bool:
        shown = self._table.config.show_range_balls
        return shown and self._markers.get_subscription_count() > 0

    def _pair(self, push: Callable[[int, bytes], Any], data: bytes) -> None:
        """Hand the performer's posture and importance, once both are there, to all puppets."""
        stamp_ns = messages.stamp_ns(data)
        inputs = push(stamp_ns, data) if self._draws_balls() else None
        for puppet in self._puppets if inputs is not None else ():
            self._waiting += puppet.balls(puppet.frames.push_left(stamp_ns, inputs))

    def _on_importance(self, data: bytes) -> None:
        if self._importance_watch.went_back(messages.stamp_ns(data)):
            self._restart(self._table.config)
            self._take_away()
        self._pair(self._input_join.push_right, data)
        now_ns = time.monotonic_ns()
        draws = self._markers.get_subscription_count() > 0 and self._limit.passes(now_ns)
        tints = self._body_markers.get_subscription_count() > 0
        tints = tints and self._body_limit.passes(now_ns)
        if not draws and not tints:
            return
        record = messages.importance_msg.from_msg(messages.decoded(data, Importance))
        if draws:
            goals = [puppet.goals(record, self._table.config) for puppet in self._puppets]
            self._draw(goals + self._moving(record))
        if tints:
            weights = record.rows[: len(END_EFFECTORS), IMPORTANCE]
            limbs = ((p, p.tint.step(weights)) for p in self._puppets)
            groups = (p.group(limb, lifetime_s=drawing.LIFETIME_S) for p, limb in limbs)
            self._publish(self._body_markers, groups)

    def _moving(self, record: messages.ImportanceRecord) -> list[Group]:
        """Return the objects that move, of all worlds."""
        if not record.moving.names:
            return []
        solids = drawing.moving_markers(self._environment, record.moving)
        real = Group(solids, self._performer.world)
        return [real, *(puppet.moving(self._environment) for puppet in self._puppets)]

    def _on_timer(self) -> None:
        if not self._limit.is_open or not self._markers.get_subscription_count():
            return
        config = self._table.config
        has_names = config.show_labels and config.tf_rate_hz > 0.0
        given = self._environment, any(config.display_offset_m), has_names
        self._waiting += [group for puppet in self._puppets for group in puppet.lasting(*given)]
        if self._limit.passes(time.monotonic_ns()):
            self._draw(())

    def _draw(self, frame: Iterable[Group]) -> None:
        """Publish the markers of a frame with all that waits, in one message."""
        self._publish(self._markers, [*frame, *self._waiting])
        self._waiting.clear()

    def _publish(self, publisher: Any, groups: Iterable[Group]) -> None:
        message = MarkerArray()
        for markers, frame, first, stamp_ns, lifetime_s in groups:
            own = [m._replace(identifier=m.identifier + first) for m in markers]
            made = messages.marker_message.to_msg(own, frame, stamp_ns, lifetime_s)
            message.markers += made.markers
        if message.markers:
            publisher.publish(message)

    def _restart(self, config: VisualizationConfig) -> None:
        self._input_join: ros.ExactTimeSynchronizer[bytes, bytes] = ros.ExactTimeSynchronizer()
        self._limit = ros.RateLimit(config.marker_rate_hz)
        self._waiting: list[Group] = []
        self._body_limit = ros.RateLimit(min(BODY_RATE_HZ, config.marker_rate_hz))
        for puppet in self._puppets:
            puppet.restart(config.marker_rate_hz)

    def _take_away(self) -> None:
        for publisher in self._drawn:
            publisher.publish(messages.marker_message.delete_all(self._performer.world))

    def destroy_node(self) -> None:
        """Take all markers away while that is possible; after a signal they expire."""
        if self.context.ok():
            self._take_away()
        self._drawn.clear()
        super().destroy_node()

    def _subscribe(self, kind: type, topic: str, callback: Callable[[bytes], None]) -> Any:
        return self.create_subscription(
            kind, topic, self._diagnostics.guarded(callback), qos.STREAM, raw=True
        )

    def _build_config(self, values: Any) -> VisualizationConfig:
        config = build_config(VisualizationConfig, values)
        for name in (config.character, *_names(config.further_characters)):
            config_files.character(name)
        _environment_of(config)
        return config

    def _on_config(self, config: VisualizationConfig) -> None:
        self._puppets[0].become(config_files.character(config.character))
        for puppet in self._puppets:
            if puppet.joints_input is not None:
                self.destroy_subscription(puppet.joints_input)
                puppet.joints_input = None
            if puppet.view.robot is not None:
                puppet.joints_input = self._subscribe(
                    JointState, puppet.joints_topic, self._on_joints(puppet)
                )
        self._announce_fixed(config)
        for view in (self._performer, *(puppet.view for puppet in self._puppets)):
            view.limit = ros.RateLimit(config.tf_rate_hz)
        self._restart(config)
        before, self._environment = self._environment, _environment_of(config)
        if config.character != self._shown or self._environment is not before:
            self._shown = config.character
            self._take_away()

    def _announce_fixed(self, config: VisualizationConfig) -> None:
        """Publish the frames that never move; late listeners get those of these puppets only."""
        if self._tf_static is not None:
            self.destroy_publisher(self._tf_static)
        self._tf_static = self.create_publisher(
            TFMessage, ros.TF_STATIC_TOPIC, qos.STATIC_TRANSFORMS
        )
        now_ns = self.get_clock().now().nanoseconds
        views = [puppet.view for puppet in self._puppets]
        places = np.outer(1 + np.arange(len(views)), config.display_offset_m)
        worlds = messages.TransformsWriter([(config.world_frame, view.world) for view in views])
        fixed = worlds.fill(now_ns, places, np.tile(IDENTITY, (len(views), 1)))
        if config.tf_rate_hz > 0.0:
            fixed.transforms += [t for view in views for t in view.fixed_transforms(now_ns)]
        self._tf_static.publish(fixed)


def _environment_of(config: VisualizationConfig) -> Environment:
    return current_environment(named_files.environment_file(config.environment))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(',') if name.strip()]


def main(argv: list[str] | None = None) -> int:
    return ros.spin_node(VisualizationNode, argv)


if __name__ == '__main__':
    sys.exit(main())
