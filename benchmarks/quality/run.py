# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One clip on the bench: every run's report, contacts and times."""

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.quality.as_printed import is_as_printed, printed_job
from benchmarks.quality.path_timing import PASSES, spread, time_path
from benchmarks.quality.peers import make_peer
from benchmarks.quality.self_quality import self_figures
from benchmarks.synthetic_recording import sensor_frames
import numpy as np
from numpy.typing import NDArray
from puppet_core.body import LIMB_SEGMENTS, Motion, Skeleton
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_performer.sensor_layout import SensorLayout
from puppet_retarget.importance import GOAL, IMPORTANCE
from puppet_retarget.offline import (
    copied_angles,
    MotionArrays,
    percentiles,
    report,
    retarget_motion,
    RetargetJob,
    RetargetResult,
    sensitivity,
)
from puppet_retarget.offline.quality import are_reachable, root_balls
from puppet_retarget.offline.self_contact import performer_body, puppet_body

Row = dict[str, Any]
PASSES_OF_A_RUN = 2 + PASSES  # for the figures, for the sensitivity, and on the clock
PASSES_OF_A_PEER = 1 + PASSES  # figures are of the last on the clock


def passes_of(peer: str) -> int:
    """Return how often a peer runs through a clip."""
    return PASSES_OF_A_RUN if is_as_printed(peer) else PASSES_OF_A_PEER


class ClipBench:
    """A clip, and what all of its runs have in common."""

    def __init__(self, name: str, motion: Motion, layout: SensorLayout) -> None:
        self._name, self._motion, self._layout = name, motion, layout
        self._performer = performer_body(motion)
        self._sensors = sensor_frames(motion, layout)
        self._baselines: dict[int, MotionArrays] = {}

    def row(self, job: RetargetJob, progress: Callable[[int], object] | None = None) -> Row:
        """
        Return one run as the bench's JSON has it.

        The retarget report, and before its own figures: what was run, the iterations of the
        body solver, and the times of the whole path.
        """
        result = retarget_motion(self._motion, job, progress)
        figures = report(self._motion, job, result, self._baseline(job))
        slope = sensitivity(self._motion, job, result, progress)
        times = time_path(self._motion, job, self._layout, self._sensors, progress)
        stages = times.figures()
        return {
            'clip': self._name,
            'character': figures.pop('character'),
            'solver': figures.pop('solver'),
            'frames': figures.pop('frames'),
            'body_iterations': figures.pop('body_iterations'),
            'us_per_frame': stages.pop('total'),
            'stages_us': stages,
            'elapsed_ms': float(times.stages_us.sum() * 1e-3),
            **figures,
            'sensitivity': slope,
            'full_importance_goal_error_mm': self._firm_goals(job, result),
            **self._contacts(job, result),
        }

    def peer_row(
        self, peer: str, job: RetargetJob, progress: Callable[[int], object] | None = None
    ) -> Row:
        """
        Return the run of a peer on the puppet of a job, with the keys of `row`.

        Its times are of the peer alone, each frame's fastest pass. The thesis as printed is a
        run of our own, with the importance that it prints.
        """
        if is_as_printed(peer):
            return {**self.row(printed_job(peer, job), progress), 'solver': peer}
        n, performer = self._motion.n_frames, self._motion.skeleton
        times = np.full(n, np.inf)
        for _ in range(PASSES):
            solver = make_peer(peer, job, performer)
            result = retarget_motion(self._motion, job, progress, solver)
            times = np.minimum(times, solver.times_us[-n:])  # one call more was to warm up
        figures = report(self._motion, job, result, self._baseline(job))
        slope = sensitivity(
            self._motion, job, result, progress, partial(make_peer, peer, job, performer)
        )
        del figures['solver']
        return {
            'clip': self._name,
            'character': figures.pop('character'),
            'solver': peer,
            'frames': figures.pop('frames'),
            'body_iterations': figures.pop('body_iterations'),
            'us_per_frame': spread(times),
            'stages_us': {'solver': spread(times)},
            'elapsed_ms': float(times.sum() * 1e-3),
            **figures,
            'sensitivity': slope,
            'full_importance_goal_error_mm': self._firm_goals(job, result),
            **self._contacts(job, result),
        }

    def _baseline(self, job: RetargetJob) -> MotionArrays:
        """Return the puppet with copied angles, made once for each character."""
        key = id(job.character)
        if key not in self._baselines:
            self._baselines[key] = copied_angles(self._motion, job)
        return self._baselines[key]

    def _firm_goals(self, job: RetargetJob, result: RetargetResult) -> dict[str, float]:
        """Return the errors of what is of importance 1 and in reach [mm]."""
        rows, scale = result.rows, job.character.scale_for(self._motion.skeleton.leg_length)
        errors = errors_in_reach(
            job.character.skeleton,
            result.q_world,
            result.p_world,
            scale * rows[..., GOAL : GOAL + 3],
            rows[..., IMPORTANCE] >= 1.0,
            result.goal_errors,
        )
        return percentiles(errors, 1000.0)

    def _contacts(self, job: RetargetJob, result: RetargetResult) -> dict[str, Any]:
        scale = job.character.scale_for(self._motion.skeleton.leg_length)
        deviation = orientation_deviation_deg(result.q_world, self._performer.q_world)
        return {
            **self_figures(self._performer, puppet_body(job, result), scale),
            'orientation_deviation_deg': deviation,
            'world_scale': scale,
        }


def orientation_deviation_deg(puppet: Quats, performer: Quats) -> dict[str, float]:
    """Return how far segments (n, 16, 4) are from the captured ones in world: p50, p99, max."""
    turn = quaternions.multiply(quaternions.conjugate(performer), puppet)
    angle = np.linalg.norm(quaternions.log(turn), axis=-1)
    return percentiles(np.degrees(angle))


def errors_in_reach(
    skeleton: Skeleton,
    q_world: Quats,
    p_world: Vec3s,
    goals: Vec3s,
    wanted: NDArray[np.bool_],
    errors: Floats,
) -> Floats:
    """
    Return the goal errors of wanted limbs in the frames that can meet them all [m].

    A frame can if one place of the root, with body, hands and feet turned as they are, is within
    reach of all that is wanted. Goals (n, 4, 3) are in the puppet's world [m].
    """
    found = [np.empty(0)]
    for i in np.flatnonzero(wanted.any(axis=1)):
        limbs = np.flatnonzero(wanted[i])
        starts = p_world[i, LIMB_SEGMENTS[limbs, 0]] - p_world[i, 0]
        if are_reachable(*root_balls(skeleton, limbs, q_world[i], starts, goals[i, limbs])):
            found.append(errors[i, limbs])
    return np.concatenate(found)
