# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The interface of all solvers: captured posture and importance in, puppet posture out."""

from dataclasses import dataclass
from typing import Protocol

from puppet_core.arrays import Floats, Quats, Vec3, Vec3s


@dataclass(slots=True)
class SolverOutput:
    """
    The puppet's posture and what the solver has to say about it.

    It belongs to the solver and is overwritten by its next call.

    """

    root_position: Vec3
    """Pelvis joint in the puppet's world, shape (3,) [m]."""

    rotations: Quats
    """Joint rotations, shape (16, 4)."""

    q_world: Quats
    """Segment orientations in world, shape (16, 4)."""

    p_world: Vec3s
    """Joint positions in world, shape (16, 3) [m]."""

    end_effectors: Vec3s
    """General end-effectors in world, shape (8, 3) [m]."""

    root_offset: Vec3
    """What the root estimation added to the reference root, shape (3,) [m]."""

    goal_errors: Floats
    """Distance of each end-effector from its goal, shape (4,) [m]."""

    penetrations: Floats
    """Depth of each end-effector inside the environment, 0 outside, shape (4,) [m]."""

    self_depths: Floats
    """Depth of each general end-effector inside the puppet itself, 0 outside, (8,) [m]."""

    body_iterations: int
    """Iterations of the numerical body solver; 0 when the root alone could reach."""

    reachable: bool
    """Whether some root position brings every goal in reach; true where nothing looked."""


class Solver(Protocol):
    """What retargets one frame; the smoothing of the root is all it remembers."""

    name: str

    def solve(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, dt: float,
        self_rows: Floats = ...,
    ) -> SolverOutput:  # fmt: skip
        """
        Return the puppet's posture.

        Parameters
        ----------
        root : ndarray, shape (3,)
            The performer's pelvis in world [m].
        hips : ndarray, shape (3,)
            Mid-point of the performer's hip joints in world [m].
        rotations : ndarray, shape (16, 4)
            Captured joint rotations, row 0 the pelvis in world.
        rows : ndarray, shape (4, 8)
            Importance rows as `importance.estimator` makes them.
        dt : float
            Time since the frame before [s]; infinity for the first, or after a gap.
        self_rows : ndarray, shape (8, SELF_ROW), optional
            Rows of `importance.self_interaction`; by default nothing is near anything.

        """
        ...
