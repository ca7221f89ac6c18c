# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Random bodies and problems for the kernels of the motion editor."""

from collections.abc import Sequence

import numpy as np
from puppet_core.body.joint_limits import JointLimit
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import N_SEGMENTS, Skeleton
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats
from puppet_edit.editor.constraint_kernels import N_UNKNOWNS, POSE, PoseTask
from puppet_edit.editor.constraint_table import ConstraintTable
from puppet_edit.editor.constraints import Bodies, Constraint, EditConfig
from puppet_edit.editor.limb_kernels import choose_unknowns, move_pose, prepare_limbs
from puppet_edit.editor.motion_edit import placed_poses
from puppet_edit.editor.pose_solver_kernels import deviation, penalties, pose_gradient, workspace


def random_motion(
    skeleton: Skeleton, rng: np.random.Generator, n_frames: int, turn: float = 0.4
) -> Motion:
    """Return postures that have nothing to do with each other."""
    rotations = qb.exp(rng.normal(0.0, turn, (n_frames, N_SEGMENTS, 3)))
    return Motion.from_rotations(skeleton, 30.0, rng.normal(0.0, 0.3, (n_frames, 3)), rotations)


class PoseProblem:
    """The first frame's inverse kinematics, to be looked at in pieces."""

    def __init__(
        self,
        motion: Motion,
        constraints: Sequence[Constraint],
        is_full: bool = False,
        limits: Sequence[JointLimit] = (),
    ) -> None:
        bodies = Bodies.constant(motion.skeleton, motion.n_frames)
        poses = placed_poses(motion, bodies)
        config = EditConfig(joint_limits=limits)
        table = ConstraintTable(constraints, poses, bodies, config, motion.skeleton)
        table.update(poses)
        tasks, self.work = table.tasks, workspace()
        self.task = PoseTask(
            tasks.offsets[0],
            poses[0],
            tasks.items[: tasks.starts[1]],
            self.work.limbs,
            tasks.rigidity,
            tasks.limits,
        )
        prepare_limbs(self.task, is_full)
        self.n = choose_unknowns(self.task, self.work.columns, self.work.row_of)
        self.pose = self.moved(poses[0], np.zeros(self.n))

    def moved(self, pose: np.void, by: Floats) -> np.void:
        """Return the posture a step of the unknowns away."""
        full, out = np.zeros(N_UNKNOWNS), np.zeros(1, POSE)[0]
        full[self.work.columns[: self.n]] = by
        move_pose(self.task, pose, 1.0, full, out)
        return out

    def value(self, pose: np.void) -> float:
        """Return g."""
        return float(deviation(self.task, pose, self.work.full) + penalties(self.task, pose))

    def gradient(self, pose: np.void) -> Floats:
        """Return the derivative of g by the unknowns."""
        pose_gradient(self.task, pose, self.work, self.n)
        return self.work.gradient[: self.n].copy()
