# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A performer made of formulas that carries a box from one stand to another and back."""

import numpy as np
from puppet_core.body import Character, Motion, Props, Skeleton
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_core.procedural.curve import about, check_timing
from puppet_core.procedural.motion_loop import smooth_step
from puppet_core.procedural.performer import (
    add_arm,
    ADULT_ARM_LENGTH_M,
    begin_plan,
    Bending,
    Chests,
    chests_of,
    hand_rotations,
    make_body,
    Palm,
    PAUSE_S,
    Plan,
    RAISE_ARMS_S,
    T_POSE_S,
    walking_arm,
)

# Places are fixed in world; config/environments/carry.yaml repeats them.
START_XY_M = (1.0, 0.5)
TO_STAND_M, TO_TABLE_M = 0.6, 2.4  # from the start to the stand, from there to the table
TABLE_SIZE_M = (0.5, 0.36, 0.75)  # and of the stand
STAND_CENTRE_M = (1.0, 1.64, 0.375)  # 0.54 m ahead of where it stands then
TABLE_CENTRE_M = (1.0, -1.84, 0.375)
BOX_SIZE_M = (0.30, 0.36, 0.26)  # along the way it is carried, from palm to palm, upward
PROPS = ('box', 'table')

# Taking it: when each thing begins and is done, from the start on [s]. Setting it down is the
# same backwards.
TAKE_S = 4.1
BOW_S = 0.0, 1.5
REACH_S = 0.65, 1.7  # the hands come beside the box, when it is within reach
CLOSE_S = 1.6, 2.2  # and to its sides
LIFT_S = 2.3, 3.6
DRAW_S = 2.6, 4.0  # towards the trunk, when it is off the table
STRAIGHTEN_S = 2.3, 3.9

BOW, BOW_BACK_M, BOW_DOWN_M = 0.65, 0.05, 0.06
CARRY_BOW = -0.06  # against the weight
ARM_SWING = 0.4  # of a longer walk's, and past the table
# Of the left palm in the box's frame: on its side, and how far from there before that.
GRIP_M = np.array([-0.02, 0.5 * BOX_SIZE_M[1], -0.02])
OPEN_M = np.array([-0.05, 0.09, 0.03])
FINGERS_DOWN = np.radians(20.0)
CARRY_AHEAD_M, CARRY_UP_M = 0.20, -0.09  # of the box's near side from the chest joint

_X_AXIS, _, _Z_AXIS = np.eye(3)
Spans = list[tuple[float, float]]  # From when to when something is done [s]


def carry_motion(
    character: Character | Skeleton, rate_hz: float, t_pose_s: float = T_POSE_S
) -> Motion:
    """
    Return one pass of the performance; its last frame is followed by its first.

    The props are the box and the table that it is brought to, which do not scale with the body.
    Raise ConfigError if a time is negative or not finite.
    """
    check_timing(t_pose_s, rate_hz)
    skeleton = character.skeleton if isinstance(character, Character) else character
    plan, spans = _plan(skeleton, t_pose_s)
    t = plan.times_s(rate_hz)
    bent = _between(spans, t, BOW_S) - _between(spans, t, STRAIGHTEN_S)
    lean = BOW * bent + CARRY_BOW * _between(spans, t, STRAIGHTEN_S)
    bending = Bending(lean, BOW_BACK_M * bent, -BOW_DOWN_M * bent)
    body = make_body(skeleton, plan, t, rate_hz, bending)
    chests = chests_of(skeleton, body)
    scale = float(skeleton.limb_lengths[0].sum()) / ADULT_ARM_LENGTH_M
    box, q_box = _box(spans, t, chests, scale)
    for side in range(2):
        palm = _palm(spans, t, side, box, q_box)
        gesture = walking_arm(plan, t, ARM_SWING * body.stride, side)
        add_arm(skeleton, body, side, chests, gesture, [palm])
    places = np.stack((box, np.tile(TABLE_CENTRE_M, (len(t), 1))), axis=1)
    turns = np.stack((q_box, about(_Z_AXIS, 0.0 * t)), axis=1)
    props = Props(PROPS, places, turns)
    return Motion.from_rotations(skeleton, rate_hz, body.roots, body.rotations, props)


def _plan(skeleton: Skeleton, t_pose_s: float) -> tuple[Plan, Spans]:
    """Return the footsteps, and the spans from taking the box to having set it down."""
    plan = begin_plan(skeleton, START_XY_M, t_pose_s)
    plan.turn(0.5 * np.pi)
    plan.walk(TO_STAND_M)
    spans = []
    for way in (-1.0, 1.0):
        start = plan.duration_s
        plan.duration_s += TAKE_S
        plan.turn(way * np.pi)
        plan.walk(TO_TABLE_M)
        plan.duration_s += TAKE_S
        spans.append((start, plan.duration_s))
        plan.duration_s += PAUSE_S
    plan.turn(-np.pi)
    plan.walk(TO_STAND_M)
    plan.turn(0.5 * np.pi)
    plan.stay('raise_arms', RAISE_ARMS_S)
    return plan, spans


def _between(spans: Spans, t: Floats, ramp_s: tuple[float, float]) -> Floats:
    """Return what rises to 1 in the ramp after a span's start, and falls in it before its end."""
    first, last = ramp_s
    total = np.zeros(len(t))
    for start, end in spans:
        total += smooth_step((t - start - first) / (last - first))
        total -= smooth_step((t - end + last) / (last - first))
    return total


def _box(spans: Spans, t: Floats, chests: Chests, scale: float) -> tuple[Vec3s, Quats]:
    """Return the box on the stand, in front of the chest, on the table, and back; X is ahead."""
    q_chest, p_chest = chests
    ahead = quaternions.rotate(q_chest, _X_AXIS)
    yaws = np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]))
    level = np.stack((np.cos(yaws), np.sin(yaws), 0.0 * yaws), axis=1)
    way = CARRY_AHEAD_M * scale + 0.5 * BOX_SIZE_M[0]
    carried = p_chest + way * level + CARRY_UP_M * scale * _Z_AXIS
    # the middle of the way, when all of it is in the hands
    first, second = (0.5 * (start + end) for start, end in spans)
    is_away = ((t > first) & (t < second))[:, None]
    standing = np.where(is_away, TABLE_CENTRE_M, STAND_CENTRE_M)
    standing[:, 2] += 0.5 * (TABLE_SIZE_M[2] + BOX_SIZE_M[2])
    drawn, lifted = _between(spans, t, DRAW_S), _between(spans, t, LIFT_S)
    share = np.stack((drawn, drawn, lifted), axis=1)
    resting = np.where(is_away[:, 0], -0.5, 0.5) * np.pi
    turns = about(_Z_AXIS, resting + drawn * (yaws - resting))
    return standing + share * (carried - standing), turns


def _palm(spans: Spans, t: Floats, side: int, box: Vec3s, q_box: Quats) -> Palm:
    """Return where a palm is: beside the box, on its side, and beside it again."""
    mirror = 1.0 if side == 0 else -1.0
    apart = 1.0 - _between(spans, t, CLOSE_S)
    mirrored = np.array([1.0, mirror, 1.0])
    place = mirrored * (GRIP_M + apart[:, None] * OPEN_M)
    fingers = np.array([np.cos(FINGERS_DOWN), 0.0, -np.sin(FINGERS_DOWN)])
    hand = hand_rotations(side, fingers, np.array([0.0, -mirror, 0.0]))
    pole = np.array([-0.7, 0.5 * mirror, -0.5])
    return Palm(
        _between(spans, t, REACH_S),
        box + quaternions.rotate(q_box, place),
        quaternions.multiply(q_box, hand),
        quaternions.rotate(q_box, pole),
    )
