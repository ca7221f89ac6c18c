# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Baseline of Shin2002 figs. 7.2a and 7.3a: the captured joint angles and nothing else."""

from puppet_core.arrays import Floats, Quats, Vec3
from puppet_retarget.importance.estimator import GOAL
from puppet_retarget.solvers.end_effector_solver import EndEffectorSolver
from puppet_retarget.solvers.frame_kernels import measure, pose_captured
from puppet_retarget.solvers.solver import SolverOutput


class JointAnglesSolver(EndEffectorSolver):
    """Reference root and captured rotations; feet slide wherever lengths differ."""

    name = 'joint_angles'

    def solve(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, dt: float
    ) -> SolverOutput:
        """Return the puppet's posture; see `Solver.solve`."""
        frame = self._frame
        self._goals.positions[:] = self._tuning.world_scale * rows[:, GOAL: GOAL + 3]
        pose_captured(self._model, self._tuning, hips, rotations, frame)
        measure(self._objects, self._goals, frame)
        return SolverOutput(
            frame.root, frame.rotations, frame.q_world, frame.p_world, frame.end_effectors,
            frame.root_offset, frame.goal_errors, frame.penetrations, 0, True,
        )  # fmt: skip
