# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A performer made of formulas that carries a box between stands, or throws and catches it."""

import numpy as np
from puppet_core.body import Character, Motion, Props, Skeleton
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_core.procedural.curve import about, bump, check_timing, End, quintic
from puppet_core.procedural.motion_loop import smooth_step
from puppet_core.procedural.performer import (
    add_arm,
    ADULT_ARM_LENGTH_M,
    begin_plan,
    Bending,
    Chests,
    chests_of,
    GRAVITY_M_S2,
    hand_rotations,
    make_body,
    Palm,
    PAUSE_S,
    Plan,
    RAISE_ARMS_S,
    T_POSE_S,
    walking_arm,
)

# Places are fixed in world; data/environments/carry.yaml repeats them.
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

# A throw: when it begins to rise, leaves the hands, is caught, has come down and is held again.
THROWS = 2
RISE_S, RELEASE_S, CATCH_S, SUNK_S, THROW_S = 0.55, 0.85, 1.35, 1.65, 2.3
SWING_M = 0.15  # below and above where it is held, until the hands let it go
FOLLOW_M = 0.32  # where hands come to rest that follow it
KNEES_M = 0.10  # how far it bends them to throw and to catch

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
    return _motion(skeleton, rate_hz, plan, spans, [])


def throw_motion(
    character: Character | Skeleton, rate_hz: float, t_pose_s: float = T_POSE_S
) -> Motion:
    """Return the performance that throws the box straight up and catches it; see carry_motion."""
    check_timing(t_pose_s, rate_hz)
    skeleton = character.skeleton if isinstance(character, Character) else character
    plan = begin_plan(skeleton, START_XY_M, t_pose_s)
    plan.turn(0.5 * np.pi)
    plan.walk(TO_STAND_M)
    start = plan.duration_s
    plan.duration_s += TAKE_S
    plan.turn(-np.pi)
    throws = [plan.duration_s + PAUSE_S + k * THROW_S for k in range(THROWS)]
    plan.duration_s = throws[-1] + THROW_S + PAUSE_S
    plan.turn(np.pi)
    plan.duration_s += TAKE_S
    spans = [(start, plan.duration_s)]
    plan.duration_s += PAUSE_S
    plan.stay('raise_arms', RAISE_ARMS_S)
    return _motion(skeleton, rate_hz, plan, spans, throws)


def _motion(
    skeleton: Skeleton, rate_hz: float, plan: Plan, spans: Spans, throws: list[float]
) -> Motion:
    t = plan.times_s(rate_hz)
    box_rise, hands_rise, apart, dip = _throws(t, throws)
    bent = _between(spans, t, BOW_S) - _between(spans, t, STRAIGHTEN_S)
    lean = BOW * bent + CARRY_BOW * _between(spans, t, STRAIGHTEN_S)
    bending = Bending(lean, BOW_BACK_M * bent, -BOW_DOWN_M * bent - KNEES_M * dip)
    body = make_body(skeleton, plan, t, rate_hz, bending)
    chests = chests_of(skeleton, body)
    scale = float(skeleton.limb_lengths[0].sum()) / ADULT_ARM_LENGTH_M
    held, q_box = _box(spans, t, chests, scale)
    for side in range(2):
        palm = _palm(spans, t, side, held + hands_rise * _Z_AXIS, q_box, apart)
        gesture = walking_arm(plan, t, ARM_SWING * body.stride, side)
        add_arm(skeleton, body, side, chests, gesture, [palm])
    box = held + box_rise * _Z_AXIS
    places = np.stack((box, np.tile(TABLE_CENTRE_M, (len(t), 1))), axis=1)
    turns = np.stack((q_box, about(_Z_AXIS, 0.0 * t)), axis=1)
    props = Props(PROPS, places, turns)
    return Motion.from_rotations(skeleton, rate_hz, body.roots, body.rotations, props)


def _throws(t: Floats, starts: list[float]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return how far box and hands are above where it is held, (n, 1), hands apart, knees bent."""
    speed = 0.5 * GRAVITY_M_S2 * (CATCH_S - RELEASE_S)
    top_s = 0.5 * (RELEASE_S + CATCH_S)
    low = End(-SWING_M, 0.0, 2.0 * speed / (RELEASE_S - RISE_S))
    free, caught = (End(SWING_M, v, -GRAVITY_M_S2) for v in (speed, -speed))
    apex = End(SWING_M + 0.5 * speed**2 / GRAVITY_M_S2, 0.0, -GRAVITY_M_S2)
    times = 0.0, RISE_S, RELEASE_S, top_s, CATCH_S, SUNK_S, THROW_S
    rises = [(End(0.0), low, free, top, caught, low, End(0.0)) for top in (apex, End(FOLLOW_M))]
    curves = np.zeros((2, len(t)))
    apart, dip = np.zeros(len(t)), np.zeros(len(t))
    for start in starts:
        own = t - start
        for curve, ends in zip(curves, rises):
            for k in range(len(times) - 1):
                part = (own >= times[k]) & (own < times[k + 1])
                span = times[k], times[k + 1]
                curve[part] = quintic(own[part], *span, ends[k], ends[k + 1])
        apart += bump((own - RELEASE_S) / (CATCH_S - RELEASE_S))
        dip += bump(own / RELEASE_S) + bump((own - CATCH_S) / (THROW_S - CATCH_S))
    return curves[0][:, None], curves[1][:, None], apart, dip


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
    # from the middle of the first way to that of the last, when all of it is in the hands
    middles = [0.5 * (start + end) for start, end in spans]
    is_away = ((t > middles[0]) & (t < middles[-1]))[:, None]
    standing = np.where(is_away, TABLE_CENTRE_M, STAND_CENTRE_M)
    standing[:, 2] += 0.5 * (TABLE_SIZE_M[2] + BOX_SIZE_M[2])
    drawn, lifted = _between(spans, t, DRAW_S), _between(spans, t, LIFT_S)
    share = np.stack((drawn, drawn, lifted), axis=1)
    resting = np.where(is_away[:, 0], -0.5, 0.5) * np.pi
    turns = about(_Z_AXIS, resting + drawn * (yaws - resting))
    return standing + share * (carried - standing), turns


def _palm(spans: Spans, t: Floats, side: int, box: Vec3s, q_box: Quats, let_go: Floats) -> Palm:
    """Return where a palm is: beside the box, on its side, and beside it again."""
    mirror = 1.0 if side == 0 else -1.0
    apart = 1.0 - _between(spans, t, CLOSE_S) + let_go
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
