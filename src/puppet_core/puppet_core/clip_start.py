# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The artificial first frame of converted clips.

The BVH conversions of the CMU database begin with a T-pose somewhere else, and their resampling
rings for some frames after it. Both show as joint speeds that no body has.

"""

import numpy as np
from puppet_core.arrays import Vec3s

_IMPOSSIBLE_SPEED = 12.0  # mean over all joints, body heights per second; a sprinter has 6
_MIN_RATIO = 5.0  # of the first step to the steps after the start
_RINGING_S = 0.1  # the start lasts no longer
_SETTLED_RATIO = 2.0  # steps up to this much above the later ones are motion
_REFERENCE_S = 0.3  # of motion after the start to compare with


def count_artificial_frames(p_world: Vec3s, rate_hz: float, body_height: float) -> int:
    """
    Return how many frames at the start are not motion.

    Parameters
    ----------
    p_world : ndarray, shape (n, j, 3)
        Joint positions [m].
    rate_hz : float
        Frames per second.
    body_height : float
        Any length of the body's size [m]: what is impossible depends on it.

    Returns
    -------
    count : int
        0 if the first frame continues into the second.

    """
    n_start = max(1, round(_RINGING_S * rate_hz))
    n_seen = n_start + max(3, round(_REFERENCE_S * rate_hz))
    steps = np.linalg.norm(np.diff(p_world[: n_seen + 1], axis=0), axis=2).mean(axis=1)
    later = steps[n_start:]
    if len(later) < 3:
        later = steps[1:]
        if len(later) < 2:
            return 0
    usual = float(np.median(later))
    is_jump = steps[0] * rate_hz > _IMPOSSIBLE_SPEED * body_height
    if not is_jump or steps[0] < _MIN_RATIO * usual:
        return 0
    restless = np.flatnonzero(steps[:n_start] > _SETTLED_RATIO * usual)
    return int(restless[-1]) + 1
