# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Arms of the procedural performer: joint angles for gestures, goals for table and claps.

Angles move the arms in the T-pose, while walking, squatting and jumping. Where a palm has to
be somewhere, the arm that puts it there is computed, and joints are blended from the one to
the other.
"""

from typing import NamedTuple

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, Skeleton
from puppet_core.math import Floats, quaternions, Quats, Vec3, Vec3s
from puppet_core.procedural.body import Body, jump_moments, share_of
from puppet_core.procedural.curve import eased
from puppet_core.procedural.limbs import about, relative, two_bone_rotations, unit
from puppet_core.procedural.motion_loop import smooth_step
from puppet_core.procedural.plan import Plan, TABLE_CENTRE_M, TABLE_SIZE_M, TABLE_TOP_M

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

_X_AXIS, _Y_AXIS, _Z_AXIS = np.eye(3)


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


def add_arms(skeleton: Skeleton, plan: Plan, t: Floats, body: Body, chests: tuple) -> None:
    """
    Write the arms' rotations at times t (n,) [s] into a body whose torso is complete.

    `chests` are orientations (n, 4) and joint positions (n, 3) of the chest in world [m].
    """
    for side in range(2):
        upper, lower, hand = LIMB_SEGMENTS[side]
        gesture = _gesture(plan, t, body.stride, side)
        rotations = [*hanging_arm(gesture, side), _rest(len(t))]
        scale = float(skeleton.limb_lengths[side].sum()) / ADULT_ARM_LENGTH_M
        for palm in (_table(plan, t, side), _clap(plan, t, side, chests, scale)):
            placed = placed_arm(skeleton, side, chests, palm)
            rotations = [
                quaternions.slerp(free, bound, palm.share)
                for free, bound in zip(rotations, placed)
            ]
        body.rotations[:, upper], body.rotations[:, lower], body.rotations[:, hand] = rotations


def _gesture(plan: Plan, t: Floats, stride: Floats, side: int) -> Gesture:
    lower, lift = plan.starts_s['lower_arms'], plan.starts_s['raise_arms']
    down = smooth_step((t - lower) / 1.2) - smooth_step((t - lift - 0.2) / 1.2)
    squat = share_of(plan, 'squat', t, (1.2, 1.3))
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
    swing = stride if side == 1 else -stride
    aside = 0.5 * np.pi + down * (HANGING - 0.5 * np.pi)
    return Gesture(
        aside + 0.12 * squat,
        SWING * swing + 1.5 * squat + thrown - 0.15 * reach,
        down * ELBOW + ELBOW_SWING * swing + 0.1 * squat + 1.3 * reach + 0.35 * smooth_step(away),
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
    up = eased(
        t,
        [(start + 0.9, 1.0), (start + 1.7, 0.0), (end - 1.9, 0.0), (end - 1.1, 1.0)],
    )
    # facing +Y, the near edge is the one of lower y and left is -X
    middle_x, middle_y, _ = TABLE_CENTRE_M
    aside = -PALM_FROM_MIDDLE_M[0] if side == 0 else PALM_FROM_MIDDLE_M[1]
    edge_y = middle_y - 0.5 * TABLE_SIZE_M[1]
    resting = np.array([middle_x + aside, edge_y + PALM_FROM_EDGE_M, TABLE_TOP_M])
    hovering = np.array([0.0, -0.05, HOVER_M])
    yaw = 0.5 * np.pi + (-0.15 if side == 0 else 0.15)
    flat = hand_rotations(side, np.array([np.cos(yaw), np.sin(yaw), 0.0]), -_Z_AXIS)
    pole = np.array([-0.7 if side == 0 else 0.7, -0.8, -0.25])
    n = len(t)
    return Palm(
        share,
        resting + up[:, None] * hovering,
        np.broadcast_to(flat, (n, 4)),
        np.broadcast_to(pole, (n, 3)),
    )


def _clap(plan: Plan, t: Floats, side: int, chests: tuple, scale: float) -> Palm:
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
    skeleton: Skeleton, side: int, chests: tuple, palm: Palm
) -> tuple[Quats, Quats, Quats]:
    """
    Return the rotations of upper arm, forearm and hand that bring the palm to its place.

    Side 0 is left; `chests` as in `add_arms`; the palm's blend factor is not used.
    """
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
    turn = _twist(q_hand, unit(bones[1]), PRONATION_SHARE)
    return (
        relative(q_chest, q_upper),
        quaternions.multiply(relative(q_upper, q_lower), turn),
        relative(turn, q_hand),
    )


def _twist(q: Quats, axis: Vec3, share: float) -> Quats:
    """Return a fraction of the rotation about `axis` that is nearest to q."""
    angle = 2.0 * np.arctan2(q[..., 1:] @ axis, q[..., 0])
    angle = (angle + np.pi) % (2.0 * np.pi) - np.pi
    return about(axis, share * angle)


def hand_rotations(side: int, fingers: Vec3s, palm_normal: Vec3) -> Quats:
    """Return the hand's orientation from where the fingers point and the palm faces."""
    y = fingers if side == 0 else -fingers
    z = -np.broadcast_to(palm_normal, y.shape)
    x = np.cross(y, z)
    return quaternions.from_matrix(np.stack((x, y, z), axis=-1))


def _rest(n: int) -> Quats:
    return np.tile((1.0, 0.0, 0.0, 0.0), (n, 1))
