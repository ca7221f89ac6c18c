# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The thesis' solver: what is important is kept, the rest stays as captured (Shin2002 ch. 5)."""

from puppet_core.arrays import Floats, Quats, Vec3
from puppet_core.character import Character
from puppet_retarget.importance.environment import Environment
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE, RADIUS
from puppet_retarget.solvers.end_effector_solver import EndEffectorSolver
from puppet_retarget.solvers.puppet_model import SolverConfig
from puppet_retarget.solvers.solver import SolverOutput


class ImportanceBasedSolver(EndEffectorSolver):
    """Root into reach of the important goals, body if need be, limbs in range balls."""

    name = 'importance_based'

    def __init__(
        self,
        character: Character,
        environment: Environment,
        performer_leg_length: float,
        config: SolverConfig,
    ) -> None:
        super().__init__(character, environment, performer_leg_length, config)
        self._world_scale = character.scale_for(performer_leg_length)

    def solve(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, dt: float
    ) -> SolverOutput:
        """Return the puppet's posture; see `Solver.solve`."""
        goals = self._goals
        goals.positions[:] = rows[:, GOAL: GOAL + 3]
        goals.positions[:] *= self._world_scale
        goals.importances[:] = rows[:, IMPORTANCE]
        # Shin2002 eq. 5.10: r = r_max (1 - w)
        goals.radii[:] = self._world_scale * rows[:, RADIUS] * (1.0 - goals.importances)
        return self._solve(root, hips, rotations, dt)
