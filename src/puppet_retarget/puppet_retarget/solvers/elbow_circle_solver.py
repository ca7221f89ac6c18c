# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The earlier form of the thesis' solver: limbs by their swivel angle (ShinSlides 3.3)."""

from puppet_core.arrays import Floats, Quats, Vec3
from puppet_retarget.solvers.end_effector_solver import EndEffectorSolver, NOTHING_NEAR
from puppet_retarget.solvers.puppet_model import ELBOW_CIRCLE
from puppet_retarget.solvers.solver import SolverOutput


class ElbowCircleSolver(EndEffectorSolver):
    """Root, body, goals and blend of the importance-based solver, limbs on elbow circles."""

    name = 'elbow_circle'
    limb_form = ELBOW_CIRCLE
    is_one_call = True

    def solve(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, dt: float,
        self_rows: Floats = NOTHING_NEAR,
    ) -> SolverOutput:  # fmt: skip
        """Return the puppet's posture; see `Solver.solve`. Self-interaction is not kept."""
        return self._solve(root, hips, rotations, rows, self_rows, dt)
