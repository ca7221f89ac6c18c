# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Solvers by name, as the parameter `solver` and the command line know them."""

from collections.abc import Callable

from puppet_core.character import Character
from puppet_core.errors import SolverError
from puppet_retarget.importance.environment import Environment
from puppet_retarget.solvers.elbow_circle_solver import ElbowCircleSolver
from puppet_retarget.solvers.importance_based import ImportanceBasedSolver
from puppet_retarget.solvers.joint_angles import JointAnglesSolver
from puppet_retarget.solvers.position import PositionSolver
from puppet_retarget.solvers.puppet_model import SolverConfig
from puppet_retarget.solvers.rate_control import RateControlSolver
from puppet_retarget.solvers.solver import Solver

_SOLVERS: dict[str, Callable[[Character, Environment, float, SolverConfig], Solver]] = {
    solver.name: solver
    for solver in (
        ImportanceBasedSolver, ElbowCircleSolver, RateControlSolver, JointAnglesSolver,
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
    """
    Return a solver by name.

    Raises
    ------
    SolverError : for an unknown name, listing the known ones.

    """
    if name not in _SOLVERS:
        raise SolverError(f'solver: expected one of {", ".join(SOLVER_NAMES)}, got {name!r}')
    return _SOLVERS[name](character, environment, performer_leg_length, config)
