# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A recorded performance as plain arrays, whoever read it."""

from dataclasses import dataclass

import numpy as np
from puppet_core.arrays import Floats
from puppet_core.character import Capsule
from puppet_core.posture import Motion


@dataclass(frozen=True, slots=True)
class RecordedBody:
    """A body that was recorded."""

    name: str
    """Whose posture it is."""

    motion: Motion
    """What it did."""

    capsules: tuple[Capsule, ...]
    """Its shape; none if only its name is known."""

    start_ns: int
    """Stamp of its first frame [ns]."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Who was recorded."""

    performer: RecordedBody | None
    """The captured body."""

    puppet: RecordedBody | None
    """The puppet that it drove."""

    importance_times_s: Floats
    """When importance was recorded, since `start_ns`, shape (m,) [s]."""

    importances: Floats
    """Of each limb, shape (m, 4)."""

    start_ns: int
    """Stamp of the first frame of all [ns]."""

    def start_s(self, body: RecordedBody) -> float:
        """Return when a body's first frame is, since `start_ns` [s]."""
        return (body.start_ns - self.start_ns) * 1e-9

    def importances_of(self, body: RecordedBody) -> Floats | None:
        """Return the importance of each limb in a body's frames, (n, 4); None if none is."""
        if not len(self.importances):
            return None
        times = self.start_s(body) + np.arange(body.motion.n_frames) / body.motion.rate_hz
        columns = [
            np.interp(times, self.importance_times_s, self.importances[:, k]) for k in range(4)
        ]
        return np.stack(columns, axis=1)
