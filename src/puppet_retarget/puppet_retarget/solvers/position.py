# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Baseline of Shin2002 figs. 7.2b and 7.3b: all end-effector positions, always."""

import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3
from puppet_retarget.importance.estimator import IMPORTANCE, RADIUS, ROW
from puppet_retarget.solvers.end_effector_solver import EndEffectorSolver, NOTHING_NEAR
from puppet_retarget.solvers.solver import SolverOutput


class PositionSolver(EndEffectorSolver):
    """Every hand and foot goes to the performer's, whether that matters or not."""

    name = 'position'
    _rows = np.zeros((4, ROW))

    def solve(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, dt: float,
        self_rows: Floats = NOTHING_NEAR,
    ) -> SolverOutput:  # fmt: skip
        """Return the puppet's posture; see `Solver.solve`."""
        self._rows[:] = rows
        self._rows[:, IMPORTANCE] = 1.0
        self._rows[:, RADIUS] = 0.0
        return self._solve(root, hips, rotations, self._rows, NOTHING_NEAR, dt)
