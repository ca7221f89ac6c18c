# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The retarget node: the puppet's joint angles and posture (SPEC 3.5).

Subscribes /performer/posture and /importance, joined on equal stamps; publishes
/joint_states, /puppet/posture and /retarget/status with that stamp and rate, and
/robot_description and /puppet/robot_description, latched: the robot's own URDF if the puppet is
one, and always that of our sixteen segments. Solver, character and tuning may change while
running.

"""

from pathlib import Path
import sys
from typing import Any

import numpy as np
from puppet_core.character import Character, load_character
from puppet_core.errors import ConfigError, InputFileError
from puppet_core.posture import Posture
from puppet_core.urdf import description_text, urdf_text
from puppet_msgs.msg import Importance, RetargetStatus
from puppet_msgs.msg import Posture as PostureMsg
from puppet_retarget.importance.environment import load_environment
from puppet_retarget.parameters import retarget_config, RETARGET_ROWS, RetargetConfig
from puppet_retarget.retarget_model import RetargetedFrame, RetargetModel
from puppet_ros import importance_msg, posture_msg, qos, share
from puppet_ros.diagnostics import Diagnostics
from puppet_ros.importance_msg import ImportanceRecord
from puppet_ros.joint_state import JointStateWriter
from puppet_ros.parameter_table import NODE_OPTIONS, ParameterTable
from puppet_ros.posture_msg import PostureRecord, PostureWriter
from puppet_ros.retarget_status import RetargetStatusRecord, RetargetStatusWriter
from puppet_ros.robot_description import RobotDescriptionPublisher
from puppet_ros.spin import spin_node
from puppet_ros.stamped_join import StampedJoin
from rclpy.node import Node
from sensor_msgs.msg import JointState

NODE_NAME = 'retarget'
POSTURE_TOPIC = '/performer/posture'
IMPORTANCE_TOPIC = '/importance'
JOINT_STATES_TOPIC = '/joint_states'
PUPPET_TOPIC = '/puppet/posture'
STATUS_TOPIC = '/retarget/status'
DESCRIPTION_TOPIC, BODY_TOPIC = '/robot_description', '/puppet/robot_description'
MEASURED = np.zeros(16, dtype=np.uint8)  # Posture.STATUS_MEASURED for every segment


class RetargetNode(Node):
    """Posture and importance to the puppet."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **NODE_OPTIONS, **kwargs)
        self._loaded: tuple[tuple[Path, int], Character] | None = None
        self._table = ParameterTable(self, RETARGET_ROWS, self._build_config, self._on_config)
        config = self._table.config
        self._character = self._load(config)
        environment = load_environment(share.environment_file(config.environment))
        self._model = RetargetModel(self._character, environment, config)
        self._model.warm_up()
        self._join: StampedJoin[PostureRecord, ImportanceRecord] = StampedJoin()
        self._solved = 0
        self._joint_writer = JointStateWriter(self._model.joint_names)
        self._status_writer = RetargetStatusWriter(posture_msg.WORLD)
        self._posture_writer = _posture_writer(self._character)
        self._joints = self.create_publisher(JointState, JOINT_STATES_TOPIC, qos.JOINT_STATES)
        self._puppet = self.create_publisher(PostureMsg, PUPPET_TOPIC, qos.STREAM)
        self._status = self.create_publisher(RetargetStatus, STATUS_TOPIC, qos.STREAM)
        self._description = RobotDescriptionPublisher(
            self, DESCRIPTION_TOPIC, description_text(self._character)
        )
        self._body = RobotDescriptionPublisher(self, BODY_TOPIC, urdf_text(self._character))
        self._diagnostics = Diagnostics(self)
        guarded = self._diagnostics.guarded
        self._inputs = (
            self.create_subscription(
                PostureMsg, POSTURE_TOPIC, guarded(self._on_posture), qos.STREAM
            ),
            self.create_subscription(
                Importance, IMPORTANCE_TOPIC, guarded(self._on_importance), qos.STREAM
            ),
        )

    def _on_posture(self, msg: PostureMsg) -> None:
        record = posture_msg.from_msg(msg)
        self._solve(self._join.push_left(record.stamp_ns, record))

    def _on_importance(self, msg: Importance) -> None:
        record = importance_msg.from_msg(msg)
        self._solve(self._join.push_right(record.stamp_ns, record))

    def _solve(self, pair: tuple[PostureRecord, ImportanceRecord] | None) -> None:
        if pair is None:
            return
        performer, importance = pair
        frame = self._model.step(
            performer.stamp_ns, performer.posture.root_position, performer.segments,
            performer.posture.rotations, importance.rows, importance.self_rows,
            performer.leg_length,
        )  # fmt: skip
        if frame is None:
            self._diagnostics.drop('not_usable')
            return
        self._solved += 1
        self._joints.publish(self._joint_writer.fill(performer.stamp_ns, frame.angles))
        self._diagnostics.frame(performer.stamp_ns)
        self._puppet.publish(self._posture_writer.fill(self._record(performer, frame)))
        self._status.publish(self._status_writer.fill(self._status_record(performer, frame)))

    def _record(self, performer: PostureRecord, frame: RetargetedFrame) -> PostureRecord:
        solution = frame.solution
        posture = Posture(
            solution.root_position, solution.rotations, solution.end_effectors,
            frame.end_effector_velocities,
        )  # fmt: skip
        return PostureRecord(
            performer.stamp_ns, performer.frame_index, self._character.name, posture,
            solution.p_world, MEASURED, self._character.skeleton.leg_length,
        )  # fmt: skip

    def _status_record(
        self, performer: PostureRecord, frame: RetargetedFrame
    ) -> RetargetStatusRecord:
        solution = frame.solution
        return RetargetStatusRecord(
            stamp_ns=performer.stamp_ns,
            frame_index=performer.frame_index,
            solver=self._table.config.solver,
            character=self._character.name,
            solve_time_us=frame.solve_time_us,
            body_iterations=solution.body_iterations,
            root_offset=solution.root_offset,
            goal_errors=solution.goal_errors,
            penetrations=solution.penetrations,
            self_penetrations=solution.self_depths,
            reachable=solution.reachable,
            easing=frame.eased,
            frames_solved=self._solved,
            frames_dropped=self._dropped(),
        )

    def _dropped(self) -> int:
        unmatched = self._join.unmatched_left + self._join.unmatched_right
        return self._diagnostics.total_drops + unmatched

    def _build_config(self, values: Any) -> RetargetConfig:
        """Return the config, refusing a character that cannot be read."""
        config = retarget_config(values)
        try:
            self._load(config)
        except InputFileError as err:
            raise ConfigError(f'character: {err}') from err
        return config

    def _on_config(self, config: RetargetConfig) -> None:
        before, self._character = self._character, self._load(config)
        self._model.configure(self._character, config)
        if self._character is not before:
            self._posture_writer = _posture_writer(self._character)
            self._joint_writer = JointStateWriter(self._model.joint_names)
            self._description.publish(description_text(self._character))
            self._body.publish(urdf_text(self._character))

    def _load(self, config: RetargetConfig) -> Character:
        """Return the character; reading the file takes 0.1 s, too long for every slider."""
        path = share.character_file(config.character)
        key = (path, path.stat().st_mtime_ns)
        if self._loaded is None or self._loaded[0] != key:
            self._loaded = (key, load_character(path))
        return self._loaded[1]


def _posture_writer(character: Character) -> PostureWriter:
    return PostureWriter(character.name, character.skeleton.leg_length)


def main(argv: list[str] | None = None) -> int:
    """Run the node; return its exit code."""
    return spin_node(RetargetNode, argv)


if __name__ == '__main__':
    sys.exit(main())
