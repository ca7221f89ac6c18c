# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Poses of sensors that come one by one, each with a stamp, to one stamped frame per tick.

A frame is handed out when all sensors are in, when one that is in comes again, or after a
timeout; sensors that missed several ticks in a row are not waited for. The frame's stamp is its
newest sample's, the others are so much older. Stamps strictly increase. Poses stay as they come.

"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.sensor_frames import SAMPLE_MISSING, SAMPLE_OK, SensorFrame

PATIENCE = 3  # ticks in a row that a sensor may miss before nobody waits for it
CLOCK_STEP_NS = 1_000_000_000  # a clock set back by more than this restarts the stamps
UNIT_TOL = 0.2  # of a quaternion's length; further from one is garbage

Pose = tuple[float, float, float, float, float, float, float]


class MergeCounters(NamedTuple):
    """What has become of the samples so far."""

    frames: int
    """Frames handed out."""

    incomplete_frames: int
    """Frames in which a sensor was missing."""

    missing_samples: int
    """Sensors missing in them."""

    invalid_samples: int
    """Samples with a number that is not finite, or a quaternion that is none."""

    old_samples: int
    """Samples not newer than the sensor's last one."""


class PoseMerger:
    """
    Collects the samples of a tick.

    Parameters
    ----------
    sensors : tuple of str
        Names, in row order.
    timeout_ns : int
        Longest wait for the rest of a tick after its first sample [ns].

    """

    def __init__(self, sensors: tuple[str, ...], timeout_ns: int) -> None:
        n = len(sensors)
        self._sensors = sensors
        self._timeout_ns = timeout_ns
        self._last_ns = [-1] * n
        self._missed = [0] * n
        self._began_ns: int | None = None
        self._stamp_ns = -1
        self._counts = dict.fromkeys(MergeCounters._fields, 0)
        self._clear()

    @property
    def counters(self) -> MergeCounters:
        """Totals since construction."""
        return MergeCounters(**self._counts)

    def add(self, row: int, stamp_ns: int, now_ns: int, pose: Pose) -> list[SensorFrame]:
        """
        Take a sample; return the frames that it completes, oldest first, mostly none or one.

        Parameters
        ----------
        row : int
            Of the sensor.
        stamp_ns, now_ns : int
            When it was measured, and now on any steady clock [ns].
        pose : tuple of float
            Position x y z and quaternion w x y z.

        """
        x, y, z, qw, qx, qy, qz = pose
        norm = math.sqrt(qw * qw + qx * qx + qy * qy + qz * qz)
        if not (abs(norm - 1.0) < UNIT_TOL and math.isfinite(x + y + z)):
            self._counts['invalid_samples'] += 1
            return []
        last_ns = self._last_ns[row]
        if last_ns - CLOCK_STEP_NS < stamp_ns <= last_ns:
            self._counts['old_samples'] += 1
            return []
        frames = []
        if self._has[row]:
            frames.append(self._hand_out())
        if self._began_ns is None:
            self._began_ns = now_ns
        self._has[row] = True
        self._last_ns[row] = stamp_ns
        self._positions[row] = x, y, z
        self._quaternions[row] = qw, qx, qy, qz
        if all(has or missed >= PATIENCE for has, missed in zip(self._has, self._missed)):
            frames.append(self._hand_out())
        return frames

    def expire(self, now_ns: int) -> SensorFrame | None:
        """Return the frame that has waited too long, if there is one."""
        if self._began_ns is None or now_ns - self._began_ns < self._timeout_ns:
            return None
        return self._hand_out()

    def _hand_out(self) -> SensorFrame:
        has = np.array(self._has)
        last_ns = np.array(self._last_ns, dtype=np.int64)
        stamp_ns = int(last_ns[has].max())
        if self._stamp_ns - CLOCK_STEP_NS < stamp_ns <= self._stamp_ns:
            stamp_ns = self._stamp_ns + 1
        self._stamp_ns = stamp_ns
        ages_s = np.where(last_ns >= 0, 1e-9 * np.maximum(stamp_ns - last_ns, 0), 0.0)
        self._missed = [0 if here else n + 1 for here, n in zip(self._has, self._missed)]
        n_missing = self._has.count(False)
        counts = self._counts
        counts['frames'] += 1
        counts['incomplete_frames'] += n_missing > 0
        counts['missing_samples'] += n_missing
        frame = SensorFrame(
            stamp_ns, counts['frames'] - 1, self._sensors, self._positions, self._quaternions,
            ages_s, np.where(has, SAMPLE_OK, SAMPLE_MISSING).astype(np.uint8),
        )  # fmt: skip
        self._clear()
        return frame

    def _clear(self) -> None:
        """Begin a tick; the arrays of the last one are the frame's now."""
        n = len(self._sensors)
        self._began_ns = None
        self._has = [False] * n
        self._positions = np.full((n, 3), np.nan)
        self._quaternions = np.full((n, 4), np.nan)
