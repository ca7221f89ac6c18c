# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Pelvis, torso, legs and feet of the procedural performer.

The pelvis follows the mean of the feet, smoothed; its height is what the legs allow. Bending,
squatting and jumping are added on top. In the T-pose everything is exactly at rest. A planted
sole does not move at all; a swing begins with the heel, the toes staying where they are, and
ends on a slightly raised toe.
"""

from typing import NamedTuple

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, Skeleton
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_core.procedural.curve import bump, eased, End, quintic, smoothed
from puppet_core.procedural.limbs import about, product, relative, two_bone_rotations
from puppet_core.procedural.motion_loop import smooth_step
from puppet_core.procedural.plan import Plan, Step, STEP_M

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

_Y_AXIS, _Z_AXIS, _X_AXIS = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.eye(3)[0]


# Feet: planted flat, swung from plant to plant, lifted in jumps.


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


# Pelvis, torso and legs.


class Body(NamedTuple):
    """Pelvis, torso and legs, one row a frame; rotations relative to the parent segment."""

    roots: Vec3s
    """Pelvis joints, shape (n, 3) [m]."""

    rotations: Quats
    """Shape (n, 16, 4); the arms at rest."""

    stride: Floats
    """How far the left foot is ahead of the right one, in steps, shape (n,)."""

    feet: Feet
    """Where the soles are."""


class Moments(NamedTuple):
    """Instants of the activities that need more than a beginning [s]."""

    jump_bottom: float
    take_off: float
    touch_down: float
    landed: float


def jump_moments(plan: Plan) -> Moments:
    """Return when the jump's parts happen."""
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


def make_body(skeleton: Skeleton, plan: Plan, t: Floats, rate_hz: float) -> Body:
    """Return pelvis, torso and legs at times t, one pass of the plan."""
    feet = walking_feet(plan, t)
    yaw = smoothed(feet.yaws.mean(axis=1), rate_hz, TRAVEL_WIDTH_S)
    forward = np.stack((np.cos(yaw), np.sin(yaw), np.zeros(len(t))), axis=1)
    apart = np.sum((feet.soles[:, 0] - feet.soles[:, 1]) * forward, axis=1)
    stride = smoothed(apart, rate_hz, HEIGHT_WIDTH_S) / (STEP_M * plan.leg_scale)
    swing = smoothed(feet.swings[:, 0] - feet.swings[:, 1], rate_hz, HEIGHT_WIDTH_S)
    bending = _bending(plan, t)
    rotations = _torso(t, yaw, stride, swing, bending, plan)
    roots = _pelvis_path(skeleton, plan, t, rate_hz, feet, yaw, swing)
    roots -= plan.leg_scale * bending.back[:, None] * forward
    roots[:, 2] += plan.leg_scale * bending.rise
    feet = _jumping_feet(feet, plan, t)
    _legs(skeleton, roots, rotations, feet)
    return Body(roots, rotations, stride, feet)


class _Bending(NamedTuple):
    lean: Floats
    back: Floats
    rise: Floats


def _bending(plan: Plan, t: Floats) -> _Bending:
    reach = share_of(plan, 'reach', t, (1.6, 1.5))
    squat = share_of(plan, 'squat', t, (1.3, 1.3))
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
    return _Bending(
        REACH_LEAN * reach + SQUAT_LEAN * squat + CROUCH_LEAN * crouch,
        REACH_BACK_M * reach + SQUAT_BACK_M * squat + CROUCH_BACK_M * crouch,
        _jump_height(t, start, moments, recovered) - REACH_M * reach - SQUAT_M * squat,
    )


def _jump_height(t: Floats, start: float, moments: Moments, recovered: float) -> Floats:
    speed = 0.5 * GRAVITY_M_S2 * FLIGHT_S
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
    ahead_of_pelvis = plan.soles[:, 0].mean() * np.stack(
        (np.cos(feet.yaws), np.sin(feet.yaws)), axis=-1
    )
    roots = np.zeros((len(t), 3))
    under = (feet.soles[:, :, :2] - ahead_of_pelvis).mean(axis=1)
    roots[:, :2] = smoothed(under, rate_hz, TRAVEL_WIDTH_S)
    roots -= plan.leg_scale * SWAY_M * swing[:, None] * leftward
    roots[:, 2] = _standing_height(skeleton, plan, t, rate_hz, feet, roots, (forward, leftward))
    return roots


def _standing_height(
    skeleton: Skeleton,
    plan: Plan,
    t: Floats,
    rate_hz: float,
    feet: Feet,
    roots: Vec3s,
    axes: tuple[Vec3s, Vec3s],
) -> Floats:
    forward, leftward = axes
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
    return rest + share**2 * (bent - rest)


def _torso(
    t: Floats, yaw: Floats, stride: Floats, swing: Floats, bending: _Bending, plan: Plan
) -> Quats:
    walking = np.clip(np.abs(swing) * 1.5, 0.0, 1.0)
    lean = WALKING_LEAN * smooth_step(walking) + bending.lean
    rotations = np.zeros((len(t), 16, 4))
    rotations[..., 0] = 1.0
    twist = -PELVIS_TWIST * stride
    rotations[:, 0] = product(
        about(_Z_AXIS, yaw + twist),
        about(_Y_AXIS, 0.4 * lean),
        about(_X_AXIS, HIP_DROP * swing),
    )
    back_twist = -twist + CHEST_TWIST * stride
    for segment, share in ((1, 0.45), (2, 0.55)):
        rotations[:, segment] = product(
            about(_Z_AXIS, share * back_twist),
            about(_Y_AXIS, 0.3 * lean),
            about(_X_AXIS, -share * HIP_DROP * swing),
        )
    rotations[:, 3] = product(
        about(_Z_AXIS, -CHEST_TWIST * stride), about(_Y_AXIS, -0.55 * bending.lean)
    )
    return rotations


def _ankles(skeleton: Skeleton, foot: int, feet: Feet) -> Vec3s:
    point = skeleton.interaction_points[2 + foot]
    return feet.soles[:, foot] - quaternions.rotate(foot_rotations(feet, foot), point)


def foot_rotations(feet: Feet, foot: int) -> Quats:
    """Return the orientations of one foot in world, shape (n, 4)."""
    return product(about(_Z_AXIS, feet.yaws[:, foot]), about(_Y_AXIS, feet.pitches[:, foot]))


def _jumping_feet(feet: Feet, plan: Plan, t: Floats) -> Feet:
    moments = jump_moments(plan)
    up = smooth_step((t - moments.take_off + ROLL_S) / (1.6 * ROLL_S))
    down = smooth_step((t - moments.touch_down + 0.6 * ROLL_S) / (1.6 * ROLL_S))
    pitch = JUMP_PITCH * (up - down)
    flight = bump((t - moments.take_off) / FLIGHT_S)
    soles = feet.soles.copy()
    lifted = plan.leg_scale * TUCK_M * flight + edge_height(pitch, plan.leg_scale)
    soles[..., 2] += lifted[:, None]
    # the ball of the foot stays in place while the heel rises
    roll = plan.leg_scale * TOE_M * (1.0 - np.cos(pitch))[:, None]
    soles[..., 0] += roll * np.cos(feet.yaws)
    soles[..., 1] += roll * np.sin(feet.yaws)
    return feet._replace(soles=soles, pitches=feet.pitches + pitch[:, None])


def _legs(skeleton: Skeleton, roots: Vec3s, rotations: Quats, feet: Feet) -> None:
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
