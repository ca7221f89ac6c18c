# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether similar inputs give similar outputs (Shin2002 ch. 6): a clip twice, once nudged.

The second time every joint is turned by a constant small rotation about a random axis. What a
solver makes of it differs by a little at every instant, or the puppet depends on something that
nobody sees. It costs another run of the clip.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from puppet_core.body import general_end_effectors, Motion, N_SEGMENTS, world_segments
from puppet_core.math import Floats, quaternions
from puppet_retarget.offline.smoothness import leaping_frames
from puppet_retarget.offline.whole_motion import (
    performer_arrays,
    retarget_motion,
    RetargetJob,
    RetargetResult,
)
from puppet_retarget.solvers import Solver

NUDGE_RAD = 1e-4  # by which every joint is turned; far below what a tracker resolves
SEED = 0

Progress = Callable[[int], object]
SolverMaker = Callable[[], Solver]


def nudged(motion: Motion, nudge_rad: float = NUDGE_RAD, seed: int = SEED) -> Motion:
    """Return a motion with each joint turned by so much about an axis that stays the same."""
    axes = np.random.default_rng(seed).normal(size=(N_SEGMENTS, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    rotations = quaternions.multiply(motion.rotations, quaternions.exp(nudge_rad * axes))
    places = [
        general_end_effectors(
            motion.skeleton, *world_segments(motion.skeleton, motion.root_positions, turned)
        )
        for turned in (motion.rotations, rotations)
    ]
    # measured end-effectors need not agree with the angles; they move by as much
    points = motion.end_effectors + (places[1] - places[0])
    return replace(motion, rotations=rotations, end_effectors=points)


def sensitivities(
    motion: Motion,
    job: RetargetJob,
    result: RetargetResult | None = None,
    progress: Progress | None = None,
    make_solver: SolverMaker | None = None,
) -> Floats:
    """
    Return the largest change of any joint of the puppet over the change put in, shape (n,).

    Parameters
    ----------
    motion : Motion
        What was captured.
    job : RetargetJob
        What is made of it.
    result : RetargetResult, optional
        What was made of it, if that is known.
    progress : callable, optional
        As of `retarget_motion`.
    make_solver : callable, optional
        Makes a solver in place of the job's; each run has a new one.

    """
    if result is None:
        result = retarget_motion(motion, job, progress, make_solver and make_solver())
    other = retarget_motion(nudged(motion), job, progress, make_solver and make_solver())
    turns = quaternions.multiply(
        quaternions.conjugate(result.puppet.rotations), other.puppet.rotations
    )
    return np.asarray(np.linalg.norm(quaternions.log(turns), axis=-1).max(axis=1) / NUDGE_RAD)


def sensitivity(
    motion: Motion,
    job: RetargetJob,
    result: RetargetResult | None = None,
    progress: Progress | None = None,
    make_solver: SolverMaker | None = None,
) -> dict[str, float]:
    """Return median and worst frame of `sensitivities`, frames left out that the clip leaps to."""
    leaping = leaping_frames(performer_arrays(motion), motion.rate_hz)
    found = sensitivities(motion, job, result, progress, make_solver)[~leaping]
    return {'median': float(np.median(found)), 'worst': float(found.max())}
