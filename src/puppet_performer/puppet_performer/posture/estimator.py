# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Calibrated sensors to the performer's posture, frame by frame.

End-effector positions come from the sensors' positions; limbs turn as little as makes the angles
agree with them. A segment without a usable sensor is inferred from its neighbours and the limb's
end, or held and faded to rest, and blended (`posture.state`): slots 0 to 15 are the rotations of
the segments (the chest's in the pelvis' frame), 16 the root, 17 to 24 the end-effectors.
"""

from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import (
    FASTEST_M_S,
    FASTEST_RAD_S,
    LIMB_SEGMENTS,
    LONGEST_S,
    N_SEGMENTS,
    PERFORMER_RATIO,
    Posture,
    SEGMENTS,
    SHORTEST_S,
    Skeleton,
)
from puppet_core.io import setting
from puppet_core.math import copy, kernel, quaternions, Quats, vec3, Vec3s
from puppet_core.math.values import (
    add,
    conjugate,
    multiply,
    norm,
    Quat,
    quat,
    QuatLike,
    rotate,
    sub,
    Vec3,
    Vec3Like,
)
from puppet_core.sensor_frames import FilteredFrame, UNKNOWN
from puppet_performer.calibration import Calibration
from puppet_performer.posture.enhancement import enhance_sensors
from puppet_performer.posture.segments import estimate_limb, estimate_trunk
from puppet_performer.posture.state import (
    ABSENT,
    CHANGED,
    FRESH,
    fresh_state,
    is_absent,
    joint_of_sensor,
    N_SLOTS,
    NOTHING,
    PELVIS,
    PREDICTED,
    read_sensors,
    Record,
    RESTARTED,
    ROOT,
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
    enhance_sensors(state)
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


# A discontinuity of the whole performer: the body is elsewhere from one frame to the next.
#
# Where the filter reports that the pelvis' pose does not go on, or stamps leave a gap, and the
# whole body is farther away than one moves in a few frames, nobody walked there: the performer
# was not measured meanwhile, or it is another one. Blended, the body would cross the room faster
# than anybody, and turn through its own hands. So all remembered poses in the world are carried
# there as one piece, over the floor and about the vertical; only the remaining difference is
# blended. Subscribers detect the discontinuity by the same measure (`DiscontinuityDetector`).
#
# A pelvis alone has not gone anywhere: its sensor was lost. Nor has a body of which a hand is
# measured where it was.

# A discontinuity is farther than a body goes in so many frames. A subscriber that misses one of
# two messages still detects it.
LEAP_FRAMES = 3.0
# A limb has gone along if, where the body went, it is nearer than so by far.
GONE_SHARE, GONE_M = 0.5, 0.1

_MIDDLES = tuple(int(s) for s in LIMB_SEGMENTS[:, 1])  # whose own joint is elbow or knee


@kernel
def carry_over_discontinuity(state: Record) -> None:
    """Move the body as it was published last to its pelvis, if the whole of it is elsewhere."""
    slot, sensor = state.slots[PELVIS], state.sensors[PELVIS]
    if slot.source == FRESH or sensor.quality == ABSENT:
        return
    if sensor.quality != RESTARTED and slot.source != CHANGED:
        return
    joint, root = joint_of_sensor(PELVIS, state), vec3(state.root)
    place = (joint[0], joint[1], 0.0)
    way = math.hypot(place[0] - root[0], place[1] - root[1])
    step = state.slots[ROOT].step
    before = (root[0] + step[0], root[1] + step[1], 0.0)  # where the body would have gone
    last = multiply(quat(slot.step), quat(state.rotations[PELVIS]))
    turn = _about_vertical(multiply(quat(sensor.orientation), conjugate(last)))
    span = PERFORMER_RATIO * min(LEAP_FRAMES * max(state.dt, SHORTEST_S), LONGEST_S)
    angle = 2.0 * math.atan2(abs(turn[3]), abs(turn[0]))
    if way <= FASTEST_M_S * span and angle <= FASTEST_RAD_S * span:
        return
    if _limbs_went_along(turn, before, place, state):
        _carry_all(turn, before, place, state)


@kernel
def _about_vertical(turn: Quat) -> Quat:
    """Return of a rotation what is about the vertical; nothing of one that turns it over."""
    length = math.hypot(turn[0], turn[3])
    if length < 1e-6:
        return 1.0, 0.0, 0.0, 0.0
    return turn[0] / length, 0.0, 0.0, turn[3] / length


@kernel
def _limbs_went_along(turn: Quat, before: Vec3, place: Vec3, state: Record) -> bool:
    """Return whether the general end-effectors that are seen went along, all of them."""
    n_seen = 0
    for point in range(8):
        limb, is_end = point % 4, point < 4
        segment = _MIDDLES[limb] + int(is_end)
        if is_absent(segment, state):
            continue
        now = joint_of_sensor(segment, state)
        if is_end:
            q = quat(state.sensors[segment].orientation)
            now = add(now, rotate(q, vec3(state.interaction_points[limb])))
        then = vec3(state.slots[ROOT + 1 + point].target)
        stayed_m = norm(sub(now, then))
        if norm(sub(now, _carried(turn, before, place, then))) > GONE_SHARE * stayed_m + GONE_M:
            return False
        n_seen += 1
    return n_seen > 0


@kernel
def _carry_all(turn: Quat, before: Vec3, place: Vec3, state: Record) -> None:
    """Move what is remembered of the body in the world; what is in a segment's frame stays."""
    copy(_carried(turn, before, place, vec3(state.root)), state.root[:])
    copy(multiply(turn, quat(state.rotations[PELVIS])), state.rotations[PELVIS])
    for i in range(8):
        copy(_carried(turn, before, place, vec3(state.points[i])), state.points[i])
    for i in range(N_SEGMENTS):
        copy(_turned_along(turn, quat(state.turns[i])), state.turns[i])
    for i in range(ROOT, N_SLOTS):
        slot = state.slots[i]
        copy(_carried(turn, before, place, vec3(slot.target)), slot.target[:3])
        copy(_carried(turn, before, place, vec3(slot.earlier)), slot.earlier[:3])
        copy(rotate(turn, vec3(slot.difference)), slot.difference[:3])
        copy(rotate(turn, vec3(slot.step)), slot.step[:3])
    slot = state.slots[PELVIS]
    copy(multiply(turn, quat(slot.target)), slot.target[:])
    copy(multiply(turn, quat(slot.earlier)), slot.earlier[:])
    copy(_turned_along(turn, quat(slot.step)), slot.step[:])


@kernel
def _carried(turn: Quat, from_point: Vec3, to_point: Vec3, point: Vec3) -> Vec3:
    return add(rotate(turn, sub(point, from_point)), to_point)


@kernel
def _turned_along(turn: Quat, rotation: Quat) -> Quat:
    return multiply(multiply(turn, rotation), conjugate(turn))


@dataclass(frozen=True)
class PostureConfig:
    """How a posture behaves while sensors come and go."""

    hold_s: float = setting(
        0.25, 's', 0.0, 60.0, 'How long a segment that lost its sensor keeps its joint rotation.'
    )
    fade_s: float = setting(
        1.0, 's', 0.0, 60.0, 'How long the blend to the inferred rotation then takes.'
    )
    return_s: float = setting(
        0.3, 's', 0.0, 60.0, 'How long the blend back to a recovered sensor takes.'
    )
    enhance_weight: float = setting(
        0.0,
        low=0.0,
        high=0.999,
        description='Weight of positions [m] relative to orientations [rad] when sensor readings '
        'are made consistent with one body; 0: off; 0.97 suits most calibrations.',
    )


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
        q_world_tracker: QuatLike,
        p_world_tracker: Vec3Like,
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
        """Use new times and a new weight without a jump."""
        self._state['times'] = config.hold_s, config.fade_s, config.return_s
        self._state['enhance_weight'] = config.enhance_weight

    def reset(self) -> None:
        self._stamp_ns = None
        self._state['slots']['source'] = FRESH

    def step(self, frame: FilteredFrame) -> EstimatedPosture:
        """Return the posture of the next frame; sensors lost or not finite count as absent."""
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
