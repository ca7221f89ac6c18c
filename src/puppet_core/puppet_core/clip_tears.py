# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Places where a clip is torn: joints at a speed that no body has."""

import numpy as np
from puppet_core.posture import Motion
from puppet_core.skeleton import SEGMENTS

# Lengths of a leg in a second; for a leg of 0.84 m 25 m/s. A pitcher's or golfer's hand, the
# fastest of all, stays below.
MAX_LEGS_PER_S = 30.0
_ONE_PLACE_S = 0.25  # tears this near to each other are one


def describe_tears(motion: Motion) -> str | None:
    """
    Return what to tell about the tears of a clip, None if it has none.

    Frames are counted from 1 as read, without those that were dropped.

    Parameters
    ----------
    motion : Motion
        The clip.

    """
    if motion.n_frames < 2:
        return None
    steps = np.linalg.norm(np.diff(motion.world_segments()[1], axis=0), axis=2)
    speeds = steps * motion.rate_hz
    torn = np.flatnonzero(speeds.max(axis=1) > MAX_LEGS_PER_S * motion.skeleton.leg_length)
    if not len(torn):
        return None
    breaks = np.flatnonzero(np.diff(torn) > _ONE_PLACE_S * motion.rate_hz) + 1
    places = np.split(torn, breaks)
    worst = max(places, key=lambda place: float(speeds[place].max()))
    segment = int(np.argmax(speeds[worst].max(axis=0)))
    others = {1: '', 2: ' and in another place'}.get(
        len(places), f' and in {len(places) - 1} other places'
    )
    return (
        f'torn in frames {worst[0] + 1} to {worst[-1] + 2}: {SEGMENTS[segment]} at '
        f'{speeds[worst].max():.0f} m/s, which no body reaches{others}'
    )
