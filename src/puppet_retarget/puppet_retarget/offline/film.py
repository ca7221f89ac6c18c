# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A film: its instants, its pictures one after the other, and how many there are."""

from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
import math
import os

import numpy as np
from puppet_core.arrays import Floats
from puppet_core.errors import ConfigError
from puppet_core.image_file import Picture
from puppet_retarget.offline.line_up import LineUp

MAX_FRAMES = 100_000
_WHOLE = 1e-6  # of a frame


@dataclass(frozen=True, slots=True)
class FilmTimes:
    """When the frames of a film are."""

    first_s: float
    """In the clip, of the first frame [s]."""

    last_s: float
    """In the clip; the film ends before it [s]."""

    fps: float = 30.0
    """Frames in a second of the film."""

    speed: float = 1.0
    """Seconds of the clip in a second of the film."""

    @property
    def count(self) -> int:
        """Return the number of frames, at least one."""
        frames = (self.last_s - self.first_s) * self.fps / self.speed
        return max(math.ceil(frames - _WHOLE), 1)

    def instants(self) -> Floats:
        """
        Return the times of the frames in the clip, shape (count,) [s].

        Raises
        ------
        ConfigError : if there are too many.

        """
        if self.count > MAX_FRAMES:
            raise ConfigError(f'--video: expected at most {MAX_FRAMES} frames, got {self.count}')
        times = self.first_s + np.arange(self.count) * (self.speed / self.fps)
        return np.asarray(times, dtype=np.float64)


def film_pictures(
    scenes: LineUp, samples: int, threads: int | None = None
) -> Generator[Picture, None, None]:
    """
    Yield the picture of each instant, in order, drawn by all processors.

    Parameters
    ----------
    scenes : LineUp
        What is seen.
    samples : int
        Rays along each side of a pixel on an edge.
    threads : int, optional
        How many pictures are drawn at a time; by default one for each processor.

    """
    count = len(scenes.shots)
    threads = threads or os.cpu_count() or 1
    waiting: deque[Future[Picture]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for i in range(count):
            waiting.append(pool.submit(scenes.picture, i, samples, 1))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
