# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A robot's joints after the posture of a solver that knows nothing of robots."""

import numpy as np
from puppet_core.math import Floats
from puppet_core.robots import RobotJoints
from puppet_retarget.importance import GOAL, IMPORTANCE
from puppet_retarget.solvers.interface import SolverOutput


def follow_robot(
    joints: RobotJoints, out: SolverOutput, rows: Floats, scale: float, dt: float
) -> Floats:
    """
    Return the robot's angles [rad]; the posture asked for becomes the one that it takes.

    Distances from the goals of importance rows, which are scaled to the puppet's world, are
    written too. The time since the frame before [s] is infinite for the first, or after a gap.
    """
    importances = np.ascontiguousarray(rows[:4, IMPORTANCE])
    angles = joints.step(
        out.root_position,
        out.rotations,
        out.q_world,
        out.p_world,
        out.end_effectors,
        importances,
        dt,
    )
    out.root_position[:] = out.p_world[0]  # it may have had to give way
    goals = scale * rows[:4, GOAL : GOAL + 3]
    out.goal_errors[:] = np.linalg.norm(out.end_effectors[:4] - goals, axis=1)
    return angles
