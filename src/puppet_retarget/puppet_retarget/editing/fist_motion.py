# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The experiment of ChoiParkKo section 5, as known truth: arms swing, fists meet three times."""

from typing import NamedTuple

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Ints, Vec3s
from puppet_core.motion_loop import rest_rotations
from puppet_core.posture import Motion, world_segments
from puppet_core.procedural_arms import (
    ADULT_ARM_LENGTH_M,
    Gesture,
    hand_rotations,
    hanging_arm,
    Palm,
    placed_arm,
)
from puppet_core.procedural_limbs import unit
from puppet_core.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX, Skeleton
from puppet_retarget.editing.targets import Meeting

PERIOD_S = 1.5  # from one meeting to the next
N_MEETINGS = 3
FIST_M = 0.09  # between palm centres when the knuckles touch
AHEAD_M, UP_M = 0.36, 0.02  # of where they meet, from the chest joint
LEFT, RIGHT = 0, 1  # rows of the end-effectors
_X_AXIS, _Y_AXIS, _Z_AXIS = np.eye(3)


class FistMotion(NamedTuple):
    """What was really done."""

    motion: Motion
    """The truth."""

    meetings: Ints
    """Frames in which the fists meet, shape (3,)."""

    meeting: Meeting
    """Which they are, and how far apart then."""


def fist_motion(skeleton: Skeleton, rate_hz: float = 60.0) -> FistMotion:
    """
    Return a body that swings its arms and makes its fists meet three times.

    Smooth curves throughout; the feet stand, the trunk follows the arms a little.

    Parameters
    ----------
    skeleton : Skeleton
        The body; gestures scale with its arms.
    rate_hz : float
        Frames per second; a multiple of 4/3 puts the meetings on frames.

    """
    n = round(N_MEETINGS * PERIOD_S * rate_hz) + 1
    t = np.arange(n) / rate_hz
    phase = 2.0 * np.pi * t / PERIOD_S
    share = 0.5 - 0.5 * np.cos(phase)
    rotations = rest_rotations(n, np.array([1.0, 0.0, 0.0, 0.0]))
    lean = np.stack((0.03 * np.sin(0.5 * phase), 0.08 * share, 0.10 * np.sin(phase)), axis=-1)
    for segment in ('spine', 'chest'):
        rotations[:, SEGMENT_INDEX[segment]] = quaternion_batch.exp(lean)
    roots = np.tile([0.0, 0.0, skeleton.rest_root_height], (n, 1))
    q_world, p_world = world_segments(skeleton, roots, rotations)
    chest = SEGMENT_INDEX['chest']
    chests = (q_world[:, chest], p_world[:, chest])
    for side in (LEFT, RIGHT):
        upper, lower, hand = LIMB_SEGMENTS[side]
        swing = Gesture(
            np.radians(62.0) + 0.15 * np.sin(phase), 0.25 * np.cos(2.0 * phase + 0.8 * side),
            0.5 + 0.1 * np.sin(phase),
        )  # fmt: skip
        free = [*hanging_arm(swing, side), rest_rotations(n, np.array([1.0, 0, 0, 0]))[:, hand]]
        met = placed_arm(skeleton, side, chests, _palm(skeleton, side, share, chests))
        arm = [quaternion_batch.slerp(a, b, share) for a, b in zip(free, met)]
        rotations[:, upper], rotations[:, lower], rotations[:, hand] = arm
    frames = np.round((np.arange(N_MEETINGS) + 0.5) * PERIOD_S * rate_hz).astype(np.int64)
    motion = Motion.from_rotations(skeleton, rate_hz, roots, rotations)
    return FistMotion(motion, frames, Meeting((LEFT, RIGHT), FIST_M))


def _palm(
    skeleton: Skeleton, side: int, share: Floats, chests: tuple[Floats, Vec3s]
) -> Palm:
    mirror = 1.0 if side == LEFT else -1.0
    scale = float(skeleton.limb_lengths[side].sum()) / ADULT_ARM_LENGTH_M
    aside = 0.5 * mirror * FIST_M * _Y_AXIS
    centre = chests[1] + scale * (AHEAD_M * _X_AXIS + UP_M * _Z_AXIS)
    n = len(share)
    fingers = np.broadcast_to(unit(0.5 * _X_AXIS - mirror * _Y_AXIS), (n, 3))
    # the back of the hand looks up and ahead
    rotation = hand_rotations(side, fingers, -_Z_AXIS)
    pole = np.broadcast_to(mirror * _Y_AXIS - 0.5 * _Z_AXIS, (n, 3))
    return Palm(share, centre + aside, rotation, pole)
