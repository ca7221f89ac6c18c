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

import sys
from typing import Any

from puppet_core.errors import ConfigError, InputFileError
from puppet_core.urdf import description_text, urdf_text
from puppet_msgs.msg import Importance, RetargetStatus
from puppet_msgs.msg import Posture as PostureMsg
from puppet_retarget.parameters import retarget_config, RETARGET_ROWS, RetargetConfig
from puppet_retarget.retarget_stage import CharacterShelf, RetargetStage
from puppet_ros import importance_msg, posture_msg, qos
from puppet_ros.diagnostics import Diagnostics
from puppet_ros.importance_msg import ImportanceRecord
from puppet_ros.parameter_table import NODE_OPTIONS, ParameterTable
from puppet_ros.posture_msg import PostureRecord
from puppet_ros.robot_description import RobotDescriptionPublisher
from puppet_ros.spin import spin_node
from puppet_ros.stamped_join import StampedJoin
from puppet_ros.streams import StreamPublisher, subscribe
from rclpy.node import Node
from sensor_msgs.msg import JointState

NODE_NAME = 'retarget'
POSTURE_TOPIC = '/performer/posture'
IMPORTANCE_TOPIC = '/importance'
JOINT_STATES_TOPIC = '/joint_states'
PUPPET_TOPIC = '/puppet/posture'
STATUS_TOPIC = '/retarget/status'
DESCRIPTION_TOPIC, BODY_TOPIC = '/robot_description', '/puppet/robot_description'


class RetargetNode(Node):
    """Posture and importance to the puppet."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **NODE_OPTIONS, **kwargs)
        self._shelf = CharacterShelf()
        self._table = ParameterTable(self, RETARGET_ROWS, self._build_config, self._on_config)
        config = self._table.config
        self._character = self._shelf.load(config.character)
        self._stage = RetargetStage(self._character, config)
        self._join: StampedJoin[PostureRecord, ImportanceRecord] = StampedJoin()
        self._joints = StreamPublisher(self, JointState, JOINT_STATES_TOPIC, qos.JOINT_STATES)
        self._puppet = StreamPublisher(self, PostureMsg, PUPPET_TOPIC)
        self._status = StreamPublisher(self, RetargetStatus, STATUS_TOPIC)
        self._description = RobotDescriptionPublisher(
            self, DESCRIPTION_TOPIC, description_text(self._character)
        )
        self._body = RobotDescriptionPublisher(self, BODY_TOPIC, urdf_text(self._character))
        self._diagnostics = Diagnostics(self)
        guarded, held = self._diagnostics.guarded, self._join.capacity
        self._inputs = (
            subscribe(
                self, PostureMsg, POSTURE_TOPIC, self._on_posture, guarded, held=held
            ),
            subscribe(
                self, Importance, IMPORTANCE_TOPIC, self._on_importance, guarded, held=held
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
        frame = self._stage.step(performer, importance)
        if frame is None:
            self._diagnostics.drop('not_usable')
            return
        self._joints.publish(self._stage.fill_joints(performer, frame))
        self._diagnostics.frame(performer.stamp_ns)
        self._puppet.publish(self._stage.fill_posture(performer, frame))
        self._status.publish(
            self._stage.fill_status(performer, frame, self._dropped(), frame.solve_time_us)
        )

    def _dropped(self) -> int:
        unmatched = self._join.unmatched_left + self._join.unmatched_right
        return self._diagnostics.total_drops + unmatched

    def _build_config(self, values: Any) -> RetargetConfig:
        """Return the config, refusing a character that cannot be read."""
        config = retarget_config(values)
        try:
            self._shelf.load(config.character)
        except InputFileError as err:
            raise ConfigError(f'character: {err}') from err
        return config

    def _on_config(self, config: RetargetConfig) -> None:
        before, self._character = self._character, self._shelf.load(config.character)
        self._stage.configure(self._character, config)
        if self._character is not before:
            self._description.publish(description_text(self._character))
            self._body.publish(urdf_text(self._character))


def main(argv: list[str] | None = None) -> int:
    """Run the node; return its exit code."""
    return spin_node(RetargetNode, argv)


if __name__ == '__main__':
    sys.exit(main())
