# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The feet of the procedural performer: planted flat, swung from plant to plant, lifted in jumps.

A planted sole does not move at all. A swing begins with the heel, the toes staying where
they are, and ends on a slightly raised toe.

"""

from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Vec3s
from puppet_core.motion_loop import smooth_step
from puppet_core.procedural_curve import bump
from puppet_core.procedural_plan import Plan, Step

TOE_M = 0.11  # from the sole's centre to the ball of the foot, and about as far to the heel
SWING_HEIGHT_M = 0.05
HEEL_RISE = 0.60  # pitch of the foot as it leaves the floor [rad]
TOE_RISE = 0.22  # pitch before it lands [rad]
ROLL_SHARE = 0.14  # of a swing: how long the foot only rolls before it travels
EDGE = 0.03  # [rad]; rounds the corner of |pitch|


class Feet(NamedTuple):
    """Both feet over one pass of the plan."""

    soles: Vec3s
    """Sole centres in world, shape (n, 2, 3) [m]."""

    yaws: Floats
    """Headings, shape (n, 2) [rad]."""

    pitches: Floats
    """Toes down is positive, shape (n, 2) [rad]."""

    swings: Floats
    """0 while planted, up to 1 in the middle of a swing, shape (n, 2)."""


def walking_feet(plan: Plan, t: Floats) -> Feet:
    """Return the feet at times t, shape (n,), for all steps of a plan."""
    n = len(t)
    feet = Feet(np.empty((n, 2, 3)), np.zeros((n, 2)), np.zeros((n, 2)), np.zeros((n, 2)))
    first = plan.steps[0]
    home = {step.foot: step for step in plan.steps}
    for foot in range(2):
        # one pass ends where it began
        feet.soles[:, foot] = home[foot].sole
        feet.yaws[:, foot] = home[foot].yaw
    for step in plan.steps:
        _swing(feet, step, np.maximum(t, first.lift_s), plan.leg_scale)
    return feet


def _swing(feet: Feet, step: Step, t: Floats, scale: float) -> None:
    foot = step.foot
    u = (t - step.lift_s) / (step.land_s - step.lift_s)
    begun = u > 0.0
    if not np.any(begun):
        return
    u = np.clip(u[begun], 0.0, 1.0)
    before = int(np.argmax(begun)) - 1
    start, start_yaw = feet.soles[before, foot].copy(), feet.yaws[before, foot]
    share = smooth_step((u - ROLL_SHARE) / (1.0 - ROLL_SHARE))
    yaw = start_yaw + share * (step.yaw - start_yaw)
    pitch = HEEL_RISE * bump(u / 0.62) - TOE_RISE * bump((u - 0.62) / 0.38)
    path = start + share[:, None] * (step.sole - start)
    # the ball of the foot stays in place as long as the foot only rolls
    roll = scale * TOE_M * (1.0 - np.cos(pitch))
    path[:, 0] += np.cos(yaw) * roll * (1.0 - share)
    path[:, 1] += np.sin(yaw) * roll * (1.0 - share)
    path[:, 2] += scale * SWING_HEIGHT_M * bump(u) + edge_height(pitch, scale)
    feet.soles[begun, foot] = path
    feet.yaws[begun, foot] = yaw
    feet.pitches[begun, foot] = pitch
    feet.swings[begun, foot] = bump(u)


def edge_height(pitch: Floats, scale: float) -> Floats:
    """Return how high the sole's centre must be for toe and heel to clear the floor [m]."""
    return scale * TOE_M * (np.sqrt(np.sin(pitch) ** 2 + EDGE**2) - EDGE)
