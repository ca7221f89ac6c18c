# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the node importance and the replay do with a posture: arrays in, a message's bytes out."""

from pathlib import Path

from puppet_core.body_surface import read_surface
from puppet_retarget.importance.environment import load_environment
from puppet_retarget.importance.importance_model import ImportanceModel
from puppet_retarget.parameters import ImportanceNodeConfig
from puppet_ros import share
from puppet_ros.importance_msg import ImportanceRecord, ImportanceWriter
from puppet_ros.posture_msg import PostureRecord, WORLD


class ImportanceStage:
    """
    The importance with the message it fills.

    Parameters
    ----------
    config : ImportanceNodeConfig
        Environment, tuning.

    """

    def __init__(self, config: ImportanceNodeConfig) -> None:
        environment = load_environment(share.environment_file(config.environment))
        path = config.surface_file
        measured = read_surface(Path(path).expanduser()) if path else None
        self.model = ImportanceModel(
            environment, config.tuning, config.self_tuning, measured=measured
        )
        self.model.warm_up()
        self._objects = tuple(environment.names)
        self._writer = ImportanceWriter(self._objects, WORLD)

    def step(self, record: PostureRecord) -> ImportanceRecord | None:
        """Return what is near in a posture, or None if that is not usable."""
        near = self.model.step(
            record.stamp_ns, record.posture, record.segments, record.leg_length
        )
        if near is None:
            return None
        return ImportanceRecord(
            record.stamp_ns, record.frame_index, near.rows, near.self_rows, self._objects
        )

    def data(self, record: ImportanceRecord) -> bytes:
        """Return the bytes of an importance."""
        return self._writer.data(
            record.stamp_ns, record.frame_index, record.rows, record.self_rows
        )
