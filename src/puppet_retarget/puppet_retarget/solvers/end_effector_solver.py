# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What solvers that place end-effectors share: the puppet, the frame and the compiled call."""

from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3
from puppet_core.character import Character
from puppet_core.kernel import kernel
from puppet_core.packed_arrays import pack_arrays
from puppet_retarget.importance.contact_rows import SELF_ROW
from puppet_retarget.importance.environment import (
    Environment,
    objects_of,
    packed_objects,
    PackedObjects,
)
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE, RADIUS
from puppet_retarget.solvers.frame_arrays import (
    empty_frame,
    empty_goals,
    Frame,
    frame_of,
    Goals,
    range_goals_of,
    RangeGoals,
    update_kinematics,
)
from puppet_retarget.solvers.frame_kernels import (
    measure,
    pose_captured,
    REACHABLE_TOL_M,
    solve_frame,
)
from puppet_retarget.solvers.puppet_model import (
    model_of,
    puppet_model,
    PuppetModel,
    SolverConfig,
    Tuning,
    tuning,
)
from puppet_retarget.solvers.solver import SolverOutput

NOTHING_NEAR = np.zeros((8, SELF_ROW))


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
    is_one_call = False
    """Whether `solve` is one call of `solve_packed` with what it is given, and nothing else."""

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
                puppet_model(character), numbers._replace(limb_form=self.limb_form),
                packed_objects(objects), empty_goals(), empty_frame(),
            )
        )  # fmt: skip
        """SolverArrays, for kernels that solve many frames."""
        frame = arrays.frame
        self._relaxation = frame.relaxation
        self._output = SolverOutput(
            frame.root, frame.rotations, frame.q_world, frame.p_world, frame.end_effectors,
            frame.root_offset, frame.goal_errors, frame.penetrations, frame.self_depths, 0, True,
        )  # fmt: skip

    def _solve(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, self_rows: Floats,
        dt: float,
    ) -> SolverOutput:  # fmt: skip
        output = self._output
        output.body_iterations = solve_packed(
            self.packed, root, hips, rotations, rows, self_rows, dt
        )
        output.reachable = self._relaxation[0] <= REACHABLE_TOL_M
        return output


@kernel
def set_goals(goals: Goals, rows: Floats, world_scale: float) -> None:
    """Fill the goals from importance rows, carried over to the puppet's world."""
    for i in range(4):
        goals.importances[i] = rows[i, IMPORTANCE]
        # Shin2002 eq. 5.10: r = r_max (1 - w)
        goals.radii[i] = world_scale * rows[i, RADIUS] * (1.0 - rows[i, IMPORTANCE])
        for k in range(3):
            goals.positions[i, k] = world_scale * rows[i, GOAL + k]


@kernel
def solve_packed(
    packed: np.ndarray, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats,
    self_rows: Floats, dt: float,
) -> int:  # fmt: skip
    """Solve a frame in place; return the body iterations. `packed` holds SolverArrays."""
    record = packed[0]
    ranges = range_goals_of(record.goals)
    goals = Goals(ranges.positions, ranges.importances, ranges.radii, self_rows)
    set_goals(goals, rows, record.tuning.world_scale)
    return solve_frame(
        model_of(record.model), record.tuning, objects_of(record.objects), root, hips,
        rotations, goals, dt, frame_of(record.frame),
    )  # fmt: skip


@kernel
def pose_captured_packed(
    packed: np.ndarray, hips: Vec3, rotations: Quats, rows: Floats, self_rows: Floats
) -> None:
    """Put the puppet at its reference root with the captured rotations, in place."""
    record = packed[0]
    model, frame = model_of(record.model), frame_of(record.frame)
    ranges = range_goals_of(record.goals)
    goals = Goals(ranges.positions, ranges.importances, ranges.radii, self_rows)
    set_goals(goals, rows, record.tuning.world_scale)
    pose_captured(model, record.tuning, hips, rotations, frame)
    measure(model, objects_of(record.objects), goals, frame)


@kernel
def measure_packed(packed: np.ndarray, rows: Floats, self_rows: Floats) -> None:
    """Bring kinematics and measures up to date with root and rotations, in place."""
    record = packed[0]
    model, frame = model_of(record.model), frame_of(record.frame)
    ranges = range_goals_of(record.goals)
    goals = Goals(ranges.positions, ranges.importances, ranges.radii, self_rows)
    set_goals(goals, rows, record.tuning.world_scale)
    update_kinematics(model, frame)
    measure(model, objects_of(record.objects), goals, frame)
