# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of an enhancement: errors of end-effectors before and after, change of the joints."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.posture import Motion
from puppet_core.skeleton import GENERAL_END_EFFECTORS
from puppet_retarget.editing.enhance import end_effector_errors, Enhanced
from puppet_retarget.editing.targets import Meeting, Targets

MM_PER_M = 1000.0


def joint_angles_between(a: Quats, b: Quats) -> Floats:
    """Return the angles of the rotations from a to b, shape of both but for the last [rad]."""
    turn = quaternion_batch.multiply(quaternion_batch.conjugate(a), b)
    return np.linalg.norm(quaternion_batch.log(turn), axis=-1)


def rms(values: Floats) -> float:
    """Return the root mean square of what is finite; NaN if nothing is."""
    finite = np.asarray(values)[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite**2))) if finite.size else float('nan')


def enhance_report(
    before: Motion, after: Motion, targets: Targets, keyframes: Mapping[int, str], goals: Vec3s
) -> dict[str, Any]:
    """
    Return the figures as plain numbers with unit suffixes.

    Parameters
    ----------
    before, after : Motion
        As measured, and enhanced.
    targets : Targets
        What was measured of the end-effectors.
    keyframes : mapping of int to str
        In order, each with its reason; none for an enhancement of every frame.
    goals : ndarray, shape (n, 8, 3)
        Where end-effectors had to be [m].

    """
    errors = [end_effector_errors(motion, goals) for motion in (before, after)]
    at = np.zeros(before.n_frames, dtype=bool)
    at[list(keyframes)] = True
    rows = np.flatnonzero(targets.rows)
    turned = joint_angles_between(before.rotations, after.rotations)
    return {
        'frames': before.n_frames,
        'rate_hz': before.rate_hz,
        'end_effectors': list(targets.names),
        'measured_frames': int(targets.measured.any(axis=1).sum()),
        'keyframes': [{'frame': k, 'reason': reason} for k, reason in keyframes.items()],
        'error_mm': {
            GENERAL_END_EFFECTORS[row]: _errors(errors, [row], at) for row in rows.tolist()
        } | {'all': _errors(errors, rows.tolist(), at)},
        'meetings': [_meeting(meeting, before, after, goals, at) for meeting in targets.meetings],
        'joint_change_deg': {
            'rms': float(np.degrees(rms(turned))), 'max': float(np.degrees(turned.max()))
        },
        'root_change_mm_max': MM_PER_M * float(
            np.linalg.norm(after.root_positions - before.root_positions, axis=1).max()
        ),
    }  # fmt: skip


def solver_figures(enhanced: Enhanced) -> dict[str, Any]:
    """Return how the keyframes were solved."""
    steps = enhanced.iterations
    return {'steps_per_keyframe': {'median': float(np.median(steps)), 'max': int(steps.max())}}


def _errors(errors: Sequence[Floats], rows: list[int], at: NDArray[np.bool_]) -> dict[str, Any]:
    return {
        where: {when: _rms_max(e[chosen][:, rows]) for when, e in zip(('before', 'after'), errors)}
        for where, chosen in (('at_keyframes', at), ('between', ~at))
    }


def _rms_max(errors: Floats) -> dict[str, float]:
    worst = float(np.nanmax(errors)) if np.isfinite(errors).any() else float('nan')
    return {'rms': MM_PER_M * rms(errors), 'max': MM_PER_M * worst}


def _meeting(
    meeting: Meeting, before: Motion, after: Motion, goals: Vec3s, at: NDArray[np.bool_]
) -> dict[str, Any]:
    """Return how well a pair meets in the frames in which it has to."""
    met = np.abs(meeting.distances(goals) - meeting.distance_m) < 1e-9
    met &= at if at.any() else True
    apart = [MM_PER_M * meeting.distances(m.end_effectors)[met] for m in (before, after)]
    off = [np.abs(gaps - MM_PER_M * meeting.distance_m) for gaps in apart]
    return {
        'pair': [GENERAL_END_EFFECTORS[row] for row in meeting.pair],
        'distance_mm': MM_PER_M * meeting.distance_m,
        'frames': np.flatnonzero(met).tolist(),
        'error_mm_max': {
            when: float(gaps.max()) if gaps.size else float('nan')
            for when, gaps in zip(('before', 'after'), off)
        },
    }
