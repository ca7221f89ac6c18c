# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The baselines of the thesis: angles copied (fig. 7.2), all ends at goals (fig. 7.3)."""

import numpy as np
from puppet_core.math import Floats, kernel
from puppet_core.math.values import Vec3
from puppet_retarget.importance import IMPORTANCE, RADIUS, ROW
from puppet_retarget.solvers.interface import NOTHING_NEAR
from puppet_retarget.solvers.thesis.measures import measure
from puppet_retarget.solvers.thesis.solver import ImportanceBasedSolver, Performer, pose_captured


class JointAnglesSolver(ImportanceBasedSolver):
    """Reference root and captured rotations; feet slide wherever lengths differ."""

    name = 'joint_angles'

    def _run(
        self, captured: Performer, rows: Floats, self_rows: Floats, dt: float
    ) -> tuple[Vec3, int, bool]:
        pose_captured_packed(self._packed, captured, rows)
        return (0.0, 0.0, 0.0), 0, True


class PositionSolver(ImportanceBasedSolver):
    """Every hand and foot goes to the performer's, whether that matters or not."""

    name = 'position'
    _rows = np.zeros((4, ROW))

    def _run(
        self, captured: Performer, rows: Floats, self_rows: Floats, dt: float
    ) -> tuple[Vec3, int, bool]:
        self._rows[:] = rows[:4]
        self._rows[:, IMPORTANCE] = 1.0
        self._rows[:, RADIUS] = 0.0
        return super()._run(captured, self._rows, NOTHING_NEAR, dt)


@kernel
def pose_captured_packed(packed: np.ndarray, captured: Performer, rows: Floats) -> None:
    """Put the puppet at its reference root with the captured rotations, in place."""
    frame = packed[0]
    pose_captured(frame.puppet, frame.settings, captured, frame.pose)
    measure(
        frame.puppet, frame.objects, rows, frame.settings.world_scale, frame.pose, frame.measures
    )
