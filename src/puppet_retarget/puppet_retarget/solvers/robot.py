# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A robot that follows the postures of a solver that knows nothing of robots."""

from dataclasses import replace

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS, NO_PROPS, Props
from puppet_core.math import Floats, Quats, Vec3
from puppet_retarget.importance import Environment, GOAL, IMPORTANCE, OBJECT, ROW, UNSEEN
from puppet_retarget.solvers.baselines import PositionSolver
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.interface import NO_RESTS, NOTHING_NEAR, Solver, SolverOutput
from puppet_retarget.solvers.whole_body import WholeBodySolver

_HIPS = LIMB_SEGMENTS[2:, 0]


class RobotFollower(WholeBodySolver):
    """
    Retargets what another solver makes of a frame to the robot, as if it were captured.

    Ends should be where that solver has them, by their importance, and all of them firmly where
    it asks so of all. Of the world there is what does not move.
    """

    def __init__(
        self,
        solver: Solver,
        character: Character,
        environment: Environment,
        performer_leg_length: float,
    ) -> None:
        self._scale = character.scale_for(performer_leg_length)
        still = [o for o in environment.objects if not o.moves]
        environment = replace(environment, objects=tuple(still))
        config = SolverConfig(root_height_ratio=self._scale)
        super().__init__(character, environment, performer_leg_length, config)
        self._solver, self.name = solver, solver.name

    def solve(
        self,
        root: Vec3,
        hips: Vec3,
        rotations: Quats,
        rows: Floats,
        dt: float,
        self_rows: Floats = NOTHING_NEAR,
        moving: Props = NO_PROPS,
        head: Vec3 = UNSEEN,
        rests: Floats = NO_RESTS,
    ) -> SolverOutput:
        """Return the robot's posture; as `Solver.solve`."""
        asked = self._solver.solve(root, hips, rotations, rows, dt, self_rows, moving, head, rests)
        goals, scale = np.zeros((len(rows), ROW)), self._scale
        goals[:, IMPORTANCE], goals[:, OBJECT] = rows[:, IMPORTANCE], -1.0
        if isinstance(self._solver, PositionSolver):
            goals[:4, IMPORTANCE] = 1.0
        goals[:, GOAL : GOAL + 3] = asked.end_effectors[: len(rows)] / scale
        middle = asked.p_world[_HIPS].mean(axis=0)
        posture = asked.root_position / scale, middle / scale, asked.rotations
        # writable like a captured one: else the kernel is compiled twice
        nowhere = UNSEEN.copy()
        out = super().solve(*posture, goals, dt, head=nowhere)
        for name in ('root_offset', 'body_iterations', 'reachable', 'moving'):
            setattr(out, name, getattr(asked, name))
        self._measure_goals(rows)
        return out

    def repose(self, rows: Floats) -> None:
        """Bring the output up to date with its root and rotations, which were changed since."""
        super().repose(rows)
        self._measure_goals(rows)

    def _measure_goals(self, rows: Floats) -> None:
        away = self._output.end_effectors[:4] - self._scale * rows[:4, GOAL : GOAL + 3]
        self._output.goal_errors[:] = np.linalg.norm(away, axis=1)
