# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Baseline of Shin2002 figs. 7.2b and 7.3b: all end-effector positions, always."""

from puppet_core.arrays import Floats, Quats, Vec3
from puppet_retarget.importance.estimator import GOAL
from puppet_retarget.solvers.end_effector_solver import EndEffectorSolver
from puppet_retarget.solvers.solver import SolverOutput


class PositionSolver(EndEffectorSolver):
    """Every hand and foot goes to the performer's, whether that matters or not."""

    name = 'position'

    def solve(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, dt: float
    ) -> SolverOutput:
        """Return the puppet's posture; see `Solver.solve`."""
        self._goals.positions[:] = self._tuning.world_scale * rows[:, GOAL: GOAL + 3]
        self._goals.importances[:] = 1.0
        self._goals.radii[:] = 0.0
        return self._solve(root, hips, rotations, dt)
