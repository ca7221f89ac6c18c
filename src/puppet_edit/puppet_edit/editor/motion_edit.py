# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The motion editor of LeeShin1999: constraints met, the detail of the motion kept.

Algorithm 1: at each level the constrained frames are solved from the motion so far, and a
B-spline that fits the displacements, of half the knot spacing of the level before, displaces
all frames: m_h = ((m_0 + d_1) + d_2) ... (eq. 3). A last pass is exact.
The B-spline control lattice is `displacement_map.fit_control_points`.

Of a frame only those joints count that its constraints depend on, and the torso counts little
where they are all of limbs. If arms and pelvis of every frame with a planted foot were data too,
with no displacement, they could hardly be moved.
"""

from collections.abc import Callable, Sequence
import math
import time

import numpy as np
from puppet_core.body import Motion
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Ints
from puppet_core.math import quaternions as qb
from puppet_edit.editor.constraint_kernels import N_UNKNOWNS, POSE
from puppet_edit.editor.constraint_table import ConstraintTable, DECIDED_M, MovingBody
from puppet_edit.editor.constraints import (
    Bodies,
    body_height,
    Constraint,
    EditConfig,
    EditResult,
    FULL,
    LevelReport,
)
from puppet_edit.editor.displacement_map import basis, exact_displacement, fit_control_points
from puppet_edit.editor.pose_solver_kernels import solve_frames, SolverOptions, workspace

DEFAULT_CONFIG = EditConfig()
LEVEL_TOL, EXACT_TOL = 1e-5, 1e-8  # fall of g at which a frame is solved
# Rounds of solving and deciding again where planes and places are: a level leaves that to the next
LEVEL_ROUNDS, EXACT_ROUNDS = 1, 2
# Fits of the root's shift, all by the coarsest knots: finer ones would jump from foot to foot.
SHIFT_FITS = 3
TORSO_ROWS = 5  # of the rigidities: root position, pelvis, spine, chest, head
STIFFER = 2.0  # torso from level to level, or it would jerk from contact to contact
EXACT_REACH = 4.0  # knots of the last level until the exact pass has faded out


class _Edit:
    """A motion between levels."""

    def __init__(
        self, motion: Motion, constraints: Sequence[Constraint], config: EditConfig, bodies: Bodies
    ) -> None:
        self.config = config
        self.body = MovingBody(motion, bodies)
        self.table = ConstraintTable(constraints, self.body, bodies, config, motion.skeleton)
        height = config.body_height_m or body_height(motion.skeleton)
        self._percent = 100.0 / height
        self._n_frames, self._frames = motion.n_frames, self.table.tasks.frames
        self._solved, self._work = np.zeros(len(self._frames), POSE), workspace()
        self._weights = np.empty((len(self._frames), N_UNKNOWNS // 3))

    def errors(self) -> Floats:
        """Return the largest error of each constraint [m]."""
        return self.table.errors(self.body.poses)

    def percent(self) -> float:
        """Return the largest of all, of the body's height."""
        return float(self.errors().max(initial=0.0)) * self._percent

    def knots(self, spacing: float) -> int:
        """Return the number of control points of a curve."""
        return int(math.floor((self._n_frames - 1) / spacing)) + 4

    def shift_root(self) -> None:
        """Let the root go along with the contacts, smoothly (LeeShin1999 section 4.5)."""
        frames, rest = self.table.shifts(self.body.poses)
        if not len(frames):
            return
        displacements = np.zeros((self._n_frames, N_UNKNOWNS))
        ones = np.ones((len(frames), 1))
        for _ in range(SHIFT_FITS):
            curve = self._fitted(frames, rest, ones, self.config.frames_per_knot)
            displacements[:, :3] += curve
            rest = rest - curve[frames]
        self.body.displace(displacements)
        self.table.update(self.body.poses)

    def stiffen_torso(self) -> None:
        """Leave more of what is still missing to the limbs."""
        self.table.tasks.rigidity[:TORSO_ROWS] *= STIFFER

    def solve(self, tolerance: float, rounds: int) -> Floats:
        """Return displacements that put the constrained frames right, after `errors`, (k, 51)."""
        options = SolverOptions(self.config.solver == FULL, self.config.max_iterations, tolerance)
        poses, solved = self.body.poses, self._solved
        for _ in range(rounds):
            solve_frames(self.table.tasks, poses, options, self._work, solved, self._weights)
            # planes and places follow the solutions
            if not self.table.moves or self.table.follow(solved) < DECIDED_M:
                break
        before = poses[self._frames]
        turns = qb.log(qb.multiply(qb.conjugate(before['rotations']), solved['rotations']))
        moved = solved['root'] - before['root']
        return np.concatenate((moved, turns.reshape(-1, N_UNKNOWNS - 3)), axis=1)

    def fit(self, displacements: Floats, spacing: float) -> None:
        """Displace the motion by the B-spline that fits displacements."""
        self.body.displace(self._fitted(self._frames, displacements, self._weights, spacing))

    def make_exact(self, displacements: Floats) -> None:
        """Displace the motion by exactly these at constrained frames."""
        finest = self.config.frames_per_knot / 2 ** max(self.config.levels - 1, 0)
        reach = max(int(math.ceil(EXACT_REACH * finest)), 2)
        self.body.displace(
            exact_displacement(self._frames, displacements, self._weights, self._n_frames, reach)
        )

    def keep_limits(self) -> None:
        """Bring joints that the displacements took beyond their limits back."""
        if self.config.joint_limits:
            self.body.keep_limits(self.table.tasks.limits)

    def _fitted(self, frames: Ints, goals: Floats, weights: Floats, spacing: float) -> Floats:
        if not len(frames):
            return np.zeros((self._n_frames, goals.shape[1]))
        count = self.knots(spacing)
        points = fit_control_points(frames, goals, weights, spacing, count)
        return np.asarray(basis(np.arange(self._n_frames), spacing, count) @ points)


def edit_motion(
    motion: Motion,
    constraints: Sequence[Constraint],
    config: EditConfig = DEFAULT_CONFIG,
    progress: Callable[[str, float], object] | None = None,
    bodies: Bodies | None = None,
) -> EditResult:
    """
    Return the motion with constraints met.

    Errors are lengths: of a place, a surface or a distance what is missing, of a direction the
    arc at a lever of `LEVER_M`; of a plant, how far a point is from its mean place.

    Parameters
    ----------
    motion : Motion
        As it was.
    constraints : sequence of Constraint
        What it has to do.
    config : EditConfig
        How.
    progress : callable, optional
        Called after each level with what was done and the maximum error in percent.
    bodies : Bodies, optional
        Lengths of each frame, if the character changes over the motion.

    Raises
    ------
    ConfigError : if a constraint names a frame that the motion does not have.

    """
    start = time.perf_counter()
    if bodies is None:
        bodies = Bodies.constant(motion.skeleton, motion.n_frames)
    elif len(bodies.offsets) != motion.n_frames:
        raise ConfigError(f'bodies: expected {motion.n_frames} frames, got {len(bodies.offsets)}')
    edit = _Edit(motion, constraints, config, bodies)
    initial = edit.percent()
    say = progress or (lambda text, percent: None)
    if config.root_shift:
        edit.shift_root()
    levels: list[LevelReport] = []
    for level in range(config.levels):
        began, spacing = time.perf_counter(), config.frames_per_knot / 2**level
        edit.fit(edit.solve(LEVEL_TOL, LEVEL_ROUNDS), spacing)
        edit.keep_limits()
        edit.stiffen_torso()
        percent = edit.percent()
        took = time.perf_counter() - began
        levels.append(LevelReport(spacing, edit.knots(spacing), took, percent))
        say(f'level {level + 1}', percent)
        if percent <= config.tolerance_percent:
            break
    exact = None
    if config.exact:
        edit.make_exact(edit.solve(EXACT_TOL, EXACT_ROUNDS))
        edit.keep_limits()
        exact = edit.percent()
        say('exact', exact)
    errors = edit.errors()
    edited = edit.body.motion() if constraints else motion
    return EditResult(
        edited,
        tuple(levels),
        exact,
        time.perf_counter() - start,
        len(edit.table.tasks.frames),
        edit.table.count,
        errors,
        initial,
    )
