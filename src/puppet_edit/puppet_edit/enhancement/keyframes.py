# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Keyframes of a motion: which frames they are, and the postures in them.

They are found from contacts and speeds of the measured end-effectors. In this order, each only
if it keeps its distance from those already chosen: the first and the last frame, meetings of
end-effectors, beginnings and ends of foot contacts, frames where an end-effector is slowest
(it turns round or rests), and enough others that no gap is long.

Postures are near the measured one with end-effectors in place. They minimise the objective of
ChoiParkKo eq. 1 for many keyframes at once, by Gauss-Newton steps with analytic Jacobians,
damped where a step does not help:

    G = w1 sum |e - e'|^2 + (1 - w1) sum |log(q'^-1 q)|^2

over the end-effectors e and joint rotations q, with primes on what was measured. The printed
difference of angles depends on the angles chosen; the rotation vector between the measured
rotation and the other does not. Lengths are metres and angles radians: w1 has a unit.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import (
    general_end_effectors,
    LIMB_SEGMENTS,
    MIN_CONTACT_S,
    N_SEGMENTS,
    PARENTS,
    planted_soles,
    Skeleton,
    speeds,
    world_segments,
)
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Ints, quaternions, Quats, Vec3s
from puppet_edit.enhancement.targets import is_measured, MEETING_WITHIN_M, Targets
from puppet_edit.scene import stretches
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks

SMOOTHING_S = 0.05  # of positions before speeds are taken; noise of measurements is faster
PROMINENCE = 0.15  # of an end-effector's high speeds: a slow moment is at least so much slower
LEAST_S, MOST_S = 0.1, 0.5  # between two keyframes
MAX_SPACING_S = 1e4
_FEET = (2, 3)  # rows of the general end-effectors

END, MEETING, CONTACT, SLOW, GAP, ERROR = 'end', 'meeting', 'contact', 'slow', 'gap', 'error'


def choose_keyframes(
    targets: Targets, rate_hz: float, least_s: float = LEAST_S, most_s: float = MOST_S
) -> dict[int, str]:
    """
    Return the keyframes in order, each with the reason for it.

    Two are `least_s` apart or more, and `most_s` or less. Raises ConfigError if that cannot be.
    """
    if not 0.0 < least_s <= most_s <= MAX_SPACING_S:
        wanted = f'0 < least <= most <= {MAX_SPACING_S:g}'
        raise ConfigError(f'keyframe spacing: expected {wanted}, got {least_s:g} and {most_s:g} s')
    n = len(targets.positions)
    least, most = max(1, round(least_s * rate_hz)), max(1, round(most_s * rate_hz))
    chosen = {0: END, n - 1: END}
    for frame, reason in _candidates(targets, rate_hz):
        if all(abs(frame - other) >= least for other in chosen):
            chosen[frame] = reason
    for first, last in pairwise(sorted(chosen)):
        pieces = -(-(last - first) // most)
        for frame in np.linspace(first, last, pieces + 1)[1:-1]:
            near = _measured_near(targets, round(frame), first, last)
            if near is not None:
                chosen[near] = GAP
    return dict(sorted(chosen.items()))


def given_keyframes(frames: Sequence[int], n_frames: int) -> dict[int, str]:
    """Return keyframes that a user names, with the first and last frame; raise ConfigError."""
    for frame in frames:
        if not 0 <= frame < n_frames:
            raise ConfigError(f'keyframes: expected 0 .. {n_frames - 1}, got {frame}')
    named = dict.fromkeys(frames, 'given')
    return dict(sorted(({0: END, n_frames - 1: END} | named).items()))


def worst_frames(
    errors: Floats, keyframes: Sequence[int], tolerance: float, least: int
) -> list[int]:
    """
    Return the frame of largest error in each gap between keyframes, where it is too large.

    A keyframe keeps `least` frames from the others.
    """
    found = []
    for first, last in pairwise(keyframes):
        inside = errors[first + least : last - least + 1]
        if last - first >= 2 * least and inside.max() > tolerance:
            found.append(first + least + int(np.argmax(inside)))
    return found


def _candidates(targets: Targets, rate_hz: float) -> Iterator[tuple[int, str]]:
    smooth = _smoothed(targets.positions, SMOOTHING_S * rate_hz)
    seen = targets.measured
    for meeting in targets.meetings:
        distances = meeting.distances(smooth)
        near = seen[:, meeting.pair].all(axis=1)
        near &= distances < meeting.distance_m + MEETING_WITHIN_M
        for first, last in stretches(near):
            yield first + int(np.argmin(distances[first:last])), MEETING
    for row in (row for row in _FEET if targets.rows[row]):
        planted = planted_soles(smooth[:, [row, row]], rate_hz)[:, 0]
        for first, last in stretches(planted & seen[:, row]):
            if last - first >= MIN_CONTACT_S * rate_hz:
                yield from ((first, CONTACT), (last - 1, CONTACT))
    slow: list[tuple[float, int]] = []
    for row in np.flatnonzero(targets.rows).tolist():
        speed = speeds(smooth[:, row], rate_hz)[1:]
        if not len(speed):
            continue
        lowest, shape = find_peaks(-speed, prominence=PROMINENCE * np.percentile(speed, 90))
        slow += [
            (-float(prominence), int(low) + 1)
            for low, prominence in zip(lowest, shape['prominences'])
            if seen[low + 1, row]
        ]
    # the most marked ones first
    yield from ((frame, SLOW) for _, frame in sorted(slow))


def _smoothed(positions: Vec3s, sigma: float) -> Vec3s:
    """Return positions without gaps and without fast noise."""
    n = len(positions)
    filled = np.zeros_like(positions)
    for row in range(positions.shape[1]):
        good = is_measured(positions[:, row])
        if good.any():
            frames = np.flatnonzero(good)
            for k in range(3):
                filled[:, row, k] = np.interp(np.arange(n), frames, positions[good, row, k])
    return gaussian_filter1d(filled, max(sigma, 1e-3), axis=0, mode='nearest')


def _measured_near(targets: Targets, frame: int, first: int, last: int) -> int | None:
    """Return the frame next to one, between two others, in which most was measured."""
    counts = targets.measured[first + 1 : last].sum(axis=1)
    if not counts.any():
        return None
    frames = np.arange(first + 1, last)
    best = frames[counts == counts.max()]
    return int(best[np.argmin(np.abs(best - frame))])


GENERAL_SEGMENTS = np.concatenate((LIMB_SEGMENTS[:, 2], LIMB_SEGMENTS[:, 1]))
"""The segment that each general end-effector is fixed in, shape (8,)."""

ROOT_LENGTH_M = 0.1  # root displacement that counts as much as one radian of a joint
MAX_ITERATIONS = 60
STEP_TOL = 1e-9  # [rad] and [m]; a step as short as that ends the search
_DAMPING_START, _DAMPING_MAX = 1e-12, 1e6
_N_ANGLES = 3 * N_SEGMENTS


ANCESTORS = np.eye(N_SEGMENTS, dtype=bool)
"""Whether segment j is segment s or above it, shape (16, 16), indexed [s, j]."""
for _segment in range(1, N_SEGMENTS):
    ANCESTORS[_segment] |= ANCESTORS[PARENTS[_segment]]


def point_jacobian(q_world: Quats, p_world: Vec3s, points: Vec3s) -> Floats:
    """
    Return how general end-effectors (n, 8, 3) [m] move with the joints, shape (n, 8, 3, 16, 3).

    Indexed by posture, end-effector, component of its position, joint and component of the joint's
    delta [m/rad]: a joint turned by delta in its segment's frame moves a point below it by
    (R delta) x (point - joint).
    """
    axes = np.swapaxes(quaternions.to_matrix(q_world), -1, -2)  # [n, joint, axis, xyz]
    levers = points[:, :, None] - p_world[:, None]
    turned = np.cross(axes[:, None], levers[:, :, :, None])
    turned *= ANCESTORS[GENERAL_SEGMENTS][:, :, None, None]
    return np.moveaxis(turned, -1, 2)


def right_jacobian_inverse(rotvec: Vec3s) -> Floats:
    """Return the derivative of log(exp(rotvec) exp(delta)) by delta at zero, shape (..., 3, 3)."""
    rotvec = np.asarray(rotvec)
    cross = np.cross(np.eye(3), rotvec[..., None, :])
    angle = np.linalg.norm(rotvec, axis=-1)[..., None, None]
    small = angle < 1e-3
    safe = np.where(small, 1.0, angle)
    # Sola2018 eq. 144 with (1 + cos a) / sin a = cot(a / 2), and its series at zero
    factor = np.where(
        small, 1.0 / 12.0 + angle**2 / 720.0, (1.0 / safe - 0.5 / np.tan(0.5 * safe)) / safe
    )
    return np.eye(3) + 0.5 * cross + factor * (cross @ cross)


class PostureObjective(NamedTuple):
    """What may move, and what it costs."""

    joints: tuple[int, ...]  # Segments whose joints may turn; 0 is the root
    moves_root: bool  # Whether the root's position may change
    # w1 of eq. 1, below 1: at 1 the joints that no end-effector needs would be undecided
    weight: float


class Measured(NamedTuple):
    """What was measured at k instants."""

    root_positions: Vec3s  # Shape (k, 3) [m]
    rotations: Quats  # Shape (k, 16, 4)
    goals: Vec3s  # General end-effectors, shape (k, 8, 3) [m]; NaN where there is none


class FittedPostures(NamedTuple):
    """Minima of G."""

    root_positions: Vec3s  # Shape (k, 3) [m]
    rotations: Quats  # Shape (k, 16, 4)
    values: Floats  # G at the minima, shape (k,)
    iterations: Ints  # Steps that were taken, shape (k,)


def objective_residuals(
    skeleton: Skeleton,
    measured: Measured,
    roots: Vec3s,
    rotations: Quats,
    objective: PostureObjective,
) -> tuple[Floats, Floats]:
    """
    Return residuals whose squares add up to G, and their Jacobian.

    Residuals (k, 24 + 48 + 3) are of end-effectors, joints and root position. The Jacobian
    (k, 75, v) is by the v variables: three for each joint that may turn, in order, then the root's
    position [m] if that may move.
    """
    k = len(roots)
    q_world, p_world = world_segments(skeleton, roots, rotations)
    points = general_end_effectors(skeleton, q_world, p_world)
    wanted = is_measured(measured.goals)[..., None]
    apart = np.where(wanted, points - np.where(wanted, measured.goals, 0.0), 0.0)
    turned = quaternions.log(
        quaternions.multiply(quaternions.conjugate(measured.rotations), rotations)
    )
    moved = (roots - measured.root_positions) / ROOT_LENGTH_M
    near, far = np.sqrt(1.0 - objective.weight), np.sqrt(objective.weight)
    residuals = np.concatenate(
        (far * apart.reshape(k, -1), near * turned.reshape(k, -1), near * moved), axis=1
    )
    jacobian = np.zeros((k, residuals.shape[1], _N_ANGLES + 3))
    by_joints = np.where(wanted[..., None, None], point_jacobian(q_world, p_world, points), 0.0)
    jacobian[:, :24, :_N_ANGLES] = far * by_joints.reshape(k, 24, _N_ANGLES)
    jacobian[:, :24, _N_ANGLES:] = far * (wanted[..., None] * np.eye(3)).reshape(k, 24, 3)
    blocks = near * right_jacobian_inverse(turned)
    for joint in range(N_SEGMENTS):
        rows, columns = slice(24 + 3 * joint, 27 + 3 * joint), slice(3 * joint, 3 * joint + 3)
        jacobian[:, rows, columns] = blocks[:, joint]
    jacobian[:, 24 + _N_ANGLES :, _N_ANGLES:] = near / ROOT_LENGTH_M * np.eye(3)
    return residuals, jacobian[:, :, _variables(objective)]


def fit_postures(
    skeleton: Skeleton, measured: Measured, objective: PostureObjective
) -> FittedPostures:
    """
    Return the postures that minimise G, found from the measured ones.

    Goals out of reach are approached as far as the limbs go. Every step lowers G.
    """
    roots = np.array(measured.root_positions, dtype=np.float64)
    rotations = np.array(measured.rotations, dtype=np.float64)
    k = len(roots)
    residuals, jacobian = objective_residuals(skeleton, measured, roots, rotations, objective)
    values, iterations = np.sum(residuals**2, axis=1), np.zeros(k, dtype=np.int64)
    damping = np.full(k, _DAMPING_START)
    busy = np.arange(k)
    for _ in range(MAX_ITERATIONS):
        if not len(busy):
            break
        slopes = jacobian[busy]
        transposed = np.swapaxes(slopes, 1, 2)
        normal = transposed @ slopes
        normal += damping[busy][:, None, None] * np.eye(normal.shape[1])
        steps = np.linalg.solve(normal, transposed @ residuals[busy][..., None])[..., 0]
        turned = np.asarray(-steps, dtype=np.float64)
        new_roots, new_rotations = _moved(roots[busy], rotations[busy], turned, objective)
        part = Measured(*(array[busy] for array in measured))
        tried, slopes = objective_residuals(skeleton, part, new_roots, new_rotations, objective)
        new_values = np.sum(tried**2, axis=1)
        better = new_values < values[busy]
        kept = busy[better]
        iterations[kept] += 1
        roots[kept], rotations[kept] = new_roots[better], new_rotations[better]
        residuals[kept], jacobian[kept] = tried[better], slopes[better]
        values[kept] = new_values[better]
        damping[busy] = np.where(
            better,
            np.maximum(0.1 * damping[busy], _DAMPING_START),
            np.maximum(10.0 * damping[busy], 1e-6),
        )
        ended = np.max(np.abs(turned), axis=1, initial=0.0) < STEP_TOL
        busy = busy[~ended & (damping[busy] < _DAMPING_MAX)]
    return FittedPostures(roots, rotations, values, iterations)


def _variables(objective: PostureObjective) -> NDArray[np.int64]:
    columns = [3 * joint + i for joint in sorted(objective.joints) for i in range(3)]
    if objective.moves_root:
        columns += range(_N_ANGLES, _N_ANGLES + 3)
    return np.array(columns, dtype=np.int64)


def _moved(
    roots: Vec3s, rotations: Quats, steps: Floats, objective: PostureObjective
) -> tuple[Vec3s, Quats]:
    full = np.zeros((len(roots), _N_ANGLES + 3))
    full[:, _variables(objective)] = steps
    turns = quaternions.exp(full[:, :_N_ANGLES].reshape(-1, N_SEGMENTS, 3))
    turned = quaternions.normalize(quaternions.multiply(rotations, turns))
    return roots + full[:, _N_ANGLES:], turned
