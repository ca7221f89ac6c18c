# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Calibrated sensors to the performer's posture, frame by frame.

Segment orientations come from the sensors' rotations, end-effector positions from their
positions and velocities from the filter's twist; shoulders and elbows, hips and knees turn as
little as makes the angles agree with the positions. A segment without a usable sensor is
inferred from its neighbours and the limb's end, or held and faded to rest, and blended
(`posture.state`): slots 0 to 15 are the rotations of the segments (the chest's in the pelvis'
frame, so that the torso bends evenly), 16 the root, 17 to 24 the end-effectors.
"""

from dataclasses import astuple, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import N_SEGMENTS, Posture, SEGMENTS, Skeleton
from puppet_core.math import kernel, Quat, quaternions, Quats, Vec3, Vec3s
from puppet_core.sensor_frames import FilteredFrame, UNKNOWN
from puppet_performer.calibration import Calibration
from puppet_performer.posture.discontinuity import carry_over_discontinuity
from puppet_performer.posture.segments import estimate_limb, estimate_trunk
from puppet_performer.posture.state import (
    ABSENT,
    CHANGED,
    FRESH,
    fresh_state,
    NOTHING,
    PREDICTED,
    read_sensors,
    Record,
)

STATUS_MEASURED, STATUS_INFERRED, STATUS_STALE = 0, 1, 2  # as in the Posture message

MAX_STEP_S = 0.25  # over a longer gap, or a step back, no source goes on


@kernel
def step_posture(
    positions: Vec3s,
    rotations: Quats,
    linear: Vec3s,
    angular: Vec3s,
    status: NDArray,
    states: NDArray,
) -> None:
    """Advance a performer, shape (1,) of STATE, by one filtered frame as in `read_sensors`."""
    state = states[0]
    read_sensors(positions, rotations, linear, angular, status, state)
    carry_over_discontinuity(state)
    estimate_trunk(state)
    for limb in range(4):
        estimate_limb(limb, state)
    for segment in range(N_SEGMENTS):
        state.status[segment] = _status(segment, state)


@kernel
def _status(segment: int, state: Record) -> int:
    quality, slot = state.sensors[segment].quality, state.slots[segment]
    if quality == ABSENT:
        lost_lately = slot.age < state.times.hold + state.times.fade
        return STATUS_STALE if lost_lately or slot.source == NOTHING else STATUS_INFERRED
    return STATUS_STALE if quality == PREDICTED else STATUS_MEASURED


@dataclass(frozen=True, slots=True)
class PostureConfig:
    """How a posture behaves while sensors come and go."""

    # A segment whose sensor is lost keeps its joint rotation for this long [s]
    hold_s: float = 0.25
    fade_s: float = 1.0  # Then it goes over to the inferred rotation in this time [s]
    return_s: float = 0.3  # A sensor that is there again takes over in this time [s]


class EstimatedPosture(NamedTuple):
    """One frame's posture; the arrays are overwritten by the next step."""

    posture: Posture  # Root, joint rotations, end-effectors
    q_world: Quats  # Orientation of each segment in world, shape (16, 4)
    p_world: Vec3s  # Joint of each segment in world, shape (16, 3) [m]
    status: NDArray[np.uint8]  # STATUS_* of each segment, shape (16,)


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
        self._calibration = calibration
        self._states = fresh_state(skeleton)
        self._state = state = self._states[0]
        state['q_world_tracker'] = quaternions.normalize(np.asarray(q_world_tracker, np.float64))
        state['p_world_tracker'] = p_world_tracker
        sensors, worn = state['sensors'], calibration.segments
        sensors['q_sensor_segment'][worn] = quaternions.conjugate(calibration.rotations)
        sensors['p_segment_sensor'][worn] = calibration.positions
        self.configure(config)
        self._frame_sensors: tuple[str, ...] = ()
        self._stamp_ns: int | None = None
        self._result = EstimatedPosture(
            Posture(state['root'], state['rotations'], state['points'], state['velocities']),
            state['q_world'],
            state['p_world'],
            state['status'],
        )

    def configure(self, config: PostureConfig) -> None:
        """Use new times without a jump."""
        self._state['times'] = astuple(config)

    def reset(self) -> None:
        """Forget the past: the next frame is used as it comes."""
        self._stamp_ns = None
        self._state['slots']['source'] = FRESH

    def step(self, frame: FilteredFrame) -> EstimatedPosture:
        """
        Return the posture of the next frame.

        Its sensors may be more or fewer than the calibrated ones; lost ones, and rows that are
        not finite, count as absent.
        """
        if frame.sensors != self._frame_sensors:
            self._map_rows(frame.sensors)
        self._state['dt'] = self._step_s(frame.stamp_ns)
        step_posture(
            frame.positions,
            frame.quaternions,
            frame.linear_velocities,
            frame.angular_velocities,
            frame.status,
            self._states,
        )
        return self._result

    def _step_s(self, stamp_ns: int) -> float:
        last_ns, self._stamp_ns = self._stamp_ns, stamp_ns
        if last_ns is None:
            return 0.0
        dt = (stamp_ns - last_ns) * 1e-9
        if 0.0 <= dt <= MAX_STEP_S:
            return dt
        self._state['slots']['source'] = CHANGED
        return 0.0

    def _map_rows(self, sensors: tuple[str, ...]) -> None:
        self._frame_sensors = sensors
        rows = self._state['sensors']['row']
        rows[:] = -1
        for name, segment in zip(self._calibration.sensors, self._calibration.segments):
            if name in sensors:
                rows[segment] = sensors.index(name)


def warm_up(skeleton: Skeleton) -> None:
    """Run one frame of an invented performer, so that the kernels are compiled."""
    n = N_SEGMENTS
    identities, zeros = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)), np.zeros((n, 3))
    calibration = Calibration(
        '', '', '', SEGMENTS, np.arange(n), identities, zeros, np.zeros(n), np.zeros(n)
    )
    estimator = PostureEstimator(
        skeleton, calibration, identities[0], np.zeros(3), PostureConfig()
    )
    status = np.zeros(n, dtype=np.uint8)
    estimator.step(FilteredFrame(0, 0, SEGMENTS, zeros, identities, zeros, zeros, UNKNOWN, status))
