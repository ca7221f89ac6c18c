# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Baseline of Shin2002 figs. 7.2a and 7.3a: the captured joint angles and nothing else."""

from puppet_core.arrays import Floats, Quats, Vec3
from puppet_retarget.solvers.end_effector_solver import (
    EndEffectorSolver,
    NOTHING_NEAR,
    pose_captured_packed,
)
from puppet_retarget.solvers.solver import SolverOutput


class JointAnglesSolver(EndEffectorSolver):
    """Reference root and captured rotations; feet slide wherever lengths differ."""

    name = 'joint_angles'

    def solve(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, dt: float,
        self_rows: Floats = NOTHING_NEAR,
    ) -> SolverOutput:  # fmt: skip
        """Return the puppet's posture; see `Solver.solve`."""
        pose_captured_packed(self.packed, hips, rotations, rows, self_rows)
        return self._output
