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
import time
from typing import Any

from puppet_core.errors import ConfigError, InputFileError
from puppet_core.urdf import description_text, urdf_text
from puppet_msgs.msg import Posture as PostureMsg
from puppet_msgs.msg import RetargetStatus
from puppet_retarget.last_posture import LastPostureFile, take_up
from puppet_retarget.parameters import retarget_config, RETARGET_ROWS, RetargetConfig
from puppet_retarget.retarget_stage import CharacterShelf, PuppetFrame, RetargetStage
from puppet_ros import qos
from puppet_ros.diagnostics import Diagnostics
from puppet_ros.importance_msg import ImportanceReader, ImportanceRecord
from puppet_ros.parameter_table import NODE_OPTIONS, ParameterTable
from puppet_ros.posture_msg import PostureReader, PostureRecord
from puppet_ros.robot_description import RobotDescriptionPublisher
from puppet_ros.spin import spin_node
from puppet_ros.stamped_join import StampedJoin
from puppet_ros.streams import Framed, StreamPublisher, subscribe
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
        self._joints = StreamPublisher(
            self, JointState, JOINT_STATES_TOPIC, self._stage.joints_data, qos.JOINT_STATES
        )
        self._puppet = StreamPublisher(self, PostureMsg, PUPPET_TOPIC, self._stage.posture_data)
        self._status = StreamPublisher(self, RetargetStatus, STATUS_TOPIC, self._stage.status_data)
        self._description = RobotDescriptionPublisher(
            self, DESCRIPTION_TOPIC, description_text(self._character)
        )
        self._body = RobotDescriptionPublisher(self, BODY_TOPIC, urdf_text(self._character))
        self._diagnostics = Diagnostics(self)
        self._last = self._take_up_last()
        self._inputs = tuple(
            subscribe(
                self, topic, callback, self._diagnostics, reader, held=self._join.capacity,
                is_held=is_held,
            )
            for topic, callback, reader, is_held in (
                (POSTURE_TOPIC, self._on_posture, PostureReader, self._join.has_left),
                (IMPORTANCE_TOPIC, self._on_importance, ImportanceReader, self._join.has_right),
            )
        )

    def _on_posture(self, framed: Framed) -> None:
        record: PostureRecord = framed.record
        self._solve(self._join.push_left(record.stamp_ns, record))

    def _on_importance(self, framed: Framed) -> None:
        record: ImportanceRecord = framed.record
        self._solve(self._join.push_right(record.stamp_ns, record))

    def _solve(self, pair: tuple[PostureRecord, ImportanceRecord] | None) -> None:
        if pair is None:
            return
        performer, importance = pair
        frame = self._stage.step(performer, importance)
        if frame is None:
            self._diagnostics.drop('not_usable')
            return
        puppet = PuppetFrame(performer, frame, self._dropped(), frame.solve_time_us)
        self._joints.publish(puppet)
        if frame.cause:
            self._diagnostics.cause(frame.cause)
        self._diagnostics.frame(performer.stamp_ns)
        if self._last is not None:
            posture = frame.solution
            self._last.write(
                time.monotonic_ns(), posture.root_position, posture.rotations, frame.angles
            )
        self._puppet.publish(puppet)
        self._status.publish(puppet)

    def _take_up_last(self, is_start: bool = True) -> LastPostureFile | None:
        """Return the file of the last posture, None for none; a start eases from what it held."""
        path = self._table.config.last_posture_file
        if not path:
            return None
        names = self._stage.model.joint_names
        try:
            kept, last, refusal = take_up(Path(path).expanduser(), names, time.monotonic_ns())
        except (OSError, InputFileError) as err:
            got = getattr(err, 'strerror', None) or err
            self._diagnostics.error(f'{path}: expected a writable file, got {got}')
            return None
        if is_start and last is not None:
            self._stage.model.resume(last)
        elif is_start and refusal:
            self.get_logger().warning(f'not eased from the last posture: {refusal}')
        return kept

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
        names = self._stage.model.joint_names
        self._stage.configure(self._character, config)
        if self._stage.model.joint_names != names:
            if self._last is not None:
                self._last.close()
            self._last = self._take_up_last(is_start=False)
        if self._character is not before:
            self._description.publish(description_text(self._character))
            self._body.publish(urdf_text(self._character))


def main(argv: list[str] | None = None) -> int:
    """Run the node; return its exit code."""
    return spin_node(RetargetNode, argv)


if __name__ == '__main__':
    sys.exit(main())
