# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A performer made of formulas, for demonstrations and tests without a captured clip."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from puppet_core.body import (
    Character,
    LIMB_SEGMENTS,
    Motion,
    SEGMENT_INDEX,
    Skeleton,
    world_segments,
)
from puppet_core.math import Floats, quaternions, Quats, Vec3, Vec3s
from puppet_core.procedural.curve import (
    about,
    bump,
    check_timing,
    eased,
    End,
    product,
    quintic,
    relative,
    smoothed,
    two_bone_rotations,
    unit,
)
from puppet_core.procedural.motion_loop import smooth_step

T_POSE_S = 2.0

# What it does, when and where: footsteps and moments, no postures yet. The table's place is fixed
# in world; data/environments/demo.yaml repeats it.

ADULT_LEG_LENGTH_M = 0.928  # lengths of the plan are given for such legs and scale with them
START_XY_M = (1.0, -1.5)  # in front of a transmitter at the origin
WALK_M = 3.0
TABLE_CENTRE_M = (1.0, 2.06, 0.375)
TABLE_SIZE_M = (1.2, 0.6, 0.75)
TABLE_TOP_M = TABLE_CENTRE_M[2] + 0.5 * TABLE_SIZE_M[2]

STEP_M = 0.60
STEP_S = 0.54
TURN_STEP_S = 0.52
TURN_PER_STEP = np.pi / 4.0
SWING_OVERLAP = 0.2  # of a step: the heel rises while the other foot is landing
WALKING_WIDTH = 0.7  # of the feet's distance in the T-pose
LEFT, RIGHT = 0, 1

LOWER_ARMS_S = 1.3
REACH_S = 7.0
CLAP_S = 4.2
SIT_S = 6.0
SQUAT_S = 3.6
JUMP_S = 3.2
RAISE_ARMS_S = 1.5
PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Step:
    """One foot leaves the floor, swings, and is planted again."""

    foot: int  # LEFT or RIGHT
    lift_s: float  # When the heel begins to rise [s]
    land_s: float  # When the sole is flat again [s]
    sole: Vec3  # Where the sole's centre comes to rest, z = 0 [m]
    yaw: float  # Heading of the foot there [rad]


@dataclass(slots=True)
class Plan:
    """Footsteps and the starts of what is done between them."""

    leg_scale: float  # Size of the legs over an adult's
    soles: Vec3  # Both soles relative to the point below the pelvis, heading 0, shape (2, 3) [m]
    duration_s: float = 0.0  # Length of one pass [s]
    steps: list[Step] = field(default_factory=list)  # In order of time
    starts_s: dict[str, float] = field(default_factory=dict)  # When each activity begins [s]
    # Where the performer stands at the end of the plan so far [m]
    place: Vec3 = field(default_factory=lambda: np.array([*START_XY_M, 0.0]))
    yaw: float = 0.0  # Where it faces [rad]

    def times_s(self, rate_hz: float) -> Floats:
        """Return the times of the frames of one pass, (n,) [s]."""
        return np.arange(round(self.duration_s * rate_hz)) / rate_hz

    def stay(self, activity: str, duration_s: float) -> None:
        self.starts_s[activity] = self.duration_s
        self.duration_s += duration_s

    def walk(self, distance: float) -> None:
        """Walk straight ahead and bring the feet together."""
        n_steps = max(round(distance / (STEP_M * self.leg_scale)), 1)
        start = self.place
        step_s = STEP_S * np.sqrt(self.leg_scale)
        first = RIGHT if not self.steps else 1 - self.steps[-1].foot
        for k in range(1, n_steps + 2):
            forward = distance * min(k, n_steps) / n_steps
            ahead = turned(np.array([forward, 0.0, 0.0]), self.yaw)
            width = WALKING_WIDTH if k < n_steps else 1.0
            self._step((first + k - 1) % 2, start + ahead, self.yaw, step_s, width)
        self.place = start + ahead

    def turn(self, angle: float) -> None:
        """Turn on the spot, to the left if positive, the inner foot first."""
        n_steps = max(round(abs(angle) / TURN_PER_STEP), 1)
        inner = LEFT if angle > 0.0 else RIGHT
        step_s = TURN_STEP_S * np.sqrt(self.leg_scale)
        for k in range(1, n_steps + 2):
            yaw = self.yaw + angle * min(k, n_steps) / n_steps
            self._step((inner + k - 1) % 2, self.place, yaw, step_s, 1.0)
        self.yaw += angle

    def _step(self, foot: int, place: Vec3, yaw: float, step_s: float, width: float) -> None:
        lift_s = self.duration_s - SWING_OVERLAP * step_s
        self.duration_s += step_s
        sole = place + turned(self.soles[foot] * (1.0, width, 1.0), yaw)
        self.steps.append(Step(foot, lift_s, self.duration_s, sole, yaw))


def turned(vector: Vec3, yaw: float) -> Vec3:
    x, y, z = vector
    cosine, sine = np.cos(yaw), np.sin(yaw)
    return np.array([cosine * x - sine * y, sine * x + cosine * y, z])


def begin_plan(skeleton: Skeleton, start_xy_m: tuple[float, float], t_pose_s: float) -> Plan:
    """Return a plan in which the body has stood in the T-pose and lowered its arms."""
    ankles = skeleton.rest_positions()[LIMB_SEGMENTS[2:, 2]]
    soles = (ankles + skeleton.interaction_points[2:]) * (1.0, 1.0, 0.0)
    place = np.array([*start_xy_m, 0.0])
    plan = Plan(skeleton.leg_length / ADULT_LEG_LENGTH_M, soles, place=place)
    plan.stay('t_pose', t_pose_s)
    plan.stay('lower_arms', LOWER_ARMS_S)
    plan.stay('pause', PAUSE_S)
    return plan


def make_plan(skeleton: Skeleton, t_pose_s: float, sits: bool = False) -> Plan:
    """Return the performance for a body, beginning with a T-pose of `t_pose_s`."""
    plan = begin_plan(skeleton, START_XY_M, t_pose_s)
    plan.turn(np.pi / 2.0)
    plan.walk(WALK_M)
    plan.stay('reach', REACH_S)
    plan.turn(-np.pi)
    plan.walk(WALK_M)
    plan.turn(np.pi / 2.0)
    plan.stay('clap', CLAP_S)
    if sits:
        plan.stay('sit', SIT_S)
    plan.stay('squat', SQUAT_S)
    plan.stay('jump', JUMP_S)
    plan.stay('raise_arms', RAISE_ARMS_S)
    return plan


def procedural_motion(
    character: Character | Skeleton, rate_hz: float, t_pose_s: float = T_POSE_S, sits: bool = False
) -> Motion:
    """
    Return one pass of the performance; its last frame is followed by its first.

    It scales with legs and arms; the table does not. `sits` has it sit down after clapping, on a
    stool of 45 cm behind it. Raise ConfigError if a time is negative or not finite.
    """
    check_timing(t_pose_s, rate_hz)
    skeleton = character.skeleton if isinstance(character, Character) else character
    plan = make_plan(skeleton, t_pose_s, sits)
    t = plan.times_s(rate_hz)
    body = make_body(skeleton, plan, t, rate_hz, _bending(plan, t))
    chests = chests_of(skeleton, body)
    for side in range(2):
        scale = float(skeleton.limb_lengths[side].sum()) / ADULT_ARM_LENGTH_M
        palms = _table(plan, t, side), _clap(plan, t, side, chests, scale)
        add_arm(skeleton, body, side, chests, _gesture(plan, t, body.stride, side), palms)
    return Motion.from_rotations(skeleton, rate_hz, body.roots, body.rotations)


# Pelvis, torso, legs and feet of the procedural performer.
#
# The pelvis follows the mean of the feet, smoothed; its height is what the legs allow. Bending,
# squatting and jumping are added on top. In the T-pose everything is exactly at rest. A planted
# sole does not move at all; a swing begins with the heel, the toes staying where they are, and
# ends on a slightly raised toe.


TOE_M = 0.11  # from the sole's centre to the ball of the foot, and about as far to the heel
SWING_HEIGHT_M = 0.05
HEEL_RISE = 0.60  # pitch of the foot as it leaves the floor [rad]
TOE_RISE = 0.22  # pitch before it lands [rad]
ROLL_SHARE = 0.14  # of a swing: how long the foot only rolls before it travels
EDGE = 0.03  # [rad]; rounds the corner of |pitch|

GRAVITY_M_S2 = 9.81
LEG_STRETCH = 0.992  # of a standing leg; the rest is bent
TRAVEL_WIDTH_S = 0.17  # smoothing of the way; a third of a step leaves a hint of its rhythm
HEIGHT_WIDTH_S = 0.06
HEIGHT_MARGIN_S = 0.07  # the smoothed height keeps below what the legs allow so long around
SWAY_M = 0.022  # towards the standing foot
HIP_DROP = 0.06  # on the swinging side [rad]
PELVIS_TWIST = 0.08  # with each step [rad]
CHEST_TWIST = 0.10  # against it
WALKING_LEAN = 0.05  # forward [rad]

SIT_M, SIT_BACK_M, SIT_LEAN = 0.41, 0.40, 0.7
SQUAT_M, SQUAT_BACK_M, SQUAT_LEAN = 0.40, 0.16, 0.62
REACH_M, REACH_BACK_M, REACH_LEAN = 0.08, 0.03, 0.78
CROUCH_M, CROUCH_BACK_M, CROUCH_LEAN = 0.27, 0.08, 0.55
LANDING_M = 0.20
FLIGHT_S = 0.42
PUSH_S, ABSORB_S = 0.30, 0.28
TAKE_OFF_M = 0.02  # pelvis above standing when the toes leave the floor
TUCK_M = 0.43  # rise of the feet in the jump
JUMP_PITCH = 0.75  # of the feet in the air [rad]
ROLL_S = 0.16  # from flat to the toes before the jump, and back after it

_X_AXIS, _Y_AXIS, _Z_AXIS = np.eye(3)


# Feet: planted flat, swung from plant to plant, lifted in jumps.


class Feet(NamedTuple):
    soles: Vec3s  # Sole centres in world, shape (n, 2, 3) [m]
    yaws: Floats  # Headings, shape (n, 2) [rad]
    pitches: Floats  # Toes down is positive, shape (n, 2) [rad]
    swings: Floats  # 0 while planted, up to 1 in the middle of a swing, shape (n, 2)


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


# Pelvis, torso and legs.


class Body(NamedTuple):
    """Pelvis, torso and legs, one row a frame; rotations relative to the parent segment."""

    roots: Vec3s  # Pelvis joints, shape (n, 3) [m]
    rotations: Quats  # Shape (n, 16, 4); the arms at rest
    stride: Floats  # How far the left foot is ahead of the right one, in steps, shape (n,)
    feet: Feet  # Where the soles are


class Bending(NamedTuple):
    """What is added to a body that walks upright, of an adult; shape (n,) each."""

    lean: Floats  # Of the trunk, forward [rad]
    back: Floats  # How far the pelvis is behind the feet [m]
    rise: Floats  # Of the pelvis [m]


class Moments(NamedTuple):
    """Instants of the activities that need more than a beginning [s]."""

    jump_bottom: float
    take_off: float
    touch_down: float
    landed: float


def jump_moments(plan: Plan) -> Moments:
    bottom = plan.starts_s['jump'] + 0.75
    take_off = bottom + PUSH_S
    touch_down = take_off + FLIGHT_S
    return Moments(bottom, take_off, touch_down, touch_down + ABSORB_S)


def share_of(plan: Plan, activity: str, t: Floats, ramps_s: tuple[float, float]) -> Floats:
    """Return 0 outside of an activity and 1 inside, blended over `ramps_s` at both ends."""
    start = plan.starts_s[activity]
    later = [s for s in plan.starts_s.values() if s > start]
    steps = [step.lift_s for step in plan.steps if step.lift_s > start]
    end = min([*later, *steps, plan.duration_s])
    up, down = ramps_s
    return smooth_step((t - start) / up) - smooth_step((t - end + down) / down)


def make_body(
    skeleton: Skeleton, plan: Plan, t: Floats, rate_hz: float, bending: Bending | None = None
) -> Body:
    """Return pelvis, torso and legs at times t, one pass of the plan; upright without bending."""
    feet = walking_feet(plan, t)
    yaw = smoothed(feet.yaws.mean(axis=1), rate_hz, TRAVEL_WIDTH_S)
    forward = np.stack((np.cos(yaw), np.sin(yaw), np.zeros(len(t))), axis=1)
    apart = np.sum((feet.soles[:, 0] - feet.soles[:, 1]) * forward, axis=1)
    stride = smoothed(apart, rate_hz, HEIGHT_WIDTH_S) / (STEP_M * plan.leg_scale)
    swing = smoothed(feet.swings[:, 0] - feet.swings[:, 1], rate_hz, HEIGHT_WIDTH_S)
    bending = bending or Bending(*np.zeros((3, len(t))))
    rotations = _torso(t, yaw, stride, swing, bending, plan)
    roots = _pelvis_path(skeleton, plan, t, rate_hz, feet, yaw, swing)
    roots -= plan.leg_scale * bending.back[:, None] * forward
    roots[:, 2] += plan.leg_scale * bending.rise
    if 'jump' in plan.starts_s:
        feet = _jumping_feet(feet, plan, t)
    add_legs(skeleton, roots, rotations, feet)
    return Body(roots, rotations, stride, feet)


def _bending(plan: Plan, t: Floats) -> Bending:
    reach = share_of(plan, 'reach', t, (1.6, 1.5))
    squat, sit = share_of(plan, 'squat', t, (1.3, 1.3)), _sitting(plan, t)
    moments = jump_moments(plan)
    start, recovered = plan.starts_s['jump'], moments.landed + 0.75
    crouch = eased(
        t,
        [
            (start, 0.0),
            (moments.jump_bottom, 1.0),
            (moments.take_off + 0.1, -0.1),
            (moments.touch_down - 0.12, 0.1),
            (moments.landed, 0.7),
            (recovered, 0.0),
        ],
    )
    return Bending(
        # on the way down and up it leans forward over its feet
        REACH_LEAN * reach
        + SQUAT_LEAN * squat
        + CROUCH_LEAN * crouch
        + 4.0 * SIT_LEAN * sit * (1.0 - sit),
        REACH_BACK_M * reach + SQUAT_BACK_M * squat + CROUCH_BACK_M * crouch + SIT_BACK_M * sit,
        jump_height(t, start, moments, recovered)
        - REACH_M * reach
        - SQUAT_M * squat
        - SIT_M * sit,
    )


def _sitting(plan: Plan, t: Floats) -> Floats:
    """Return 0 while it stands, 1 while it sits, (n,)."""
    return share_of(plan, 'sit', t, (1.7, 1.7)) if 'sit' in plan.starts_s else 0.0 * t


def jump_height(t: Floats, start: float, moments: Moments, recovered: float) -> Floats:
    """Return how far a jump raises an adult's pelvis: crouch, free flight, and landing [m]."""
    speed = 0.5 * GRAVITY_M_S2 * (moments.touch_down - moments.take_off)
    up = End(TAKE_OFF_M, speed, -GRAVITY_M_S2)
    down = End(TAKE_OFF_M, -speed, -GRAVITY_M_S2)
    in_air = t - moments.take_off
    pieces = [
        (moments.jump_bottom, quintic(t, start, moments.jump_bottom, End(0.0), End(-CROUCH_M))),
        (moments.take_off, quintic(t, moments.jump_bottom, moments.take_off, End(-CROUCH_M), up)),
        (moments.touch_down, TAKE_OFF_M + in_air * (speed - 0.5 * GRAVITY_M_S2 * in_air)),
        (moments.landed, quintic(t, moments.touch_down, moments.landed, down, End(-LANDING_M))),
        (recovered, quintic(t, moments.landed, recovered, End(-LANDING_M), End(0.0))),
    ]
    conditions = [t < start] + [t < end for end, _ in pieces]
    return np.select(conditions, [np.zeros(len(t))] + [curve for _, curve in pieces], 0.0)


def _pelvis_path(
    skeleton: Skeleton,
    plan: Plan,
    t: Floats,
    rate_hz: float,
    feet: Feet,
    yaw: Floats,
    swing: Floats,
) -> Vec3s:
    leftward = np.stack((-np.sin(yaw), np.cos(yaw), np.zeros(len(t))), axis=1)
    forward = np.stack((leftward[:, 1], -leftward[:, 0], np.zeros(len(t))), axis=1)
    directions = np.stack((np.cos(feet.yaws), np.sin(feet.yaws)), axis=-1)
    ahead_of_pelvis = plan.soles[:, 0].mean() * directions
    roots = np.zeros((len(t), 3))
    under = (feet.soles[:, :, :2] - ahead_of_pelvis).mean(axis=1)
    roots[:, :2] = smoothed(under, rate_hz, TRAVEL_WIDTH_S)
    roots -= plan.leg_scale * SWAY_M * swing[:, None] * leftward
    reach = LEG_STRETCH * skeleton.limb_lengths[2:].sum(axis=1)
    heights = []
    for foot in range(2):
        hip = skeleton.offsets[LIMB_SEGMENTS[2 + foot, 0]]
        ankle = _ankles(skeleton, foot, feet)
        across = ankle - roots - hip[0] * forward - hip[1] * leftward
        level = np.sum(across[:, :2] ** 2, axis=1)
        heights.append(ankle[:, 2] + np.sqrt(np.maximum(reach[foot] ** 2 - level, 0.0)) - hip[2])
    lowest = np.minimum(*heights)
    around = range(-round(HEIGHT_MARGIN_S * rate_hz), round(HEIGHT_MARGIN_S * rate_hz) + 1)
    lowest = np.min([np.roll(lowest, k) for k in around], axis=0)
    bent = smoothed(lowest, rate_hz, HEIGHT_WIDTH_S)
    rest = skeleton.rest_root_height
    lower, lift = plan.starts_s['lower_arms'], plan.starts_s['raise_arms']
    share = smooth_step((t - lower) / 1.0) - smooth_step((t - lift - 0.4) / 1.0)
    # squared: the knee's angle goes as the root of the height and must start smoothly, too
    roots[:, 2] = rest + share**2 * (bent - rest)
    return roots


def _torso(
    t: Floats, yaw: Floats, stride: Floats, swing: Floats, bending: Bending, plan: Plan
) -> Quats:
    walking = np.clip(np.abs(swing) * 1.5, 0.0, 1.0)
    lean = WALKING_LEAN * smooth_step(walking) + bending.lean
    rotations = np.zeros((len(t), 16, 4))
    rotations[..., 0] = 1.0
    twist = -PELVIS_TWIST * stride
    rotations[:, 0] = product(
        about(_Z_AXIS, yaw + twist), about(_Y_AXIS, 0.4 * lean), about(_X_AXIS, HIP_DROP * swing)
    )
    back_twist = -twist + CHEST_TWIST * stride
    for segment, share in ((1, 0.45), (2, 0.55)):
        turn, aside = about(_Z_AXIS, share * back_twist), about(_X_AXIS, -share * HIP_DROP * swing)
        rotations[:, segment] = product(turn, about(_Y_AXIS, 0.3 * lean), aside)
    turn = about(_Z_AXIS, -CHEST_TWIST * stride)
    rotations[:, 3] = product(turn, about(_Y_AXIS, -0.55 * bending.lean))
    return rotations


def _ankles(skeleton: Skeleton, foot: int, feet: Feet) -> Vec3s:
    point = skeleton.interaction_points[2 + foot]
    return feet.soles[:, foot] - quaternions.rotate(foot_rotations(feet, foot), point)


def foot_rotations(feet: Feet, foot: int) -> Quats:
    return product(about(_Z_AXIS, feet.yaws[:, foot]), about(_Y_AXIS, feet.pitches[:, foot]))


def _jumping_feet(feet: Feet, plan: Plan, t: Floats) -> Feet:
    moments = jump_moments(plan)
    up = smooth_step((t - moments.take_off + ROLL_S) / (1.6 * ROLL_S))
    down = smooth_step((t - moments.touch_down + 0.6 * ROLL_S) / (1.6 * ROLL_S))
    pitch = JUMP_PITCH * (up - down)
    flight = bump((t - moments.take_off) / FLIGHT_S)
    feet = roll_on_toes(feet, pitch, plan.leg_scale)
    feet.soles[..., 2] += plan.leg_scale * TUCK_M * flight[:, None]
    return feet


def roll_on_toes(feet: Feet, pitch: Floats, scale: float) -> Feet:
    """Return flat feet with their heels raised by a pitch, (n,) [rad]; the balls stay in place."""
    soles, roll = feet.soles.copy(), scale * TOE_M * (1.0 - np.cos(pitch))[:, None]
    soles[..., 0] += roll * np.cos(feet.yaws)
    soles[..., 1] += roll * np.sin(feet.yaws)
    soles[..., 2] += edge_height(pitch, scale)[:, None]
    return feet._replace(soles=soles, pitches=feet.pitches + pitch[:, None])


def add_legs(skeleton: Skeleton, roots: Vec3s, rotations: Quats, feet: Feet) -> None:
    """Write the rotations of legs that stand on their feet into those of a body, (n, 16, 4)."""
    q_pelvis = rotations[:, 0]
    for foot in range(2):
        thigh, shank, end = LIMB_SEGMENTS[2 + foot]
        hips = roots + quaternions.rotate(q_pelvis, skeleton.offsets[thigh])
        q_foot = foot_rotations(feet, foot)
        pole = quaternions.rotate(about(_Z_AXIS, feet.yaws[:, foot]), _X_AXIS)
        pole += 0.5 * quaternions.rotate(q_pelvis, _X_AXIS)
        bones = skeleton.offsets[[shank, end]]
        ankles = _ankles(skeleton, foot, feet)
        q_thigh, q_shank = two_bone_rotations(hips, ankles, bones, _Y_AXIS, pole)
        rotations[:, thigh] = relative(q_pelvis, q_thigh)
        rotations[:, shank] = relative(q_thigh, q_shank)
        rotations[:, end] = relative(q_shank, q_foot)


# Arms of the procedural performer: joint angles for gestures, goals for table and claps.
#
# Angles move the arms in the T-pose, while walking, squatting and jumping. Where a palm has to be
# somewhere, the arm that puts it there is computed, and joints are blended from the one to the
# other.


ADULT_ARM_LENGTH_M = 0.582
HANGING = np.radians(9.0)  # of the upper arm from the vertical, sideways
SWING = np.radians(21.0)  # fore and back with each step
ELBOW = np.radians(17.0)
ELBOW_SWING = np.radians(9.0)
PRONATION_SHARE = 0.75  # of a hand's turn about the forearm that the forearm takes

PALM_FROM_EDGE_M = 0.13  # where the palms rest on the table, from its near edge
PALM_FROM_MIDDLE_M = (0.20, 0.17)  # left and right palm
HOVER_M = 0.16  # above the table before the palms go down
SECOND_HAND_S = 0.55  # the left hand follows the right one

CLAP_AHEAD_M, CLAP_UP_M = 0.33, 0.10  # from the chest joint
CLAP_OPEN_M, CLAP_CLOSED_M = 0.30, 0.02  # between the palms
CLAP_HZ = 2.2
CLAP_RAMP_S = 0.9
FINGERS_UP = np.radians(50.0)


Chests = tuple[Quats, Vec3s]  # Of a chest in world: orientations (n, 4), joint's places (n, 3) [m]


class Gesture(NamedTuple):
    """Joint angles of one arm over time [rad]."""

    aside: Floats
    ahead: Floats
    elbow: Floats


class Palm(NamedTuple):
    """Where a palm has to be, and how much."""

    share: Floats
    position: Vec3s
    rotation: Quats
    pole: Vec3s


def chests_of(skeleton: Skeleton, body: Body) -> Chests:
    """Return the chest of a body whose torso is complete."""
    q_world, p_world = world_segments(skeleton, body.roots, body.rotations)
    chest = SEGMENT_INDEX['chest']
    return q_world[:, chest], p_world[:, chest]


def add_arm(
    skeleton: Skeleton, body: Body, side: int, chests: Chests, arm: Gesture, palms: Sequence[Palm]
) -> None:
    """Write an arm's rotations into a body: a gesture, blended to where its palm has to be."""
    upper, lower, hand = LIMB_SEGMENTS[side]
    rest = np.tile((1.0, 0.0, 0.0, 0.0), (len(body.roots), 1))
    rotations = [*hanging_arm(arm, side), rest]
    for palm in palms:
        placed = placed_arm(skeleton, side, chests, palm)
        rotations = [
            quaternions.slerp(free, bound, palm.share) for free, bound in zip(rotations, placed)
        ]
    body.rotations[:, upper], body.rotations[:, lower], body.rotations[:, hand] = rotations


def walking_arm(plan: Plan, t: Floats, stride: Floats, side: int) -> Gesture:
    """Return an arm that comes down from the T-pose, swings with the steps and is raised again."""
    lower, lift = plan.starts_s['lower_arms'], plan.starts_s['raise_arms']
    down = smooth_step((t - lower) / 1.2) - smooth_step((t - lift - 0.2) / 1.2)
    swing = stride if side == 1 else -stride
    aside = 0.5 * np.pi + down * (HANGING - 0.5 * np.pi)
    return Gesture(aside, SWING * swing, down * ELBOW + ELBOW_SWING * swing)


def _gesture(plan: Plan, t: Floats, stride: Floats, side: int) -> Gesture:
    walking = walking_arm(plan, t, stride, side)
    squat, sit = share_of(plan, 'squat', t, (1.2, 1.3)), _sitting(plan, t)
    reach = share_of(plan, 'reach', t, (0.9, 0.9))
    jump = plan.starts_s['jump']
    moments = jump_moments(plan)
    thrown = eased(
        t,
        [
            (jump, 0.0),
            (moments.jump_bottom - 0.1, -0.6),
            (moments.take_off + 0.12, 1.5),
            (moments.touch_down + 0.05, 0.8),
            (moments.landed + 0.8, 0.0),
        ],
    )
    away = np.clip(thrown, 0.0, 1.0)
    return Gesture(
        walking.aside + 0.12 * squat,
        walking.ahead + 1.5 * squat + thrown - 0.15 * reach + 0.42 * sit,
        walking.elbow + 0.1 * squat + 1.3 * reach + 0.45 * sit + 0.35 * smooth_step(away),
    )


def hanging_arm(gesture: Gesture, side: int) -> tuple[Quats, Quats]:
    """Return the rotations of upper arm and forearm that joint angles give, (n, 4) each."""
    mirror = 1.0 if side == 0 else -1.0
    down = about(-mirror * _X_AXIS, 0.5 * np.pi - gesture.aside)
    upper = quaternions.multiply(about(-_Y_AXIS, gesture.ahead), down)
    return upper, about(-mirror * _Z_AXIS, gesture.elbow)


def _table(plan: Plan, t: Floats, side: int) -> Palm:
    delay = SECOND_HAND_S if side == 0 else 0.0
    start = plan.starts_s['reach'] + 0.5 + delay
    end = plan.starts_s['reach'] + 6.3 - 0.5 * delay
    share = smooth_step((t - start) / 1.1) - smooth_step((t - end + 1.0) / 1.0)
    up = eased(t, [(start + 0.9, 1.0), (start + 1.7, 0.0), (end - 1.9, 0.0), (end - 1.1, 1.0)])
    # facing +Y, the near edge is the one of lower y and left is -X
    middle_x, middle_y, _ = TABLE_CENTRE_M
    aside = -PALM_FROM_MIDDLE_M[0] if side == 0 else PALM_FROM_MIDDLE_M[1]
    edge_y = middle_y - 0.5 * TABLE_SIZE_M[1]
    resting = np.array([middle_x + aside, edge_y + PALM_FROM_EDGE_M, TABLE_TOP_M])
    hovering = np.array([0.0, -0.05, HOVER_M])
    yaw = 0.5 * np.pi + (-0.15 if side == 0 else 0.15)
    flat = hand_rotations(side, np.array([np.cos(yaw), np.sin(yaw), 0.0]), -_Z_AXIS)
    pole = np.array([-0.7 if side == 0 else 0.7, -0.8, -0.25])
    turns, poles = (np.broadcast_to(v, (len(t), len(v))) for v in (flat, pole))
    return Palm(share, resting + up[:, None] * hovering, turns, poles)


def _clap(plan: Plan, t: Floats, side: int, chests: Chests, scale: float) -> Palm:
    q_chest, p_chest = chests
    start = plan.starts_s['clap']
    share = share_of(plan, 'clap', t, (CLAP_RAMP_S, CLAP_RAMP_S))
    # claps begin when the hands are up and end before they go down
    n_claps = 5
    beating = (t - start - CLAP_RAMP_S) * CLAP_HZ
    inside = (beating > 0.0) & (beating < n_claps)
    open_share = np.where(inside, 0.5 + 0.5 * np.cos(2.0 * np.pi * beating), 1.0)
    gap = CLAP_CLOSED_M + scale * (CLAP_OPEN_M - CLAP_CLOSED_M) * open_share
    mirror = 1.0 if side == 0 else -1.0
    # the line between the shoulders stays level, whatever the spine does
    ahead = unit(quaternions.rotate(q_chest, _X_AXIS) * (1.0, 1.0, 0.0))
    leftward = np.cross(_Z_AXIS, ahead)
    centre = p_chest + scale * (CLAP_AHEAD_M * ahead + CLAP_UP_M * _Z_AXIS)
    fingers = np.cos(FINGERS_UP) * ahead + np.sin(FINGERS_UP) * _Z_AXIS
    rotation = hand_rotations(side, fingers, -mirror * leftward)
    pole = mirror * 0.8 * leftward - _Z_AXIS - 0.3 * ahead
    return Palm(share, centre + 0.5 * mirror * gap[:, None] * leftward, rotation, pole)


def placed_arm(
    skeleton: Skeleton, side: int, chests: Chests, palm: Palm
) -> tuple[Quats, Quats, Quats]:
    """Return rotations of upper arm, forearm and hand that bring the palm to its place."""
    q_chest, p_chest = chests
    upper, lower, hand = LIMB_SEGMENTS[side]
    shoulders = p_chest + quaternions.rotate(q_chest, skeleton.offsets[upper])
    point = skeleton.interaction_points[side]
    wrists = palm.position - quaternions.rotate(palm.rotation, point)
    bones = skeleton.offsets[[lower, hand]]
    # elbows point backward in the rest pose
    rest_hinge = np.cross(-_X_AXIS, unit(bones[0]))
    q_upper, q_lower = two_bone_rotations(shoulders, wrists, bones, rest_hinge, palm.pole)
    q_hand = relative(q_lower, palm.rotation)
    # the forearm takes a part of the turn about its axis that is nearest to the hand's
    angle = 2.0 * np.arctan2(q_hand[..., 1:] @ unit(bones[1]), q_hand[..., 0])
    angle = (angle + np.pi) % (2.0 * np.pi) - np.pi
    turn = about(unit(bones[1]), PRONATION_SHARE * angle)
    return (
        relative(q_chest, q_upper),
        quaternions.multiply(relative(q_upper, q_lower), turn),
        relative(turn, q_hand),
    )


def hand_rotations(side: int, fingers: Vec3s, palm_normal: Vec3) -> Quats:
    """Return the hand's orientation from where the fingers point and the palm faces."""
    y = fingers if side == 0 else -fingers
    z = -np.broadcast_to(palm_normal, y.shape)
    x = np.cross(y, z)
    return quaternions.from_matrix(np.stack((x, y, z), axis=-1))
