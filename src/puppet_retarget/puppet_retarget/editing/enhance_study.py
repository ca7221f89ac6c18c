# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether enhancement brings a motion nearer to the truth: known motions, measured with errors.

Each condition is measured with several seeds; forward kinematics alone, the enhancement of
every frame (online) and that of keyframes and curves (offline) are compared with what was
really done. The fist-matching experiment of ChoiParkKo section 5 is measured in the same way.

"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from puppet_core.posture import Motion
from puppet_retarget.editing.disturbed_take import measured_take, Take, TakeErrors
from puppet_retarget.editing.enhance import end_effector_errors, enhance
from puppet_retarget.editing.enhance_config import DEFAULT_CONFIG, EnhanceConfig
from puppet_retarget.editing.enhance_report import joint_angles_between, MM_PER_M, rms
from puppet_retarget.editing.fist_motion import FistMotion
from puppet_retarget.editing.keyframes import choose_keyframes, KeyframeSpacing
from puppet_retarget.editing.online_enhance import enhance_online, SOFT_WEIGHT

CONDITIONS = {
    'angles, noise 2 deg': TakeErrors(0.0, 2.0),
    'angles, bias 3 deg': TakeErrors(3.0, 0.0),
    'angles, bias 3 and noise 1 deg': TakeErrors(3.0, 1.0),
    'these, and positions 3 mm': TakeErrors(3.0, 1.0, 3.0),
    'these, and lengths 2 %': TakeErrors(3.0, 1.0, 3.0, 2.0),
}
METHODS = (
    'forward_kinematics', 'online', 'online_exact', 'offline', 'offline_soft', 'paper',
)  # fmt: skip
FIST_ERRORS = TakeErrors(3.0, 1.0, 3.0)
FIST_CURVES = {
    "the paper's curve": EnhanceConfig(detail_s=0.0),
    'with detail': EnhanceConfig(follow=False),
    'with detail, followed': EnhanceConfig(),
}
WALK = (690, 1650, 2)  # frames of the built-in performance at 120 Hz
_JOINTS = slice(1, None)  # all but the root


def study(
    truth: Motion, seeds: Sequence[int], progress: Callable[[int], object] | None = None
) -> list[dict[str, Any]]:
    """
    Return errors against the truth for each condition.

    Parameters
    ----------
    truth : Motion
        What was really done; its own end-effectors are those of its angles.
    seeds : sequence of int
        Of the errors.
    progress : callable, optional
        Called with the number of takes done since the last call.

    """
    rows = []
    for name, errors in CONDITIONS.items():
        figures = []
        for seed in seeds:
            figures.append(_compared(truth, measured_take(truth, errors, seed)))
            if progress is not None:
                progress(1)
        rows.append({'condition': name} | _summary(figures))
    return rows


def fist_study(
    fist: FistMotion, seeds: Sequence[int], progress: Callable[[int], object] | None = None
) -> list[dict[str, Any]]:
    """Return errors of the fist-matching experiment for each kind of curve; as `study`."""
    rows = []
    for name, config in FIST_CURVES.items():
        figures = []
        for seed in seeds:
            figures.append(_fists(fist, seed, config))
            if progress is not None:
                progress(1)
        rows.append({'curve': name} | {
            key: float(np.max([f[key] for f in figures]) if key.endswith('max')
                       else np.mean([f[key] for f in figures])) for key in figures[0]
        })  # fmt: skip
    return rows


def fist_take(fist: FistMotion, seed: int) -> Take:
    """Return what is measured of the fist-matching experiment: angles and hands."""
    return measured_take(fist.motion, FIST_ERRORS, seed, (fist.meeting,), fist.meeting.pair)


def walking_truth(performance: Motion) -> Motion:
    """Return the walk of the built-in performance (120 Hz) at 60 Hz, as truth."""
    frames = slice(*WALK)
    return Motion.from_rotations(
        performance.skeleton, performance.rate_hz / WALK[2], performance.root_positions[frames],
        performance.rotations[frames],
    )  # fmt: skip


def of_angles(motion: Motion) -> Motion:
    """Return a motion with the end-effectors of its angles, as truth."""
    return Motion.from_rotations(
        motion.skeleton, motion.rate_hz, motion.root_positions, motion.rotations
    )


def _compared(truth: Motion, take: Take) -> dict[str, dict[str, float]]:
    keys = choose_keyframes(take.targets, truth.rate_hz, KeyframeSpacing())
    motion, targets = take
    motions = (
        motion,
        enhance_online(motion, targets),
        enhance_online(motion, targets, weight=DEFAULT_CONFIG.weight),
        enhance(motion, targets, keys).motion,
        enhance(motion, targets, keys, EnhanceConfig(weight=SOFT_WEIGHT)).motion,
        enhance(motion, targets, keys, EnhanceConfig(detail_s=0.0)).motion,
    )
    return {name: _errors(truth, motion) for name, motion in zip(METHODS, motions)}


def _errors(truth: Motion, motion: Motion) -> dict[str, float]:
    apart = np.linalg.norm(motion.end_effectors - truth.end_effectors, axis=-1)[:, :4]
    turned = joint_angles_between(truth.rotations, motion.rotations)[:, _JOINTS]
    return {
        'end_effector_rms_mm': MM_PER_M * rms(apart),
        'joint_rms_deg': float(np.degrees(rms(turned))),
    }


def _summary(figures: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    row: dict[str, Any] = {'seeds': len(figures)}
    base = METHODS[0]
    for method in METHODS:
        row[method] = {
            key: float(np.mean([f[method][key] for f in figures])) for key in figures[0][base]
        }
        if method != base:
            row[method]['seeds_with_both_better'] = sum(
                all(f[method][key] < f[base][key] for key in f[base]) for f in figures
            )
    return row


def _fists(fist: FistMotion, seed: int, config: EnhanceConfig) -> dict[str, float]:
    take = fist_take(fist, seed)
    keys = choose_keyframes(take.targets, fist.motion.rate_hz, KeyframeSpacing())
    done = enhance(take.motion, take.targets, keys, config)
    rows, at = list(fist.meeting.pair), np.zeros(fist.motion.n_frames, dtype=bool)
    at[list(done.keyframes)] = True
    before, after = (
        end_effector_errors(motion, done.goals)[:, rows] for motion in (take.motion, done.motion)
    )
    met = [
        np.abs(fist.meeting.distances(motion.end_effectors)[fist.meetings]
               - fist.meeting.distance_m).max()
        for motion in (take.motion, done.motion)
    ]  # fmt: skip
    real = [_errors(fist.motion, motion) for motion in (take.motion, done.motion)]
    return {
        'keyframes': len(keys),
        'meeting_before_mm_max': MM_PER_M * float(met[0]),
        'meeting_after_mm_max': MM_PER_M * float(met[1]),
        'keyframe_error_mm_max': MM_PER_M * float(after[at].max()),
        'between_before_rms_mm': MM_PER_M * rms(before[~at]),
        'between_after_rms_mm': MM_PER_M * rms(after[~at]),
        'joint_before_rms_deg': real[0]['joint_rms_deg'],
        'joint_after_rms_deg': real[1]['joint_rms_deg'],
    }
