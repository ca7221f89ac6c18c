# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Values that do not jump when what they come from changes (kernel layer).

Every value has a slot that remembers its source. When the source changes, the difference
between what was given out last and what the new source says is kept, and decays.

"""

from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Ints, Quat, Quats, Vec3, Vec3s
from puppet_core.kernel import kernel
from puppet_core.quaternion import align_sign, conjugate, exp, log, multiply
from puppet_core.work_array import work_array

# Sources; 0 and more is the segment whose sensor carries the value
INFERRED = -1  # from the neighbouring segments
NOTHING = -2  # held as it was
FRESH = -3  # nothing was given out yet: the first value is taken as it comes
CHANGED = -4  # whatever comes next differs from it
BY_NEIGHBOUR = -5  # from the other segment of the limb and where its end is
BY_END = -6  # from hand or foot alone


class Ease(NamedTuple):
    """Decaying differences: one slot for each of r rotations, then for each of p points."""

    sources: Ints  # (r + p,) what each value came from last
    ages: Floats  # (r + p,) since its last change, infinite before the first [s]
    turns: Quats  # (r, 4) from the new source's rotation to the value then given out
    shifts: Vec3s  # (p, 3) the same for points [m]


class EaseTimes(NamedTuple):
    """How fast differences decay."""

    hold: float  # a rotation of which nothing tells any more is kept as it was [s]
    fade: float  # then it goes over to that of a body at rest [s]
    back: float  # a measurement that is there again, or others that tell, take over [s]


@kernel
def decay(age: float, source: int, times: EaseTimes) -> float:
    """Return what is left of a difference: 1 at a change of source, 0 once it is over."""
    is_lost = source == INFERRED or source == NOTHING
    hold = times.hold if is_lost else 0.0
    span = times.fade if is_lost else times.back
    if age >= hold + span:
        return 0.0
    share = max(age - hold, 0.0) / span
    return 1.0 - share * share * (3.0 - 2.0 * share)


@kernel
def advance(slot: int, source: int, restarted: bool, dt: float, ease: Ease) -> bool:
    """Age a slot; return True if its source changed, so that the difference starts anew."""
    last = ease.sources[slot]
    ease.sources[slot] = source
    if last == FRESH:
        ease.ages[slot] = np.inf
        return False
    if source != last or restarted:
        ease.ages[slot] = 0.0
        return True
    ease.ages[slot] += dt
    return False


@kernel
def ease_rotation(
    target: Quat, slot: int, changed: bool, ease: Ease, times: EaseTimes, out: Quat
) -> None:
    """Move `out`, the rotation given out last, to the target turned by what is left."""
    turn = ease.turns[slot]
    if changed:
        conjugate(target, turn)
        multiply(turn, out, turn)
    left = decay(ease.ages[slot], ease.sources[slot], times)
    if left == 0.0:
        align_sign(out, target, out)
        return
    rotvec, eased = work_array(3), work_array(4)
    log(turn, rotvec)
    for k in range(3):
        rotvec[k] *= left
    exp(rotvec, eased)
    multiply(target, eased, eased)
    align_sign(out, eased, out)


@kernel
def ease_point(
    target: Vec3, slot: int, changed: bool, ease: Ease, times: EaseTimes, out: Vec3
) -> None:
    """Move `out`, the point given out last, to the target moved by what is left."""
    shift = ease.shifts[slot - ease.turns.shape[0]]
    if changed:
        for k in range(3):
            shift[k] = out[k] - target[k]
    left = decay(ease.ages[slot], 0, times)
    for k in range(3):
        out[k] = target[k] + left * shift[k]


@kernel
def detour_share(age: float, times: EaseTimes) -> float:
    """Return 1 until measurements have taken over, then falling to 0 in the same time."""
    if age < times.back:
        return 1.0
    return decay(age - times.back, 0, times)
