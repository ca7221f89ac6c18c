# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Walks made of formulas, whose footsteps are known: round a square, and the same stooped.

The square is walked by the steps and turns of `puppet_core.procedural.performer`. A stooped walk
has the same footsteps with the pelvis lower and the trunk ahead.
"""

from typing import NamedTuple

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, Motion, SEGMENT_INDEX, Skeleton
from puppet_core.math import quaternions as qb
from puppet_core.procedural import (
    add_arm,
    ADULT_LEG_LENGTH_M,
    chests_of,
    make_body,
    Plan,
    RAISE_ARMS_S,
    Step,
    two_bone_rotations,
    walking_arm,
)

SIDE_M = 3.0
_STOOP_M, _STOOP_RAD = 0.13, 0.5  # of an adult: pelvis lower, trunk ahead
_X_AXIS, _Y_AXIS = np.eye(3)[:2]


class Walk(NamedTuple):
    """A walk and its footsteps."""

    motion: Motion  # From the first heel that lifts
    steps: tuple[Step, ...]  # In order, times from the motion's first frame


def square_walk(skeleton: Skeleton, rate_hz: float, side_m: float = SIDE_M) -> Walk:
    """Return a walk round a square, with a turn on the spot at each corner."""
    ankles = skeleton.rest_positions()[LIMB_SEGMENTS[2:, 2]]
    soles = (ankles + skeleton.interaction_points[2:]) * (1.0, 1.0, 0.0)
    plan = Plan(skeleton.leg_length / ADULT_LEG_LENGTH_M, soles)
    plan.stay('lower_arms', 1.0)
    start = plan.duration_s = 3.0
    for _ in range(4):
        plan.walk(side_m)
        plan.turn(0.5 * np.pi)
    end = plan.duration_s
    plan.stay('pause', 1.0)
    plan.stay('raise_arms', RAISE_ARMS_S)
    t = plan.times_s(rate_hz)
    body = make_body(skeleton, plan, t, rate_hz)
    for side in range(2):
        gesture = walking_arm(plan, t, body.stride, side)
        add_arm(skeleton, body, side, chests_of(skeleton, body), gesture, ())
    first, last = round(start * rate_hz), round(end * rate_hz)
    motion = Motion.from_rotations(
        skeleton, rate_hz, body.roots[first:last], body.rotations[first:last]
    )
    began = first / rate_hz
    steps = tuple(
        Step(s.foot, s.lift_s - began, s.land_s - began, s.sole, s.yaw) for s in plan.steps
    )
    return Walk(motion, steps)


def stooped(motion: Motion) -> Motion:
    """Return a walk with the pelvis lower and the trunk ahead; the feet do the same."""
    skeleton = motion.skeleton
    size = skeleton.leg_length / ADULT_LEG_LENGTH_M
    q_before, p_before = motion.world_segments()
    roots = motion.root_positions - [0.0, 0.0, size * _STOOP_M]
    rotations = np.array(motion.rotations)
    lean = qb.exp(0.3 * _STOOP_RAD * _Y_AXIS)
    for segment in ('pelvis', 'spine', 'chest'):
        row = SEGMENT_INDEX[segment]
        rotations[:, row] = qb.multiply(rotations[:, row], lean)
    for thigh, shank, foot in LIMB_SEGMENTS[2:]:
        hips = roots + qb.rotate(rotations[:, 0], skeleton.offsets[thigh])
        pole = qb.rotate(q_before[:, 0], _X_AXIS) + qb.rotate(q_before[:, foot], _X_AXIS)
        bones = skeleton.offsets[[shank, foot]]
        q_thigh, q_shank = two_bone_rotations(hips, p_before[:, foot], bones, _Y_AXIS, pole)
        chain = (rotations[:, 0], q_thigh, q_shank, q_before[:, foot])
        for segment, parent, child in zip((thigh, shank, foot), chain, chain[1:]):
            rotations[:, segment] = qb.multiply(qb.conjugate(parent), child)
    return Motion.from_rotations(skeleton, motion.rate_hz, roots, rotations)
