# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Solvers: performer's posture and importance to the puppet's posture (Shin2002 ch. 5)."""

from puppet_retarget.solvers.baselines import pose_captured_packed
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.discontinuity import DiscontinuityDetector, HoldAndBlend, is_usable
from puppet_retarget.solvers.interface import NO_RESTS, NOTHING_NEAR, Solver, SolverOutput
from puppet_retarget.solvers.joint_limits import split_swing_twist
from puppet_retarget.solvers.registry import make_solver, SOLVER_NAMES
from puppet_retarget.solvers.thesis.ball_intersection import (
    circle_of,
    closest_in_shells,
    NO_SHELL,
    on_circle,
    Shell,
)
from puppet_retarget.solvers.thesis.errata import ERRATA
from puppet_retarget.solvers.thesis.self_balls import Balls, SelfBalls
from puppet_retarget.solvers.thesis.solver import ImportanceBasedSolver, Performer, repose_packed
from puppet_retarget.solvers.whole_body import WholeBodySolver
from puppet_retarget.solvers.whole_body.gaze import HEAD, sight
from puppet_retarget.solvers.whole_body.hinges import LEAST_S, LONGEST_S
