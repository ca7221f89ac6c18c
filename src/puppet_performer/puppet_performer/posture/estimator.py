# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Calibrated sensors to the performer's posture, frame by frame.

Segment orientations come from the sensors' rotations, end-effector positions from their
positions and velocities from the filter's twist; shoulders and elbows, hips and knees turn as
little as makes the angles agree with the positions. A segment without a usable sensor is
inferred from its neighbours and the limb's end, or held and faded to rest, and blended
(`posture.blend`): slots 0 to 15 are the rotations of the segments (the chest's in the pelvis'
frame, so that the torso bends evenly), 16 the root, 17 to 24 the end-effectors.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import N_SEGMENTS, Posture, SEGMENTS, Skeleton
from puppet_core.math import (
    Ints,
    kernel,
    pack_arrays,
    Quat,
    quaternions,
    Quats,
    Vec3,
    Vec3s,
    work_table,
)
from puppet_core.sensor_frames import FilteredFrame
from puppet_performer.calibration import Calibration
from puppet_performer.posture.blend import CHANGED, Ease, EaseTimes, FRESH, fresh_ease, NOTHING
from puppet_performer.posture.body import BodyArrays, N_POINTS, Proportions
from puppet_performer.posture.discontinuity import carry_after_leap
from puppet_performer.posture.limbs import settle_limb
from puppet_performer.posture.sensors import ABSENT, Mounting, PREDICTED, read_sensors, Sensed
from puppet_performer.posture.trunk import settle_trunk

STATUS_MEASURED, STATUS_INFERRED, STATUS_STALE = 0, 1, 2  # as in the Posture message

MAX_STEP_S = 0.25  # over a longer gap, or a step back, no source goes on
IDENTITY = (1.0, 0.0, 0.0, 0.0)


# One frame, as arrays (kernels).


@kernel
def estimate_posture(
    skeleton: Proportions,
    mounting: Mounting,
    sensed: Sensed,
    dt: float,
    ease: Ease,
    times: EaseTimes,
    body: BodyArrays,
    status: NDArray,
) -> None:
    """
    Advance the body by one frame whose sensors have been read.

    Parameters
    ----------
    skeleton, mounting, sensed : Proportions, Mounting, Sensed
        The body, its sensors and how they sit.
    dt : float
        Since the last frame, >= 0 [s].
    ease, times : Ease, EaseTimes
        State of the blending, and its times.
    body : BodyArrays
        In and out.
    status : ndarray of uint8, shape (16,)
        Out: STATUS_* of every segment.

    """
    carry_after_leap(skeleton, mounting, sensed, dt, ease, body)
    quaternions, points = work_table(2, 4), work_table(2, 3)
    settle_trunk(skeleton, mounting, sensed, dt, ease, times, body, quaternions, points)
    for limb in range(4):
        settle_limb(limb, skeleton, mounting, sensed, dt, ease, times, body)
    grade_segments(sensed, ease, times, status)


@kernel
def grade_segments(sensed: Sensed, ease: Ease, times: EaseTimes, status: NDArray) -> None:
    """Fill the STATUS_* of every segment, shape (16,)."""
    for segment in range(N_SEGMENTS):
        quality = sensed.quality[segment]
        lost_lately = ease.ages[segment] < times.hold + times.fade
        if quality == ABSENT:
            stale = lost_lately or ease.sources[segment] == NOTHING
            status[segment] = STATUS_STALE if stale else STATUS_INFERRED
        else:
            status[segment] = STATUS_STALE if quality == PREDICTED else STATUS_MEASURED


# The same with all arrays packed into one argument (see `math.compiled`).


class PostureArrays(NamedTuple):
    """All that one performer's posture is made from, and the posture."""

    skeleton: Proportions
    mounting: Mounting
    rows: Ints  # (16,) row of each segment's sensor, -1 for none
    sensed: Sensed
    ease: Ease
    times: EaseTimes
    body: BodyArrays
    status: NDArray  # (16,) STATUS_* of each segment


@kernel
def step_posture(
    positions: Vec3s,
    rotations: Quats,
    linear: Vec3s,
    angular: Vec3s,
    status: NDArray,
    dt: float,
    packed: NDArray,
) -> None:
    """
    Advance a performer by one filtered frame.

    Parameters
    ----------
    positions, rotations, linear, angular, status : ndarray
        The sensors, as in `read_sensors`.
    dt : float
        Since the last frame, >= 0 [s].
    packed : ndarray, shape (1,)
        PostureArrays, packed; in and out.

    """
    record = packed[0]
    mounting, sensed = _mounting_arrays(record.mounting), _sensed(record.sensed)
    read_sensors(positions, rotations, linear, angular, status, record.rows[:], mounting, sensed)
    estimate_posture(
        _proportions(record.skeleton),
        mounting,
        sensed,
        dt,
        _ease(record.ease),
        _blend_times(record.times),
        _body(record.body),
        record.status[:],
    )


@kernel
def _proportions(record: Any) -> Proportions:
    return Proportions(record.offsets[:], record.interaction_points[:])


@kernel
def _mounting_arrays(record: Any) -> Mounting:
    return Mounting(
        record.q_sensor_segment[:],
        record.p_segment_sensor[:],
        record.q_world_tracker[:],
        record.p_world_tracker[:],
    )


@kernel
def _sensed(record: Any) -> Sensed:
    return Sensed(
        record.quality[:],
        record.positions[:],
        record.orientations[:],
        record.linear[:],
        record.angular[:],
    )


@kernel
def _ease(record: Any) -> Ease:
    return Ease(
        record.sources[:],
        record.befores[:],
        record.ages[:],
        record.numbers[:],
        record.rotations[:],
        record.points[:],
    )


@kernel
def _blend_times(record: Any) -> EaseTimes:
    return EaseTimes(record.hold, record.fade, record.back)


@kernel
def _body(record: Any) -> BodyArrays:
    return BodyArrays(
        record.rotations[:],
        record.root[:],
        record.q_world[:],
        record.p_world[:],
        record.torso[:],
        record.carrying[:],
        record.points[:],
        record.velocities[:],
        record.eased[:],
        record.turns[:],
    )


# The estimator.


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
        self._packed, self._arrays = pack_arrays(
            PostureArrays(
                Proportions(skeleton.offsets, skeleton.interaction_points),
                _mounting(calibration, q_world_tracker, p_world_tracker),
                np.full(N_SEGMENTS, -1),
                Sensed(
                    np.zeros(N_SEGMENTS, dtype=np.int64),
                    _points(),
                    _identities(),
                    _points(),
                    _points(),
                ),
                fresh_ease(N_SEGMENTS, N_POINTS),
                _times(config),
                BodyArrays(
                    _identities(),
                    np.zeros(3),
                    _identities(),
                    _points(),
                    np.array(IDENTITY),
                    np.array(IDENTITY),
                    np.zeros((8, 3)),
                    np.zeros((8, 3)),
                    _identities(),
                    _identities()[:8],
                ),
                np.zeros(N_SEGMENTS, dtype=np.uint8),
            )
        )
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
            frame.positions,
            frame.quaternions,
            frame.linear_velocities,
            frame.angular_velocities,
            frame.status,
            dt,
            self._packed,
        )
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
    q_sensor_segment[calibration.segments] = quaternions.conjugate(calibration.rotations)
    p_segment_sensor[calibration.segments] = calibration.positions
    q = quaternions.normalize(np.array(q_world_tracker, dtype=np.float64))
    return Mounting(
        q_sensor_segment, p_segment_sensor, q, np.array(p_world_tracker, dtype=np.float64)
    )


def _times(config: PostureConfig) -> EaseTimes:
    return EaseTimes(config.hold_s, config.fade_s, config.return_s)


def _points() -> Vec3s:
    return np.zeros((N_SEGMENTS, 3))


def _identities() -> Quats:
    return np.tile(IDENTITY, (N_SEGMENTS, 1))


def warm_up(skeleton: Skeleton) -> None:
    """Run one frame of an invented performer."""
    n = N_SEGMENTS
    identities = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
    calibration = Calibration(
        '', '', '', SEGMENTS, np.arange(n), identities, np.zeros((n, 3)), np.zeros(n), np.zeros(n)
    )
    estimator = PostureEstimator(
        skeleton, calibration, identities[0], np.zeros(3), PostureConfig()
    )
    frame = FilteredFrame(
        0,
        0,
        SEGMENTS,
        np.zeros((n, 3)),
        identities,
        np.zeros((n, 3)),
        np.zeros((n, 3)),
        np.zeros((n, 6, 6)),
        np.zeros(n, dtype=np.uint8),
    )
    estimator.step(frame)
