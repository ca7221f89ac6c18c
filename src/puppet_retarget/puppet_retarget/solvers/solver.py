# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The interface of all solvers: captured posture and importance in, puppet posture out.

`Solver` is the abstract base. `EndEffectorSolver` is what solvers that place end-effectors
share: the puppet, the frame and the compiled call. The solvers themselves are in
`solvers.registry` and `solvers.rate_control`.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from puppet_core.body import Character
from puppet_core.math import Floats, kernel, pack_arrays, Quats, Vec3, Vec3s
from puppet_core.robots import RobotJoints
from puppet_retarget.importance import (
    Environment,
    GOAL,
    IMPORTANCE,
    packed_objects,
    PackedObjects,
    RADIUS,
    SELF_ROW,
    used,
)
from puppet_retarget.solvers.frame import measure, pose_captured, REACHABLE_TOL_M, solve_frame
from puppet_retarget.solvers.state import (
    Frame,
    Goals,
    puppet_model,
    PuppetModel,
    RangeGoals,
    SolverConfig,
    Tuning,
    tuning,
    update_kinematics,
)

NOTHING_NEAR = np.zeros((8, SELF_ROW))


@dataclass(slots=True)
class SolverOutput:
    """
    The puppet's posture and the solver's figures on it.

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
    """Whether some root position brings every goal in reach; true where nothing was checked."""


# The interface.


class Solver(Protocol):
    """What retargets one frame; the smoothing of the root is all it remembers."""

    name: str

    def solve(
        self,
        root: Vec3,
        hips: Vec3,
        rotations: Quats,
        rows: Floats,
        dt: float,
        self_rows: Floats = ...,
    ) -> SolverOutput:
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


# Solvers that place end-effectors.


class SolverArrays(NamedTuple):
    """Everything a solver's kernels need between frames, packed into one argument."""

    model: PuppetModel
    tuning: Tuning
    objects: PackedObjects
    goals: RangeGoals
    frame: Frame


class EndEffectorSolver:
    """Owns the arrays of one puppet and turns goals into a posture."""

    limb_form = 0

    def __init__(
        self,
        character: Character,
        environment: Environment,
        performer_leg_length: float,
        config: SolverConfig,
    ) -> None:
        numbers = tuning(config, character, performer_leg_length)
        objects = environment.arrays(1.0, 0.0, numbers.world_scale)
        self.packed, arrays = pack_arrays(
            SolverArrays(
                puppet_model(character),
                numbers._replace(limb_form=self.limb_form),
                packed_objects(objects),
                RangeGoals(),
                Frame(),
            )
        )
        """SolverArrays, for kernels that solve many frames."""
        frame = arrays.frame
        self._relaxation = frame.relaxation
        self._output = SolverOutput(
            frame.root,
            frame.rotations,
            frame.q_world,
            frame.p_world,
            frame.end_effectors,
            frame.root_offset,
            frame.goal_errors,
            frame.penetrations,
            frame.self_depths,
            0,
            True,
        )

    def solve(
        self,
        root: Vec3,
        hips: Vec3,
        rotations: Quats,
        rows: Floats,
        dt: float,
        self_rows: Floats = NOTHING_NEAR,
    ) -> SolverOutput:
        """Return the puppet's posture; see `Solver.solve`."""
        output = self._output
        output.body_iterations = solve_packed(
            self.packed, root, hips, rotations, rows, self_rows, dt
        )
        output.reachable = self._relaxation[0] <= REACHABLE_TOL_M
        return output


@kernel
def goals_of(goals: RangeGoals, rows: Floats, self_rows: Floats, tuning: Tuning) -> Goals:
    """Return the goals of importance rows, carried over to the puppet's world."""
    world_scale = tuning.world_scale
    for i in range(4):
        goals.importances[i] = rows[i, IMPORTANCE]
        # Shin2002 eq. 5.10: r = r_max (1 - w)
        goals.radii[i] = world_scale * rows[i, RADIUS] * (1.0 - rows[i, IMPORTANCE])
        for k in range(3):
            goals.positions[i, k] = world_scale * rows[i, GOAL + k]
    return Goals(goals.positions[:], goals.importances[:], goals.radii[:], self_rows)


@kernel
def solve_packed(
    packed: np.ndarray,
    root: Vec3,
    hips: Vec3,
    rotations: Quats,
    rows: Floats,
    self_rows: Floats,
    dt: float,
) -> int:
    """Solve a frame in place; return the body iterations. `packed` holds SolverArrays."""
    solver = packed[0]
    model, tuning, frame = solver.model, solver.tuning, solver.frame
    goals = goals_of(solver.goals, rows, self_rows, tuning)
    objects = used(solver.objects)
    return solve_frame(model, tuning, objects, root, hips, rotations, goals, dt, frame)


@kernel
def pose_captured_packed(
    packed: np.ndarray, hips: Vec3, rotations: Quats, rows: Floats, self_rows: Floats
) -> None:
    """Put the puppet at its reference root with the captured rotations, in place."""
    solver = packed[0]
    goals = goals_of(solver.goals, rows, self_rows, solver.tuning)
    pose_captured(solver.model, solver.tuning, hips, rotations, solver.frame)
    measure(solver.model, used(solver.objects), goals, solver.frame)


@kernel
def measure_packed(packed: np.ndarray, rows: Floats, self_rows: Floats) -> None:
    """Bring kinematics and measures up to date with root and rotations, in place."""
    solver = packed[0]
    goals = goals_of(solver.goals, rows, self_rows, solver.tuning)
    update_kinematics(solver.model, solver.frame)
    measure(solver.model, used(solver.objects), goals, solver.frame)


def follow_robot(joints: RobotJoints, out: SolverOutput, goals: Vec3s) -> Floats:
    """
    Return the robot's angles [rad]; the posture asked for becomes the one that it takes.

    Its distances from the goals (4, 3), in the puppet's world [m], are written too.
    """
    angles = joints.step(
        out.root_position, out.rotations, out.q_world, out.p_world, out.end_effectors
    )
    out.goal_errors[:] = np.linalg.norm(out.end_effectors[:4] - goals, axis=1)
    return angles
