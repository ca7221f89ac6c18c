# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What all solvers take and give: one frame of the performer in, the puppet's posture out."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from puppet_core.body import NO_PROPS, Props
from puppet_core.math import Floats, Quats, Vec3, Vec3s
from puppet_retarget.importance import no_rests, SELF_ROW, UNSEEN

NOTHING_NEAR = np.zeros((8, SELF_ROW))
NO_RESTS = no_rests()


@dataclass(slots=True)
class SolverOutput:
    """
    The puppet's posture and the solver's figures on it.

    It belongs to the solver and is overwritten by its next call.
    """

    root_position: Vec3  # Pelvis joint in the puppet's world, shape (3,) [m]
    rotations: Quats  # Joint rotations, shape (16, 4)
    q_world: Quats  # Segment orientations in world, shape (16, 4)
    p_world: Vec3s  # Joint positions in world, shape (16, 3) [m]
    end_effectors: Vec3s  # General end-effectors in world, shape (8, 3) [m]
    root_offset: Vec3  # What the root estimation added to the reference root, shape (3,) [m]
    goal_errors: Floats  # Distance of each end-effector from its goal, shape (4,) [m]
    # Depth of each end-effector inside the environment, 0 outside, shape (4,) [m]
    penetrations: Floats
    # Depth of each general end-effector inside the puppet itself, 0 outside, (8,) [m]
    self_depths: Floats
    # Iterations of a numerical solver; 0 of importance_based when the root alone could reach
    body_iterations: int
    # Whether some root position brings every goal in reach; true where nothing was checked
    reachable: bool
    moving: Props = NO_PROPS  # The objects of the puppet's world that move; not overwritten
    # A robot's joints in the order of `Robot.published_names`, shape (n,) [rad]; (0,) of others
    angles: Floats = field(default_factory=lambda: np.zeros(0))


class Solver(Protocol):
    """Retargets frames of one performer to one puppet; all of them are in `solvers.registry`."""

    name: str

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
        """
        Return the puppet's posture.

        The performer's pelvis and mid-point of the hip joints are in world [m], the joint
        rotations as captured, row 0 the pelvis in world. Rows are as `importance.estimator` and
        `importance.self_interaction` make them; by default nothing is near the own body. The time
        since the frame before [s] is infinite for the first, or after a gap. `moving` are the
        performer's objects that move; `head` is its head joint in world [m], without which
        nothing is looked at; `rests` are those of `importance.rests`, by default only hands and
        feet touch the world.
        """
        ...

    def repose(self, rows: Floats) -> None:
        """Bring the output of the rows up to date with its root and rotations: changed since."""
        ...
