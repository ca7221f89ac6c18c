# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The motion of the joints that carry measured end-effectors as one curve with two derivatives.

Channels are numbers that curves can be fitted to. Rotation vectors: q = exp(axis psi) centre
exp(r), with the joint's mean as centre and whole turns about a fixed axis in psi. Euler angles:
the three that lock least for each joint. Both are continuous and not reduced to one turn.

ChoiParkKo section 4: a cubic spline through n keyframes depends linearly on its two end
derivatives (eq. 2), which are fitted to what was measured in between (eq. 3); free knots add more
such freedoms. Here the curve is written in B-splines, whose matrices are sparse, and the fit is
one linear system with the keyframes as constraints. The printed (X^T X)^-1 does not exist where
every frame is a keyframe; of several best curves the one that bends least is chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from puppet_core.body import GENERAL_END_EFFECTORS, Motion, SEGMENTS
from puppet_core.clips import euler_to_quats, quats_to_continuous_euler
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Ints, Quats, Vec3s
from puppet_core.math import quaternions as qb
from puppet_edit.enhancement.keyframes import ANCESTORS, fit_postures, GENERAL_SEGMENTS
from puppet_edit.enhancement.targets import Targets
from scipy import sparse
from scipy.interpolate import BSpline
from scipy.sparse.linalg import splu

ROTVEC, EULER = 'rotvec', 'euler'
MAX_ROTVEC = 1.8 * np.pi  # [rad] about the centre; at 2 pi the vectors lose their direction
SPLIT_ROTVEC = 1.1 * np.pi  # [rad] about the centre; beyond it an axis of turning may help
# Intrinsic axes, x forward, y left, z up; the middle one locks at a quarter turn, so it is the
# one about which the joint turns least far.
_EULER_AXES = {
    'pelvis': (2, 1, 0),
    'thigh': (2, 0, 1),
    'shank': (2, 0, 1),
    'foot': (2, 0, 1),
    'forearm': (2, 0, 1),
    'hand': (0, 2, 1),
}
_OTHER_EULER_AXES = (0, 1, 2)


class RotvecChannels:
    """Turn about a fixed axis and rotation vector: four numbers a joint."""

    def __init__(self, rotations: Quats, joints: Sequence[int]) -> None:
        # an axis of turning only where vectors alone are long: a joint that wobbles has a net
        # turn too, without turning round
        axes, turns = _turning(rotations)
        about = [_about_mean(rotations)]
        about.append(_about_mean(qb.multiply(qb.exp(-turns[..., None] * axes), rotations)))
        plain, along = (_longest(_long_log(quats)) for _, quats in about)
        split = (plain > SPLIT_ROTVEC) & (along < plain)
        self._axes = np.where(split[:, None], axes, 0.0)
        self._turns = np.where(split, turns, 0.0)
        self._centres, self._quats = (np.where(split[:, None], b, a) for a, b in zip(*about))
        vectors = _long_log(self._quats)
        lengths = _longest(vectors)
        if np.any(lengths > MAX_ROTVEC):
            worst = int(np.argmax(lengths))
            most, got = np.degrees((MAX_ROTVEC, lengths[worst]))
            wanted = f'a joint that turns at most {most:.0f} degrees from its mean'
            name, hint = SEGMENTS[joints[worst]], f'choose {EULER} channels'
            raise ConfigError(f'{name}: expected {wanted}, got {got:.0f}; {hint}')
        # The numbers of these rotations, shape (n, joints, 4) [rad]
        self.values: Floats = np.concatenate((self._turns[..., None], vectors), axis=-1)

    def near(self, rotations: Quats, frames: Ints) -> Floats:
        """Return numbers of other rotations (k, joints, 4), next to those of some frames."""
        turns = self._turns[frames]
        rest = qb.multiply(qb.exp(-turns[..., None] * self._axes), rotations)
        quats = qb.multiply(qb.conjugate(self._centres), rest)
        dots = np.sum(quats * self._quats[frames], axis=-1, keepdims=True)
        vectors = _long_log(np.where(dots < 0.0, -quats, quats))
        return np.concatenate((turns[..., None], vectors), axis=-1)

    def rotations(self, values: Floats) -> Quats:
        """Return what numbers (..., joints, 4) stand for, shape (..., joints, 4)."""
        turn = qb.exp(values[..., :1] * self._axes)
        return qb.multiply(turn, qb.multiply(self._centres, qb.exp(values[..., 1:])))


class EulerChannels:
    def __init__(self, rotations: Quats, joints: Sequence[int]) -> None:
        names = [SEGMENTS[joint].split('_', 1)[-1] for joint in joints]
        self._axes = [_EULER_AXES.get(name, _OTHER_EULER_AXES) for name in names]
        triples = [
            quats_to_continuous_euler(rotations[:, i : i + 1], axes)
            for i, axes in enumerate(self._axes)
        ]
        self.values: Floats = np.concatenate(triples, axis=1)
        """The numbers of these rotations, shape (n, joints, 3) [rad]."""

    def near(self, rotations: Quats, frames: Ints) -> Floats:
        """Return numbers of other rotations (k, joints, 4), next to those of some frames."""
        out = np.empty((len(frames), len(self._axes), 3))
        for i, axes in enumerate(self._axes):
            triples = quats_to_continuous_euler(rotations[None, :, i], axes)[0]
            others = triples + [np.pi, 0.0, np.pi]
            others[:, 1] = np.pi - triples[:, 1]
            wanted = self.values[frames, i]
            both = [_nearest_turn(angles, wanted) for angles in (triples, others)]
            gaps = [np.abs(angles - wanted).sum(axis=1, keepdims=True) for angles in both]
            out[:, i] = np.where(gaps[0] <= gaps[1], both[0], both[1])
        return out

    def rotations(self, values: Floats) -> Quats:
        """Return what numbers (..., joints, 3) stand for, shape (..., joints, 4)."""
        parts = [euler_to_quats(axes, values[..., i, :]) for i, axes in enumerate(self._axes)]
        return np.stack(parts, axis=-2)


Channels = RotvecChannels | EulerChannels
CHANNEL_KINDS: Mapping[str, type[Channels]] = {ROTVEC: RotvecChannels, EULER: EulerChannels}


def _turning(rotations: Quats) -> tuple[Vec3s, Floats]:
    """Return the axis of each joint's net turn (joints, 3) and the turn about it (n, joints)."""
    steps = qb.log(qb.multiply(rotations[1:], qb.conjugate(rotations[:-1])))
    net = steps.sum(axis=0)
    axes = net / np.maximum(np.linalg.norm(net, axis=-1, keepdims=True), 1e-12)
    turns = np.zeros(rotations.shape[:2])
    turns[1:] = np.cumsum(np.sum(steps * axes, axis=-1), axis=0)
    return axes, turns


def _about_mean(rotations: Quats) -> tuple[Quats, Quats]:
    """Return the mean of each joint, and rotations about it, with signs continuous in time."""
    # the eigenvector of largest eigenvalue of sum q q^T does not care for signs
    _, vectors = np.linalg.eigh(np.einsum('nja,njb->jab', rotations, rotations))
    centres = np.ascontiguousarray(vectors[..., -1])
    quats = qb.align_signs(qb.multiply(qb.conjugate(centres), rotations))
    # both signs are the same rotation: take the one that is near the identity for longest
    flips = np.where(quats[..., 0].sum(axis=0) < 0.0, -1.0, 1.0)
    return centres, flips[:, None] * quats


def _longest(vectors: Vec3s) -> Floats:
    """Return the longest rotation vector of each joint, shape (joints,) [rad]."""
    return np.linalg.norm(vectors, axis=-1).max(axis=0)


def _long_log(quats: Quats) -> Vec3s:
    """Return rotation vectors up to a whole turn long: q and -q have different ones."""
    sine = np.linalg.norm(quats[..., 1:], axis=-1, keepdims=True)
    small = sine < 1e-8
    angle = 2.0 * np.arctan2(sine, quats[..., :1])
    scale = np.where(small, 2.0, angle / np.where(small, 1.0, sine))
    return scale * quats[..., 1:]


def _nearest_turn(angles: Floats, reference: Floats) -> Floats:
    return angles - 2.0 * np.pi * np.round((angles - reference) / (2.0 * np.pi))


DEGREE = 3
BENDING_SHARE = 1e-11  # of the misfit's scale: decides only what measurements leave open
_GAUSS = 0.5 / np.sqrt(3.0)  # two points integrate the square of a piecewise linear function

AUTO, FIXED, FREE = 'auto', 'fixed', 'free'
MIN_DETAIL_S = 1e-3  # knots closer than frames ever are
ROOT_CHOICES = (AUTO, FIXED, FREE)


def fit_spline(
    times: Floats,
    measured: Floats,
    key_times: Floats | None = None,
    key_values: Floats | None = None,
    free_knots: Floats | None = None,
) -> BSpline:
    """
    Return the curve through keyframes that is nearest to measurements.

    Channels (n, c) were measured at rising times (n,), the ends of the curve among them; it takes
    `key_values` (k, c) at `key_times` (k,) and has further knots at `free_knots` (m,) inside.
    """
    keys = np.empty(0) if key_times is None else np.asarray(key_times, dtype=np.float64)
    free = np.empty(0) if free_knots is None else np.asarray(free_knots, dtype=np.float64)
    first, last = times[0], times[-1]
    inner = np.unique(np.concatenate((keys, free)))
    inner = inner[(inner > first) & (inner < last)]
    knots = np.concatenate(([first] * 4, inner, [last] * 4))
    design = BSpline.design_matrix(times, knots, DEGREE)
    bending = _bending_matrix(knots)
    normal = (design.T @ design).tocsc()
    share = BENDING_SHARE * normal.diagonal().sum() / bending.diagonal().sum()
    system, right = normal + share * bending, design.T @ measured
    if key_values is not None and len(keys):
        fixed = BSpline.design_matrix(keys, knots, DEGREE)
        system = sparse.bmat([[system, fixed.T], [fixed, None]], format='csc')
        right = np.concatenate((right, key_values))
    coefficients = splu(system).solve(right)[: len(knots) - DEGREE - 1]
    return BSpline(knots, coefficients, DEGREE)


def _bending_matrix(knots: Floats) -> sparse.csc_matrix:
    """Return the matrix of the integral of the squared second derivative of a cubic spline."""
    first = _derivative_matrix(knots, 3)
    second = _derivative_matrix(knots[1:-1], 2) @ first
    breaks = np.unique(knots)
    middles, widths = 0.5 * (breaks[1:] + breaks[:-1]), np.diff(breaks)
    points = np.concatenate((middles - _GAUSS * widths, middles + _GAUSS * widths))
    hats = BSpline.design_matrix(points, knots[2:-2], 1) @ second
    weights = sparse.diags(0.5 * np.concatenate((widths, widths)))
    return (hats.T @ weights @ hats).tocsc()


def _derivative_matrix(knots: Floats, degree: int) -> sparse.csr_matrix:
    """Return the matrix that makes coefficients of the derivative, of one degree less."""
    count = len(knots) - degree - 1
    scale = degree / (knots[degree + 1 : degree + count] - knots[1:count])
    return sparse.diags([-scale, scale], [0, 1], shape=(count - 1, count), format='csr')


_FEET = [GENERAL_END_EFFECTORS.index(name) for name in ('left_foot', 'right_foot')]


@dataclass(frozen=True, slots=True)
class EnhanceConfig:
    weight: float = 0.999999  # w1 of eq. 1, for metres and radians
    channels: str = ROTVEC  # Numbers that curves are fitted to
    detail_s: float = 0.05  # Spacing of free knots [s]; 0 for none, the paper's curve
    follow: bool = True  # With detail: whether end-effectors are followed between keyframes
    segment: int = 0  # Without detail: keyframes of each segment; 0 for one segment
    root: str = AUTO  # Whether it may move; auto: if a foot is measured, so that feet stay put
    tolerance_m: float = 0.0  # Errors above it get a keyframe of their own [m]; 0 for none
    least_s: float = 0.1  # Between two keyframes that are added [s]

    def __post_init__(self) -> None:
        if not 0.0 <= self.weight < 1.0:
            raise ConfigError(f'weight: expected 0.0 <= value < 1.0, got {self.weight}')
        for name, high in (('detail_s', 60.0), ('tolerance_m', 10.0), ('segment', 10**6)):
            if not 0.0 <= getattr(self, name) <= high:
                raise ConfigError(f'{name}: expected 0 .. {high:g}, got {getattr(self, name)}')
        if 0.0 < self.detail_s < MIN_DETAIL_S:
            wanted = f'0 or at least {MIN_DETAIL_S:g}'
            raise ConfigError(f'detail_s: expected {wanted}, got {self.detail_s}')


DEFAULT_CONFIG = EnhanceConfig()


def moves_root(root: str, targets: Targets) -> bool:
    """Return whether the root gives way: if configured, or by default if a foot is measured."""
    return root == FREE or (root == AUTO and bool(targets.rows[_FEET].any()))


class MotionCurves:
    """Channels of the joints that move, and of the root's position."""

    def __init__(self, motion: Motion, targets: Targets, config: EnhanceConfig) -> None:
        # what carries a measured end-effector gets curves, the root too; others keep their angles
        carrying = ANCESTORS[GENERAL_SEGMENTS[targets.rows]].any(axis=0)
        self.joints: tuple[int, ...] = tuple(np.flatnonzero(carrying).tolist())
        self._moves_root = moves_root(config.root, targets)
        self.times_s = np.arange(motion.n_frames) / motion.rate_hz
        self._motion = motion
        self._config = config
        listed = list(self.joints)
        self._channels = CHANNEL_KINDS[config.channels](motion.rotations[:, listed], self.joints)
        self._measured = self._columns(self._channels.values, motion.root_positions)
        if config.detail_s > 0.0:
            knots = free_knots(self.times_s[[0, -1]], config)
            slow = fit_spline(self.times_s, self._measured, free_knots=knots)
            self._measured = slow(self.times_s)
            self._motion = self.motion(slow)

    def solve(self, frames: Sequence[int], goals: Vec3s) -> Floats:
        """Return the channels at keyframes (k, c)."""
        at = np.asarray(frames, dtype=np.int64)
        how = self._config.weight, self._moves_root
        roots, rotations = fit_postures(self._motion, at, goals, *how)
        near = self._channels.near(rotations[:, list(self.joints)], at)
        return self._columns(near, roots)

    def fit(
        self, frames: Sequence[int], values: Floats, followed: tuple[Ints, Floats] | None
    ) -> BSpline:
        """
        Return the curve through keyframes with channels (k, c).

        `followed` are further frames (m,) and channels (m, c) that the curve only follows.
        """
        at = np.asarray(frames, dtype=np.int64)
        keys = self.times_s[at]
        free = free_knots(keys, self._config)
        wanted = self._measured
        if followed is not None:
            known, theirs = followed
            wanted = wanted + _between(len(wanted), known, theirs - wanted[known])
        elif len(free):
            change = fit_spline(self.times_s, np.zeros_like(wanted), keys, values - wanted[at])
            wanted = wanted + change(self.times_s)
        return fit_spline(self.times_s, wanted, keys, values, free)

    def motion(self, curve: BSpline) -> Motion:
        values = curve(self.times_s)
        values, roots = values[:, :-3], values[:, -3:]
        rotations = np.array(self._motion.rotations)
        listed = list(self.joints)
        by_joint = values.reshape(len(values), len(listed), -1)
        rotations[:, listed] = self._channels.rotations(by_joint)
        return Motion.from_rotations(self._motion.skeleton, self._motion.rate_hz, roots, rotations)

    def _columns(self, values: Floats, roots: Vec3s) -> Floats:
        return np.concatenate((values.reshape(len(values), -1), roots), axis=1)


def _between(n: int, frames: Ints, values: Floats) -> Floats:
    """Return values (m, c) of some frames at all n, linear between them."""
    columns = [np.interp(np.arange(n), frames, column) for column in values.T]
    return np.stack(columns, axis=-1)


def free_knots(key_times_s: Floats, config: EnhanceConfig) -> Floats:
    """
    Return the knots of a curve that are no keyframes.

    With detail every gap is divided evenly, else a joint of segments has one before and one after
    it.
    """
    gaps = np.diff(key_times_s)
    counts = np.ones(len(gaps), dtype=np.int64)
    if config.detail_s > 0.0:
        counts = np.maximum(np.round(gaps / config.detail_s).astype(np.int64), 1)
    elif config.segment:
        joints = np.arange(config.segment, len(gaps), config.segment)
        counts[joints] = counts[joints - 1] = 2
    parts = [
        start + gap * (np.arange(1, count) / count)
        for start, gap, count in zip(key_times_s, gaps, counts)
    ]
    return np.concatenate(parts)
