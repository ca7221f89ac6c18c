# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What solvers that place end-effectors share: the puppet, the frame and the compiled call."""

import numpy as np
from puppet_core.arrays import Quats, Vec3
from puppet_core.character import Character
from puppet_retarget.importance.environment import Environment
from puppet_retarget.solvers.frame_kernels import (
    empty_frame,
    Goals,
    REACHABLE_TOL_M,
    solve_frame,
)
from puppet_retarget.solvers.puppet_model import puppet_model, SolverConfig, tuning
from puppet_retarget.solvers.solver import SolverOutput


class EndEffectorSolver:
    """Owns the arrays of one puppet and turns goals into a posture."""

    def __init__(
        self,
        character: Character,
        environment: Environment,
        performer_leg_length: float,
        config: SolverConfig,
    ) -> None:
        self._model = puppet_model(character)
        self._tuning = tuning(config, character, performer_leg_length)
        self._objects = environment.arrays(1.0, 0.0, self._tuning.world_scale)
        self._goals = Goals(np.zeros((4, 3)), np.zeros(4), np.zeros(4))
        self._frame = empty_frame()

    def _solve(self, root: Vec3, hips: Vec3, rotations: Quats, dt: float) -> SolverOutput:
        frame = self._frame
        iterations = solve_frame(
            self._model, self._tuning, self._objects, root, hips, rotations, self._goals, dt,
            frame,
        )  # fmt: skip
        return SolverOutput(
            frame.root, frame.rotations, frame.q_world, frame.p_world, frame.end_effectors,
            frame.root_offset, frame.goal_errors, frame.penetrations, iterations,
            bool(frame.relaxation[0] <= REACHABLE_TOL_M),
        )  # fmt: skip
