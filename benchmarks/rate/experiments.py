# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of the rate benchmark: errors, likeness of joint angles and speed."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from benchmarks.rate import swing as rate_swing
from benchmarks.rate import walk as rate_walk
from benchmarks.rate.run import correlations, RateClip, RateResult, run_clip, task_errors
import numpy as np
from puppet_core.io import how_to_install
from puppet_core.math import Floats, Quats
from puppet_core.math import quaternions as qb
from puppet_retarget.rate_control import AS_PRINTED, BodyTree, RateConfig

HITS_M = ((0.0, 0.0, -0.25), (0.0, 0.0, 0.25), (0.15, 0.0, 0.0))  # forward, left, up
PEER = 'mink'
CM = 100.0


@dataclass(frozen=True, slots=True)
class Row:
    """One body and one clip."""

    title: str
    """Of the clip and the body."""

    max_error_cm_paper_settings: float
    """Largest distance of an end-effector from its goal, settings as printed [cm]."""

    max_error_cm: float
    """The same with our settings [cm]."""

    frames_per_s: float
    """With our settings, one core."""

    frames_per_s_paper_settings: float
    """With the settings as printed."""

    joint_correlation_min: float
    """Least correlation of a joint's angles with the source's, our settings [-]."""


class Run(NamedTuple):
    """A clip by both settings, for the figures."""

    clip: RateClip
    body: BodyTree
    printed: RateResult
    ours: RateResult


def bench_walk(seconds: float, has_pelvis: bool = True) -> tuple[Row, Run]:
    """Return the walk's row: hips, knees and ankles by their flexion."""
    clip = rate_walk.walk(has_pelvis)
    body = rate_walk.lower_body(rate_walk.DESTINATION_LEG_M)
    joints = (*rate_walk.HIP, *rate_walk.KNEE, *rate_walk.ANKLE)

    def likeness(found: Quats) -> float:
        return float(correlations(clip.script.imitated, found, joints).min())

    title = 'walk' if has_pelvis else 'walk, no task of the pelvis'
    return _bench(title, clip, body, seconds, likeness)


def unevenness(result: RateResult | RateClip) -> float:
    """Return how much the pelvis' speed along its way changes, over its mean [-]."""
    speeds = np.linalg.norm(np.diff(result.p_world[:, 0, :2], axis=0), axis=1)
    return float(speeds.std() / speeds.mean())


def bench_swings(seconds: float) -> list[tuple[Row, Run]]:
    """Return the bat swing's rows: shoulders, elbows and wrists by their rotation vectors."""
    clip = rate_swing.swing()
    return [
        _bench_swing(f'bat swing, {name}', clip, rate_swing.upper_body(*ratios), seconds)
        for name, ratios in rate_swing.PROPORTIONS.items()
    ]


def bench_hits(seconds: float, shifts_m: Sequence[Sequence[float]]) -> list[tuple[Row, Run]]:
    """Return rows of the batter's own swing whose hit point is shifted [m]."""
    clip, rows = rate_swing.swing(), []
    for shift in shifts_m:
        title = f'bat swing, hit at {", ".join(f"{100.0 * along:+.0f}" for along in shift)} cm'
        aimed = rate_swing.aimed(clip, np.array(shift))
        rows.append(_bench_swing(title, aimed, clip.source, seconds))
    return rows


def _bench_swing(title: str, clip: RateClip, body: BodyTree, seconds: float) -> tuple[Row, Run]:
    joints = [joint for arm in rate_swing.ARMS for joint in arm]

    def likeness(found: Quats) -> float:
        return min(course_correlation(clip.script.imitated[:, j], found[:, j]) for j in joints)

    return _bench(title, clip, body, seconds, likeness)


def course_correlation(source: Quats, found: Quats) -> float:
    """Return the correlation of a joint's rotation vectors over time, all axes together."""
    a, b = (_centred(qb.log(qb.align_signs(q))) for q in (source, found))
    return float(np.sum(a * b) / np.sqrt(np.sum(a * a) * np.sum(b * b)))


def _centred(values: Floats) -> Floats:
    return values - values.mean(axis=0)


def _bench(
    title: str, clip: RateClip, body: BodyTree, seconds: float, likeness: Any
) -> tuple[Row, Run]:
    printed, printed_speed = run_clip(clip, body, AS_PRINTED, seconds)
    ours, speed = run_clip(clip, body, RateConfig(), seconds)
    row = Row(
        title,
        _largest_cm(clip, printed),
        _largest_cm(clip, ours),
        speed,
        printed_speed,
        likeness(ours.rotations),
    )
    return row, Run(clip, body, printed, ours)


def _largest_cm(clip: RateClip, result: RateResult) -> float:
    return float(task_errors(clip, result).max() * CM)


class Peer(NamedTuple):
    """The peer on the walk."""

    frames_per_s: float
    max_error_cm: float


def bench_peer() -> Peer | None:
    """Return what mink makes of the walk, or None where it is not installed."""
    try:
        module = import_module('benchmarks.rate.peer')
    except ImportError:
        return None
    clip = rate_walk.walk()
    run = module.run_mink(clip, rate_walk.lower_body(rate_walk.DESTINATION_LEG_M))
    return Peer(run.frames_per_s, CM * run.max_error_m)


def as_tree(
    walks: list[Row], swings: list[Row], hits: list[Row], peer: Peer | None
) -> dict[str, Any]:
    """Return what --json writes; of the bat swing the worst of its characters and hits."""
    return {
        'walk': _figures(walks[:1]),
        'walk_without_pelvis': _figures(walks[1:]),
        'bat_swing': _figures(swings),
        'bat_swing_hits': _figures(hits),
        'peer': {
            'name': PEER,
            'frames_per_s': None if peer is None else round(peer.frames_per_s, 1),
        },
    }


def _figures(rows: list[Row]) -> dict[str, float]:
    return {
        'max_error_cm_paper_settings': max(row.max_error_cm_paper_settings for row in rows),
        'max_error_cm': max(row.max_error_cm for row in rows),
        'frames_per_s': round(min(row.frames_per_s for row in rows), 1),
        'joint_correlation_min': min(row.joint_correlation_min for row in rows),
    }


def markdown(rows: list[Row], uneven: list[float], peer: Peer | None) -> str:
    """Return the rows as a table; below it the pelvis of source and both walks, and the peer."""
    lines = [
        '| | max error, cm, as printed | max error, cm | frames/s, as printed | frames/s '
        '| least correlation |',
        '| --- | --- | --- | --- | --- | --- |',
    ]
    lines += [
        f'| {row.title} | {row.max_error_cm_paper_settings:.4f} | {row.max_error_cm:.5f} '
        f'| {row.frames_per_s_paper_settings:.0f} | {row.frames_per_s:.0f} '
        f'| {row.joint_correlation_min:.4f} |'
        for row in rows
    ]
    if peer is None:
        text = f'{PEER} is not installed: no peer ({how_to_install("peers", PEER)})'
    else:
        ratio = rows[0].frames_per_s / peer.frames_per_s
        text = (
            f'{PEER} on the same walk: {peer.frames_per_s:.0f} frames/s, max error '
            f'{peer.max_error_cm:.4f} cm; ours is {ratio:.0f} times as fast'
        )
    source, with_task, without = (f'{100.0 * value:.1f} %' for value in uneven)
    pelvis = (
        f"Standard deviation over mean of the walking pelvis' speed: {source} in the source, "
        f'{with_task} with a task of its own, {without} without.'
    )
    return '\n'.join(lines) + f'\n\n{pelvis}\n\n{text}'
