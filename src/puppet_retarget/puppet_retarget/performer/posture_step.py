# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One frame of the posture in one call (kernel layer).

All arrays of a performer travel packed: passed one by one they would cost more time than the
arithmetic (see `packed_arrays`).

"""

from typing import Any, NamedTuple

from numpy.typing import NDArray
from puppet_core.arrays import Ints, Quats, Vec3s
from puppet_core.kernel import kernel
from puppet_retarget.performer.body_arrays import BodyArrays, Proportions
from puppet_retarget.performer.ease_kernels import Ease, EaseTimes
from puppet_retarget.performer.posture_kernels import estimate_posture
from puppet_retarget.performer.sensor_kernels import Mounting, read_sensors, Sensed


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
    positions: Vec3s, rotations: Quats, linear: Vec3s, angular: Vec3s, status: NDArray,
    dt: float, packed: NDArray,
) -> None:  # fmt: skip
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
    mounting, sensed = _mounting(record.mounting), _sensed(record.sensed)
    read_sensors(
        positions, rotations, linear, angular, status, record.rows[:], mounting, sensed
    )
    estimate_posture(
        _proportions(record.skeleton), mounting, sensed, dt, _ease(record.ease),
        _times(record.times), _body(record.body), record.status[:],
    )  # fmt: skip


@kernel
def _proportions(record: Any) -> Proportions:
    return Proportions(record.offsets[:], record.interaction_points[:])


@kernel
def _mounting(record: Any) -> Mounting:
    return Mounting(
        record.q_sensor_segment[:], record.p_segment_sensor[:], record.q_world_tracker[:],
        record.p_world_tracker[:],
    )  # fmt: skip


@kernel
def _sensed(record: Any) -> Sensed:
    return Sensed(
        record.quality[:], record.positions[:], record.orientations[:], record.linear[:],
        record.angular[:],
    )  # fmt: skip


@kernel
def _ease(record: Any) -> Ease:
    return Ease(
        record.sources[:], record.befores[:], record.ages[:], record.numbers[:],
        record.rotations[:], record.points[:],
    )  # fmt: skip


@kernel
def _times(record: Any) -> EaseTimes:
    return EaseTimes(record.hold, record.fade, record.back)


@kernel
def _body(record: Any) -> BodyArrays:
    return BodyArrays(
        record.rotations[:], record.root[:], record.q_world[:], record.p_world[:],
        record.torso[:], record.carrying[:], record.points[:], record.velocities[:],
        record.eased[:], record.turns[:],
    )  # fmt: skip
