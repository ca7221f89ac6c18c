# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
From one performer posture and its importance to the puppet's frame, with all that lives.

Holds the solver, the joint split and the easing; knows time only as the stamps it is given.
The retarget node is this class with messages around it.

"""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.character import Character
from puppet_core.default_shape import ADULT_LEG_M
from puppet_core.fastest_motion import PERFORMER_RATIO
from puppet_core.joint_split import JOINT_NAMES, JointSplit
from puppet_core.kinematics import (
    causal_velocities,
    end_effector_positions,
    forward_kinematics,
    hip_centre,
)
from puppet_core.quaternion_batch import conjugate, rotate
from puppet_retarget.importance.contact_rows import SELF_ROW
from puppet_retarget.importance.environment import Environment
from puppet_retarget.importance.estimator import GOAL, ROW
from puppet_retarget.importance.importance_model import MAX_LEG_LENGTH_M, MIN_LEG_LENGTH_M
from puppet_retarget.last_posture import LastPosture
from puppet_retarget.parameters import RetargetConfig
from puppet_retarget.solvers.hold_and_ease import HoldAndEase
from puppet_retarget.solvers.input_check import is_usable
from puppet_retarget.solvers.leap_watch import LeapWatch
from puppet_retarget.solvers.registry import make_solver, SOLVER_NAMES
from puppet_retarget.solvers.robot_follower import follower_of, RobotFollower
from puppet_retarget.solvers.solver import Solver, SolverOutput

LEAP, LATE = 'eases after a leap of the input', 'eases after a late frame'


@dataclass(frozen=True, slots=True)
class RetargetedFrame:
    """One frame of the puppet; the arrays are overwritten by the next step."""

    solution: SolverOutput
    """Posture and figures of the solver, the posture eased where `eased` says so."""

    angles: Floats
    """Joint angles in the order of the model's `joint_names`, shape (n,) [rad]."""

    end_effector_velocities: Vec3s
    """Of the puppet, by causal differences, shape (8, 3) [m/s]."""

    solve_time_us: float
    """Time in the solver."""

    eased: bool
    """Whether the posture is on its way back after a gap or a change."""

    cause: str = ''
    """Why the easing begins with this frame, in words; '' if it does not."""


class RetargetModel:
    """One puppet driven by one performer."""

    def __init__(
        self, character: Character, environment: Environment, config: RetargetConfig
    ) -> None:
        self._environment = environment
        self._split = JointSplit()
        self._ease = HoldAndEase()
        self._performer = LeapWatch(PERFORMER_RATIO)
        self._solver: Solver
        self._leg_length = 0.0  # of the performer the solver was made for; 0 wants another
        self._stamp_ns: int | None = None
        self._cause = ''  # of an easing that begins with the next frame
        self._positions = np.zeros((8, 3))
        self._hips = np.zeros(3)
        self._robot: RobotFollower | None = None
        self._robot_of: Character | None = None
        self._velocities = np.zeros((8, 3))
        self.configure(character, config)

    def configure(self, character: Character, config: RetargetConfig) -> None:
        """Take another character or tuning; the puppet eases into what comes of it."""
        if character is not self._robot_of:
            # the angles of the same robot go on from where they are
            self._robot_of, self._robot = character, follower_of(character)
        self._character = character
        self._offsets = character.skeleton.offsets.copy()
        self._points = character.skeleton.interaction_points.copy()
        self._config = config
        self._leg_length = 0.0
        self._ease.size = max(1.0, character.skeleton.leg_length / ADULT_LEG_M)

    def resume(self, last: LastPosture) -> None:
        """Hold, then ease from, what a model with the same joints published before."""
        self._cause = 'eases from the last posture before a restart'
        self._ease.resume(last.root, last.rotations)
        if self._robot is None:
            self._split.resume(last.angles, last.rotations)
            return
        q_world, p_world, ends = np.zeros((16, 4)), np.zeros((16, 3)), np.zeros((8, 3))
        forward_kinematics(self._offsets, last.root, last.rotations, q_world, p_world)
        end_effector_positions(self._points, q_world, p_world, ends)
        points = rotate(conjugate(q_world[0]), ends[:4] - last.root)
        self._robot.resume(last.angles, last.rotations, points)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the names of the angles: the robot's own, or those of the joint split."""
        return JOINT_NAMES if self._robot is None else self._robot.names

    def warm_up(self) -> None:
        """Compile everything a frame needs by any solver, before the first one comes."""
        rest = self._character.skeleton
        rotations = np.zeros((16, 4))
        rotations[:, 0] = 1.0
        segments = rest.rest_positions() + [0.0, 0.0, rest.rest_root_height]
        for solver in SOLVER_NAMES:
            config = replace(self._config, solver=solver)
            model = RetargetModel(self._character, self._environment, config)
            for stamp_ns in (0, 10_000_000, 10_000_000_000):
                model.step(
                    stamp_ns, segments[0].copy(), segments, rotations, np.zeros((4, ROW)),
                    np.zeros((8, SELF_ROW)), rest.leg_length,
                )  # fmt: skip

    def step(
        self, stamp_ns: int, root: Vec3, segments: Vec3s, rotations: Quats, rows: Floats,
        self_rows: Floats, leg_length: float,
    ) -> RetargetedFrame | None:  # fmt: skip
        """
        Return the puppet's next frame, or None if the input is not usable.

        Parameters
        ----------
        stamp_ns : int
            Acquisition time [ns].
        root : ndarray, shape (3,)
            The performer's pelvis in world [m].
        segments : ndarray, shape (16, 3)
            The performer's joints in world [m].
        rotations : ndarray, shape (16, 4)
            The performer's joint rotations.
        rows : ndarray, shape (4, 8)
            Importance of hands and feet.
        self_rows : ndarray, shape (8, SELF_ROW)
            Self-interaction of the general end-effectors.
        leg_length : float
            The performer's hip to sole [m].

        """
        leg_length = self._config.performer_leg_length_m or leg_length
        if not MIN_LEG_LENGTH_M <= leg_length <= MAX_LEG_LENGTH_M:
            return None
        if not is_usable(root, segments, rotations, rows, self_rows):
            return None
        dt_s = self._advance(stamp_ns)
        if self._performer.leaps(root, rotations, dt_s):
            self._ease.start()
            self._cause = self._cause or LEAP
        elif self._ease.is_wary and self._performer.breaks():
            self._ease.wait()
        is_new = self._renew_solver(leg_length)
        hip_centre(segments, self._hips)
        start = perf_counter()
        solution = self._solver.solve(
            root, self._hips, rotations, rows, np.inf if is_new else dt_s, self_rows
        )
        solve_time_us = (perf_counter() - start) * 1e6
        leaps, late_frames = self._ease.leaps, self._ease.late_frames
        eased = self._ease.step(
            solution.root_position, solution.rotations, dt_s, self._config.ease_s
        )
        if self._ease.leaps != leaps:
            self._cause = self._cause or LEAP
        elif self._ease.late_frames != late_frames:
            self._cause = self._cause or LATE
        if eased:
            forward_kinematics(
                self._offsets, solution.root_position, solution.rotations, solution.q_world,
                solution.p_world,
            )  # fmt: skip
            end_effector_positions(
                self._points, solution.q_world, solution.p_world, solution.end_effectors
            )
        if self._robot is None:
            angles = self._split.step(solution.rotations)
        else:
            goals = self._character.scale_for(leg_length) * rows[:, GOAL: GOAL + 3]
            angles = self._robot.step(solution, goals)
        causal_velocities(solution.end_effectors, dt_s, self._positions, self._velocities)
        cause, self._cause = self._cause if eased else '', ''
        return RetargetedFrame(solution, angles, self._velocities, solve_time_us, eased, cause)

    def _advance(self, stamp_ns: int) -> float:
        """Return the time since the last frame [s]; infinity, and easing, after a gap."""
        dt_s = (stamp_ns - self._stamp_ns) * 1e-9 if self._stamp_ns is not None else np.inf
        self._stamp_ns = stamp_ns
        if 0.0 <= dt_s <= self._config.hold_after_s:
            return dt_s
        self._ease.start()
        if dt_s < 0.0:
            self._cause = f'eases after the clock stepped back by {-dt_s:.1f} s'
        elif np.isfinite(dt_s):
            self._cause = f'eases after a gap of {dt_s:.1f} s'
        return np.inf

    def _renew_solver(self, leg_length: float) -> bool:
        """Make a solver if there is none for this performer; return whether it is new."""
        if leg_length == self._leg_length:
            return False
        self._leg_length = leg_length
        self._solver = make_solver(
            self._config.solver, self._character, self._environment, leg_length,
            self._config.tuning,
        )  # fmt: skip
        self._ease.start()
        self._cause = self._cause or 'eases after a change of solver, character or tuning'
        return True
