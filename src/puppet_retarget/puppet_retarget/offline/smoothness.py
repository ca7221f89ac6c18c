# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the eye sees of a retargeted motion: joints that snap, limbs that pop, jerks, surfaces.

Measures over whole motions, puppet against performer. Frames in which the performer itself moves
as no body can (`leaping_frames`) are left out of all the others: a mask (n,) says of each frame
whether the step to it leaps.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import (
    Capsule,
    FASTEST_M_S,
    LIMB_SEGMENTS,
    PERFORMER_RATIO,
    shape_arrays,
    ShapeArrays,
    speeds,
    whipping,
)
from puppet_core.math import add, Floats, kernel, norm, quaternions, Quats, rotate, sub, Vec3s
from puppet_core.math.values import lerp
from puppet_core.math.values import Vec3 as Value
from puppet_retarget.importance import ObjectArrays, PLANE, signed_distance, to_object
from puppet_retarget.offline.quality import ELBOWS, FEET, HANDS, KNEES, MotionArrays

LEAP_DEG_S = 1500.0  # of a joint of the performer
LEAP_M_S = PERFORMER_RATIO * FASTEST_M_S
FLIP_M = 0.02  # by which a limb that flips changes sides; half of it by the performer excuses it
STRAIGHT_M = 0.002  # a limb that bends less has no side to leave
STILL_DEG_S = 0.01  # a joint whose second differences are smaller has no ratio
DEEP_M = 0.005  # of a surface that is seen to be in the floor
SNAP_RAD_S, SLOW_RAD_S = 8.0, 1.0  # of a joint that snaps, and of the performer's then
FILM_HZ = 30.0  # pops are counted in its frames
POP_DEG, POP_RATIO = 6.0, 3.0  # of a limb that pops in such a frame; over the performer's

_CARRIERS = [2, 2, 0, 0]  # chest and pelvis, which carry the limbs
_SHORTEST_M = 1e-6  # of a line between a limb's ends that has a direction
_SECTIONS = 32  # of the search along a capsule's core: to 2e-7 of its length
_GOLDEN = 0.6180339887498949

Frames = NDArray[np.bool_]


def turning_deg_s(rotations: Quats, rate_hz: float) -> Floats:
    """Return how fast joints (n, k, 4) turn, zero in the first frame, shape (n, k) [deg/s]."""
    found = np.zeros(rotations.shape[:-1])
    found[1:] = np.degrees(np.linalg.norm(_angular_velocities(rotations, rate_hz), axis=-1))
    return found


def leaping_frames(performer: MotionArrays, rate_hz: float) -> Frames:
    """Return the frames to which the performer moves as no body can, shape (n,)."""
    points = np.concatenate((performer.root_positions[:, np.newaxis], performer.end_effectors), 1)
    leaping = (turning_deg_s(performer.rotations, rate_hz) > LEAP_DEG_S).any(axis=1)
    leaping |= (speeds(points, rate_hz) > LEAP_M_S).any(axis=1)
    return np.asarray(leaping)


def whips(puppet: Quats, performer: Quats, rate_hz: float, leaping: Frames) -> Frames:
    """Return which joints (n, 16, 4) whip in which frames, shape (n, 16)."""
    found = np.zeros(puppet.shape[:2], dtype=bool)
    _mark_whips(np.array(puppet), np.array(performer), 1.0 / rate_hz, found)
    return found & ~leaping[:, np.newaxis]


@kernel
def _mark_whips(puppet: Quats, performer: Quats, dt_s: float, out: Frames) -> None:
    for i in range(1, len(out)):
        whipping(puppet[i - 1], puppet[i], performer[i - 1], performer[i], dt_s, out[i])


def snaps(puppet: Quats, performer: Quats, rate_hz: float, leaping: Frames) -> Frames:
    """
    Return which joints (n, 16, 4) snap in which frames, shape (n, 16).

    A joint snaps in a frame in which it turns faster than `SNAP_RAD_S` while the performer's turns
    slower than `SLOW_RAD_S`. It is below what `whips` sees: a puppet whose corrections jump.
    """
    fast = turning_deg_s(puppet, rate_hz) > np.degrees(SNAP_RAD_S)
    slow = turning_deg_s(performer, rate_hz) < np.degrees(SLOW_RAD_S)
    return np.asarray(fast & slow & ~leaping[:, np.newaxis])


def limb_directions(q_world: Quats, p_world: Vec3s) -> Vec3s:
    """
    Return the directions of the limbs' upper and lower segments, shape (n, 4, 2, 3).

    In the frames of chest and pelvis, which carry them. Arguments are segments in world, shapes
    (n, 16, 4) and (n, 16, 3).
    """
    lines = np.diff(p_world[:, LIMB_SEGMENTS], axis=2)
    lengths = np.linalg.norm(lines, axis=-1, keepdims=True)
    carriers = quaternions.conjugate(q_world[:, _CARRIERS])[:, :, np.newaxis]
    return quaternions.rotate(carriers, lines / np.maximum(lengths, _SHORTEST_M))


def pops(puppet: Vec3s, performer: Vec3s, rate_hz: float, leaping: Frames) -> Frames:
    """
    Return which limbs pop in which frames, shape (n, 4).

    A limb pops where it turns by more than `POP_DEG` in a 30th of a second and more than
    `POP_RATIO` times as far as the performer's does in the same, the 30th before or the one after:
    who follows a pop of the performer, or comes a little late, does not pop. A limb turns as far
    as the one of its segments that turns most. At any rate it counts once in a 30th of a second.

    Parameters
    ----------
    puppet, performer : ndarray, shape (n, 4, 2, 3)
        Their `limb_directions`.
    rate_hz : float
        Frames per second.
    leaping : ndarray, shape (n,)
        Frames to which the performer leaps.

    """
    n_window = max(round(rate_hz / FILM_HZ), 1)
    own, captured = (_turned_deg(lines, n_window, rate_hz) for lines in (puppet, performer))
    beside = captured.copy()
    beside[n_window:] = np.maximum(beside[n_window:], captured[:-n_window])
    beside[:-n_window] = np.maximum(beside[:-n_window], captured[n_window:])
    found = (own > POP_DEG) & (own > POP_RATIO * beside)
    # a window is as long as it takes a leap to leave it
    leaps = np.convolve(leaping, np.ones(n_window))[: len(leaping)] > 0.0
    return _one_in(np.asarray(found & ~leaps[:, np.newaxis]), n_window)


def _turned_deg(directions: Vec3s, n_window: int, rate_hz: float) -> Floats:
    """Return how far limbs (n, 4, 2, 3) turned in a film's frame up to each, (n, 4) [deg]."""
    turned = np.zeros(directions.shape[:2])
    chords = np.linalg.norm(directions[n_window:] - directions[:-n_window], axis=-1).max(axis=2)
    angles = 2.0 * np.arcsin(np.minimum(0.5 * chords, 1.0))
    turned[n_window:] = np.degrees(angles) * rate_hz / (n_window * FILM_HZ)
    return turned


def _one_in(marks: Frames, n_window: int) -> Frames:
    """Return the first of each run of marks (n, k) and every so-manieth after it."""
    index = np.arange(len(marks))[:, np.newaxis]
    last_free = np.maximum.accumulate(np.where(marks, -1, index), axis=0)
    return np.asarray(marks & ((index - last_free - 1) % n_window == 0))


def bend_offsets(q_world: Quats, p_world: Vec3s) -> Vec3s:
    """
    Return the sides to which elbows and knees bend, shape (n, 4, 3) [m].

    Each is the mid joint's offset from the line of the limb's ends, in the frame of chest or
    pelvis. Arguments are segments in world, shapes (n, 16, 4) and (n, 16, 3).
    """
    start, mid, end = (p_world[:, LIMB_SEGMENTS[:, k]] for k in range(3))
    line, upper = end - start, mid - start
    square = np.sum(line * line, axis=-1, keepdims=True)
    along = np.sum(upper * line, axis=-1, keepdims=True) / np.maximum(square, _SHORTEST_M**2)
    return quaternions.rotate(quaternions.conjugate(q_world[:, _CARRIERS]), upper - along * line)


def flips(puppet: Vec3s, performer: Vec3s, leaping: Frames) -> Frames:
    """Return which limbs bend to the other side in a frame and the performer's not, (n, 4)."""
    found = np.zeros(puppet.shape[:2], dtype=bool)
    bends = np.linalg.norm(puppet, axis=-1) > STRAIGHT_M
    found[1:] = _changes_side(puppet, FLIP_M) & bends[1:] & bends[:-1]
    found[1:] &= ~_changes_side(performer, 0.5 * FLIP_M)
    return found & ~leaping[:, np.newaxis]


def _changes_side(offsets: Vec3s, least_m: float) -> Frames:
    """Return at which steps offsets turn about by more than so much, shape (n - 1, 4)."""
    step = np.linalg.norm(np.diff(offsets, axis=0), axis=-1)
    return np.asarray((np.sum(offsets[1:] * offsets[:-1], axis=-1) < 0.0) & (step > least_m))


# Jerk.


def _angular_velocities(rotations: Quats, rate_hz: float) -> Vec3s:
    """Return angular velocities of the n - 1 steps in the joints' own frames [rad/s]."""
    turns = quaternions.multiply(quaternions.conjugate(rotations[:-1]), rotations[1:])
    return quaternions.log(turns) * rate_hz


def _steady(leaping: Frames, n_steps: int) -> Frames:
    """Return which rows of differences over so many steps contain no leap, (n - n_steps,)."""
    windows = np.lib.stride_tricks.sliding_window_view(leaping[1:], n_steps)
    return np.asarray(~windows.any(axis=-1))


def joint_jerks_rad_s3(rotations: Quats, rate_hz: float, leaping: Frames) -> Floats:
    """
    Return each joint's RMS second difference of angular velocity, (16,) [rad/s^3].

    Of joint rotations (n, 16, 4). NaN for all in motions that are too short.
    """
    if len(rotations) < 4 or not (steady := _steady(leaping, 3)).any():
        return np.full(rotations.shape[1], np.nan)
    seconds = np.diff(_angular_velocities(rotations, rate_hz), 2, axis=0)[steady]
    return np.asarray(np.sqrt(np.mean(np.sum(seconds**2, axis=-1), axis=0)) * rate_hz**2)


def joint_jerk_ratios(puppet: Quats, performer: Quats, rate_hz: float, leaping: Frames) -> Floats:
    """
    Return each joint's jerk over the performer's, (16,).

    The performer's joint rotations (n, 16, 4) are those of the solver `joint_angles`. NaN for a
    joint that is still there, and for all in motions that are too short.
    """
    own, captured = (joint_jerks_rad_s3(q, rate_hz, leaping) for q in (puppet, performer))
    moves = captured > np.radians(STILL_DEG_S) * rate_hz**2
    return np.where(moves, own / np.where(moves, captured, 1.0), np.nan)


def jerk_m_s3(positions: Vec3s, rate_hz: float, leaping: Frames | None = None) -> float:
    """Return the RMS third difference of positions (n, ..., 3), NaN for too few [m/s^3]."""
    if len(positions) < 4:
        return float('nan')
    steady = slice(None) if leaping is None else _steady(leaping, 3)
    thirds = np.diff(positions, 3, axis=0)[steady]
    if not thirds.size:
        return float('nan')
    return float(np.sqrt(np.mean(np.sum(thirds**2, axis=-1))) * rate_hz**3)


def jerk_ratio(
    puppet: Vec3s, performer: Vec3s, world_scale: float, leaping: Frames | None = None
) -> float:
    """Return the jerk of the puppet's positions over the performer's."""
    own, captured = (jerk_m_s3(positions, 1.0, leaping) for positions in (puppet, performer))
    return own / (captured * world_scale) if captured > 0.0 else float('nan')


def jerk_ratios(
    puppet: MotionArrays,
    performer: MotionArrays,
    world_scale: float,
    leaping: Frames | None = None,
) -> dict[str, float]:
    ratios = {
        'root': jerk_ratio(puppet.root_positions, performer.root_positions, world_scale, leaping)
    }
    for name, part in (('feet', FEET), ('hands', HANDS), ('knees', KNEES), ('elbows', ELBOWS)):
        ratios[name] = jerk_ratio(
            puppet.end_effectors[:, part], performer.end_effectors[:, part], world_scale, leaping
        )
    return ratios


# Surfaces.


class Surroundings(NamedTuple):
    """Solids around one body; the floor z = 0 is always there besides."""

    shapes: NDArray[np.int64]  # Indices into the importance's SHAPES, shape (m,)
    positions: Vec3s  # Shape (m, 3) [m]
    orientations: Quats  # Shape (m, 4)
    sizes: Vec3s  # Shape (m, 3) [m]


def real_surroundings(objects: ObjectArrays) -> Surroundings:
    return Surroundings(objects.shapes, objects.positions, objects.orientations, objects.sizes)


def puppet_surroundings(objects: ObjectArrays) -> Surroundings:
    return Surroundings(
        objects.shapes, objects.puppet_positions, objects.puppet_orientations, objects.puppet_sizes
    )


def surface_depths_m(
    capsules: tuple[Capsule, ...], q_world: Quats, p_world: Vec3s, solids: Surroundings
) -> Floats:
    """Return how deep a body's surface is in floor or solids, 0 outside, shape (n,) [m]."""
    shape, depths = shape_arrays(capsules), np.zeros(len(q_world))
    # copies: read-only arrays would be another layout to compile for
    _deepen(shape, np.array(q_world), np.array(p_world), solids, depths)
    return depths


@kernel
def _deepen(
    shape: ShapeArrays, q_world: Quats, p_world: Vec3s, solids: Surroundings, depths: Floats
) -> None:
    """Raise the depths of frames to those of capsules in floor and solids."""
    for i in range(len(depths)):
        for segment in range(q_world.shape[1]):
            q, p = q_world[i, segment], p_world[i, segment]
            centre = add(p, rotate(q, shape.centres[segment]))
            least = _least_of_all(solids, centre, centre)
            if shape.bounds[segment] - least <= depths[i]:
                continue  # not even the ball around the segment is deeper
            for j in range(shape.first[segment], shape.first[segment + 1]):
                start = add(p, rotate(q, shape.starts[j]))
                end = add(p, rotate(q, shape.ends[j]))
                least = _least_of_all(solids, start, end)
                depths[i] = max(depths[i], shape.radii[j] - least)


@kernel
def _least_of_all(solids: Surroundings, start: Value, end: Value) -> float:
    """Return the least signed distance of a line from floor and solids."""
    least = min(start[2], end[2])
    for m in range(len(solids.shapes)):
        least = min(least, _least_distance(solids, m, start, end))
    return least


@kernel
def _least_distance(solids: Surroundings, m: int, start: Value, end: Value) -> float:
    """Return the least signed distance of a line from a convex solid, by golden sections."""
    a = to_object(solids.orientations[m], solids.positions[m], start)
    b = to_object(solids.orientations[m], solids.positions[m], end)
    shape, size = solids.shapes[m], solids.sizes[m]
    at_ends = min(signed_distance(shape, size, a)[0], signed_distance(shape, size, b)[0])
    if shape == PLANE or norm(sub(a, b)) < _SHORTEST_M:
        return at_ends
    low, high = 0.0, 1.0
    left, right = 1.0 - _GOLDEN, _GOLDEN
    at_left = signed_distance(shape, size, lerp(a, b, left))[0]
    at_right = signed_distance(shape, size, lerp(a, b, right))[0]
    for _ in range(_SECTIONS):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = signed_distance(shape, size, lerp(a, b, left))[0]
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = signed_distance(shape, size, lerp(a, b, right))[0]
    return min(at_ends, at_left, at_right)
