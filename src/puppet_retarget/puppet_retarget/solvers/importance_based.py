# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The thesis' solver: what is important is kept, the rest stays as captured (Shin2002 ch. 5)."""

from puppet_core.arrays import Floats, Quats, Vec3
from puppet_retarget.solvers.end_effector_solver import EndEffectorSolver, NOTHING_NEAR
from puppet_retarget.solvers.solver import SolverOutput


class ImportanceBasedSolver(EndEffectorSolver):
    """Root into reach of the important goals, body if need be, limbs in range balls."""

    name = 'importance_based'
    is_one_call = True

    def solve(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, dt: float,
        self_rows: Floats = NOTHING_NEAR,
    ) -> SolverOutput:  # fmt: skip
        """Return the puppet's posture; see `Solver.solve`."""
        return self._solve(root, hips, rotations, rows, self_rows, dt)
