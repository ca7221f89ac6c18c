# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The report on one retargeted clip, as JSON, and tables in Markdown."""

from collections.abc import Mapping, Sequence
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.body import general_end_effectors, LIMB_SEGMENTS, Motion, SEGMENTS, world_segments
from puppet_core.io import write_text
from puppet_core.math import Floats, quaternions
from puppet_retarget.importance import GOAL, IMPORTANCE, SELF_IMPORTANCE
from puppet_retarget.offline import posture_measures, quality, self_contact, smoothness
from puppet_retarget.offline.limit_use import limit_use, limits_of
from puppet_retarget.offline.quality import impossible_share, MotionArrays
from puppet_retarget.offline.whole_motion import performer_arrays, RetargetJob, RetargetResult
from puppet_retarget.solvers import SolverConfig


def report(
    motion: Motion, job: RetargetJob, result: RetargetResult, baseline: MotionArrays | None = None
) -> dict[str, Any]:
    """Return the figures of the retarget report as plain numbers with unit suffixes."""
    performer, puppet = performer_arrays(motion), result.puppet
    planted = quality.planted_feet(performer, motion.rate_hz)
    scale = job.character.scale_for(motion.skeleton.leg_length)
    if baseline is None:
        baseline = copied_angles(motion, job)
    importances = result.rows[..., IMPORTANCE]
    ms = result.frame_ms
    slide = {
        'performer': quality.slide_mm_s(performer, planted, motion.rate_hz),
        'puppet': quality.slide_mm_s(puppet, planted, motion.rate_hz),
        'joint_angles_baseline': quality.slide_mm_s(baseline, planted, motion.rate_hz),
    }
    deviation = quality.free_limb_deviation_deg(puppet, performer, limb_importances(result))
    return {
        'frames': motion.n_frames,
        'solver': job.solver,
        'character': job.character.name,
        'ms_per_frame': {
            'median': float(np.median(ms)),
            'p99': float(np.percentile(ms, 99)),
            'max': float(np.max(ms)),
        },
        'body_iterations': int(result.body_iterations.sum()),
        'planted_foot_slide_mm_s': slide,
        'planted_impossible_share': impossible_share(
            job.character.skeleton,
            motion.world_segments()[0],
            scale * result.rows[:, 2:, GOAL : GOAL + 3],
            planted,
        ),
        'goal_error_mm': quality.percentiles(
            result.goal_errors[importances > quality.IMPORTANT], 1000.0
        ),
        'penetration_mm': {'environment_max': float(result.penetrations.max() * 1000.0)},
        'free_limb_deviation_deg_max': deviation,
        'limit_use': _limit_use(motion, job, result),
        **_smoothness_figures(motion, job, result),
    }


def _limit_use(motion: Motion, job: RetargetJob, result: RetargetResult) -> dict[str, Any] | None:
    """Return joint-frames of a robot beyond its limits, None of who is none."""
    robot = job.character.robot
    if robot is None:
        return None
    moved = result.robot_angles[:, : len(robot.names)]
    return limit_use(moved, motion.rate_hz, limits_of(robot))


def _smoothness_figures(
    motion: Motion, job: RetargetJob, result: RetargetResult
) -> dict[str, Any]:
    """Return what the eye sees, frames in which the performer leaps apart."""
    performer, puppet, rate_hz = performer_arrays(motion), result.puppet, motion.rate_hz
    scale = job.character.scale_for(motion.skeleton.leg_length)
    leaping = smoothness.leaping_frames(performer, rate_hz)
    captured = self_contact.performer_body(motion)
    own = self_contact.puppet_body(job, result)
    turns = puppet.rotations, performer.rotations, rate_hz, leaping
    ratios = smoothness.joint_jerk_ratios(*turns)
    jerk = ratios[np.isfinite(ratios)]
    objects = job.environment.arrays(0.0, 0.0, scale)
    depth = smoothness.surface_depths_m(
        own.capsules, own.q_world, own.p_world, smoothness.puppet_surroundings(objects)
    )
    captured_depth = smoothness.surface_depths_m(
        captured.capsules,
        captured.q_world,
        captured.p_world,
        smoothness.real_surroundings(objects),
    )
    beyond = np.maximum(depth - scale * captured_depth, 0.0)[~leaping]
    errors, beyond_reach = self_contact.palm_errors_m(
        captured, own, scale, result.self_rows[..., SELF_IMPORTANCE], leaping
    )
    distances, captured_distances = map(self_contact.body_distances_m, (own, captured))
    deeper = self_contact.self_penetrations_m(distances, captured_distances, scale)[~leaping]
    environment = np.maximum(result.rows[..., IMPORTANCE], result.joint_importances)
    free = posture_measures.free_limbs(
        captured, own, captured_distances, scale, environment, rate_hz
    )
    pops = smoothness.pops(
        smoothness.limb_directions(own.q_world, own.p_world),
        smoothness.limb_directions(captured.q_world, captured.p_world),
        rate_hz,
        leaping,
    )
    flips = smoothness.flips(
        smoothness.bend_offsets(own.q_world, own.p_world),
        smoothness.bend_offsets(captured.q_world, captured.p_world),
        leaping,
    )
    return {
        'leaping_frames': int(leaping.sum()),
        'flips': int(flips.sum()),
        'whips': int(smoothness.whips(*turns).sum()),
        'snaps': int(smoothness.snaps(*turns).sum()),
        'pops': int(pops.sum()),
        'joint_jerk_ratio': {'median': float(np.median(jerk)), 'worst': float(jerk.max())}
        if jerk.size
        else None,
        'worst_joint': SEGMENTS[int(np.nanargmax(ratios))] if jerk.size else None,
        'joint_jerk_rad_s3': {
            name: dict(zip(SEGMENTS, smoothness.joint_jerks_rad_s3(q, rate_hz, leaping).tolist()))
            for name, q in (('joint_angles', performer.rotations), ('puppet', puppet.rotations))
        },
        'root_jerk_m_s3': {
            name: smoothness.jerk_m_s3(body.root_positions, rate_hz, leaping)
            for name, body in (('performer', performer), ('puppet', puppet))
        },
        'jerk_ratio': smoothness.jerk_ratios(puppet, performer, scale, leaping),
        'surface_depth_mm': {
            'max': float(beyond.max(initial=0.0) * 1000.0),
            'share_deeper_5_mm': float(np.mean(beyond > smoothness.DEEP_M))
            if beyond.size
            else 0.0,
        },
        'self_contact_error_mm': quality.percentiles(errors, 1000.0) if errors.size else None,
        'self_contact_impossible_share': beyond_reach,
        'self_penetration_mm': float(deeper.max(initial=0.0) * 1000.0),
        'segment_direction_deg': posture_measures.segment_direction_deg(
            captured, own, free & ~leaping[:, np.newaxis]
        ),
        'lying_height_mm': posture_measures.lying_height_mm(captured, own, scale, leaping),
    }


def copied_angles(motion: Motion, job: RetargetJob) -> MotionArrays:
    """Return the puppet of a job with the captured angles alone, of all frames at once."""
    skeleton, tuning = job.character.skeleton, SolverConfig()
    leg_length = motion.skeleton.leg_length
    hips = motion.world_segments()[1][:, LIMB_SEGMENTS[2:, 0]].mean(axis=1)
    scale = job.character.scale_for(leg_length)
    ratio = tuning.root_height_ratio or job.character.root_ratio_for(leg_length)
    centre = skeleton.offsets[LIMB_SEGMENTS[2:, 0]].mean(axis=0)
    roots = hips * (scale, scale, ratio) - quaternions.rotate(motion.rotations[:, 0], centre)
    q_world, p_world = world_segments(skeleton, roots, motion.rotations)
    points = general_end_effectors(skeleton, q_world, p_world)
    return MotionArrays(roots, motion.rotations, points)


def limb_importances(result: RetargetResult) -> Floats:
    """Return how much each limb has to do with the environment or the body, shape (n, 4)."""
    near_self = result.self_rows[..., SELF_IMPORTANCE]
    at_skin = (result.self_depths > 0.0).astype(np.float64)
    strongest = np.maximum(near_self, at_skin)
    own = np.maximum(strongest[:, :4], strongest[:, 4:])
    environment = np.maximum(result.rows[..., IMPORTANCE], result.joint_importances)
    return np.maximum(environment, own)


# Reports as files.


def plain(value: Any) -> Any:
    """Return values as strict JSON has them: null for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def report_text(report: Any) -> str:
    return json.dumps(plain(report), indent=2, allow_nan=False) + '\n'


def write_report(report: Any, path: str | Path) -> None:
    write_text(path, report_text(report))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f'| {" | ".join(row)} |' for row in (head, *rows)]
    return '\n'.join([lines[0], '|' + '---|' * len(head), *lines[1:]])


def number(value: float | None, digits: int) -> str:
    """Return a number with so many digits, a dash for none."""
    return '–' if value is None or not math.isfinite(value) else f'{value:.{digits}f}'
