# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the node retarget and the replay do with a joined pair: arrays in, bytes out."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from puppet_core.character import Character, load_character
from puppet_core.posture import Posture
from puppet_retarget.importance.environment import load_environment
from puppet_retarget.parameters import RetargetConfig
from puppet_retarget.retarget_model import RetargetedFrame, RetargetModel
from puppet_ros import posture_msg, share
from puppet_ros.importance_msg import ImportanceRecord
from puppet_ros.joint_state import JointStateWriter
from puppet_ros.posture_msg import PostureRecord, PostureWriter
from puppet_ros.retarget_status import RetargetStatusRecord, RetargetStatusWriter

MEASURED = np.zeros(16, dtype=np.uint8)  # Posture.STATUS_MEASURED for every segment


class CharacterShelf:
    """The last character that was read: 0.1 s, too long for every slider."""

    def __init__(self) -> None:
        self._loaded: tuple[tuple[Path, int], Character] | None = None

    def load(self, name: str) -> Character:
        """Return a character by name or path, read anew if its file has changed."""
        path = share.character_file(name)
        key = (path, path.stat().st_mtime_ns)
        if self._loaded is None or self._loaded[0] != key:
            self._loaded = (key, load_character(path))
        return self._loaded[1]


class PuppetFrame(NamedTuple):
    """A frame of the puppet with what its messages say of it besides."""

    performer: PostureRecord
    """Whom it follows."""

    frame: RetargetedFrame
    """What came of it."""

    dropped: int
    """Input that gave nothing since the start."""

    solve_time_us: float
    """As published."""


class RetargetStage:
    """
    The puppet with the messages it fills.

    Parameters
    ----------
    character : Character
        The puppet.
    config : RetargetConfig
        Environment, solver, tuning.

    """

    def __init__(self, character: Character, config: RetargetConfig) -> None:
        environment = load_environment(share.environment_file(config.environment))
        self.model = RetargetModel(character, environment, config)
        self.model.warm_up()
        self.solved = 0
        """Frames since the start."""
        self._status_writer = RetargetStatusWriter(posture_msg.WORLD)
        self._take(character, config)

    def configure(self, character: Character, config: RetargetConfig) -> None:
        """Take another character or tuning."""
        self.model.configure(character, config)
        self._take(character, config)

    def step(
        self, performer: PostureRecord, importance: ImportanceRecord
    ) -> RetargetedFrame | None:
        """Return the puppet's frame, or None if the input is not usable."""
        frame = self.model.step(
            performer.stamp_ns, performer.posture.root_position, performer.segments,
            performer.posture.rotations, importance.rows, importance.self_rows,
            performer.leg_length,
        )  # fmt: skip
        self.solved += frame is not None
        return frame

    def joints_data(self, puppet: PuppetFrame) -> bytes:
        """Return the bytes of the joint states."""
        return self._joint_writer.data(puppet.performer.stamp_ns, puppet.frame.angles)

    def posture_data(self, puppet: PuppetFrame) -> bytes:
        """Return the bytes of the puppet's posture."""
        return self._posture_writer.data(self._posture_of(puppet))

    def status_data(self, puppet: PuppetFrame) -> bytes:
        """Return the bytes of the status."""
        return self._status_writer.data(self._status_of(puppet))

    def _posture_of(self, puppet: PuppetFrame) -> PostureRecord:
        performer, frame = puppet.performer, puppet.frame
        solution = frame.solution
        posture = Posture(
            solution.root_position, solution.rotations, solution.end_effectors,
            frame.end_effector_velocities,
        )  # fmt: skip
        return PostureRecord(
            performer.stamp_ns, performer.frame_index, self._character.name, posture,
            solution.p_world, MEASURED, self._leg_length,
        )  # fmt: skip

    def _status_of(self, puppet: PuppetFrame) -> RetargetStatusRecord:
        performer, frame = puppet.performer, puppet.frame
        solution = frame.solution
        return RetargetStatusRecord(
            stamp_ns=performer.stamp_ns,
            frame_index=performer.frame_index,
            solver=self._config.solver,
            character=self._character.name,
            solve_time_us=puppet.solve_time_us,
            body_iterations=solution.body_iterations,
            root_offset=solution.root_offset,
            goal_errors=solution.goal_errors,
            penetrations=solution.penetrations,
            self_penetrations=solution.self_depths,
            reachable=solution.reachable,
            easing=frame.eased,
            frames_solved=self.solved,
            frames_dropped=puppet.dropped,
        )

    def _take(self, character: Character, config: RetargetConfig) -> None:
        self._character, self._config = character, config
        self._leg_length = character.skeleton.leg_length
        self._joint_writer = JointStateWriter(self.model.joint_names)
        self._posture_writer = PostureWriter(character.name, self._leg_length)
