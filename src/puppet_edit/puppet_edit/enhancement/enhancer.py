# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Captured motion corrected by measured end-effectors, at keyframes (`enhance`) or in every frame.

ChoiParkKo: inverse kinematics at keyframes puts the end-effectors where they were measured, then a
spline with two derivatives goes through the keyframes and fits the measured angles. With detail it
has knots between keyframes, which follow the angles plus their correction; noise faster than the
knots is taken off before keyframes are solved. Where end-effectors were measured between keyframes
the correction can be that of every frame.

ChoiKo2000 (`enhance_online`): inverse rate control whose destination is the source's own body,
end-effectors the primary task, measured angles the secondary one. The weight w1 of ChoiParkKo eq.
1 is had with lambda^2 = (1 - w1) / w1. Near 1 end-effectors are exact, which turns errors of
lengths into errors of angles; the default suits positions known to 25 mm, angles to 5 degrees.
"""

from collections.abc import Callable, Mapping, Sequence
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import GENERAL_END_EFFECTORS, general_end_effectors, Motion
from puppet_core.io import ConfigError
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_edit.enhancement.keyframes import ERROR, GENERAL_SEGMENTS, ROOT_LENGTH_M, worst_frames
from puppet_edit.enhancement.motion_curves import (
    AUTO,
    DEFAULT_CONFIG,
    EnhanceConfig,
    MotionCurves,
    moves_root,
)
from puppet_edit.enhancement.targets import is_measured, Meeting, Targets
from puppet_retarget.rate_control import BodyTree, POSITION, RateConfig, RateController, Task
from scipy.interpolate import BSpline

MAX_ROUNDS = 30  # of keyframes added where errors are too large
_AT_ONCE = 256  # frames that are solved from one report of progress to the next

MM_PER_M = 1000.0


class Enhanced(NamedTuple):
    motion: Motion  # The same body; end-effectors are those of its angles
    keyframes: Mapping[int, str]  # Where end-effectors are in place, each with its reason
    goals: Vec3s  # Where end-effectors had to be, shape (n, 8, 3) [m]; NaN where not known
    curve: BSpline  # The channels over time [s], two derivatives continuous
    joints: tuple[int, ...]  # Segments whose joints the channels are of


def end_effector_errors(motion: Motion, goals: Vec3s) -> Floats:
    """Return distances of a motion's end-effectors from goals, shape (n, 8) [m], or NaN."""
    points = general_end_effectors(motion.skeleton, *motion.world_segments())
    return np.linalg.norm(points - goals, axis=-1)


def enhance(
    motion: Motion,
    targets: Targets,
    keyframes: Mapping[int, str],
    config: EnhanceConfig = DEFAULT_CONFIG,
    progress: Callable[[int], object] | None = None,
) -> Enhanced:
    """
    Return the motion with its measured end-effectors in place at keyframes.

    Keyframes are in order, the first and the last frame among them, each with its reason.
    `progress` gets the number of frames solved since the last call. Raises ConfigError if channels
    do not fit the joints.
    """
    curves = MotionCurves(motion, targets, config)
    goals = targets.goals(range(motion.n_frames))
    reasons = dict(keyframes)
    solved: dict[int, Floats] = {}

    def solve(frames: Sequence[int]) -> Floats:
        """Return the channels (k, c) of keyframes, each solved once."""
        missing = [frame for frame in frames if frame not in solved]
        for start in range(0, len(missing), _AT_ONCE):
            part = missing[start : start + _AT_ONCE]
            solved.update(zip(part, curves.solve(part, goals[part])))
            if progress is not None:
                progress(len(part))
        return np.array([solved[frame] for frame in frames])

    least = max(1, round(config.least_s * motion.rate_hz))
    followed = None
    if config.follow and config.detail_s > 0.0:
        known = np.flatnonzero(targets.measured.any(axis=1))
        followed = known, solve(known.tolist())
    for _ in range(MAX_ROUNDS + 1):
        frames = sorted(reasons)
        curve = curves.fit(frames, solve(frames), followed)
        better = curves.motion(curve)
        if config.tolerance_m == 0.0:
            break
        # where nothing is measured the error is not known
        errors = np.nan_to_num(end_effector_errors(better, goals), nan=-1.0).max(axis=1)
        worst = worst_frames(errors, frames, config.tolerance_m, least)
        if not worst:
            break
        reasons |= dict.fromkeys(worst, ERROR)
    chosen = {frame: reasons[frame] for frame in frames}
    return Enhanced(better, chosen, goals, curve, curves.joints)


def joint_angles_between(a: Quats, b: Quats) -> Floats:
    """Return the angles of the rotations from a to b, shape of both but for the last [rad]."""
    turn = quaternions.multiply(quaternions.conjugate(a), b)
    return np.linalg.norm(quaternions.log(turn), axis=-1)


def rms(values: Floats) -> float:
    """Return the root mean square of what is finite; NaN if nothing is."""
    finite = np.asarray(values)[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite**2))) if finite.size else float('nan')


def enhance_report(
    before: Motion, after: Motion, targets: Targets, keyframes: Mapping[int, str], goals: Vec3s
) -> dict[str, Any]:
    """Return the figures as plain numbers with unit suffixes; goals have shape (n, 8, 3) [m]."""
    errors = [end_effector_errors(motion, goals) for motion in (before, after)]
    at = np.zeros(before.n_frames, dtype=bool)
    at[list(keyframes)] = True
    rows = np.flatnonzero(targets.rows)
    turned = joint_angles_between(before.rotations, after.rotations)
    shifts = after.root_positions - before.root_positions
    return {
        'frames': before.n_frames,
        'rate_hz': before.rate_hz,
        'end_effectors': list(targets.names),
        'measured_frames': int(targets.measured.any(axis=1).sum()),
        'keyframes': [{'frame': k, 'reason': reason} for k, reason in keyframes.items()],
        'error_mm': {
            GENERAL_END_EFFECTORS[row]: _errors(errors, [row], at) for row in rows.tolist()
        }
        | {'all': _errors(errors, rows.tolist(), at)},
        'meetings': [_meeting(meeting, before, after, goals, at) for meeting in targets.meetings],
        'joint_change_deg': {
            'rms': float(np.degrees(rms(turned))),
            'max': float(np.degrees(turned.max())),
        },
        'root_change_mm_max': MM_PER_M * float(np.linalg.norm(shifts, axis=1).max()),
    }


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


SOFT_WEIGHT = 0.92  # w1
_EVERYWHERE = 1e6  # [m/rad]; singular values are below it: the same damping at all of them


def rate_config(weight: float) -> RateConfig:
    """Return the rate control of a weight w1 in 0 .. 1, its own damping kept; or ConfigError."""
    if not 0.0 < weight < 1.0:
        raise ConfigError(f'weight: expected 0.0 < value < 1.0, got {weight}')
    damping = math.sqrt((1.0 - weight) / weight)
    own = RateConfig()
    if damping <= own.max_damping:
        return own
    # sub-steps and corrections would take up what the damping leaves
    return own._replace(
        max_damping=damping, damped_below=_EVERYWHERE, max_sub_steps=1, max_corrections=0
    )


def enhance_online(
    motion: Motion,
    targets: Targets,
    root: str = AUTO,
    weight: float = SOFT_WEIGHT,
    progress: Callable[[int], object] | None = None,
) -> Motion:
    """
    Return the motion with its end-effectors where they were measured, in every frame.

    Where the root gives way a tenth of a metre is as much as a radian. `weight` is w1. `progress`
    gets the number of frames done since the last call. Raises ConfigError for a weight out of
    range.
    """
    rows = np.flatnonzero(targets.rows)
    points = np.zeros((len(GENERAL_END_EFFECTORS), 3))
    points[:4] = motion.skeleton.interaction_points
    tasks = [Task(int(GENERAL_SEGMENTS[row]), POSITION, points[row]) for row in rows]
    tree = BodyTree.of_skeleton(motion.skeleton)
    controller = RateController(tree, tasks, rate_config(weight))
    if moves_root(root, targets):
        controller.inputs.mobilities[:3] = ROOT_LENGTH_M**2
    else:
        controller.drive_base()
    goals = targets.goals(range(motion.n_frames))[:, rows]
    measured = is_measured(goals)
    roots, rotations = np.array(motion.root_positions), np.array(motion.rotations)
    controller.reset(roots[0], rotations[0, 0], rotations[0])
    inputs, n = controller.inputs, len(tree.names)
    for i in range(motion.n_frames):
        inputs.active[: len(rows)] = measured[i]
        inputs.positions[: len(rows)][measured[i]] = goals[i][measured[i]]
        inputs.imitated[:n] = motion.rotations[i]
        inputs.base_position[:] = motion.root_positions[i]
        inputs.base_orientation[:] = motion.rotations[i, 0]
        controller.step()
        roots[i], rotations[i] = controller.p_world[0], controller.rotations
        rotations[i, 0] = controller.q_world[0]
        if progress is not None and i % 100 == 99:
            progress(100)
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, roots, rotations)
