# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The importance node: what of the world and of the own body matters now (SPEC 3.4).

Subscribes /performer/posture, publishes /importance with the same stamp and rate. Tuning may
change while running.

"""

import sys
from typing import Any

from puppet_msgs.msg import Importance
from puppet_retarget.importance_stage import ImportanceStage
from puppet_retarget.parameters import (
    importance_node_config,
    IMPORTANCE_ROWS,
    ImportanceNodeConfig,
)
from puppet_ros import posture_msg
from puppet_ros.diagnostics import Diagnostics
from puppet_ros.parameter_table import NODE_OPTIONS, ParameterTable
from puppet_ros.posture_msg import PostureReader, PostureRecord
from puppet_ros.spin import spin_node
from puppet_ros.streams import Framed, StreamPublisher, subscribe
from rclpy.node import Node

NODE_NAME = 'importance'
INPUT_TOPIC = '/performer/posture'
OUTPUT_TOPIC = '/importance'


class ImportanceNode(Node):
    """Posture to importance, one message for one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **NODE_OPTIONS, **kwargs)
        self._table = ParameterTable(
            self, IMPORTANCE_ROWS, importance_node_config, self._on_config
        )
        self._stage = ImportanceStage(self._table.config)
        self._model = self._stage.model
        self._publisher = StreamPublisher(self, Importance, OUTPUT_TOPIC, self._stage.data)
        self._diagnostics = Diagnostics(self)
        self._subscription = subscribe(
            self, INPUT_TOPIC, self._on_posture, self._diagnostics, PostureReader
        )

    def _on_posture(self, framed: Framed) -> None:
        record: PostureRecord = framed.record
        near = self._stage.step(record)
        if near is None:
            self._diagnostics.drop('not_usable')
            return
        self._publisher.publish(near, posture_msg.WORLD)
        self._diagnostics.frame(record.stamp_ns)

    def _on_config(self, config: ImportanceNodeConfig) -> None:
        self._model.retune(config.tuning, config.self_tuning)


def main(argv: list[str] | None = None) -> int:
    """Run the node; return its exit code."""
    return spin_node(ImportanceNode, argv)


if __name__ == '__main__':
    sys.exit(main())
