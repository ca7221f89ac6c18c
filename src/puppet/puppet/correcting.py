# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Correct motion: constraints met, measured hands and feet, noisy sensors."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from puppet.clips import load_character, load_clip
from puppet_core.body import GENERAL_END_EFFECTORS, Motion
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Quats, Vec3s
from puppet_core.sensor_frames import SAMPLE_MISSING, SAMPLE_OK, SensorFrame
from puppet_edit import enhancement
from puppet_edit.edit_file import load_edit, Readers
from puppet_edit.editor import edit_motion
from puppet_filter.parameters import PoseFilterConfig
from puppet_filter.pose_filter import PoseFilter


class FilteredPoses(NamedTuple):
    """Filtered poses of sensors with their velocities, one row a frame."""

    positions: Vec3s  # (n, s, 3) [m]
    orientations: Quats  # (n, s, 4), unit
    linear_velocities: Vec3s  # (n, s, 3) [m/s]
    angular_velocities: Vec3s  # in world, (n, s, 3) [rad/s]


def edit(motion: Motion, path: str | Path) -> Motion:
    """
    Return a motion that meets the constraints of a puppet-edit file (LeeShin1999).

    Raises PuppetError if the file cannot be read or does not fit the motion.

    Examples
    --------
    >>> walk = load_clip('walk')
    >>> reach = edit(walk, sample('walk').with_name('reach.yaml'))
    >>> reach.n_frames == walk.n_frames
    True

    """
    own = Motion.from_rotations(
        motion.skeleton, motion.rate_hz, motion.root_positions, motion.rotations
    )
    readers = Readers(lambda clip, asf: load_clip(clip, asf), load_character)
    plan = load_edit(Path(path), own, readers)
    return edit_motion(plan.motion, plan.constraints, plan.config).motion


def enhance(
    motion: Motion, targets: Mapping[str, ArrayLike], weight: float = enhancement.SOFT_WEIGHT
) -> Motion:
    """
    Return a motion whose hands, feet, elbows or knees are where they were measured.

    Frame by frame, by inverse rate control; `puppet enhance` also does it at keyframes.

    Parameters
    ----------
    motion : Motion
        Joint angles, from sensors for instance, that leave the ends where they are not.
    targets : mapping of str to array, shape (n, 3)
        Where they were measured in world [m], NaN where not; names are `left_hand`,
        `right_hand`, `left_foot`, `right_foot`, and elbows and knees.
    weight : float
        w1 of ChoiKo2000: how much the targets count beside the angles, below 1.

    Raises
    ------
    PuppetError
        For an unknown name, or positions that are not those of this body.

    Examples
    --------
    >>> walk = load_clip('walk')
    >>> measured = walk.end_effectors[:, 0] + [0.0, 0.0, 0.02]
    >>> better = enhance(walk, {'left_hand': measured})
    >>> float(abs(better.end_effectors[:, 0] - measured).max()) < 0.01
    True

    """
    positions = np.full((motion.n_frames, len(GENERAL_END_EFFECTORS), 3), np.nan)
    for name, values in targets.items():
        given = np.asarray(values, dtype=np.float64)
        if given.shape != (motion.n_frames, 3):
            raise ConfigError(
                f'{name}: expected an array of shape ({motion.n_frames}, 3), got {given.shape}'
            )
        positions[:, enhancement.end_effector_row(name)] = given
    return enhancement.enhance_online(motion, enhancement.Targets(positions), weight=weight)


def filter_poses(
    times_s: ArrayLike,
    positions: ArrayLike,
    orientations: ArrayLike,
    sensors: Sequence[str] = (),
    **settings: Any,
) -> FilteredPoses:
    """
    Return poses of sensors as the graph's Kalman filter has them (ChoiParkKo1999, corrected).

    Parameters
    ----------
    times_s : array, shape (n,)
        When they were measured [s], rising.
    positions : array, shape (n, s, 3)
        NaN where nothing was measured [m].
    orientations : array, shape (n, s, 4)
        Unit quaternions (w, x, y, z), likewise.
    sensors : sequence of str, optional
        Their names.
    **settings
        Fields of `PoseFilterConfig`.

    Raises
    ------
    PuppetError
        For arrays of other shapes, times that do not rise, or a setting out of range.

    Examples
    --------
    >>> times = np.arange(100) / 120.0
    >>> still = np.tile([1.0, 0.0, 0.0, 0.0], (100, 1, 1))
    >>> filter_poses(times, np.zeros((100, 1, 3)), still).positions.shape
    (100, 1, 3)

    """
    times, p, q = (np.asarray(a, dtype=np.float64) for a in (times_s, positions, orientations))
    if p.ndim != 3 or p.shape != (len(times), p.shape[1], 3) or q.shape != (*p.shape[:2], 4):
        raise ConfigError(
            'positions, orientations: expected shapes (n, s, 3) and (n, s, 4) for n times, '
            f'got {p.shape} and {q.shape} for {times.shape}'
        )
    if not np.all(np.diff(times) > 0.0):
        raise ConfigError('times_s: expected rising times, got others')
    names = tuple(sensors) or tuple(f'sensor_{i}' for i in range(p.shape[1]))
    kalman, ages = PoseFilter(PoseFilterConfig(**settings)), np.zeros(len(names))
    measured = np.isfinite(p).all(axis=2) & np.isfinite(q).all(axis=2)
    status = np.where(measured, SAMPLE_OK, SAMPLE_MISSING).astype(np.uint8)
    outputs: list[Floats] = [np.empty((*p.shape[:2], width)) for width in (3, 4, 3, 3)]
    for i, time_s in enumerate(times):
        stamp_ns = 1 + round(1e9 * (time_s - times[0]))
        filtered = kalman.step(SensorFrame(stamp_ns, i, names, p[i], q[i], ages, status[i]))
        assert filtered is not None  # times rise
        outputs[0][i], outputs[1][i] = filtered.positions, filtered.quaternions
        outputs[2][i], outputs[3][i] = filtered.linear_velocities, filtered.angular_velocities
    return FilteredPoses(*outputs)
