# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The motion of the joints that carry measured end-effectors as one curve with two derivatives.

Keyframes are solved on the measured motion, or on what is slow of it, and the curve is fitted
through them; what it follows between them depends on the options.

"""

from collections.abc import Sequence

import numpy as np
from puppet_core.arrays import Floats, Ints, Vec3s
from puppet_core.posture import Motion
from puppet_retarget.editing.enhance_config import EnhanceConfig, moves_root
from puppet_retarget.editing.fitted_spline import fit_spline
from puppet_retarget.editing.keyframe_postures import fit_postures, Measured, PostureObjective
from puppet_retarget.editing.posture_jacobian import ANCESTORS, GENERAL_SEGMENTS
from puppet_retarget.editing.rotation_channels import Channels, make_channels
from puppet_retarget.editing.targets import Targets
from scipy.interpolate import BSpline


class MotionCurves:
    """Channels of the joints that move, and of the root's position."""

    def __init__(self, motion: Motion, targets: Targets, config: EnhanceConfig) -> None:
        self.joints = involved_joints(targets)
        self._objective = posture_objective(targets, self.joints, config)
        self.times_s = np.arange(motion.n_frames) / motion.rate_hz
        self._motion = motion
        self._config = config
        listed = list(self.joints)
        self._channels: Channels = make_channels(
            config.channels, motion.rotations[:, listed], self.joints
        )
        self._measured = self._columns(self._channels.values, motion.root_positions)
        if config.detail_s > 0.0:
            knots = free_knots(self.times_s[[0, -1]], config)
            slow = fit_spline(self.times_s, self._measured, free_knots=knots)
            self._measured = slow(self.times_s)
            self._motion = self.motion(slow)

    def solve(self, frames: Sequence[int], goals: Vec3s) -> tuple[Floats, Ints]:
        """Return the channels at keyframes (k, c), and the steps that it took."""
        at = np.asarray(frames, dtype=np.int64)
        motion = self._motion
        measured = Measured(motion.root_positions[at], motion.rotations[at], goals)
        fitted = fit_postures(motion.skeleton, measured, self._objective)
        near = self._channels.near(fitted.rotations[:, list(self.joints)], at)
        return self._columns(near, fitted.root_positions), fitted.iterations

    def fit(
        self, frames: Sequence[int], values: Floats, followed: tuple[Ints, Floats] | None
    ) -> BSpline:
        """
        Return the curve through keyframes.

        Parameters
        ----------
        frames, values : sequence of int, ndarray of shape (k, c)
            Keyframes and what the channels are there.
        followed : tuple of ndarray, optional
            Frames (m,) that the curve follows, and what the channels are there (m, c).

        """
        at = np.asarray(frames, dtype=np.int64)
        keys = self.times_s[at]
        free = free_knots(keys, self._config)
        wanted = self._measured
        if followed is not None:
            known, theirs = followed
            wanted = wanted + _between(len(wanted), known, theirs - wanted[known])
        elif len(free):
            change = fit_spline(
                self.times_s, np.zeros_like(wanted), keys, values - wanted[at]
            )
            wanted = wanted + change(self.times_s)
        return fit_spline(self.times_s, wanted, keys, values, free)

    def motion(self, curve: BSpline) -> Motion:
        """Return the motion of a curve."""
        values = curve(self.times_s)
        values, roots = values[:, :-3], values[:, -3:]
        rotations = np.array(self._motion.rotations)
        listed = list(self.joints)
        rotations[:, listed] = self._channels.rotations(
            values.reshape(len(values), len(listed), -1)
        )
        return Motion.from_rotations(
            self._motion.skeleton, self._motion.rate_hz, roots, rotations
        )

    def _columns(self, values: Floats, roots: Vec3s) -> Floats:
        return np.concatenate((values.reshape(len(values), -1), roots), axis=1)


def _between(n: int, frames: Ints, values: Floats) -> Floats:
    """Return values (m, c) of some frames at all n, linear between them."""
    columns = [np.interp(np.arange(n), frames, column) for column in values.T]
    return np.stack(columns, axis=-1)


def involved_joints(targets: Targets) -> tuple[int, ...]:
    """
    Return the segments whose rotations carry a measured end-effector, the root among them.

    They get curves; the others keep their angles.

    """
    above = ANCESTORS[GENERAL_SEGMENTS[targets.rows]].any(axis=0)
    return tuple(int(joint) for joint in np.flatnonzero(above))


def posture_objective(
    targets: Targets, joints: tuple[int, ...], config: EnhanceConfig
) -> PostureObjective:
    """Return what may move at keyframes: the joints, and the root if told or feet hold it."""
    if moves_root(config.root, targets):
        return PostureObjective(joints, True, config.weight)
    return PostureObjective(joints[1:], False, config.weight)


def free_knots(key_times_s: Floats, config: EnhanceConfig) -> Floats:
    """
    Return the knots of a curve that are no keyframes.

    With detail every gap between keyframes is divided evenly. Without it a joint of segments
    has one before and one after it: each segment so has two freedoms of its own, as the
    paper's whole curve has, and the curve keeps two derivatives over the joint.

    """
    gaps = np.diff(key_times_s)
    if config.detail_s > 0.0:
        counts = np.maximum(np.round(gaps / config.detail_s).astype(np.int64), 1)
        shares = [np.arange(1, count) / count for count in counts]
    else:
        halves = np.zeros(len(gaps), dtype=bool)
        if config.segment:
            joints = np.arange(config.segment, len(gaps), config.segment)
            halves[joints] = halves[joints - 1] = True
        shares = [np.array([0.5]) if half else np.empty(0) for half in halves]
    parts = [start + gap * share for start, gap, share in zip(key_times_s, gaps, shares)]
    return np.concatenate(parts)
