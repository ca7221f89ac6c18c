# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How well a sensor layout tells a posture: a known motion through perfect sensors and back.

The sensors are exact and sit where the calibration says, so what is left is what the layout
cannot see.

"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.posture import general_end_effectors, Motion
from puppet_core.skeleton import END_EFFECTORS, LIMB_SEGMENTS, SEGMENTS
from puppet_retarget.offline.bench_table import number, table
from puppet_retarget.offline.path_timing import known_calibration, sensor_frames, TRACKER_M
from puppet_retarget.performer.posture_estimate import PostureConfig, PostureEstimator
from puppet_retarget.performer.sensor_layout import SensorLayout

_N_ENDS = len(END_EFFECTORS)
_PLURALS = {'hand': 'hands', 'foot': 'feet'}


@dataclass(frozen=True, slots=True)
class LayoutErrors:
    """RMS errors of the posture that a layout gives of a motion."""

    layout: SensorLayout
    """Which sensors."""

    joints_m: float
    """Places of all joints [m]."""

    middles_m: float
    """Elbows and knees [m]."""

    ends_m: float
    """Palms and soles [m]."""

    inferred_rad: float
    """Orientations in world of the segments without a sensor; NaN if there are none [rad]."""


def layout_errors(motion: Motion, layout: SensorLayout) -> LayoutErrors:
    """Return the errors of a layout over a motion."""
    q_true, p_true = motion.world_segments()
    q, p = _estimated(motion, layout)
    away = np.linalg.norm(p - p_true, axis=2)
    ends, ends_true = (
        general_end_effectors(motion.skeleton, *pose)[:, :_N_ENDS]
        for pose in ((q, p), (q_true, p_true))
    )
    inferred = np.setdiff1d(np.arange(len(SEGMENTS)), layout.segments)
    turned = quaternion_batch.multiply(quaternion_batch.conjugate(q_true), q)[:, inferred]
    angles = np.linalg.norm(quaternion_batch.log(turned), axis=2)
    return LayoutErrors(
        layout,
        _rms(away),
        _rms(away[:, LIMB_SEGMENTS[:, 1]]),
        _rms(np.linalg.norm(ends - ends_true, axis=2)),
        _rms(angles) if inferred.size else np.nan,
    )


def accuracy_table(errors: Sequence[LayoutErrors]) -> str:
    """Return the errors of layouts as a Markdown table, a line each."""
    head = ['layout', 'sensors', 'inferred', 'joints, mm', 'elbows and knees, mm',
            'palms and soles, mm', 'inferred segments, deg']  # fmt: skip
    return table(head, [_cells(error) for error in errors])


def described(segments: Sequence[str]) -> str:
    """Return names of segments as text, both sides of a pair as one."""
    words = []
    for name in segments:
        side, _, part = name.partition('_')
        other = {'left': f'right_{part}', 'right': f'left_{part}'}.get(side)
        if other not in segments:
            words.append(name.replace('_', ' '))
        elif side == 'left':
            words.append(_PLURALS.get(part, f'{part}s').replace('_', ' '))
    return ', '.join(words)


def _cells(error: LayoutErrors) -> list[str]:
    layout = error.layout
    inferred = [name for name in SEGMENTS if name not in layout.segment_names]
    angle = None if np.isnan(error.inferred_rad) else np.degrees(error.inferred_rad)
    lengths = (error.joints_m, error.middles_m, error.ends_m)
    return [
        layout.name,
        str(len(layout.sensors) + len(layout.unused)),
        described(inferred),
        *(number(1e3 * length, 1) for length in lengths),
        number(angle, 1),
    ]


def _estimated(motion: Motion, layout: SensorLayout) -> tuple[Quats, Vec3s]:
    estimator = PostureEstimator(
        motion.skeleton, known_calibration(layout), np.array([1.0, 0.0, 0.0, 0.0]),
        np.array(TRACKER_M), PostureConfig(),
    )  # fmt: skip
    q, p = np.empty((motion.n_frames, len(SEGMENTS), 4)), np.empty((motion.n_frames, 16, 3))
    for i, frame in enumerate(sensor_frames(motion, layout)):
        estimate = estimator.step(frame)
        q[i], p[i] = estimate.q_world, estimate.p_world
    return q, p


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
