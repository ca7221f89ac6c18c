# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The importance node; `ImportanceStage` is one frame of it, also used by the replay."""

from collections.abc import Mapping
from pathlib import Path
import sys
from typing import Any

from puppet_core import named_files
from puppet_core.body import read_surface
from puppet_msgs.msg import Importance
from puppet_retarget.importance import current_environment, Environment, ImportanceModel
from puppet_retarget.parameters import (
    importance_node_config,
    IMPORTANCE_ROWS,
    ImportanceNodeConfig,
)
from puppet_ros.messages import ImportanceRecord, ImportanceWriter, PostureReader, PostureRecord
from puppet_ros.node import (
    Diagnostics,
    NODE_OPTIONS,
    ParameterTable,
    spin_node,
    StampedRecord,
    StreamPublisher,
    subscribe,
)
from rclpy.node import Node

NODE_NAME = 'importance'
INPUT_TOPIC = 'performer/posture'
OUTPUT_TOPIC = 'importance'


def environment_of(config: ImportanceNodeConfig) -> Environment:
    """Return the environment of a node as its file is now; ConfigError if it cannot be read."""
    path = named_files.environment_file(config.environment)
    return current_environment(path, config.influence_distances_m)


class ImportanceStage:
    def __init__(self, config: ImportanceNodeConfig) -> None:
        self._environment = environment = environment_of(config)
        path = config.surface_file
        measured = read_surface(Path(path).expanduser()) if path else None
        self.model = ImportanceModel(
            environment, config.tuning, config.self_tuning, measured=measured
        )
        self.model.warm_up()
        self._objects = environment.names
        self._writer = ImportanceWriter()

    def configure(self, config: ImportanceNodeConfig) -> None:
        """Take other tuning, and the environment if it is another one or has changed."""
        environment = environment_of(config)
        if environment is not self._environment:
            self._environment, self._objects = environment, environment.names
            self.model.enter(environment)
        self.model.retune(config.tuning, config.self_tuning)

    def step(self, record: PostureRecord) -> ImportanceRecord | None:
        """Return what is near in a posture, or None if that is not usable."""
        near = self.model.step(record.stamp_ns, record.posture, record.segments, record.leg_length)
        if near is None:
            return None
        of_frame = record.stamp_ns, record.frame_index
        rows = near.rows, near.self_rows
        return ImportanceRecord(
            *of_frame, *rows, self._objects, record.frame_id, near.moving, near.rests
        )

    def data(self, record: ImportanceRecord) -> bytes:
        return self._writer.data(record)


class ImportanceNode(Node):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **NODE_OPTIONS, **kwargs)
        self._table = ParameterTable(self, IMPORTANCE_ROWS, self._build_config, self._on_config)
        self._stage = ImportanceStage(self._table.config)
        self._publisher = StreamPublisher(self, Importance, OUTPUT_TOPIC, self._stage.data)
        self._diagnostics = Diagnostics(self)
        self._tell_unseen()
        self._subscription = subscribe(
            self, INPUT_TOPIC, self._on_posture, self._diagnostics, PostureReader()
        )

    def _on_posture(self, stamped: StampedRecord) -> None:
        record: PostureRecord = stamped.record
        near = self._stage.step(record)
        if near is None:
            self._diagnostics.drop('not_usable')
            return
        self._publisher.publish(near)
        self._diagnostics.frame(record.stamp_ns)

    def _tell_unseen(self) -> None:
        model = self._stage.model
        if model.unseen:
            self._diagnostics.value('objects not seen', lambda: ', '.join(model.unseen) or 'none')

    def _build_config(self, values: Mapping[str, Any]) -> ImportanceNodeConfig:
        """Return the config, refusing an environment that cannot be read."""
        config = importance_node_config(values)
        environment_of(config)
        return config

    def _on_config(self, config: ImportanceNodeConfig) -> None:
        self._stage.configure(config)
        self._tell_unseen()


def main(argv: list[str] | None = None) -> int:
    return spin_node(ImportanceNode, argv)


if __name__ == '__main__':
    sys.exit(main())
