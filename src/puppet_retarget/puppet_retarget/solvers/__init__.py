# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Solvers: performer's posture and importance to the puppet's posture (Shin2002 ch. 5)."""

from puppet_retarget.solvers.config import ROOT_FORMS, SolverConfig
from puppet_retarget.solvers.discontinuity import DiscontinuityDetector, HoldAndBlend, is_usable
from puppet_retarget.solvers.gaze import HEAD, sight
from puppet_retarget.solvers.interface import NO_RESTS, NOTHING_NEAR, SolverOutput
from puppet_retarget.solvers.joint_limits import split_swing_twist
from puppet_retarget.solvers.limbs import bend_hint, EXACT_SHARE, STRAIGHT
from puppet_retarget.solvers.registry import ImportanceBasedSolver, make_solver, SOLVER_NAMES
from puppet_retarget.solvers.self_contact import (
    empty_self_balls,
    fill_self_ball,
    PosedBody,
    SelfBalls,
    stretch_of,
)
from puppet_retarget.solvers.solver import (
    follow_robot,
    pose_captured_packed,
    repose_packed,
    Solver,
)
from puppet_retarget.solvers.thesis.ball_intersection import circle_of, closest_in_balls, on_circle
from puppet_retarget.solvers.thesis.errata import ERRATA
from puppet_retarget.solvers.thesis.solver import ThesisSolver
from puppet_retarget.solvers.whole_body import WholeBodySolver
