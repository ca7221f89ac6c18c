# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A performer who touches its own body: made of formulas, with contacts that are exact.

It stands, sways a little and either lifts a hand to the mouth, lays both hands on the waist,
or claps before the chest, as the actors of Shin2002 fig. 7.6 do. In contact the palm's
interaction point lies on the surface of `default_capsules`; all curves have two derivatives.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.body import (
    ADULT_LEG_M,
    Capsule,
    default_capsules,
    LIMB_SEGMENTS,
    Motion,
    SEGMENT_INDEX,
    Skeleton,
    world_segments,
)
from puppet_core.io import ConfigError
from puppet_core.math import Floats, quaternions, Quats, Vec3, Vec3s
from puppet_core.procedural import (
    ADULT_ARM_LENGTH_M,
    eased,
    ELBOW,
    Gesture,
    hand_rotations,
    HANGING,
    hanging_arm,
    LEG_STRETCH,
    Palm,
    placed_arm,
    rest_rotations,
    smooth_step,
    two_bone_rotations,
    unit,
)

SELF_CONTACTS = ('smoke', 'waist', 'clap')
RATE_HZ = 120.0
LEFT, RIGHT = 0, 1

SWAY_M, SWAY_HZ = 0.012, 0.25  # of the pelvis over the planted feet
LIFT_S, APPROACH_S, HOLD_S = 0.9, 0.7, 1.2
STILL_S = 0.6  # arms hanging, before and after
HOVER_M = 0.13  # between palm and body before it touches
WRIST_LIFT = np.radians(11.0)  # the fingers follow the round body, the wrist stays off it

MOUTH_M = 0.045  # height above the head's joint
MOUTH_AZIMUTH = np.radians(-28.0)  # towards the hand that smokes
SMOKING_FINGERS = np.radians(105.0)  # from the left over the zenith
WAIST_M = 0.055  # height above the spine's joint
WAIST_AZIMUTH = np.radians(78.0)  # from straight ahead
WAIST_FINGERS = np.radians(-35.0)

CLAP_AHEAD_M, CLAP_UP_M = 0.33, 0.08  # from the chest joint
CLAP_OPEN_M = 0.28
CLAP_S, N_CLAPS = 0.5, 5
CLAP_DWELL = 0.16  # share of a clap in which the palms stay together
CLAP_FINGERS = np.radians((72.0, 28.0))  # left and right: across each other, wrists apart

_X_AXIS, _Y_AXIS, _Z_AXIS = np.eye(3)
_TORSO = (SEGMENT_INDEX['pelvis'], SEGMENT_INDEX['spine'], SEGMENT_INDEX['chest'])
_HEAD = (SEGMENT_INDEX['head'],)


class Spot(NamedTuple):
    """A point of a surface and its direction, in world at rest or in a segment's frame."""

    point: Vec3  # [m]
    normal: Vec3  # Outward, unit


def self_contact_motion(kind: str, skeleton: Skeleton, rate_hz: float = RATE_HZ) -> Motion:
    """
    Return a performer that touches itself and comes back to where it began.

    Parameters
    ----------
    kind : str
        Of SELF_CONTACTS: `smoke`, the right palm at the mouth; `waist`, both palms on the
        waist; `clap`, the palms five times together in front of the chest.
    skeleton : Skeleton
        The body; its shape is that of `default_capsules`.
    rate_hz : float
        Frames per second.

    Raises
    ------
    ConfigError : for an unknown kind or an impossible rate.

    """
    if kind not in SELF_CONTACTS:
        raise ConfigError(f'kind: expected one of {", ".join(SELF_CONTACTS)}, got {kind!r}')
    if not 1.0 <= rate_hz < 1e4:
        raise ConfigError(f'expected rate_hz >= 1, got {rate_hz:g} Hz')
    busy_s = N_CLAPS * CLAP_S if kind == 'clap' else 2.0 * APPROACH_S + HOLD_S
    duration_s = 2.0 * (STILL_S + LIFT_S) + busy_s
    t = np.arange(round(duration_s * rate_hz) + 1) / rate_hz
    roots, rotations = _standing(skeleton, t, duration_s)
    share = smooth_step((t - STILL_S) / LIFT_S) - smooth_step(
        (t - duration_s + STILL_S + LIFT_S) / LIFT_S
    )
    world = world_segments(skeleton, roots, rotations)
    for side in (LEFT, RIGHT):
        palm = _palm(kind, side, skeleton, (t - STILL_S - LIFT_S, share), world)
        _add_arm(skeleton, side, rotations, world, palm)
    return Motion.from_rotations(skeleton, rate_hz, roots, rotations)


def surface_spot(capsules: Sequence[Capsule], origins: Vec3s, start: Vec3, way: Vec3) -> Spot:
    """
    Return where a ray from inside a body leaves it for good.

    Parameters
    ----------
    capsules : sequence of Capsule
        The part of the body that is looked at.
    origins : ndarray, shape (16, 3)
        Where the segments' frames are, all of them unturned [m].
    start, way : ndarray, shape (3,)
        The ray [m].

    """
    a = np.array([c.start + origins[c.segment] for c in capsules])
    across = np.array([c.end - c.start for c in capsules])
    radii = np.array([c.radius for c in capsules])
    way = unit(np.asarray(way))
    point = start + 2.0 * way
    for _ in range(300):  # by the free distance, from outside
        share = np.sum((point - a) * across, axis=1) / np.maximum(np.sum(across**2, axis=1), 1e-18)
        cores = a + np.clip(share, 0.0, 1.0)[:, None] * across
        free = np.linalg.norm(point - cores, axis=1) - radii
        nearest = int(np.argmin(free))
        point = point - free[nearest] * way
    return Spot(point, unit(point - cores[nearest]))


def _standing(skeleton: Skeleton, t: Floats, duration_s: float) -> tuple[Vec3s, Quats]:
    """Return roots (n, 3) and rotations (n, 16, 4) of a body that sways on flat soles."""
    size = skeleton.leg_length / ADULT_LEG_M
    rotations = rest_rotations(len(t), np.array([1.0, 0.0, 0.0, 0.0]))
    quiet = smooth_step(t) * smooth_step(duration_s - t)
    roots = np.zeros((len(t), 3))
    roots[:, 1] = SWAY_M * size * quiet * np.sin(2.0 * np.pi * SWAY_HZ * t)
    drop = (1.0 - LEG_STRETCH) * float(skeleton.limb_lengths[2:].sum(axis=1).mean())
    roots[:, 2] = skeleton.rest_root_height - drop
    rest = skeleton.rest_positions()
    for thigh, shank, foot in LIMB_SEGMENTS[2:]:
        hips = roots + skeleton.offsets[thigh]
        ankles = np.tile(rest[foot] + [0.0, 0.0, skeleton.rest_root_height], (len(t), 1))
        bones = skeleton.offsets[[shank, foot]]
        q_thigh, q_shank = two_bone_rotations(hips, ankles, bones, _Y_AXIS, _rows(_X_AXIS, t))
        rotations[:, thigh] = q_thigh
        rotations[:, shank] = _relative(q_thigh, q_shank)
        rotations[:, foot] = quaternions.conjugate(q_shank)
    return roots, rotations


def _add_arm(
    skeleton: Skeleton, side: int, rotations: Quats, world: tuple, palm: Palm | None
) -> None:
    """Write the rotations of one arm: hanging, and blended to where its palm has to be."""
    n = len(rotations)
    upper, lower, hand = LIMB_SEGMENTS[side]
    level = np.full(n, 1.0)
    gesture = Gesture(HANGING * level, 0.05 * level, ELBOW * level)
    arm = [*hanging_arm(gesture, side), _rows(np.array([1.0, 0.0, 0.0, 0.0]), level)]
    if palm is not None:
        chest = SEGMENT_INDEX['chest']
        placed = placed_arm(skeleton, side, (world[0][:, chest], world[1][:, chest]), palm)
        arm = [quaternions.slerp(free, p, palm.share) for free, p in zip(arm, placed)]
    rotations[:, upper], rotations[:, lower], rotations[:, hand] = arm


def _palm(
    kind: str, side: int, skeleton: Skeleton, timing: tuple[Floats, Floats], world: tuple
) -> Palm | None:
    """Return where a palm goes; `timing` is the time since the arm is up [s], and its share."""
    if kind == 'clap':
        return _clapping(side, skeleton, timing, world)
    mirror = 1.0 if side == LEFT else -1.0
    if kind == 'waist':
        spot = _spot(skeleton, _TORSO, 'spine', WAIST_M, mirror * WAIST_AZIMUTH)
        fingers = np.cos(WAIST_FINGERS) * _X_AXIS + np.sin(WAIST_FINGERS) * _Z_AXIS
        pole = mirror * _Y_AXIS - 0.7 * _X_AXIS
        return _touching(side, timing, world[1][:, SEGMENT_INDEX['spine']], spot, fingers, pole)
    if side == LEFT:
        return None
    spot = _spot(skeleton, _HEAD, 'head', MOUTH_M, MOUTH_AZIMUTH)
    fingers = np.cos(SMOKING_FINGERS) * _Y_AXIS + np.sin(SMOKING_FINGERS) * _Z_AXIS
    pole = -_Z_AXIS - 0.6 * _Y_AXIS + 0.85 * _X_AXIS
    return _touching(side, timing, world[1][:, SEGMENT_INDEX['head']], spot, fingers, pole)


def _spot(
    skeleton: Skeleton, segments: Sequence[int], name: str, height_m: float, azimuth: float
) -> Spot:
    """Return the spot of a rigid part at a height and direction in one segment's frame."""
    rest = skeleton.rest_positions()
    capsules = [c for c in default_capsules(skeleton) if c.segment in segments]
    start = np.array([0.0, 0.0, height_m * skeleton.leg_length / ADULT_LEG_M])
    way = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
    return surface_spot(capsules, rest - rest[SEGMENT_INDEX[name]], start, way)


def _touching(
    side: int, timing: tuple[Floats, Floats], origins: Vec3s, spot: Spot, fingers: Vec3, pole: Vec3
) -> Palm:
    t, share = timing
    away = eased(
        t,
        [
            (0.0 - 0.4 * LIFT_S, HOVER_M),
            (APPROACH_S, 0.0),
            (APPROACH_S + HOLD_S, 0.0),
            (2.0 * APPROACH_S + HOLD_S + 0.4 * LIFT_S, HOVER_M),
        ],
    )
    along = unit(fingers - (fingers @ spot.normal) * spot.normal)
    down = np.cos(WRIST_LIFT) * along - np.sin(WRIST_LIFT) * spot.normal
    looking = -np.cos(WRIST_LIFT) * spot.normal - np.sin(WRIST_LIFT) * along
    rotation = hand_rotations(side, _rows(down, t), looking)
    position = origins + spot.point + away[:, None] * spot.normal
    return Palm(share, position, rotation, _rows(pole, t))


def _clapping(side: int, skeleton: Skeleton, timing: tuple[Floats, Floats], world: tuple) -> Palm:
    t, share = timing
    mirror = 1.0 if side == LEFT else -1.0
    arms = float(skeleton.limb_lengths[:2].sum(axis=1).mean()) / ADULT_ARM_LENGTH_M
    beat = np.clip(t / CLAP_S, 0.0, N_CLAPS) % 1.0
    apart = eased(
        beat, [(0.0, 1.0), (0.5 - CLAP_DWELL / 2, 0.0), (0.5 + CLAP_DWELL / 2, 0.0), (1.0, 1.0)]
    )
    centre = world[1][:, SEGMENT_INDEX['chest']] + arms * (
        CLAP_AHEAD_M * _X_AXIS + CLAP_UP_M * _Z_AXIS
    )
    gap = _closed_gap(skeleton) + arms * CLAP_OPEN_M * apart
    fingers = np.cos(CLAP_FINGERS[side]) * _X_AXIS + np.sin(CLAP_FINGERS[side]) * _Z_AXIS
    rotation = hand_rotations(side, _rows(fingers, t), -mirror * _Y_AXIS)
    pole = mirror * 0.8 * _Y_AXIS - _Z_AXIS - 0.3 * _X_AXIS
    position = centre + 0.5 * mirror * gap[:, None] * _Y_AXIS
    return Palm(share, position, rotation, _rows(pole, t))


def _closed_gap(skeleton: Skeleton) -> float:
    """Return the distance of the palms' points when each lies on the other hand [m]."""
    gaps = []
    for side in (LEFT, RIGHT):
        hand = LIMB_SEGMENTS[side, 2]
        capsules = [c for c in default_capsules(skeleton) if c.segment == hand]
        point = skeleton.interaction_points[side]
        spot = surface_spot(capsules, np.zeros((16, 3)), point, -_Z_AXIS)
        gaps.append(point[2] - spot.point[2])
    return float(np.mean(gaps))


def _rows(vector: Floats, t: Floats) -> Floats:
    return np.tile(vector, (len(t), 1))


def _relative(parent: Quats, child: Quats) -> Quats:
    return quaternions.multiply(quaternions.conjugate(parent), child)
