# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The solvers by name, as the parameter `solver` and the command line know them.

`ImportanceBasedSolver` is the thesis' own (Shin2002 ch. 5), `ElbowCircleSolver` its earlier form
(ShinSlides 3.3); `JointAnglesSolver` and `PositionSolver` are its baselines (figs. 7.2 and 7.3).
`RateControlSolver` (ChoiKo2000) is in a module of its own.
"""

import numpy as np
from puppet_core.body import Character
from puppet_core.io import SolverError
from puppet_core.math import Floats, Quats, Vec3
from puppet_retarget.importance import Environment, IMPORTANCE, RADIUS, ROW
from puppet_retarget.solvers.config import ELBOW_CIRCLE, SolverConfig
from puppet_retarget.solvers.interface import NOTHING_NEAR
from puppet_retarget.solvers.rate_control import RateControlSolver
from puppet_retarget.solvers.solver import pose_captured_packed, Solver
from puppet_retarget.solvers.thesis.solver import ThesisElbowCircleSolver, ThesisSolver
from puppet_retarget.solvers.whole_body import WholeBodySolver


class ImportanceBasedSolver(Solver):
    """Root into reach of the important goals, body if need be, limbs in range balls."""

    name = 'importance_based'


class JointAnglesSolver(Solver):
    """Reference root and captured rotations; feet slide wherever lengths differ."""

    name = 'joint_angles'

    def _run(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, self_rows: Floats, dt: float
    ) -> int:
        pose_captured_packed(self.packed, hips, rotations, rows, self_rows)
        return 0


class PositionSolver(Solver):
    """Every hand and foot goes to the performer's, whether that matters or not."""

    name = 'position'
    _rows = np.zeros((4, ROW))

    def _run(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, self_rows: Floats, dt: float
    ) -> int:
        self._rows[:] = rows[:4]
        self._rows[:, IMPORTANCE] = 1.0
        self._rows[:, RADIUS] = 0.0
        return super()._run(root, hips, rotations, self._rows, NOTHING_NEAR, dt)


class ElbowCircleSolver(Solver):
    """As importance-based, but limbs on elbow circles; self-interaction is not kept."""

    name = 'elbow_circle'
    limb_form = ELBOW_CIRCLE


_SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (
        ImportanceBasedSolver,
        ElbowCircleSolver,
        RateControlSolver,
        JointAnglesSolver,
        PositionSolver,
        WholeBodySolver,
        ThesisSolver,
        ThesisElbowCircleSolver,
    )
}
SOLVER_NAMES = tuple(_SOLVERS)


def make_solver(
    name: str,
    character: Character,
    environment: Environment,
    performer_leg_length: float,
    config: SolverConfig,
) -> Solver:
    """Return a solver by name; a SolverError lists the known ones."""
    if name not in _SOLVERS:
        raise SolverError(f'solver: expected one of {", ".join(SOLVER_NAMES)}, got {name!r}')
    return _SOLVERS[name](character, environment, performer_leg_length, config)
