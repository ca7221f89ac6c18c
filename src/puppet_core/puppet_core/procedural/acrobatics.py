# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A performer made of formulas that crawls, stands on its hands and turns a back-flip.

From its T-pose it goes down on hands and knees, crawls ahead, stands up and walks back, squats
down into a handstand and comes down the same way, then flips. Planted palms lie flat and still on
the floor; in the handstand they carry it. All curves have two derivatives. Tables say what each
part adds to a body that stands upright.
"""

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS, Motion, Skeleton, world_segments
from puppet_core.math import Floats, quaternions
from puppet_core.procedural.curve import about, bump, check_timing, product
from puppet_core.procedural.motion_loop import smooth_step
from puppet_core.procedural.performer import (
    add_arm,
    add_legs,
    begin_plan,
    Body,
    chests_of,
    Feet,
    hand_rotations,
    jump_height,
    make_body,
    Moments,
    Palm,
    PAUSE_S,
    Plan,
    RAISE_ARMS_S,
    roll_on_toes,
    Step,
    T_POSE_S,
    walking_arm,
)

START_XY_M = (0.8, 0.0)
# Between which times after an act's start [s] something is done, and what that adds in the end;
# the entries of a name add up. Getting up again is the same backwards. Lengths are an adult's.
Moves = dict[str, tuple[tuple[float, float, float], ...]]
CRAWL: Moves = {
    'ahead': ((0.0, 1.4, 0.07), (1.0, 2.3, 0.52)),  # of the pelvis [m]
    'rise': ((0.0, 1.5, -0.47), (1.4, 2.3, 0.47)),
    'kneel': ((1.4, 2.3, 1.0),),  # share of the height of thighs that stand on their knees
    'pitch': ((0.0, 1.3, 0.5), (1.2, 2.3, -0.2), (2.2, 3.4, 1.15)),  # of the pelvis [rad]
    'bend': ((0.0, 1.3, 0.15), (2.2, 3.4, -0.15)),  # of spine and chest each
    'nod': ((0.0, 1.3, -0.4), (2.2, 3.4, -0.35)),
    'heel': ((0.3, 1.4, 0.6), (1.2, 2.3, 0.7)),  # pitch of feet that stand on their toes
    'reach': ((2.1, 3.3, 1.0),),  # share of the palms' places in the arms
    'plant': ((2.8, 3.5, 1.0),),  # share of the palms' way down to the floor
}
DOWN_S = 3.6  # until it crawls
CRAWL_S = 2.0 * DOWN_S + 5.2
HANDSTAND: Moves = {
    'ahead': ((0.0, 1.6, 0.08),),
    'rise': ((0.0, 1.6, -0.56),),
    'pitch': ((0.0, 1.6, 0.9), (1.8, 3.5, 1.6), (3.2, 4.8, np.pi - 2.5)),
    'bend': ((0.0, 1.6, 0.35), (2.2, 4.2, -0.35)),
    'nod': ((0.0, 1.6, -0.5), (2.0, 4.4, 0.2)),
    'heel': ((0.3, 1.6, 0.7),),
    'reach': ((0.85, 1.6, 1.0),),
    'plant': ((1.1, 1.9, 1.0),),
    'weight': ((1.8, 2.8, 1.0),),  # share of the hands in where the pelvis is
    'loose': ((2.4, 3.3, 1.0),),  # share of the two angles below in the legs
    'hip': ((2.2, 2.6, 2.0), (3.3, 4.9, -2.0)),
    'knee': ((2.2, 2.6, 2.3), (3.3, 4.9, -2.3)),
}
HANDSTAND_S = 11.5
FLIP: Moves = {  # forward only
    'ahead': ((0.0, 0.8, -0.08), (0.75, 1.1, 0.08), (1.7, 2.0, -0.06), (2.1, 2.9, 0.06)),
    'pitch': (
        (0.0, 0.8, 0.45),
        (0.75, 1.12, -0.55),
        (1.12, 1.78, 0.35 - 2.0 * np.pi),
        (1.8, 2.9, -0.25),
    ),
    'bend': ((0.0, 0.8, 0.1), (0.75, 1.12, -0.2), (1.15, 1.4, 0.4), (1.5, 1.8, -0.3)),
    'heel': ((0.95, 1.15, 0.75), (1.74, 2.0, -0.75)),
    'loose': ((1.08, 1.25, 1.0), (1.58, 1.76, -1.0)),
    'hip': ((1.08, 1.36, 2.0), (1.5, 1.76, -1.6), (1.8, 2.9, -0.4)),
    'knee': ((1.1, 1.36, 2.2), (1.5, 1.76, -1.8), (1.8, 2.9, -0.4)),
    'spin': ((1.05, 1.2, 1.0), (1.66, 1.8, -1.0)),  # share of a turn about its centre
    'swing': (  # of the arms, forward
        (0.0, 0.7, -0.7),
        (0.7, 1.1, 2.9),
        (1.15, 1.4, -1.5),
        (1.5, 1.8, 0.5),
        (1.9, 2.8, -1.2),
    ),
}
FLIP_S = 3.2
FLIGHT = Moments(jump_bottom=0.8, take_off=1.1, touch_down=1.76, landed=2.08)
RECOVERED_S = 2.9

CYCLES, CYCLE_M = 4, 0.22  # of crawling; in each every hand and knee goes once
HAND_LIFT_M, KNEE_LIFT_M = 0.05, 0.012
TIP_M = 0.024  # of a toe from the ball of the foot
HOVER_M = np.array([-0.15, 0.0, 0.40])  # of palms before they go down, in reach by then
CRAWL_PALM_M, HANDSTAND_PALM_M = 1.08, 0.52  # ahead of the feet's middle
PALM_ASIDE_M = 0.19
KNEE_M = 0.065  # of a kneeling knee above the floor
ARM_STRETCH, SHOULDER_AHEAD_M = 0.985, 0.02  # of the arms that carry it; from the wrists
SOLES_LATE_M = 0.09  # they leave the floor when the pelvis is about half as high
TURN_CENTRE_M = 0.12  # what the flip is about, above the pelvis
ANKLE_POINTED = 0.6  # [rad]; of loose legs

_X_AXIS, _Y_AXIS, _Z_AXIS = np.eye(3)


def acrobatic_motion(
    character: Character | Skeleton, rate_hz: float, t_pose_s: float = T_POSE_S
) -> Motion:
    """
    Return one pass of the performance; its last frame is followed by its first.

    All lengths scale with the legs; the proportions should be a person's. Raise
    ConfigError if a time is negative or not finite.
    """
    check_timing(t_pose_s, rate_hz)
    skeleton = character.skeleton if isinstance(character, Character) else character
    plan = _plan(skeleton, t_pose_s)
    t = plan.times_s(rate_hz)
    upright = make_body(skeleton, plan, t, rate_hz)
    added = _added(plan, t)
    gait = _gait(plan, t, upright)
    steps = [_step(gait, late) for late in (0.0, 0.5)]  # of the left hand, the right hand
    feet = _feet(plan, t, upright, added, steps)
    body = _body(skeleton, plan, upright._replace(feet=feet), added)
    chests = chests_of(skeleton, body)
    for side in range(2):
        walking = walking_arm(plan, t, body.stride, side)
        gesture = walking._replace(ahead=walking.ahead + added['swing'])
        gone, lift = steps[side]
        ahead = np.where(t < plan.starts_s['back'], CRAWL_PALM_M, HANDSTAND_PALM_M)
        palm = _palm(plan, side, added, ahead + CYCLE_M * gone, HAND_LIFT_M * lift)
        add_arm(skeleton, body, side, chests, gesture, [palm])
    return Motion.from_rotations(skeleton, rate_hz, body.roots, body.rotations)


def _plan(skeleton: Skeleton, t_pose_s: float) -> Plan:
    plan = begin_plan(skeleton, START_XY_M, t_pose_s)
    way = np.array([CYCLES * CYCLE_M * plan.leg_scale, 0.0, 0.0])
    plan.stay('crawl', CRAWL_S)
    end_s, plan.place = plan.duration_s, plan.place + way
    for foot in range(2):
        sole = plan.place + plan.soles[foot]
        plan.steps.append(Step(foot, end_s - CRAWL_S + DOWN_S, end_s - DOWN_S, sole, 0.0))
    plan.stay('back', PAUSE_S)
    plan.turn(np.pi)
    plan.walk(way[0])
    plan.turn(-np.pi)
    plan.stay('handstand', HANDSTAND_S)
    plan.stay('flip', FLIP_S)
    plan.stay('raise_arms', RAISE_ARMS_S)
    return plan


def _added(plan: Plan, t: Floats) -> dict[str, Floats]:
    """Return what the acts add over time, (n,) each; nothing for what none of them moves."""
    added = {name: np.zeros(len(t)) for act in (CRAWL, HANDSTAND, FLIP) for name in act}
    for name, act, lasts_s in (('crawl', CRAWL, CRAWL_S), ('handstand', HANDSTAND, HANDSTAND_S)):
        passed = t - plan.starts_s[name]
        _add(added, act, np.minimum(passed, lasts_s - passed))
    flip_s = t - plan.starts_s['flip']
    _add(added, FLIP, flip_s)
    height = jump_height(flip_s, 0.0, FLIGHT, RECOVERED_S)
    added['rise'] += height
    # what lifts the feet rises from nothing without a corner
    up = np.maximum(height, 0.0)
    added['off'] = up**3 / (up**2 + SOLES_LATE_M**2)
    return added


def _add(added: dict[str, Floats], act: Moves, t: Floats) -> None:
    for name, moves in act.items():
        for start, end, change in moves:
            added[name] += change * smooth_step((t - start) / (end - start))


def _gait(plan: Plan, t: Floats, upright: Body) -> Floats:
    """Return how many cycles the body has crawled, as the upright one above it goes."""
    way = CYCLE_M * plan.leg_scale
    gone = np.clip((upright.roots[:, 0] - START_XY_M[0]) / way, 0.0, CYCLES)
    return np.where(t < plan.starts_s['back'], gone, 0.0)


def _step(gait: Floats, late: float) -> tuple[Floats, Floats]:
    """Return how many cycles a hand or knee has gone when the body has, and its lift, 0 to 1."""
    share = 2.0 * (gait % 1.0 - late)
    return np.floor(gait) + smooth_step(share), bump(share)


def _feet(
    plan: Plan,
    t: Floats,
    upright: Body,
    added: dict[str, Floats],
    steps: list[tuple[Floats, Floats]],
) -> Feet:
    """Return the feet: behind crawling knees, on their toes, off the floor in the flip."""
    feet, scale = upright.feet, plan.leg_scale
    is_down = (t > plan.starts_s['crawl']) & (t < plan.starts_s['back'])
    # a knee goes with the other side's hand
    for foot, (gone, lift) in enumerate(reversed(steps)):
        path = np.stack((CYCLE_M * gone, 0.0 * gone, KNEE_LIFT_M * lift), axis=1)
        path = scale * path + [*START_XY_M, 0.0] + plan.soles[foot]
        feet.soles[is_down, foot], feet.pitches[is_down, foot] = path[is_down], 0.0
    feet = roll_on_toes(feet, added['heel'], scale)
    # the toes, which do not bend, stand on their tips
    feet.soles[..., 2] += scale * (TIP_M * np.sin(added['heel']) + added['off'])[:, None]
    return feet


def _body(skeleton: Skeleton, plan: Plan, upright: Body, added: dict[str, Floats]) -> Body:
    """Return an upright body with the acts added, on its feet; the arms at rest."""
    rotations, roots, scale = upright.rotations.copy(), upright.roots.copy(), plan.leg_scale
    for segment, name in enumerate(('pitch', 'bend', 'bend', 'nod')):
        rotations[:, segment] = product(rotations[:, segment], about(_Y_AXIS, added[name]))
    roots[:, 0] += scale * added['ahead']
    hips = quaternions.rotate(rotations[:, 0], skeleton.offsets[LIMB_SEGMENTS[2:, 0]].mean(axis=0))
    kneeling = scale * KNEE_M + skeleton.limb_lengths[2:, 0].mean() - hips[:, 2]
    roots[:, 2] += added['kneel'] * (kneeling - roots[:, 2]) + scale * added['rise']
    centre = scale * TURN_CENTRE_M * _Z_AXIS
    roots += added['spin'][:, None] * (centre - quaternions.rotate(rotations[:, 0], centre))
    _, places = world_segments(skeleton, 0.0 * roots, rotations)
    shoulders = places[:, LIMB_SEGMENTS[:2, 0]].mean(axis=1)
    palm, arm = skeleton.interaction_points[0], skeleton.limb_lengths[:2].sum(axis=1).mean()
    over = START_XY_M[0] + scale * (HANDSTAND_PALM_M + SHOULDER_AHEAD_M) - palm[1]
    carried = np.array([over, START_XY_M[1], ARM_STRETCH * arm - palm[2]])
    roots += added['weight'][:, None] * (carried - shoulders - roots)
    add_legs(skeleton, roots, rotations, upright.feet)
    angles = -added['hip'], added['knee'], np.full(len(roots), ANKLE_POINTED)
    for limb in LIMB_SEGMENTS[2:]:
        for segment, angle in zip(limb, angles):
            loose = about(_Y_AXIS, angle)
            rotations[:, segment] = quaternions.slerp(rotations[:, segment], loose, added['loose'])
    return upright._replace(roots=roots, rotations=rotations)


def _palm(plan: Plan, side: int, added: dict[str, Floats], ahead: Floats, height: Floats) -> Palm:
    """Return a palm flat above or on the floor, fingers ahead."""
    mirror = 1.0 if side == 0 else -1.0
    place = np.array([*START_XY_M, 0.0])
    aside = mirror * PALM_ASIDE_M * _Y_AXIS
    way = np.stack((ahead, 0.0 * ahead, height), axis=1)
    way += (1.0 - added['plant'])[:, None] * HOVER_M
    flat, pole = hand_rotations(side, _X_AXIS, -_Z_AXIS), np.array([-1.0, 0.4 * mirror, 0.0])
    turns, poles = (np.broadcast_to(v, (len(way), len(v))) for v in (flat, pole))
    return Palm(added['reach'], place + plan.leg_scale * (aside + way), turns, poles)
