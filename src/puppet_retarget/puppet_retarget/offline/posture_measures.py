# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether a puppet holds itself as its performer does: where limbs point, how high a body lies.

Goals and importance say what a solver was asked for; these compare puppet and performer
themselves. An arm that hangs beside the body is asked for nothing, however near the solver finds
it to be.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.math import Floats, quaternions, Vec3s
from puppet_retarget.offline.quality import FREE, HANDS
from puppet_retarget.offline.self_contact import body_distances_m, MovingBody, self_penetrations_m
from puppet_retarget.offline.smoothness import Frames

TOUCH_M = 0.02  # from the own body, of a point that touches it
GESTURE_M = 0.1  # from the own head and other arm, of a palm that means them
TOUCH_S = 0.2  # before and after a touch, in which a limb comes and goes
LEVEL_DEG, LOW_M = 30.0, 0.25  # trunk of who lies: off the level, and above the floor at most

_TORSO = [SEGMENT_INDEX[name] for name in ('pelvis', 'spine', 'chest')]
_GESTURED = [SEGMENT_INDEX['head'], *LIMB_SEGMENTS[:2].ravel()]  # a palm's own arm is far
_MIDS = slice(4, 8)  # elbows and knees among the general end-effectors
_LYING = {name: SEGMENT_INDEX[name] for name in ('pelvis', 'chest', 'head')}
_DIRECTED = LIMB_SEGMENTS[:, :2]  # limbs' upper and lower segments


# Directions.


def segment_direction_deg(
    performer: MovingBody, puppet: MovingBody, is_free: Frames
) -> dict[str, Any] | None:
    """
    Return angles between directions of limbs' segments, puppet against performer [deg].

    Of upper arms, forearms, thighs and shanks in world, in the frames in which their limb is free,
    `is_free` (n, 4). None if none ever is.

    Returns
    -------
    figures : dict
        `median` is that of the segment with the largest one, `worst` the largest angle of all,
        `segments` has both of each segment that is ever free.

    """
    angles = direction_angles_deg(performer.p_world, puppet.p_world)
    segments = {}
    for limb, place in np.ndindex(_DIRECTED.shape):
        found = angles[is_free[:, limb], limb, place]
        if found.size:
            name = SEGMENTS[_DIRECTED[limb, place]]
            segments[name] = {'median': float(np.median(found)), 'worst': float(found.max())}
    if not segments:
        return None
    most = {key: max(figures[key] for figures in segments.values()) for key in ('median', 'worst')}
    return {**most, 'segments': segments}


def direction_angles_deg(performer: Vec3s, puppet: Vec3s) -> Floats:
    """Return angles between segments of bodies whose joints are at (n, 16, 3), (n, 4, 2) [deg]."""
    chords = np.linalg.norm(_directions(puppet) - _directions(performer), axis=-1)
    return np.degrees(2.0 * np.arcsin(np.minimum(0.5 * chords, 1.0)))


def _directions(p_world: Vec3s) -> Vec3s:
    """Return unit vectors along upper and lower segments in world, shape (n, 4, 2, 3)."""
    lines = np.diff(p_world[:, LIMB_SEGMENTS], axis=2)
    return lines / np.maximum(np.linalg.norm(lines, axis=-1, keepdims=True), 1e-9)


def free_limbs(
    performer: MovingBody,
    puppet: MovingBody,
    distances: Floats,
    world_scale: float,
    importances: Floats,
    rate_hz: float,
) -> Frames:
    """
    Return which limbs are asked for nothing but the performer's gesture, shape (n, 4).

    They are of no importance (n, 4) to the environment. They do not touch the performer's own
    body, from which its `distances` are `body_distances_m`, nor did or will within `TOUCH_S`:
    palms and soles no part of it, palms are not even near head and other arm, elbows and knees do
    not touch head and other limbs, for beside the trunk an elbow hangs. And the puppet's, if they
    pointed as the performer's do, would not be deeper in its own body.
    """
    near = distances < TOUCH_M
    near[:, HANDS, _GESTURED] = distances[:, HANDS, _GESTURED] < GESTURE_M
    near[:, _MIDS, _TORSO[0] : _TORSO[-1] + 1] = False
    touches = np.empty(importances.shape, dtype=bool)
    for limb, segments in enumerate(LIMB_SEGMENTS):
        own = near[:, [limb, limb + 4]].any(axis=(1, 2))
        touches[:, limb] = own | near[:, :, segments].any(axis=(1, 2))
    about = _spread(touches, round(TOUCH_S * rate_hz))
    copied = body_distances_m(_as_captured(performer, puppet))
    deeper = self_penetrations_m(copied, distances, world_scale) > 0.0
    return np.asarray((importances < FREE) & ~about & ~(deeper[:, :4] | deeper[:, _MIDS]))


def _spread(marks: Frames, count: int) -> Frames:
    """Return marks (n, k), and as many frames before and after each."""
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(marks, ((count, count), (0, 0))), 2 * count + 1, axis=0
    )
    return np.asarray(windows.any(axis=-1))


def _as_captured(performer: MovingBody, puppet: MovingBody) -> MovingBody:
    """Return the puppet with its limbs' ends where captured directions would have them."""
    lengths = puppet.skeleton.limb_lengths[:, :, np.newaxis]
    lines = lengths * _directions(performer.p_world)
    mids = puppet.p_world[:, LIMB_SEGMENTS[:, 0]] + lines[:, :, 0]
    palms = quaternions.rotate(
        performer.q_world[:, LIMB_SEGMENTS[:, 2]], puppet.skeleton.interaction_points
    )
    ends = np.concatenate((mids + lines[:, :, 1] + palms, mids), axis=1)
    return puppet._replace(end_effectors=ends)


# Lying.


def lying_height_mm(
    performer: MovingBody, puppet: MovingBody, world_scale: float, leaping: Frames
) -> dict[str, Any] | None:
    """
    Return how much higher pelvis, chest and head are than the scaled performer's [mm].

    In the frames in which the performer's trunk lies (`lying_frames`) and to which it does not
    leap; None if there are none. The height of a part is that of the lowest point of its surface,
    so that a fat puppet lies as low as a slim one; what is in the floor counts as on it.

    Returns
    -------
    figures : dict
        `frames`; `worst` of all, and of each part that has a surface `median` and `worst`, signed.

    """
    frames = lying_frames(performer) & ~leaping
    if not frames.any():
        return None
    own, captured = (
        np.maximum(surface_heights_m(body, tuple(_LYING.values()), frames), 0.0)
        for body in (puppet, performer)
    )
    higher = 1000.0 * (own - world_scale * captured)
    parts = {
        name: {'median': float(np.median(found)), 'worst': _most(found)}
        for name, found in zip(_LYING, higher.T)
        if np.isfinite(found).all()
    }
    worst = _most(np.array([part['worst'] for part in parts.values()])) if parts else None
    return {'frames': int(frames.sum()), 'worst': worst, **parts}


def lying_frames(performer: MovingBody) -> Frames:
    """Return in which frames the trunk is within LEVEL_DEG of level and LOW_M of the floor."""
    places = performer.p_world
    line = places[:, _LYING['head']] - places[:, _LYING['pelvis']]
    steepest = np.sin(np.radians(LEVEL_DEG)) * np.linalg.norm(line, axis=1)
    low = places[:, [_LYING['pelvis'], _LYING['chest']], 2] < LOW_M
    return np.asarray((np.abs(line[:, 2]) < steepest) & low.all(axis=1))


def surface_heights_m(body: MovingBody, segments: Sequence[int], frames: Frames) -> Floats:
    """Return the lowest points of segments' surfaces, shape (k, segments) [m]; NaN for none."""
    found = np.full((int(frames.sum()), len(segments)), np.nan)
    for column, segment in enumerate(segments):
        shape = [capsule for capsule in body.capsules if capsule.segment == segment]
        if shape:
            tips = np.array([tip for c in shape for tip in (c.start, c.end)])
            radii = np.repeat([c.radius for c in shape], 2)
            turned = quaternions.rotate(body.q_world[frames, segment, np.newaxis], tips)
            lowest = (turned[..., 2] - radii).min(axis=1)
            found[:, column] = body.p_world[frames, segment, 2] + lowest
    return found


def _most(values: Floats) -> float:
    """Return the value that is farthest from zero."""
    return float(values[np.abs(values).argmax()])
