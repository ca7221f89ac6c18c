# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One clip on the bench: every run's report, body iterations, contacts and times."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from puppet_core.posture import Motion
from puppet_retarget.offline.clip_retarget import (
    copied_angles,
    report,
    retarget_motion,
    RetargetJob,
    RetargetResult,
)
from puppet_retarget.offline.path_timing import PASSES, sensor_frames, time_path
from puppet_retarget.offline.quality import MotionArrays
from puppet_retarget.offline.self_quality import performer_body, puppet_body, self_figures
from puppet_retarget.performer.sensor_layout import SensorLayout

Row = dict[str, Any]
PASSES_OF_A_RUN = 2 + PASSES  # with and without root estimation, and on the clock


class ClipBench:
    """A clip, and what all of its runs have in common."""

    def __init__(self, name: str, motion: Motion, layout: SensorLayout) -> None:
        self._name, self._motion, self._layout = name, motion, layout
        self._performer = performer_body(motion)
        self._sensors = sensor_frames(motion, layout)
        self._baselines: dict[int, MotionArrays] = {}

    def row(
        self, job: RetargetJob, preset: str = 'default',
        progress: Callable[[int], object] | None = None,
    ) -> Row:  # fmt: skip
        """
        Return one run as the bench's JSON has it.

        The retarget report, and before its own figures: what was run, the iterations of the
        body solver with the root estimated and with the root left at its reference, the number
        of frames in which there were any, and the times of the whole path.

        """
        result = retarget_motion(self._motion, job, progress)
        figures = report(self._motion, job, result, self._baseline(job))
        without = self._without_root_estimation(job, progress)
        times = time_path(self._motion, job, self._layout, self._sensors, progress)
        stages = times.figures()
        return {
            'clip': self._name,
            'character': figures.pop('character'),
            'solver': figures.pop('solver'),
            'preset': preset,
            'frames': figures.pop('frames'),
            'body_iterations': figures.pop('body_iterations'),
            'body_iterations_without_root_estimation': int(without.body_iterations.sum()),
            'body_frames': _busy_frames(result),
            'body_frames_without_root_estimation': _busy_frames(without),
            'us_per_frame': stages.pop('total'),
            'stages_us': stages,
            'elapsed_ms': float(times.stages_us.sum() * 1e-3),
            **figures,
            **self._contacts(job, result),
        }

    def _without_root_estimation(
        self, job: RetargetJob, progress: Callable[[int], object] | None
    ) -> RetargetResult:
        tuning = replace(job.tuning, root_form='reference')
        return retarget_motion(self._motion, replace(job, tuning=tuning), progress)

    def _baseline(self, job: RetargetJob) -> MotionArrays:
        """Return the puppet with copied angles, made once for each character."""
        key = id(job.character)
        if key not in self._baselines:
            self._baselines[key] = copied_angles(self._motion, job)
        return self._baselines[key]

    def _contacts(self, job: RetargetJob, result: RetargetResult) -> dict[str, Any]:
        scale = job.character.scale_for(self._motion.skeleton.leg_length)
        return self_figures(self._performer, puppet_body(job, result), scale)


def _busy_frames(result: RetargetResult) -> int:
    return int(np.count_nonzero(result.body_iterations))
