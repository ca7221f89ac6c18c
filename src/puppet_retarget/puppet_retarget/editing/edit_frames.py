# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which frames an entry of an edit file is about, and where the body was in them.

An entry names one frame or time, a list of them, or an interval, which is open where one of
its ends is not given.

"""

import numpy as np
from puppet_core import quaternion_batch as qb
from puppet_core.arrays import Ints, Quats, Vec3s
from puppet_core.io.text import brief
from puppet_core.io.yaml_file import Section
from puppet_core.posture import Motion
from puppet_retarget.editing.constraints import BodyPoint, frame_range

FRAME, FRAMES, TIME, TIMES = 'frame', 'frames', 'time_s', 'times_s'
INTERVALS = (('from_frame', 'to_frame'), ('from_s', 'to_s'))
FRAME_KEYS = (FRAME, FRAMES, TIME, TIMES, *INTERVALS[0], *INTERVALS[1])
WAYS = 'frame, frames, time_s, times_s, from_frame and to_frame, or from_s and to_s'


class BodyTrack:
    """Where each point of a body was in a motion, computed once."""

    def __init__(self, motion: Motion) -> None:
        self.motion = motion
        """Of which."""
        self._q_world, self._p_world = motion.world_segments()

    def places(self, point: BodyPoint, frames: Ints) -> Vec3s:
        """Return where a point was, shape (k, 3) [m]."""
        offset = point.offset_in(self.motion.skeleton)
        turned = qb.rotate(self._q_world[frames, point.segment], offset)
        return np.asarray(self._p_world[frames, point.segment] + turned)

    def orientations(self, segment: int, frames: Ints) -> Quats:
        """Return how a segment was turned in world, shape (k, 4)."""
        return np.asarray(self._q_world[frames, segment])


def read_frames(entry: Section, motion: Motion) -> Ints:
    """
    Return the frames that an entry is about, rising.

    Raises
    ------
    InputFileError : naming file, line and key of a frame that the motion does not have.

    """
    given = [key for key in FRAME_KEYS if key in entry]
    ways = {_way_of(key) for key in given}
    if len(ways) != 1:
        got = ' and '.join(given) or 'no frame'
        raise entry.error(given[0] if given else FRAME, f'one of {WAYS}', got)
    if given[0] in (FRAME, TIME):
        return np.array([read_frame(entry, given[0], motion)])
    if given[0] in (FRAMES, TIMES):
        return _listed(entry, given[0], motion)
    low, high = next(pair for pair in INTERVALS if given[0] in pair)
    first = read_frame(entry, low, motion) if low in entry else 0
    last = read_frame(entry, high, motion) if high in entry else motion.n_frames - 1
    if last < first:
        raise entry.error(high, f'at least {low} ({entry.raw(low)})', entry.raw(high))
    return frame_range(first, last)


def read_frame(entry: Section, key: str, motion: Motion) -> int:
    """Return the frame that a key names by its index or its time."""
    return _frame(entry, key, entry.raw(key), motion)


def _listed(entry: Section, key: str, motion: Motion) -> Ints:
    values = entry.raw(key)
    if not isinstance(values, list) or not values:
        raise entry.error(key, 'a list, or from_ and to_ for an interval', brief(values))
    frames = np.array([_frame(entry, key, value, motion) for value in values])
    if np.any(np.diff(frames) <= 0):
        raise entry.error(key, 'rising values, each in another frame', brief(values))
    return frames


def _frame(entry: Section, key: str, value: object, motion: Motion) -> int:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    last = motion.n_frames - 1
    if key in (TIME, TIMES, *INTERVALS[1]):
        last_s = last / motion.rate_hz
        if not number or not 0.0 <= float(value) <= last_s + 1e-9:  # type: ignore[arg-type]
            raise entry.error(key, f'a time 0 .. {last_s:g} s', brief(value))
        # half frames go up, so that equal steps of time are equal steps of frames
        return min(int(np.floor(float(value) * motion.rate_hz + 0.5)), last)  # type: ignore
    if not isinstance(value, int) or not number or not 0 <= value <= last:
        raise entry.error(key, f'a frame 0 .. {last}', brief(value))
    return value


def _way_of(key: str) -> tuple[str, ...]:
    return next((pair for pair in INTERVALS if key in pair), (key,))
