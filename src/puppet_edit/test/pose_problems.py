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
from puppet_edit.editor.constraint_kernels import (
    N_LIMB,
    N_UNKNOWNS,
    Pose,
    PoseTask,
    Residual,
    Unknowns,
)
from puppet_edit.editor.constraint_table import ConstraintTable, MovingBody
from puppet_edit.editor.constraints import Constraint
from puppet_edit.editor.edit_config import Bodies, EditConfig
from puppet_edit.editor.limb_kernels import (
    choose_unknowns,
    move_pose,
    place_all,
    prepare_limbs,
)
from puppet_edit.editor.pose_solver_kernels import deviation, penalties, pose_gradient


def random_motion(
    skeleton: Skeleton, rng: np.random.Generator, n_frames: int, turn: float = 0.4
) -> Motion:
    """Return postures that have nothing to do with each other."""
    rotations = qb.exp(rng.normal(0.0, turn, (n_frames, N_SEGMENTS, 3)))
    return Motion.from_rotations(skeleton, 30.0, rng.normal(0.0, 0.3, (n_frames, 3)), rotations)


def empty_pose() -> Pose:
    """Return room for a posture."""
    return Pose(
        np.zeros(3), np.zeros((16, 4)), np.zeros((16, 4)), np.zeros((16, 3)), np.zeros((48, 3))
    )


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
        body = MovingBody(motion, bodies)
        table = ConstraintTable(constraints, body, bodies, EditConfig(joint_limits=limits))
        table.update(body)
        tasks = table.tasks
        self.task = PoseTask(
            tasks.offsets[0],
            body.roots[0],
            body.rotations[0],
            tasks.items[: tasks.starts[1]],
            np.zeros((4, N_LIMB)),
            tasks.rigidity,
            tasks.limits,
        )
        self.residual = Residual(*np.zeros((3, 3)), *np.zeros((3, 3, 3)))
        self.unknowns = Unknowns(np.zeros(N_UNKNOWNS, np.int64), np.zeros(N_UNKNOWNS, np.int64))
        start = empty_pose()
        start.root[:], start.rotations[:] = self.task.root, self.task.rotations
        place_all(self.task, start)
        prepare_limbs(self.task, start, is_full)
        self.n = choose_unknowns(self.task, self.unknowns)
        self.pose = self.moved(start, np.zeros(self.n))

    def moved(self, pose: Pose, by: Floats) -> Pose:
        """Return the posture a step of the unknowns away."""
        full, out = np.zeros(N_UNKNOWNS), empty_pose()
        full[self.unknowns.columns[: self.n]] = by
        move_pose(self.task, pose, 1.0, full, out)
        return out

    def value(self, pose: Pose) -> float:
        """Return g."""
        value = deviation(self.task, pose, np.zeros(N_UNKNOWNS))
        return float(value + penalties(self.task, pose, self.residual))

    def gradient(self, pose: Pose) -> tuple[Floats, Floats]:
        """Return the derivative of g by the unknowns, and its curvature's lower triangle."""
        gradient, curvature = np.zeros(N_UNKNOWNS), np.zeros((N_UNKNOWNS, N_UNKNOWNS))
        pose_gradient(
            self.task,
            pose,
            self.unknowns,
            self.n,
            self.residual,
            np.zeros(N_UNKNOWNS),
            np.zeros((36, N_UNKNOWNS)),
            np.zeros(N_UNKNOWNS),
            gradient,
            curvature,
        )
        return gradient[: self.n], curvature[: self.n, : self.n]
