# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Motions made to be played without end, opened by the T-pose that calibration needs."""

from typing import NamedTuple

import numpy as np
from puppet_core.body import Motion, N_SEGMENTS, NO_PROPS, Props
from puppet_core.io import ConfigError
from puppet_core.math import Floats, quaternions, Quats, Vec3s

APPROACH_S = 1.5  # from the T-pose into the clip's first frame
EASE_S = 0.5  # in which playing time gains and loses its speed


class LoopedMotion(NamedTuple):
    """A motion whose last frame is followed by an earlier one."""

    motion: Motion  # All frames
    loop_start: int  # Frame that follows the last one; the ones before it are played once


def smooth_step(u: Floats | float) -> Floats:
    """Return 0 for u <= 0, 1 for u >= 1, between them with two derivatives vanishing at both."""
    u = np.clip(u, 0.0, 1.0)
    return u * u * u * (10.0 + u * (6.0 * u - 15.0))


def clip_loop(motion: Motion, rate_hz: float, t_pose_s: float = 2.0) -> LoopedMotion:
    """
    Return a clip as an endless performance at some rate.

    The T-pose stands for `t_pose_s` where the clip begins and faces where its pelvis faces, then
    moves into the first frame; from there on the clip runs forward and backward for ever. Props
    are where they are in the first frame until then.
    """
    if t_pose_s < 0.0 or not rate_hz > 0.0:
        raise ConfigError(f'expected t_pose_s >= 0 and rate_hz > 0, got {t_pose_s}, {rate_hz}')
    out_and_back = _there_and_back_times((motion.n_frames - 1) / motion.rate_hz, rate_hz)
    loop_roots, loop_rotations = sample(motion, out_and_back)
    roots, rotations = _opening(motion, rate_hz, t_pose_s)
    times_s = np.concatenate((np.zeros(len(roots)), out_and_back))
    looped = Motion.from_rotations(
        motion.skeleton,
        rate_hz,
        np.concatenate((roots, loop_roots)),
        np.concatenate((rotations, loop_rotations)),
        sample_props(motion, times_s),
    )
    return LoopedMotion(looped, len(roots))


def sample(motion: Motion, times_s: Floats) -> tuple[Vec3s, Quats]:
    """
    Return root positions (n, 3) [m] and rotations (n, 16, 4) at any times of a motion.

    Between two frames positions follow the cubic with the slopes of central differences, and
    rotations the spherical one; at the frames both give the frames.
    """
    index, u = _neighbours(motion, times_s)
    root_positions = np.einsum('nk,nkc->nc', _cubic_weights(u), motion.root_positions[index])
    return root_positions, _cubic_rotations(motion.rotations, index, u)


def sample_props(motion: Motion, times_s: Floats) -> Props:
    """Return the props at any times of a motion, by the curves of `sample`."""
    names, positions, orientations = motion.props
    if not names:
        return NO_PROPS
    index, u = _neighbours(motion, times_s)
    places = np.einsum('nk,nkpc->npc', _cubic_weights(u), positions[index])
    return Props(names, places, _cubic_rotations(orientations, index, u))


def _neighbours(motion: Motion, times_s: Floats) -> tuple[np.ndarray, Floats]:
    """Return the four frames around each time, (n, 4), and the fraction between the middle two."""
    position = np.clip(np.asarray(times_s) * motion.rate_hz, 0.0, motion.n_frames - 1.0)
    first = np.minimum(position.astype(np.int64), max(motion.n_frames - 2, 0))
    index = np.clip(first[:, None] + np.arange(-1, 3), 0, motion.n_frames - 1)
    return index, position - first


def rest_rotations(n_frames: int, root: Quats) -> Quats:
    """Return T-pose rotations (n_frames, 16, 4) with the pelvis turned by `root`."""
    rotations = np.zeros((n_frames, N_SEGMENTS, 4))
    rotations[..., 0] = 1.0
    rotations[:, 0] = root
    return rotations


def heading(q: Quats) -> Quats:
    """Return the turn about the vertical that is nearest to the rotations q (..., 4)."""
    turn = np.asarray(q) * (1.0, 0.0, 0.0, 1.0)
    norm = np.linalg.norm(turn, axis=-1, keepdims=True)
    # a pelvis upside down has no heading; face +X then
    return np.where(norm > 1e-6, turn / np.maximum(norm, 1e-6), (1.0, 0.0, 0.0, 0.0))


def _opening(motion: Motion, rate_hz: float, t_pose_s: float) -> tuple[Vec3s, Quats]:
    n_still, n_move = round(t_pose_s * rate_hz), round(APPROACH_S * rate_hz)
    share = smooth_step((np.arange(n_still + n_move) - n_still) / max(n_move, 1))
    first_root, first_rotations = motion.root_positions[0], motion.rotations[0]
    rest_root = np.array([*first_root[:2], motion.skeleton.rest_root_height])
    roots = rest_root + share[:, None] * (first_root - rest_root)
    rest = rest_rotations(1, heading(first_rotations[0]))[0]
    return roots, quaternions.slerp(rest, first_rotations, share[:, None])


def _there_and_back_times(duration_s: float, rate_hz: float) -> Floats:
    """Return the clip's time at each frame of one way out and back, at rest at both ends."""
    ease_s = min(EASE_S, 0.5 * duration_s)
    # playing speed rises by a smooth step over twice the fade, which costs one fade at each end
    one_way_s = duration_s + 2.0 * ease_s
    n = max(round(one_way_s * rate_hz), 1)
    t = np.arange(n) / n * one_way_s
    out = _travelled(t, ease_s) - _travelled(t - (one_way_s - 2.0 * ease_s), ease_s)
    return np.concatenate((out, duration_s - out))


def _travelled(t: Floats | float, ease_s: float) -> Floats:
    """Return the integral of a speed that rises smoothly from 0 at t = 0 to 1 at 2 ease_s."""
    if ease_s == 0.0:
        return np.maximum(t, 0.0)
    u = np.clip(np.asarray(t) / (2.0 * ease_s), 0.0, None)
    inside = np.minimum(u, 1.0)
    # integral of 10 u^3 - 15 u^4 + 6 u^5
    ramp = inside**4 * (2.5 + inside * (inside - 3.0))
    return 2.0 * ease_s * (ramp + np.maximum(u - 1.0, 0.0))


def _cubic_weights(u: Floats) -> Floats:
    """Return the weights of four neighbouring values at fraction u between the middle two."""
    u2, u3 = u * u, u * u * u
    return 0.5 * np.stack(
        (-u + 2.0 * u2 - u3, 2.0 - 5.0 * u2 + 3.0 * u3, u + 4.0 * u2 - 3.0 * u3, u3 - u2), axis=-1
    )


def _cubic_rotations(rotations: Quats, index: np.ndarray, u: Floats) -> Quats:
    """Return the cubic of `_cubic_weights` in rotation vectors about the nearer frame."""
    near = rotations[index[:, 1]]
    rotvecs = np.stack(
        [
            quaternions.log(
                quaternions.multiply(quaternions.conjugate(near), rotations[index[:, k]])
            )
            for k in range(4)
        ],
        axis=1,
    )
    step = np.einsum('nk,nksc->nsc', _cubic_weights(u), rotvecs)
    return quaternions.multiply(near, quaternions.exp(step))
