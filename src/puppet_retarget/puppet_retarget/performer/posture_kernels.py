# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One frame of sensors on their segments to joint rotations and end-effectors (kernel layer).

A segment without a usable sensor takes what is inferred from its neighbours, eased as
`ease_kernels` does: slots 0 to 15 are the rotations of the segments (the chest's in the
pelvis' frame, so that the torso bends evenly), 16 the root, 17 to 24 the end-effectors.

"""

from numpy.typing import NDArray
from puppet_core.kernel import kernel
from puppet_core.skeleton import N_SEGMENTS
from puppet_core.work_array import work_table
from puppet_retarget.performer.body_arrays import BodyArrays, Proportions
from puppet_retarget.performer.ease_kernels import Ease, EaseTimes, NOTHING
from puppet_retarget.performer.leap_kernels import carry_after_leap
from puppet_retarget.performer.limb_kernels import settle_limb
from puppet_retarget.performer.sensor_kernels import ABSENT, Mounting, PREDICTED, Sensed
from puppet_retarget.performer.trunk_kernels import settle_trunk

STATUS_MEASURED, STATUS_INFERRED, STATUS_STALE = 0, 1, 2  # as in the Posture message


@kernel
def estimate_posture(
    skeleton: Proportions, mounting: Mounting, sensed: Sensed,
    dt: float, ease: Ease, times: EaseTimes, body: BodyArrays, status: NDArray,
) -> None:  # fmt: skip
    """
    Advance the body by one frame whose sensors have been read.

    Parameters
    ----------
    skeleton, mounting, sensed : Proportions, Mounting, Sensed
        The body, its sensors and how they sit.
    dt : float
        Since the last frame, >= 0 [s].
    ease, times : Ease, EaseTimes
        Memory of the easing, and its times.
    body : BodyArrays
        In and out.
    status : ndarray of uint8, shape (16,)
        Out: STATUS_* of every segment.

    """
    carry_after_leap(skeleton, mounting, sensed, dt, ease, body)
    quaternions, points = work_table(2, 4), work_table(2, 3)
    settle_trunk(
        skeleton, mounting, sensed, dt, ease, times, body, quaternions, points
    )
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
