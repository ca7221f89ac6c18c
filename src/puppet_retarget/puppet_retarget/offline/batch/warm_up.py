# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Compiling before workers start, so that each finds the kernels in the cache."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from puppet_core.clip import read_clip
from puppet_core.clip_bvh_write import bvh_text
from puppet_core.posture import Motion
from puppet_core.skeleton import N_SEGMENTS
from puppet_retarget.offline.batch.task import Task
from puppet_retarget.offline.clip_report import report
from puppet_retarget.offline.clip_retarget import CHUNK, retarget_motion

_FRAMES = 8
_RATE_HZ = 100.0


def warm_up(tasks: Iterable[Task]) -> None:
    """Run everything that the tasks need on a few frames, for each character."""
    jobs = {id(task.job): task.job for task in tasks}
    for job in jobs.values():
        skeleton = job.character.skeleton
        rotations = np.zeros((_FRAMES, N_SEGMENTS, 4))
        rotations[..., 0] = 1.0
        roots = np.zeros((_FRAMES, 3))
        roots[:, 2] = skeleton.leg_length
        still = Motion.from_rotations(skeleton, _RATE_HZ, roots, rotations)
        report(still, job, retarget_motion(still, job, chunk=CHUNK))
        with TemporaryDirectory() as folder:
            clip = Path(folder, 'still.bvh')
            clip.write_text(bvh_text(still), encoding='utf-8')
            read_clip(clip)
