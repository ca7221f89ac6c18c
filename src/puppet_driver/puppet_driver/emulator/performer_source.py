# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the emulated sensors measure: a looped motion, seen through the sensors' mounting.

All poses of the loop are computed once; a block of ticks is then a slice plus noise. The
motion itself comes from puppet_core, procedural or from a clip.

"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quat, Vec3
from puppet_core.motion_loop import LoopedMotion
from puppet_driver.emulator.mounting import Mounting
from puppet_driver.tracker import POSE_SIZE

Disturbance = Callable[[Floats, int], Floats]


class TransmitterPose(NamedTuple):
    """The transmitter in world."""

    position: Vec3
    """Shape (3,) [m]."""

    rotation: Quat
    """REP-103 axes of the transmitter to world, unit."""


def sensor_poses(looped: LoopedMotion, mounting: Mounting, transmitter: TransmitterPose) -> Floats:
    """Return the true sensor poses in the transmitter's REP-103 axes, shape (frames, n, 7)."""
    q_world, p_world = looped.motion.world_segments()
    segments = list(mounting.segments)
    q_segment, p_segment = q_world[:, segments], p_world[:, segments]
    to_transmitter = quaternion_batch.conjugate(transmitter.rotation)
    position = p_segment + quaternion_batch.rotate(q_segment, mounting.positions)
    poses = np.empty((*q_segment.shape[:2], POSE_SIZE))
    poses[..., :3] = quaternion_batch.rotate(to_transmitter, position - transmitter.position)
    rotation = quaternion_batch.multiply(q_segment, mounting.rotations)
    poses[..., 3:] = quaternion_batch.multiply(to_transmitter, rotation)
    return poses


class PerformerSource:
    """
    Sensor poses by tick, for ever.

    Parameters
    ----------
    poses : ndarray, shape (frames, n, 7)
        Of one pass, one frame a tick.
    loop_start : int
        Frame that follows the last one.
    disturb : callable, optional
        Takes poses of a block and its first tick; returns them as measured.

    """

    def __init__(
        self, poses: Floats, loop_start: int, disturb: Disturbance | None = None
    ) -> None:
        self._poses = poses
        self._loop_start = loop_start
        self._disturb = disturb

    @property
    def n_sensors(self) -> int:
        """Return the number of sensors."""
        return self._poses.shape[1]

    def frames(self, ticks: np.ndarray) -> np.ndarray:
        """Return the frame shown at each tick."""
        n_frames = len(self._poses)
        looped = self._loop_start + (ticks - n_frames) % (n_frames - self._loop_start)
        return np.where(ticks < n_frames, ticks, looped)

    def block(self, start_tick: int, n_ticks: int) -> Floats:
        """Return the measured poses of consecutive ticks, shape (n_ticks, n, 7)."""
        poses = self._poses[self.frames(start_tick + np.arange(n_ticks))]
        return poses if self._disturb is None else self._disturb(poses, start_tick)
