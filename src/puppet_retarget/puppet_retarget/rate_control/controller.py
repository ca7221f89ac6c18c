# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A body under closed-loop inverse rate control, frame by frame (ChoiKo2000).

    controller = RateController(tree, [Task(hand), Task(head, ORIENTATION)])
    controller.reset(position, orientation, rotations)
    for frame in frames:
        controller.inputs.positions[0] = ...      # goals of the tasks
        controller.inputs.imitated[:n] = ...      # the secondary task
        controller.step()
        ... controller.rotations, controller.p_world

Retargeting gives it one body's end-effectors and angles for another body; enhancement, measured
end-effectors and measured angles of the same body.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import check_array, Floats, pack_arrays, Quat, Quats, Vec3, Vec3s
from puppet_retarget.rate_control.state import (
    DAMPING,
    DEXTERITY,
    ERROR,
    Inputs,
    RateArrays,
    Settings,
    STEPS,
)
from puppet_retarget.rate_control.step import (
    advance_packed,
    ALL_RATES,
    hang_on_packed,
    jacobian_packed,
    NO_ESTIMATE,
    pose_packed,
    TASKS_ONLY,
    WISH_FIRST,
)
from puppet_retarget.rate_control.tree import BASE_DOFS, BodyTree, MAX_ROWS, MAX_TASKS, Task


@dataclass(frozen=True, slots=True)
class RateConfig:
    """Tuning of rate control; `AS_PRINTED` is the paper's."""

    estimate: int = ALL_RATES
    """How the coming error is estimated: NO_ESTIMATE, TASKS_ONLY, ALL_RATES or WISH_FIRST."""

    max_sub_steps: int = 16
    """Most parts that a frame is divided into [-]."""

    sub_step_m: float = 0.10
    """How far a goal may go in a sub-step [m]."""

    sub_step_rad: float = 0.5
    """How far an orientation that is a goal may turn in a sub-step [rad]."""

    max_corrections: int = 4
    """Most steps after the last sub-step, taken while goals are missed [-]."""

    tolerance: float = 1e-5
    """Error of all tasks together that is left [m], [rad]."""

    max_damping: float = 0.05
    """lambda at a singularity [m/rad]."""

    damped_below: float = 0.05
    """Smallest singular value below which damping sets in [m/rad]."""

    full_gain_dexterity: float = 0.01
    """sigma_min over sigma_max below which the gains fall; 0: they are 1 always [-]."""

    least_gain: float = 0.2
    """Gains at a singularity [-]."""

    full_gain_error: float = 0.03
    """Error left by the frame before beyond which the second task's gain falls [m], [rad]."""

    max_input_m: float = 0.2
    """Most that a position task puts into the pseudo-inverse at once [m]."""

    max_input_rad: float = 0.7
    """Most that an orientation task puts into it at once [rad]."""

    max_turn_rad: float = 0.5
    """Most that a degree of freedom turns in a sub-step [rad]."""

    kept_gap: float = 0.8
    """What is left after a frame of how far a new driven base was from its given pose [-]."""

    slack: float = 0.02
    """Error that a guarded step may leave to the corrections [m], [rad]."""

    guarded: bool = True
    """Whether steps that lead away from the goals are shortened."""

    def __post_init__(self) -> None:
        if self.estimate not in {NO_ESTIMATE, TASKS_ONLY, ALL_RATES, WISH_FIRST}:
            raise ConfigError(f'estimate: expected 0 to 3, got {self.estimate}')
        for name in ('max_sub_steps', 'sub_step_m', 'sub_step_rad', 'max_turn_rad'):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ConfigError(f'{name}: expected a number > 0, got {getattr(self, name)}')
        for value in astuple(self):
            if not 0.0 <= value < np.inf:
                raise ConfigError(f'rate control: expected numbers >= 0, got {value}')


AS_PRINTED = RateConfig(
    estimate=TASKS_ONLY,
    max_sub_steps=1,
    max_corrections=0,
    full_gain_dexterity=0.0,
    full_gain_error=1e3,
    max_input_m=1e3,
    max_input_rad=1e3,
    max_turn_rad=1e3,
    kept_gap=0.0,
    guarded=False,
)
"""One step a frame, K = I, the estimate of steps 1 to 3, damped least squares; no clamping."""


class RateController:
    """Owns the arrays of one body and moves it towards its goals."""

    def __init__(
        self,
        tree: BodyTree,
        tasks: Sequence[Task],
        config: RateConfig = RateConfig(),
        base: int = 0,
    ) -> None:
        rows = sum(task.n_rows for task in tasks)
        if len(tasks) > MAX_TASKS or rows > MAX_ROWS:
            raise ConfigError(
                f'tasks: expected at most {MAX_TASKS} of {MAX_ROWS} rows, '
                f'got {len(tasks)} of {rows}'
            )
        self.tree = tree
        self.packed, self._arrays = pack_arrays(RateArrays(Settings(*astuple(config))))
        self.inputs: Inputs = self._arrays.inputs
        """What is asked of the next frame; rows from the tree's and the tasks' number on idle."""
        self._fill(self._arrays, tasks)
        self._check_base(base)
        self._arrays.tree.base[0] = base

    def _fill(self, arrays: RateArrays, tasks: Sequence[Task]) -> None:
        tree, own, n = arrays.tree, self.tree, len(self.tree.names)
        tree.sizes[:] = n, own.n_dofs, len(tasks)
        tree.parents[:n], tree.offsets[:n], tree.kinds[:n] = own.parents, own.offsets, own.kinds
        tree.axes[:n], tree.first_dofs[:n] = own.axes, own.first_dofs
        tree.orders[:n, :n], tree.neighbours[:n, :n] = own.walks()
        for i, task in enumerate(tasks):
            if not 0 <= task.segment < n:
                raise ConfigError(f'segment: expected 0 to {n - 1}, got {task.segment}')
            tree.segments[i], tree.task_kinds[i] = task.segment, task.kind
            tree.points[i], tree.n_axes[i] = task.point, task.n_rows
            tree.task_axes[i, : task.n_rows] = task.axes
            tree.task_weights[i] = task.weight
        arrays.inputs.active[: len(tasks)] = 1
        arrays.inputs.mobilities[: own.n_dofs] = 1.0
        arrays.inputs.gains[: own.n_dofs] = 1.0

    def set_base(self, segment: int, position: Vec3, orientation: Quat) -> None:
        """
        Hang the tree on another segment, which stays where it is, as all others do.

        Where the segment is not at the given pose [m], the difference is added to the poses that
        are given from now on, and fades.
        """
        self._check_base(segment)
        self.inputs.base_position[:] = position
        self.inputs.base_orientation[:] = orientation
        hang_on_packed(self.packed, segment)

    def _check_base(self, segment: int) -> None:
        if not 0 <= segment < len(self.tree.names):
            raise ConfigError(f'base: expected 0 to {len(self.tree.names) - 1}, got {segment}')

    def drive_base(self, driven: bool = True) -> None:
        """
        Let the base follow its given pose exactly, or only as a secondary task like the joints.

        A base of its own motion, such as a foot that stands, is driven; a pelvis that is to give
        way to hands and feet is not.
        """
        self.inputs.mobilities[:BASE_DOFS] = 0.0 if driven else 1.0

    def reset(self, base_position: Vec3, base_orientation: Quat, rotations: Quats) -> None:
        """
        Put the body into a posture, with no motion before it; all inputs ask it to stay there.

        The base is in world [m]; row 0 of the joint rotations is not used.
        """
        n, base, state = len(self.tree.names), self.base, self._arrays.state
        state.rotations[:n] = check_array('rotations', rotations, (n, 4))
        state.p_world[base] = check_array('base_position', base_position, (3,))
        state.q_world[base] = check_array('base_orientation', base_orientation, (4,))
        pose_packed(self.packed)
        self.inputs.imitated[:n] = rotations
        self.inputs.base_position[:] = base_position
        self.inputs.base_orientation[:] = base_orientation
        self.inputs.extra[:] = 0.0

    def step(self) -> None:
        """Take a frame towards what `inputs` ask for."""
        advance_packed(self.packed)

    def jacobian(self) -> Floats:
        """Return the stacked Jacobian of the active tasks where the body is, (rows, dofs)."""
        n = jacobian_packed(self.packed)
        return self._arrays.work.jacobian[: self.tree.n_dofs, :n].T.copy()

    def errors(self) -> Floats:
        """Return how far the goals are, a row as in the Jacobian, shape (rows,) [m], [rad]."""
        n = jacobian_packed(self.packed)
        return self._arrays.work.errors[:n].copy()

    def pull(self, error: Floats, jacobian: Floats, gain: float = 1.0) -> None:
        """
        Ask for any other secondary task in the next frames: J2^T K2 e2 (ChoiKo2000 eq. 15).

        `error` (k,) is what the function is to grow by, `jacobian` (k, dofs) its derivative by the
        rates. Imitation has gains of its own, `inputs.gains`, which can be set to 0.
        """
        n = self.tree.n_dofs
        j2 = check_array('jacobian', jacobian, (None, n))
        self.inputs.extra[:n] = gain * (j2.T @ check_array('error', error, (len(j2),)))

    @property
    def base(self) -> int:
        """Return the segment that the tree hangs on."""
        return int(self._arrays.tree.base[0])

    @property
    def rotations(self) -> Quats:
        """Return a view on the joint rotations, shape (n, 4); row 0 is not used."""
        return self._arrays.state.rotations[: len(self.tree.names)]

    @property
    def q_world(self) -> Quats:
        """Return a view on the segments' orientations in world, shape (n, 4)."""
        return self._arrays.state.q_world[: len(self.tree.names)]

    @property
    def p_world(self) -> Vec3s:
        """Return a view on the segments' joints in world, shape (n, 3) [m]."""
        return self._arrays.state.p_world[: len(self.tree.names)]

    @property
    def dexterity(self) -> float:
        """Return sigma_min over sigma_max of the last step's Jacobian [-]."""
        return float(self._arrays.state.measures[DEXTERITY])

    @property
    def damping(self) -> float:
        """Return lambda of the last step [m/rad]."""
        return float(self._arrays.state.measures[DAMPING])

    @property
    def n_steps(self) -> int:
        """Return how many sub-steps and corrections the last frame took."""
        return int(self._arrays.state.measures[STEPS])

    @property
    def error(self) -> float:
        """Return how far the goals are after the last frame, all tasks together [m], [rad]."""
        return float(self._arrays.state.measures[ERROR])
