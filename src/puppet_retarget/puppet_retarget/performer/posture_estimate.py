# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Calibrated sensors to the performer's posture, frame by frame (SPEC 3.3).

Segment orientations come from the sensors' rotations, end-effector positions from their
positions and velocities from the filter's twist; shoulders and elbows, hips and knees turn as
little as makes the angles agree with the positions. What has no sensor, or has lost it, is
inferred from what the neighbours and the limb's end tell, or held and faded to rest where
nothing tells.

"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core import quaternion_batch
from puppet_core.arrays import Quat, Quats, Vec3, Vec3s
from puppet_core.packed_arrays import pack_arrays
from puppet_core.posture import Posture
from puppet_core.sensor_frames import FilteredFrame
from puppet_core.skeleton import N_SEGMENTS, Skeleton
from puppet_retarget.performer.body_arrays import BodyArrays, N_POINTS, Proportions
from puppet_retarget.performer.calibration import Calibration
from puppet_retarget.performer.ease_kernels import CHANGED, EaseTimes, FRESH, fresh_ease
from puppet_retarget.performer.posture_step import PostureArrays, step_posture
from puppet_retarget.performer.sensor_kernels import Mounting, Sensed

MAX_STEP_S = 0.25  # over a longer gap, or a step back, no source goes on
IDENTITY = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class PostureConfig:
    """How a posture behaves while sensors come and go."""

    hold_s: float = 0.25
    """A segment whose sensor is lost keeps its joint rotation for this long [s]."""

    fade_s: float = 1.0
    """Then it goes over to the inferred rotation in this time [s]."""

    return_s: float = 0.3
    """A sensor that is there again takes over in this time [s]."""


class EstimatedPosture(NamedTuple):
    """One frame's posture; the arrays are overwritten by the next step."""

    posture: Posture
    """Root, joint rotations, end-effectors."""

    q_world: Quats
    """Orientation of each segment in world, shape (16, 4)."""

    p_world: Vec3s
    """Joint of each segment in world, shape (16, 3) [m]."""

    status: NDArray[np.uint8]
    """STATUS_* of each segment, shape (16,)."""


class PostureEstimator:
    """The posture of one calibrated performer, from a stream of filtered frames."""

    def __init__(
        self,
        skeleton: Skeleton,
        calibration: Calibration,
        q_world_tracker: Quat,
        p_world_tracker: Vec3,
        config: PostureConfig,
    ) -> None:
        self._sensors = calibration.sensors
        self._segments = calibration.segments
        self._packed, self._arrays = pack_arrays(PostureArrays(
            Proportions(skeleton.offsets, skeleton.interaction_points),
            _mounting(calibration, q_world_tracker, p_world_tracker),
            np.full(N_SEGMENTS, -1),
            Sensed(
                np.zeros(N_SEGMENTS, dtype=np.int64), _points(), _identities(), _points(),
                _points(),
            ),
            fresh_ease(N_SEGMENTS, N_POINTS),
            _times(config),
            BodyArrays(
                _identities(), np.zeros(3), _identities(), _points(), np.array(IDENTITY),
                np.array(IDENTITY), np.zeros((8, 3)), np.zeros((8, 3)), _identities(),
                _identities()[:8],
            ),
            np.zeros(N_SEGMENTS, dtype=np.uint8),
        ))  # fmt: skip
        self._frame_sensors: tuple[str, ...] = ()
        self._stamp_ns: int | None = None
        body = self._arrays.body
        self._result = EstimatedPosture(
            Posture(body.root, body.rotations, body.points, body.velocities),
            body.q_world,
            body.p_world,
            self._arrays.status,
        )

    def configure(self, config: PostureConfig) -> None:
        """Take new times without a jump."""
        times: Any = self._arrays.times  # views of single numbers
        for time, value in zip(times, _times(config)):
            time[()] = value

    def reset(self) -> None:
        """Forget the past: the next frame is taken as it comes."""
        self._stamp_ns = None
        self._arrays.ease.sources[:] = FRESH

    def step(self, frame: FilteredFrame) -> EstimatedPosture:
        """
        Return the posture of the next frame.

        Parameters
        ----------
        frame : FilteredFrame
            Its sensors may be more or fewer than the calibrated ones; lost ones, and rows
            that are not finite, count as absent.

        """
        if frame.sensors != self._frame_sensors:
            self._map_rows(frame.sensors)
        dt = self._step_s(frame.stamp_ns)
        step_posture(
            frame.positions, frame.quaternions, frame.linear_velocities,
            frame.angular_velocities, frame.status, dt, self._packed,
        )  # fmt: skip
        return self._result

    def _step_s(self, stamp_ns: int) -> float:
        last_ns, self._stamp_ns = self._stamp_ns, stamp_ns
        if last_ns is None:
            return 0.0
        dt = (stamp_ns - last_ns) * 1e-9
        if 0.0 <= dt <= MAX_STEP_S:
            return dt
        self._arrays.ease.sources[:] = CHANGED
        return 0.0

    def _map_rows(self, sensors: tuple[str, ...]) -> None:
        self._frame_sensors = sensors
        self._arrays.rows[:] = -1
        for name, segment in zip(self._sensors, self._segments):
            if name in sensors:
                self._arrays.rows[segment] = sensors.index(name)


def _mounting(calibration: Calibration, q_world_tracker: Quat, p_world_tracker: Vec3) -> Mounting:
    q_sensor_segment, p_segment_sensor = _identities(), _points()
    q_sensor_segment[calibration.segments] = quaternion_batch.conjugate(calibration.rotations)
    p_segment_sensor[calibration.segments] = calibration.positions
    q = quaternion_batch.normalize(np.array(q_world_tracker, dtype=np.float64))
    return Mounting(
        q_sensor_segment, p_segment_sensor, q, np.array(p_world_tracker, dtype=np.float64)
    )


def _times(config: PostureConfig) -> EaseTimes:
    return EaseTimes(config.hold_s, config.fade_s, config.return_s)


def _points() -> Vec3s:
    return np.zeros((N_SEGMENTS, 3))


def _identities() -> Quats:
    return np.tile(IDENTITY, (N_SEGMENTS, 1))
