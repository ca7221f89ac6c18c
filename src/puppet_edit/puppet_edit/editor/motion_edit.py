# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The motion editor of LeeShin1999: constraints met, the detail of the motion kept.

Algorithm 1: at each level the constrained frames are solved from the motion so far, and a B-spline
that fits the displacements, of half the knot spacing of the level before, displaces all frames:
m_h = ((m_0 + d_1) + d_2) ... (eq. 3). Control point j is at knot j - 1 (section 3.2).

Section 4.4 ends with every constrained frame put right by itself; the frames next to them must
come along, so the exact displacement interpolates, bends least of all that do, and is zero some
frames away from any constraint. Of a frame only those joints count that its constraints depend on,
the torso little where these are all of limbs.
"""

from collections.abc import Callable, Sequence
import math
import time

import numpy as np
from puppet_core.body import GENERAL_END_EFFECTORS, LIMB_SEGMENTS, Motion, N_SEGMENTS, Skeleton
from puppet_core.math import Floats, Ints, Quats, Vec3s
from puppet_core.math import quaternions as qb
from puppet_edit.editor.constraint_kernels import (
    displace,
    ITEM,
    keep_limits,
    LIMIT,
    N_UNKNOWNS,
    place_poses,
    POINT,
    POSE,
)
from puppet_edit.editor.constraint_table import ConstraintTable, DECIDED_M
from puppet_edit.editor.constraints import (
    Bodies,
    body_height,
    BodyPoint,
    Constraint,
    EditConfig,
    EditResult,
    FULL,
    LevelReport,
)
from puppet_edit.editor.pose_solver_kernels import (
    FrameTasks,
    PENALTY,
    solve_frames,
    SolverOptions,
    workspace,
)
from scipy import sparse
from scipy.interpolate import BSpline
from scipy.ndimage import distance_transform_edt
from scipy.sparse.linalg import splu

DEFAULT_CONFIG = EditConfig()
LEVEL_TOL, EXACT_TOL, POINTS_TOL = 1e-5, 1e-8, 1e-16  # fall of g at which a frame is solved
POINTS_ITERATIONS = 60
# Rounds of solving and deciding again where planes and places are: a level leaves that to the next
LEVEL_ROUNDS, EXACT_ROUNDS = 1, 2
# Fits of the root's shift, all by the coarsest knots: finer ones would jump from foot to foot.
SHIFT_FITS = 3
TORSO_ROWS = 5  # of the rigidities: root position, pelvis, spine, chest, head
STIFFER = 2.0  # torso from level to level, or it would jerk from contact to contact
EXACT_REACH = 4.0  # knots of the last level until the exact pass has faded out


def basis(frames: Ints, spacing: float, n_points: int) -> sparse.csr_matrix:
    """Return the weights of control points at some frames, shape (k, n_points)."""
    knots = spacing * (np.arange(n_points + 4) - 3.0)
    return BSpline.design_matrix(np.asarray(frames, dtype=np.float64), knots, 3)


def fit_control_points(
    frames: Ints, goals: Floats, weights: Floats, spacing: float, n_points: int
) -> Floats:
    """
    Return the control points of a B-spline lattice that locally fit values at some frames best.

    LeeShin1999 eq. 2, where the denominator of beta is the sum of squares (errata 9): a single
    value then is interpolated. `goals` (k, 3 g) are in groups of three, `weights` (k, g) 0 where a
    group has no value. At least floor((n - 1) / spacing) + 4 points for n frames; those that no
    value reaches are zero.
    """
    omega = basis(frames, spacing, n_points)
    squares = omega.power(2)
    betas = sparse.diags(1.0 / np.asarray(squares.sum(axis=1)).ravel()) @ omega.power(3)
    total = np.repeat(squares.T @ weights, 3, axis=1)
    top = betas.T @ (np.repeat(weights, 3, axis=1) * goals)
    return np.divide(top, total, out=np.zeros_like(top), where=total > 0.0)


def exact_displacement(
    frames: Ints, goals: Floats, weights: Floats, n_frames: int, reach: int
) -> Floats:
    """Return a displacement map (n_frames, 3 g) through values, faded out `reach` frames away."""
    out = np.zeros((n_frames, goals.shape[1]))
    alike: dict[bytes, list[int]] = {}
    for group, has in enumerate(weights.T > 0.0):
        alike.setdefault(has.tobytes(), []).append(group)
    for groups in alike.values():
        columns = (3 * np.array(groups)[:, None] + np.arange(3)).reshape(-1)
        given = np.flatnonzero(weights[:, groups[0]])
        if len(given):
            out[:, columns] = least_bent(frames[given], goals[given][:, columns], n_frames, reach)
    return out


def least_bent(frames: Ints, goals: Floats, n_frames: int, reach: int) -> Floats:
    """
    Return the curves (n_frames, c) through values (k, c) at some rising frames that bend least.

    Of all that agree at those frames and are zero at frames at least `reach` away from them, it
    has the least sum of squared second differences.
    """
    out = np.zeros((n_frames, goals.shape[1]))
    out[frames] = goals
    distance = distance_transform_edt(~np.isin(np.arange(n_frames), frames))
    free = np.flatnonzero((distance > 0) & (distance < reach))
    if not np.any(goals) or not len(free):
        return out
    n_bends = max(n_frames - 2, 0)
    bend = sparse.diags([1.0, -2.0, 1.0], [0, 1, 2], shape=(n_bends, n_frames), format='csc')
    by_free = bend[:, free]
    system = by_free.T @ by_free + 1e-12 * sparse.identity(len(free))
    out[free] = splu(system.tocsc()).solve(-by_free.T @ (bend @ out))
    return out


def placed_poses(motion: Motion, bodies: Bodies) -> np.ndarray:
    """Return the postures of a motion with their forward kinematics, POSE (n,)."""
    poses = np.zeros(motion.n_frames, POSE)
    poses['root'], poses['rotations'] = motion.root_positions, motion.rotations
    place_poses(np.array(bodies.offsets), poses)
    return poses


class _Edit:
    def __init__(
        self, motion: Motion, constraints: Sequence[Constraint], config: EditConfig, bodies: Bodies
    ) -> None:
        self._config, self._motion, self._bodies = config, motion, bodies
        self._poses = placed_poses(motion, bodies)
        self._before = self._poses.copy()
        self.table = ConstraintTable(constraints, self._poses, bodies, config, motion.skeleton)
        height = config.body_height_m or body_height(motion.skeleton)
        self._percent = 100.0 / height
        self._n_frames, self._frames = motion.n_frames, self.table.tasks.frames
        self._solved, self._work = np.zeros(len(self._frames), POSE), workspace()
        self._weights = np.empty((len(self._frames), N_UNKNOWNS // 3))

    def errors(self) -> Floats:
        return self.table.errors(self._poses)

    def percent(self) -> float:
        """Return the largest of all, of the body's height."""
        return float(self.errors().max(initial=0.0)) * self._percent

    def knots(self, spacing: float) -> int:
        return int(math.floor((self._n_frames - 1) / spacing)) + 4

    def shift_root(self) -> None:
        """Let the root go along with the contacts, smoothly (LeeShin1999 section 4.5)."""
        frames, rest = self.table.shifts(self._poses)
        if not len(frames):
            return
        displacements = np.zeros((self._n_frames, N_UNKNOWNS))
        ones = np.ones((len(frames), 1))
        for _ in range(SHIFT_FITS):
            curve = self._fitted(frames, rest, ones, self._config.frames_per_knot)
            displacements[:, :3] += curve
            rest = rest - curve[frames]
        self._displace(displacements)
        self.table.update(self._poses)

    def solve(self, tolerance: float, rounds: int) -> Floats:
        """Return displacements that put the constrained frames right, after `errors`, (k, 51)."""
        config, poses, solved = self._config, self._poses, self._solved
        options = SolverOptions(config.solver == FULL, config.max_iterations, tolerance)
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
        self._displace(self._fitted(self._frames, displacements, self._weights, spacing))

    def make_exact(self, displacements: Floats) -> None:
        """Displace the motion by exactly these at constrained frames."""
        finest = self._config.frames_per_knot / 2 ** max(self._config.levels - 1, 0)
        reach = max(int(math.ceil(EXACT_REACH * finest)), 2)
        given = (self._frames, displacements, self._weights)
        self._displace(exact_displacement(*given, self._n_frames, reach))

    def keep_limits(self) -> None:
        """Bring joints that the displacements took beyond their limits back."""
        if self._config.joint_limits:
            keep_limits(self.table.tasks.limits, self._before, self._poses)
            place_poses(self.table.tasks.offsets, self._poses)

    def motion(self) -> Motion:
        """Return what has become of the motion, with the end-effectors of its angles."""
        poses, motion = self._poses, self._motion
        q_world, p_world = poses['q_world'], poses['p_world']
        ends, middles = LIMB_SEGMENTS[:, 2], LIMB_SEGMENTS[:, 1]
        tips = p_world[:, ends] + qb.rotate(q_world[:, ends], self._bodies.interaction_points)
        points = np.concatenate((tips, p_world[:, middles]), axis=1)
        roots, rotations = poses['root'].copy(), poses['rotations'].copy()
        return Motion(motion.skeleton, motion.rate_hz, roots, rotations, points)

    def _displace(self, displacements: Floats) -> None:
        displace(displacements, self._poses)
        place_poses(self.table.tasks.offsets, self._poses)

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

    Errors are lengths; of a direction the arc at a lever of `LEVER_M`, of a plant the distance of
    a point from its mean place. `progress` is called after each level with what was done and the
    maximum error in percent. `bodies` are lengths of each frame, if the character changes.
    """
    start = time.perf_counter()
    if bodies is None:
        bodies = Bodies.constant(motion.skeleton, motion.n_frames)
    edit = _Edit(motion, constraints, config, bodies)
    initial = edit.percent()
    if config.root_shift:
        edit.shift_root()
    levels: list[LevelReport] = []
    for level in range(config.levels):
        began, spacing = time.perf_counter(), config.frames_per_knot / 2**level
        edit.fit(edit.solve(LEVEL_TOL, LEVEL_ROUNDS), spacing)
        edit.keep_limits()
        edit.table.tasks.rigidity[:TORSO_ROWS] *= STIFFER
        percent = edit.percent()
        took = time.perf_counter() - began
        levels.append(LevelReport(spacing, edit.knots(spacing), took, percent))
        if progress is not None:
            progress(f'level {level + 1}', percent)
        if percent <= config.tolerance_percent:
            break
    exact = None
    if config.exact:
        edit.make_exact(edit.solve(EXACT_TOL, EXACT_ROUNDS))
        edit.keep_limits()
        exact = edit.percent()
        if progress is not None:
            progress('exact', exact)
    errors = edit.errors()
    edited = edit.motion() if constraints else motion
    took, n_frames = time.perf_counter() - start, len(edit.table.tasks.frames)
    count = edit.table.count
    return EditResult(edited, tuple(levels), exact, took, n_frames, count, errors, initial)


def solve_points(
    skeleton: Skeleton,
    roots: Vec3s,
    rotations: Quats,
    goals: Vec3s,
    weight: float,
    rigidity: Floats,
) -> tuple[Vec3s, Quats]:
    """
    Return postures with their general end-effectors near goals, each solved by itself.

    Roots (k, 3) [m] and rotations (k, 16, 4) that minimise `weight` times the squared distances
    from the goals (k, 8, 3) [m], NaN where there is none, and the squared changes of the root's
    position and the joints, times `rigidity` (17,) [1 and m^2/rad^2].
    """
    named = [BodyPoint.named(name) for name in GENERAL_END_EFFECTORS]
    places = np.array([point.offset_in(skeleton.interaction_points) for point in named])
    frames, rows = np.nonzero(np.isfinite(goals).all(axis=-1))
    items = np.zeros(len(frames), ITEM)
    items['frame'], items['kind'], items['mask'], items['weight'] = frames, POINT, 1.0, weight
    items['segment'] = np.array([point.segment for point in named])[rows]
    items['offset'], items['goal'][:, :3] = places[rows], goals[frames, rows]
    poses = np.zeros(len(roots), POSE)
    poses['root'], poses['rotations'] = roots, rotations
    offsets = np.tile(skeleton.offsets, (len(roots), 1, 1))
    place_poses(offsets, poses)
    chosen, starts = np.unique(frames, return_index=True)
    ends = np.append(starts, len(items))
    limits = np.zeros(N_SEGMENTS, LIMIT)
    tasks = FrameTasks(chosen, ends, items, offsets, PENALTY * rigidity, limits)
    options = SolverOptions(True, POINTS_ITERATIONS, POINTS_TOL)
    solved, weights = poses[chosen], np.empty((len(chosen), N_SEGMENTS + 1))
    solve_frames(tasks, poses, options, workspace(), solved, weights)
    poses[chosen] = solved
    return poses['root'], poses['rotations']
