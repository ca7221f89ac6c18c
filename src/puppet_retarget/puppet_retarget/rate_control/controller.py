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

from puppet_core.io import ConfigError
from puppet_core.math import check_array, Floats, pack_arrays, Quat, Quats, Vec3, Vec3s
from puppet_retarget.rate_control.state import Inputs, RateArrays, RateConfig, TreeArrays
from puppet_retarget.rate_control.step import advance_packed, linear_packed, pose_packed
from puppet_retarget.rate_control.tree import BASE_DOFS, BodyTree, MAX_ROWS, MAX_TASKS, Task

DEFAULT = RateConfig()


class RateController:
    def __init__(
        self, tree: BodyTree, tasks: Sequence[Task], config: RateConfig = DEFAULT, base: int = 0
    ) -> None:
        rows = sum(task.n_rows for task in tasks)
        if len(tasks) > MAX_TASKS or rows > MAX_ROWS:
            raise ConfigError(
                f'tasks: expected at most {MAX_TASKS} of {MAX_ROWS} rows, '
                f'got {len(tasks)} of {rows}'
            )
        self.tree = tree
        config.require_valid()
        sizes = TreeArrays(len(tree.names), tree.n_dofs, len(tasks))
        self.packed, self._arrays = pack_arrays(RateArrays(config, sizes))
        self.inputs: Inputs = self._arrays.inputs
        """What is asked of the next frame; rows from the tree's and the tasks' number on idle."""
        self._fill(self._arrays, tasks)
        if not 0 <= base < len(tree.names):
            raise ConfigError(f'base: expected 0 to {len(tree.names) - 1}, got {base}')
        self._arrays.tree.base[0] = base

    def _fill(self, arrays: RateArrays, tasks: Sequence[Task]) -> None:
        tree, own, n = arrays.tree, self.tree, len(self.tree.names)
        tree.parents[:n], tree.offsets[:n], tree.kinds[:n] = own.parents, own.offsets, own.kinds
        tree.axes[:n], tree.first_dofs[:n] = own.axes, own.first_dofs
        for i, task in enumerate(tasks):
            if not 0 <= task.segment < n:
                raise ConfigError(f'segment: expected 0 to {n - 1}, got {task.segment}')
            tree.segments[i], tree.task_kinds[i] = task.segment, task.kind
            tree.points[i], tree.n_axes[i] = task.point, task.n_rows
            tree.task_axes[i, : task.n_rows] = task.axes
            tree.task_weights[i] = task.weight
        arrays.inputs.active[: len(tasks)] = 1
        arrays.inputs.mobilities[: own.n_dofs] = 1.0

    def drive_base(self, driven: bool = True) -> None:
        """Let the base follow its pose exactly, or only as a secondary task like the joints."""
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
        self.inputs.root_position[:] = state.p_world[0]
        self.inputs.base_position[:] = base_position
        self.inputs.base_orientation[:] = base_orientation
        self.inputs.extra[:] = 0.0

    def step(self) -> None:
        """Take a frame towards what `inputs` ask for."""
        advance_packed(self.packed)

    def jacobian(self) -> Floats:
        """Return the stacked Jacobian of the active tasks where the body is, (rows, dofs)."""
        return linear_packed(self.packed)[0]

    def errors(self) -> Floats:
        """Return how far the goals are, a row as in the Jacobian, shape (rows,) [m], [rad]."""
        return linear_packed(self.packed)[1]

    def pull(self, error: Floats, jacobian: Floats, gain: float = 1.0) -> None:
        """
        Ask for any other secondary task in the next frames: J2^T K2 e2 (ChoiKo2000 eq. 15).

        `error` (k,) is what the function is to grow by, `jacobian` (k, dofs) its derivative by the
        rates. Imitation has its own gain, `RateConfig.k2`, which can be 0.
        """
        n = self.tree.n_dofs
        j2 = check_array('jacobian', jacobian, (None, n))
        self.inputs.extra[:n] = gain * (j2.T @ check_array('error', error, (len(j2),)))

    @property
    def base(self) -> int:
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
    def error(self) -> float:
        """Return how far the goals are after the last frame, all tasks together [m], [rad]."""
        return float(self._arrays.state.error[0])
