# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A window of recent sensor frames, which can wait for the performer to stand still.

In waiting mode a frame that has moved away from the window's first one empties the window,
so that a full window is a still one; whether it is a T-pose, the calibration decides.

"""

import numpy as np
from numpy.typing import NDArray
from puppet_core import quaternion_batch
from puppet_core.arrays import Quat, Quats, Vec3, Vec3s
from puppet_core.sensor_frames import FILTER_OK, FILTER_REINITIALISED, FilteredFrame, SensorFrame
from puppet_retarget.performer.pose_calibration import PoseRecording

MAX_FRAMES = 20_000  # two minutes at the fastest tracker's rate
STRAY_SHARE = 0.25  # of the sensors may stray (outliers) before a frame counts as moved


class PoseRecorder:
    """Collects frames in world until they span a duration."""

    def __init__(
        self,
        sensors: tuple[str, ...],
        q_world_tracker: Quat,
        p_world_tracker: Vec3,
        duration_s: float,
        max_stray_m: float = np.inf,
    ) -> None:
        """
        Prepare an empty window.

        Parameters
        ----------
        sensors : tuple of str
            The layout's, in its order.
        q_world_tracker, p_world_tracker : ndarray, shapes (4,) and (3,)
            Frame of the sensor poses in world.
        duration_s : float
            Length of the window [s].
        max_stray_m : float
            Wait until the sensors stay this near to where they were at the window's
            beginning [m]; infinite records whatever comes.

        """
        self._sensors = sensors
        self._q_world_tracker = np.array(q_world_tracker)
        self._p_world_tracker = np.array(p_world_tracker)
        self._duration_ns = round(duration_s * 1e9)
        self._max_stray_m = max_stray_m
        self._frames: list[tuple[Vec3s, Quats, NDArray[np.bool_]]] = []
        self._first_ns = 0
        self._last_ns = 0

    @property
    def n_frames(self) -> int:
        """Return the number of frames in the window."""
        return len(self._frames)

    def restart(self) -> None:
        """Forget all frames."""
        self._frames.clear()

    def add(self, frame: FilteredFrame) -> bool:
        """Take a frame; return True once the window is full."""
        positions, rotations, usable = in_world(
            frame, self._sensors, self._q_world_tracker, self._p_world_tracker
        )
        stale = frame.stamp_ns <= self._last_ns or len(self._frames) >= MAX_FRAMES
        if self._frames and (stale or self._has_moved(positions, usable)):
            self.restart()
        if not self._frames:
            self._first_ns = frame.stamp_ns
        self._last_ns = frame.stamp_ns
        self._frames.append((positions, rotations, usable))
        return self._last_ns - self._first_ns >= self._duration_ns

    def recording(self) -> PoseRecording:
        """Return the frames in the window, at least one."""
        positions, rotations, usable = zip(*self._frames)
        return PoseRecording(np.array(positions), np.array(rotations), np.array(usable))

    def _has_moved(self, positions: Vec3s, usable: NDArray[np.bool_]) -> bool:
        first, _, first_usable = self._frames[0]
        both = usable & first_usable
        moved = np.linalg.norm(positions - first, axis=1) > self._max_stray_m
        return bool(np.any(both)) and float(np.mean(moved[both])) > STRAY_SHARE


def in_world(
    frame: FilteredFrame | SensorFrame, sensors: tuple[str, ...], q_world_tracker: Quat,
    p_world_tracker: Vec3,
) -> tuple[Vec3s, Quats, NDArray[np.bool_]]:  # fmt: skip
    """
    Return some sensors of a frame in world.

    Parameters
    ----------
    frame : FilteredFrame or SensorFrame
        Poses in the tracker's axes; what is good has the same status in both.
    sensors : tuple of str
        Which, in this order; the frame may lack some.
    q_world_tracker, p_world_tracker : ndarray, shapes (4,) and (3,)
        Frame of the sensor poses in world.

    Returns
    -------
    positions, rotations, usable : ndarray, shapes (n, 3), (n, 4), (n,)
        Position [m], rotation, and whether it was measured in this frame.

    """
    n = len(sensors)
    positions, rotations = np.zeros((n, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
    usable = np.zeros(n, dtype=bool)
    for i, name in enumerate(sensors):
        if name not in frame.sensors:
            continue
        row = frame.sensors.index(name)
        pose = np.concatenate((frame.positions[row], frame.quaternions[row]))
        measured = frame.status[row] in (FILTER_OK, FILTER_REINITIALISED)
        if measured and np.all(np.isfinite(pose)):
            positions[i], rotations[i], usable[i] = pose[:3], pose[3:], True
    return (
        quaternion_batch.rotate(q_world_tracker, positions) + p_world_tracker,
        quaternion_batch.multiply(q_world_tracker, rotations),
        usable,
    )
