# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The retarget node; `RetargetStage` is one frame of it, also used by the replay."""

from pathlib import Path
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from puppet_core import named_files
from puppet_core.body import Character, Posture
from puppet_core.io import ConfigError, InputFileError
from puppet_core.math import Floats
from puppet_core.robots import description_text, urdf_text
from puppet_msgs.msg import Posture as PostureMsg
from puppet_msgs.msg import RetargetStatus
from puppet_retarget.importance import (
    current_environment,
    Environment,
    rests_of_objects,
    rows_of_objects,
)
from puppet_retarget.joint_commands import JointCommands
from puppet_retarget.parameters import (
    NO_COMMANDS,
    POSITIONS,
    retarget_config,
    RETARGET_ROWS,
    RetargetConfig,
    TRAJECTORY,
)
from puppet_retarget.retarget_model import (
    LastPostureFile,
    open_last_posture,
    RetargetedFrame,
    RetargetModel,
)
from puppet_ros import config_files
from puppet_ros.messages import (
    command_msg,
    Fields,
    ImportanceReader,
    ImportanceRecord,
    JointStateWriter,
    PostureReader,
    PostureRecord,
    PostureWriter,
    StreamWriter,
)
from puppet_ros.node import (
    Diagnostics,
    ExactTimeSynchronizer,
    NODE_OPTIONS,
    ParameterTable,
    qos,
    RateLimit,
    RobotDescriptionPublisher,
    spin_node,
    StampedRecord,
    StreamPublisher,
    subscribe,
    with_mesh_files,
)
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.validate_topic_name import validate_topic_name
from sensor_msgs.msg import JointState

MEASURED = np.zeros(16, dtype=np.uint8)  # Posture.STATUS_MEASURED for every segment

NODE_NAME = 'retarget'
POSTURE_TOPIC = 'performer/posture'
IMPORTANCE_TOPIC = 'importance'
JOINT_STATES_TOPIC = 'joint_states'
PUPPET_TOPIC = 'puppet/posture'
STATUS_TOPIC = 'retarget/status'
DESCRIPTION_TOPIC, BODY_TOPIC = 'robot_description', 'puppet/robot_description'
OWN_TOPICS = (
    *(POSTURE_TOPIC, IMPORTANCE_TOPIC, JOINT_STATES_TOPIC, PUPPET_TOPIC, STATUS_TOPIC),
    *(DESCRIPTION_TOPIC, BODY_TOPIC),
)
COMMAND_TOPICS = {
    TRAJECTORY: 'joint_trajectory_controller/joint_trajectory',
    POSITIONS: 'forward_position_controller/commands',
}


def environment_of(config: RetargetConfig) -> Environment:
    """Return the environment of a node as its file is now; ConfigError if it cannot be read."""
    path = named_files.environment_file(config.environment)
    return current_environment(path, config.influence_distances_m)


class PuppetFrame(NamedTuple):
    """A frame of the puppet with what else its messages contain."""

    performer: PostureRecord  # Whom it follows
    frame: RetargetedFrame  # What came of it
    dropped: int  # Input that gave nothing since the start
    solve_time_us: float  # As published


class RetargetStage:
    def __init__(self, character: Character, config: RetargetConfig) -> None:
        environment = environment_of(config)
        self._objects = environment.names
        self.unknown: tuple[str, ...] = ()
        """Objects of the last importance that the own environment has not."""
        self.model = RetargetModel(character, environment, config)
        self.model.warm_up()
        self.solved = 0
        """Frames since the start."""
        self._posture_writer = PostureWriter()
        self._status_writer = StreamWriter(RetargetStatus, '', self._status_fields)
        self._configure(character, config)

    def configure(self, character: Character, config: RetargetConfig) -> None:
        """
        Take another character, environment or tuning.

        The first time, another solver is compiled now.
        """
        if config.solver != self.config.solver:
            self.model.warm_up(config.solver)
        environment = environment_of(config)
        self._objects = environment.names
        self.model.configure(character, config, environment)
        self._configure(character, config)

    def step(
        self, performer: PostureRecord, importance: ImportanceRecord
    ) -> RetargetedFrame | None:
        """Return the puppet's frame, or None if the input is not usable."""
        rows, rests, names = importance.rows, importance.rests, importance.objects
        self.unknown = ()
        if names != self._objects:  # of another environment
            self.unknown = tuple(name for name in names if name not in self._objects)
            rows = rows_of_objects(rows, names, self._objects)
            rests = rests_of_objects(rests, names, self._objects)
        frame = self.model.step(
            performer.stamp_ns,
            performer.posture.root_position,
            performer.segments,
            performer.posture.rotations,
            rows,
            importance.self_rows,
            performer.leg_length,
            importance.moving,
            rests,
        )
        self.solved += frame is not None
        return frame

    def joints_data(self, puppet: PuppetFrame) -> bytes:
        return self._joint_writer.data(
            puppet.performer.stamp_ns, puppet.frame.angles[self._joint_order]
        )

    def posture_data(self, puppet: PuppetFrame) -> bytes:
        performer, solution = puppet.performer, puppet.frame.solution
        posture = Posture(
            solution.root_position,
            solution.rotations,
            solution.end_effectors,
            puppet.frame.end_effector_velocities,
            solution.moving,
        )
        record = PostureRecord(
            performer.stamp_ns,
            performer.frame_index,
            self._character.name,
            posture,
            solution.p_world,
            MEASURED,
            self._character.skeleton.leg_length,
            performer.frame_id,
        )
        return self._posture_writer.data(record)

    def status_data(self, puppet: PuppetFrame) -> bytes:
        return self._status_writer.data(puppet)

    def _status_fields(self, puppet: PuppetFrame) -> tuple[int, Fields]:
        solution = puppet.frame.solution
        return puppet.performer.stamp_ns, {
            'frame_id': puppet.performer.frame_id,
            'frame_index': puppet.performer.frame_index,
            'solver': self.config.solver,
            'character': self._character.name,
            'solve_time_us': puppet.solve_time_us,
            'body_iterations': solution.body_iterations,
            'root_offset': solution.root_offset,
            'goal_errors': solution.goal_errors,
            'penetrations': solution.penetrations,
            'self_penetrations': solution.self_depths,
            'reachable': solution.reachable,
            'easing': puppet.frame.eased,
            'frames_solved': self.solved,
            'frames_dropped': puppet.dropped,
            'whips': self.model.whips,
        }

    def _configure(self, character: Character, config: RetargetConfig) -> None:
        self._character, self.config = character, config
        names, robot = self.model.joint_names, character.robot
        self._joint_order = np.arange(len(names)) if robot is None else robot.urdf_order
        ordered = [names[i] for i in self._joint_order]
        self._joint_writer = JointStateWriter(ordered, with_speeds=robot is not None)


class RobotCommands:
    """Sends commands to a controller of the robot that the puppet is, while it may."""

    def __init__(self, node: Node, diagnostics: Diagnostics, model: JointCommands) -> None:
        self._node, self._diagnostics, self._model = node, diagnostics, model
        config = model.config
        self._limit = RateLimit(config.rate_hz)
        topic = config.topic or COMMAND_TOPICS[config.type]
        kind = type(self._message(np.zeros(len(model.joints))))
        self._publisher = node.create_publisher(kind, topic, qos.COMMANDS)
        self._states = node.create_subscription(
            JointState, config.state_topic, diagnostics.guarded(self._on_states), qos.STREAM
        )
        diagnostics.value('commands', lambda: model.report(time.monotonic()))

    def step(self, puppet: PuppetFrame) -> None:
        if not self._limit.passes(time.monotonic_ns()):
            return
        performer, model = puppet.performer, self._model
        is_measured = bool((performer.status != PostureMsg.STATUS_STALE).all())
        age_s = (self._node.get_clock().now().nanoseconds - performer.stamp_ns) * 1e-9
        positions = model.step(puppet.frame.angles, is_measured, age_s, time.monotonic())
        if model.warning:
            self._diagnostics.cause(f'commands {model.warning}')
        if positions is not None:
            self._publisher.publish(self._message(positions))

    def close(self) -> None:
        """Send nothing any more."""
        self._node.destroy_publisher(self._publisher)
        self._node.destroy_subscription(self._states)
        self._diagnostics.value('commands', 'off')

    def _message(self, positions: Floats) -> Any:
        config, joints = self._model.config, self._model.joints
        return command_msg(config.type == TRAJECTORY, joints, positions, config.ahead_s)

    def _on_states(self, msg: JointState) -> None:
        self._model.take_states(msg.name, msg.position, time.monotonic())


class RetargetNode(Node):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **NODE_OPTIONS, **kwargs)
        self._table = ParameterTable(self, RETARGET_ROWS, self._build_config, self._on_config)
        config = self._table.config
        self._character = config_files.character(config.character)
        self._stage = RetargetStage(self._character, config)
        self._join: ExactTimeSynchronizer[PostureRecord, ImportanceRecord] = (
            ExactTimeSynchronizer()
        )
        self._joints = StreamPublisher(
            self, JointState, JOINT_STATES_TOPIC, self._stage.joints_data, qos.JOINT_STATES
        )
        self._puppet = StreamPublisher(self, PostureMsg, PUPPET_TOPIC, self._stage.posture_data)
        self._status = StreamPublisher(self, RetargetStatus, STATUS_TOPIC, self._stage.status_data)
        self._description = RobotDescriptionPublisher(
            self, DESCRIPTION_TOPIC, _description(self._character)
        )
        self._body = RobotDescriptionPublisher(self, BODY_TOPIC, urdf_text(self._character))
        self._diagnostics = Diagnostics(self)
        self._diagnostics.value(
            'objects not known', lambda: ', '.join(self._stage.unknown) or 'none'
        )
        self._commands: RobotCommands | None = None
        self._renew_commands(config)
        self._last = self._open_last()
        self._inputs = tuple(
            subscribe(self, topic, callback, self._diagnostics, reader)
            for topic, callback, reader in (
                (POSTURE_TOPIC, self._on_posture, PostureReader()),
                (IMPORTANCE_TOPIC, self._on_importance, ImportanceReader()),
            )
        )

    def _on_posture(self, stamped: StampedRecord) -> None:
        record: PostureRecord = stamped.record
        self._solve(self._join.push_left(record.stamp_ns, record))

    def _on_importance(self, stamped: StampedRecord) -> None:
        record: ImportanceRecord = stamped.record
        self._solve(self._join.push_right(record.stamp_ns, record))

    def _solve(self, pair: tuple[PostureRecord, ImportanceRecord] | None) -> None:
        if pair is None:
            return
        performer, importance = pair
        frame = self._stage.step(performer, importance)
        if frame is None:
            self._diagnostics.drop('not_usable')
            return
        dropped = self._diagnostics.total_drops + sum(self._join.unmatched)
        puppet = PuppetFrame(performer, frame, dropped, frame.solve_time_us)
        self._joints.publish(puppet)
        if self._commands is not None:
            self._commands.step(puppet)
        if frame.cause:
            self._diagnostics.cause(frame.cause)
        self._diagnostics.frame(performer.stamp_ns)
        self._diagnostics.value('whips', self._stage.model.whips)
        if self._last is not None:
            posture = frame.solution
            self._last.write(
                time.monotonic_ns(), posture.root_position, posture.rotations, frame.angles
            )
        self._puppet.publish(puppet)
        self._status.publish(puppet)

    def _open_last(self, is_start: bool = True) -> LastPostureFile | None:
        """Return the file of the last posture, None for none; a start blends from what it held."""
        path = self._table.config.last_posture_file
        if not path:
            return None
        names = self._stage.model.joint_names
        try:
            kept, last, refusal = open_last_posture(
                Path(path).expanduser(), names, time.monotonic_ns()
            )
        except (OSError, InputFileError) as err:
            got = getattr(err, 'strerror', None) or err
            self._diagnostics.error(f'{path}: expected a writable file, got {got}')
            return None
        if is_start and last is not None:
            self._stage.model.resume(last)
        elif is_start and refusal:
            self.get_logger().warning(f'last posture not used: {refusal}')
        return kept

    def _build_config(self, values: Any) -> RetargetConfig:
        """Return the config, refusing a character or environment that cannot be read."""
        config = retarget_config(values)
        character = config_files.character(config.character)
        environment_of(config)
        command = config.command
        if command.type != NO_COMMANDS:
            JointCommands(character.robot, command)
            self._check_topic('command_topic', command.topic or COMMAND_TOPICS[command.type])
            self._check_topic('command_state_topic', command.state_topic)
        return config

    def _check_topic(self, name: str, topic: str) -> None:
        """Refuse what is no topic, or one of this node: /joint_states are not the robot's own."""
        try:
            validate_topic_name(topic)
        except InvalidTopicNameException as err:
            reason = str(err).splitlines()[0]
            raise ConfigError(f'{name}: expected a topic, got {topic!r}: {reason}') from err
        if self.resolve_topic_name(topic) in map(self.resolve_topic_name, OWN_TOPICS):
            raise ConfigError(f"{name}: expected a topic of the robot, got the suite's {topic!r}")

    def _on_config(self, config: RetargetConfig) -> None:
        before, self._character = self._character, config_files.character(config.character)
        names = self._stage.model.joint_names
        commands = self._stage.config.command
        self._stage.configure(self._character, config)
        if self._stage.model.joint_names != names:
            if self._last is not None:
                self._last.close()
            self._last = self._open_last(is_start=False)
        if self._character is not before:
            self._description.publish(_description(self._character))
            self._body.publish(urdf_text(self._character))
        if self._character is not before or config.command != commands:
            self._renew_commands(config)

    def _renew_commands(self, config: RetargetConfig) -> None:
        if self._commands is not None:
            self._commands.close()
        self._commands = None
        if config.command.type != NO_COMMANDS:
            model = JointCommands(self._character.robot, config.command)
            self._commands = RobotCommands(self, self._diagnostics, model)


def _description(character: Character) -> str:
    text, robot = description_text(character), character.robot
    return text if robot is None else with_mesh_files(text, robot.urdf_path)


def main(argv: list[str] | None = None) -> int:
    return spin_node(RetargetNode, argv)


if __name__ == '__main__':
    sys.exit(main())
