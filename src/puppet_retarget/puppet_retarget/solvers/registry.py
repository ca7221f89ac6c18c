# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The solvers by name, as the parameter `solver` and the command line know them; first the default.

`WholeBodySolver` is our own. `ImportanceBasedSolver` is the thesis' (Shin2002 ch. 5),
`ElbowCircleSolver` its earlier form (ShinSlides 3.3); `JointAnglesSolver` and `PositionSolver` are
its baselines (figs. 7.2 and 7.3). `RateControlSolver` is of ChoiKo2000. A robot follows the
postures of those that know nothing of robots.
"""

from puppet_core.body import Character
from puppet_core.io import SolverError
from puppet_retarget.importance import Environment
from puppet_retarget.solvers.baselines import JointAnglesSolver, PositionSolver
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.interface import Solver
from puppet_retarget.solvers.rate_control import RateControlSolver
from puppet_retarget.solvers.robot import RobotFollower
from puppet_retarget.solvers.thesis.solver import ElbowCircleSolver, ImportanceBasedSolver
from puppet_retarget.solvers.whole_body import WholeBodySolver

_SOLVERS = {
    solver.name: solver
    for solver in (
        WholeBodySolver,
        ImportanceBasedSolver,
        ElbowCircleSolver,
        RateControlSolver,
        JointAnglesSolver,
        PositionSolver,
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
    """Return a solver by name, for a puppet or robot; a SolverError lists the known ones."""
    if name not in _SOLVERS:
        raise SolverError(f'solver: expected one of {", ".join(SOLVER_NAMES)}, got {name!r}')
    solver = _SOLVERS[name](character, environment, performer_leg_length, config)
    if character.robot is None or isinstance(solver, WholeBodySolver):
        return solver
    return RobotFollower(solver, character, environment, performer_leg_length)
