# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Feet of a motion: when heels and toes stand, where they have to be, constraints that hold them.

A contact is near the ground and slow (`puppet_core.body.motion_measures`). In a plant the foot is
flat and still while heel and toe stand, and turns about the heel before and the toe after; a swing
is carried by the changes of the plants around it. By these a motion is given to other ground
(`on_terrain`) or to another character (`for_body`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import lasting, LIMB_SEGMENTS, Motion, planted_soles, runs, Skeleton
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Quats, Vec3s
from puppet_core.math import quaternions as qb
from puppet_core.procedural import ADULT_LEG_LENGTH_M, smooth_step, TOE_M
from puppet_edit.editor import BodyPoint, Constraint, normals, OrientationGoal, PointGoal, Surface
from puppet_edit.scene.surfaces import FLOOR
from scipy.ndimage import (
    distance_transform_edt,
    gaussian_filter1d,
    maximum_filter1d,
    minimum_filter1d,
)

HEEL, TOE = 0, 1
SMOOTHING_S = 0.02  # of positions before speeds are taken
LEVEL_QUANTILE = 0.25  # of the heights of a point that stands: its own level
MAX_LEVEL_M = 0.08  # a point that stands higher than this above the ground stands on something
UNKNOWN_GROUND_S = 0.7  # to both sides: the lowest place of a foot in this time is the ground

Bools = NDArray[np.bool_]

CLEARANCE_M = 0.03  # of a swinging heel or toe above the surface, if it had as much
CLEARANCE_WIDTH_S = 0.07  # over which a lift that clears the ground comes and goes
SHIFT_WIDTH_S = 0.15  # over which the root's shift with the feet is smoothed
_UP = np.array([0.0, 0.0, 1.0])


class FootPlant(NamedTuple):
    """A time in which a foot stands with heel, toe or both."""

    foot: int  # 0 left, 1 right
    first: int  # Frame of the strike, of the heel as a rule
    last: int  # Last frame before the foot is off, the toe as a rule
    flat_first: int  # First frame with heel and toe in contact; `first` if there is none
    flat_last: int  # Last frame with both; `last` if there is none


class FootContacts(NamedTuple):
    flags: Bools  # Foot left, right; point heel, toe; shape (n, 2, 2)

    @property
    def planted(self) -> Bools:
        return np.asarray(self.flags.any(axis=2))

    def plants(self) -> list[FootPlant]:
        found = []
        for foot in range(2):
            both = np.asarray(self.flags[:, foot].all(axis=1))
            for first, end in runs(self.planted[:, foot]):
                flat = np.flatnonzero(both[first:end])
                inner = (first, end - 1) if not len(flat) else (first + flat[0], first + flat[-1])
                found.append(FootPlant(foot, first, end - 1, int(inner[0]), int(inner[1])))
        return sorted(found, key=lambda plant: (plant.first, plant.foot))


def heel_and_toe(skeleton: Skeleton) -> Vec3s:
    """Return heel and toe of a foot in its frame from the sole's centre, shape (2, 3) [m]."""
    reach = TOE_M * skeleton.leg_length / ADULT_LEG_LENGTH_M
    return np.array([[-reach, 0.0, 0.0], [reach, 0.0, 0.0]])


def world_foot_points(skeleton: Skeleton, q_world: Quats, p_world: Vec3s) -> Vec3s:
    """Return heels and toes of segments in world, shape (n, 2, 2, 3) [m]."""
    feet = LIMB_SEGMENTS[2:, 2]
    points = skeleton.interaction_points[2:, None] + heel_and_toe(skeleton)
    return np.asarray(p_world[:, feet, None] + qb.rotate(q_world[:, feet, None], points))


def detect_contacts(motion: Motion, ground: Surface | None = FLOOR) -> FootContacts:
    """Return when heels and toes stand, of 20 Hz or more; ground None: where feet are lowest."""
    points = world_foot_points(motion.skeleton, *motion.world_segments())
    flat, sigma = points.reshape(-1, 4, 3), max(SMOOTHING_S * motion.rate_hz, 1e-3)
    smooth = gaussian_filter1d(flat, sigma, axis=0, mode='nearest')
    above = _above_ground(smooth, motion.rate_hz, ground)
    near = np.concatenate((smooth[..., :2], above[..., None]), axis=-1)
    loose = _slow_and_near(near, motion.rate_hz)
    # half of the height and half of the speed
    core = _slow_and_near(near * (1.0, 1.0, 2.0), motion.rate_hz, 2.0)
    flags = np.stack([_bridged(loose[:, k], core[:, k], motion.rate_hz) for k in range(4)], axis=1)
    return FootContacts(flags.reshape(-1, 2, 2))


def _slow_and_near(near: Vec3s, rate_hz: float, stricter: float = 1.0) -> Bools:
    """Return `planted_soles`, its first frame as the second one, with a stricter speed."""
    planted = planted_soles(near * (stricter, stricter, 1.0), rate_hz)
    if len(planted) > 1:
        planted[0] = planted[1]
    return planted


def _above_ground(points: Vec3s, rate_hz: float, ground: Surface | None) -> Floats:
    """Return heights of points (n, 4, 3) over the ground, less their own standing level [m]."""
    if ground is None:
        window = 2 * round(UNKNOWN_GROUND_S * rate_hz) + 1
        lowest = minimum_filter1d(points[..., 2], window, axis=0, mode='nearest')
        return np.asarray(points[..., 2] - lowest)
    above = points[..., 2] - ground.height(points[..., 0], points[..., 1])
    for k in range(above.shape[1]):
        # a sole that a file places too high or too low, or a shoe's heel, stands all the same
        lifted = np.stack((points[:, k, 0], points[:, k, 1], above[:, k] - above[:, k].min()), -1)
        standing = _slow_and_near(lifted[:, None], rate_hz, 2.0)[:, 0]
        if standing.any():
            level = float(np.quantile(above[standing, k], LEVEL_QUANTILE))
            above[:, k] -= np.clip(level, -MAX_LEVEL_M, MAX_LEVEL_M)
    return above


def _bridged(loose: Bools, core: Bools, rate_hz: float) -> Bools:
    """Return contacts without short gaps and without short or doubtful ones."""
    joined = lasting(loose, rate_hz)
    for first, end in runs(joined):
        joined[first:end] = core[first:end].any()
    return joined


@dataclass(frozen=True, slots=True)
class FootPoses:
    soles: Vec3s  # Sole centres in world, shape (n, 2, 3) [m]
    rotations: Quats  # Orientations of the feet in world, shape (n, 2, 4)
    planted: NDArray[np.bool_]  # Whether the foot stands, shape (n, 2)

    def points(self, skeleton: Skeleton) -> Vec3s:
        """Return heels and toes in world, shape (n, 2, 2, 3) [m]."""
        ways = heel_and_toe(skeleton)
        return np.asarray(self.soles[:, :, None] + qb.rotate(self.rotations[:, :, None], ways))


def own_poses(motion: Motion, contacts: FootContacts) -> FootPoses:
    q_world, p_world = motion.world_segments()
    feet = LIMB_SEGMENTS[2:, 2]
    soles = p_world[:, feet] + qb.rotate(q_world[:, feet], motion.skeleton.interaction_points[2:])
    return FootPoses(soles, q_world[:, feet], contacts.planted)


def firm_poses(
    motion: Motion, contacts: FootContacts, surface: Surface = FLOOR, ground: Surface = FLOOR
) -> FootPoses:
    """Return where feet stand firmly on a surface, seen from above as on `ground`, and swing."""
    own = own_poses(motion, contacts)
    plants = contacts.plants()
    ways = heel_and_toe(motion.skeleton)
    soles, rotations = np.array(own.soles), np.array(own.rotations)
    for plant in plants:
        frames = slice(plant.first, plant.last + 1)
        firm = _firm_plant(own, plant, ways, contacts, ground)
        soles[frames, plant.foot], rotations[frames, plant.foot] = _carried(
            firm, plant, ways, (ground, surface)
        )
    goals = FootPoses(soles, rotations, own.planted)
    for foot in range(2):
        _swing(own, goals, foot, [plant for plant in plants if plant.foot == foot])
    return goals


def cleared(
    goals: FootPoses,
    own: FootPoses,
    skeleton: Skeleton,
    rate_hz: float,
    surfaces: tuple[Surface, Surface],
) -> FootPoses:
    """
    Return goals whose swinging heels and toes keep above a surface.

    A point that was lower than the clearance keeps its height; the lift comes and goes smoothly.
    The surfaces are those under the motion's `own` feet and under the goals.
    """
    before, after = (
        points[..., 2] - surface.height(points[..., 0], points[..., 1])
        for points, surface in zip((own.points(skeleton), goals.points(skeleton)), surfaces)
    )
    missing = np.clip(before, 0.0, CLEARANCE_M) - after
    need = np.maximum(np.where(goals.planted, 0.0, missing.max(axis=2)), 0.0)
    if not need.any():
        return goals
    half = max(1, round(CLEARANCE_WIDTH_S * rate_hz))
    wide = maximum_filter1d(need, 2 * half + 1, axis=0, mode='nearest')
    lift = gaussian_filter1d(wide, 0.5 * half, axis=0, mode='nearest', truncate=2.0)
    soles = np.array(goals.soles)
    # a foot that stands stays where it is, so the lift begins with the swing
    soles[..., 2] += lift * _swing_share(goals.planted, half)
    return replace(goals, soles=soles)


def _firm_plant(
    own: FootPoses, plant: FootPlant, ways: Vec3s, contacts: FootContacts, ground: Surface
) -> tuple[Vec3s, Quats]:
    """Return sole and orientation of a foot that does not slide, for each frame of a plant."""
    frames = slice(plant.first, plant.last + 1)
    q_own = np.asarray(own.rotations[frames, plant.foot])
    flags = contacts.flags[frames, plant.foot]
    both = flags.all(axis=1)
    if not both.any():
        point = HEEL if flags[:, HEEL].sum() > flags[:, TOE].sum() else TOE
        place = (own.soles[frames, plant.foot] + qb.rotate(q_own, ways[point])).mean(axis=0)
        place[2] = float(ground.height(place[0], place[1]))
        return place - qb.rotate(q_own, ways[point]), q_own
    a, b = plant.flat_first - plant.first, plant.flat_last - plant.first
    flat = slice(a, b + 1)
    sole = own.soles[frames, plant.foot][flat].mean(axis=0)
    sole[2] = float(ground.height(sole[0], sole[1]))
    level = _laid_flat(_mean_rotation(q_own[flat]), sole, ground, ways)
    rotations = np.tile(level, (len(q_own), 1))
    soles = np.tile(sole, (len(q_own), 1))
    for part, pivot, joint in ((slice(0, a), HEEL, a), (slice(b + 1, None), TOE, b)):
        turn = qb.multiply(q_own[part], qb.conjugate(q_own[joint]))
        rotations[part] = qb.multiply(turn, level)
        held = sole + qb.rotate(level, ways[pivot])
        soles[part] = held - qb.rotate(rotations[part], ways[pivot])
    return soles, rotations


def _carried(
    firm: tuple[Vec3s, Quats], plant: FootPlant, ways: Vec3s, surfaces: tuple[Surface, Surface]
) -> tuple[Vec3s, Quats]:
    """Return a plant moved up or down and tilted from one surface onto another."""
    soles, rotations = firm
    middle = (plant.flat_first + plant.flat_last) // 2 - plant.first
    pivot = np.array(soles[middle])
    pivot[2] = float(surfaces[0].height(pivot[0], pivot[1]))
    tilts = [_tilt(surface, pivot, rotations[middle], ways) for surface in surfaces]
    turn = qb.multiply(tilts[1], qb.conjugate(tilts[0]))
    moved = pivot.copy()
    moved[2] = _standing_height(surfaces[1], pivot, qb.multiply(turn, rotations[middle]), ways)
    moved[2] += pivot[2] - _standing_height(surfaces[0], pivot, rotations[middle], ways)
    return moved + qb.rotate(turn, soles - pivot), qb.multiply(turn, rotations)


def _standing_height(surface: Surface, place: Floats, q_foot: Quats, ways: Vec3s) -> float:
    """Return the height of a sole whose heel and toe are as high above a surface as below it."""
    points = place + qb.rotate(q_foot, ways)
    rise = points[:, 2] - place[2]
    return float(np.mean(surface.height(points[:, 0], points[:, 1]) - rise))


def _tilt(surface: Surface, place: Floats, q_foot: Quats, ways: Vec3s) -> Quats:
    """Return the turn of the level floor onto what a foot of this heading feels of a surface."""
    ahead = qb.rotate(q_foot, ways[TOE] - ways[HEEL]) * (1.0, 1.0, 0.0)
    length = max(float(np.linalg.norm(ahead)), 1e-6)
    ends = place[:2] + np.outer((-0.5, 0.5), ahead[:2])
    low, high = surface.height(ends[:, 0], ends[:, 1])
    forward = ahead / length + _UP * (high - low) / length
    sideways = np.cross(normals(surface, place[0], place[1]), forward)
    normal = np.cross(forward, sideways)
    x, y, z = normal / np.linalg.norm(normal)
    q = np.array([1.0 + z, -y, x, 0.0])
    return q / np.linalg.norm(q)


def _laid_flat(q_foot: Quats, sole: Floats, ground: Surface, ways: Vec3s) -> Quats:
    """Return a foot of the same heading with heel and toe on the ground, not rolled aside."""
    ahead = qb.rotate(q_foot, ways[TOE] - ways[HEEL])
    yaw = np.arctan2(ahead[1], ahead[0])
    rest = ways[TOE] - ways[HEEL]
    level = qb.exp((yaw - np.arctan2(rest[1], rest[0])) * _UP)
    return qb.multiply(_tilt(ground, sole, level, ways), level)


def _mean_rotation(rotations: Quats) -> Quats:
    middle = rotations[len(rotations) // 2]
    changes = qb.log(qb.multiply(qb.conjugate(middle), rotations))
    return qb.multiply(middle, qb.exp(changes.mean(axis=0)))


def _swing(own: FootPoses, goals: FootPoses, foot: int, plants: Sequence[FootPlant]) -> None:
    """Write the goals of one foot between its plants."""
    if not plants:
        return
    gaps = [(plant.last, following.first) for plant, following in zip(plants, plants[1:])]
    for before, after in ((None, plants[0].first), *gaps, (plants[-1].last, None)):
        first = 0 if before is None else before + 1
        last = len(own.soles) - 1 if after is None else after - 1
        frames = slice(first, last + 1)
        carried = [
            _followed(own, goals, foot, plant_frame, frames)
            for plant_frame in (before, after)
            if plant_frame is not None
        ]
        soles, rotations = carried[0]
        if len(carried) == 2:
            share = smooth_step((np.arange(first, last + 1) - first + 1) / (last - first + 2))
            soles = soles + share[:, None] * (carried[1][0] - soles)
            rotations = qb.slerp(rotations, carried[1][1], share)
        goals.soles[frames, foot], goals.rotations[frames, foot] = soles, rotations


def _followed(
    own: FootPoses, goals: FootPoses, foot: int, plant_frame: int, frames: slice
) -> tuple[Vec3s, Quats]:
    """Return a foot's own way as if its world had moved with the plant's frame."""
    q_own, q_goal = own.rotations[plant_frame, foot], goals.rotations[plant_frame, foot]
    turn = qb.multiply(q_goal, qb.conjugate(q_own))
    way = own.soles[frames, foot] - own.soles[plant_frame, foot]
    soles = goals.soles[plant_frame, foot] + qb.rotate(turn, way)
    return soles, qb.multiply(turn, own.rotations[frames, foot])


def _swing_share(planted: NDArray[np.bool_], half: int) -> Floats:
    """Return 0 while a foot stands, rising to 1 within `half` frames of swing."""
    share = np.ones(planted.shape)
    for foot in range(planted.shape[1]):
        if planted[:, foot].any():
            share[:, foot] = smooth_step(distance_transform_edt(~planted[:, foot]) / half)
    return share


def foot_constraints(goals: FootPoses, swings: bool) -> list[Constraint]:
    """Return a place and an orientation for each foot and plant, with `swings` also between."""
    found: list[Constraint] = []
    for foot, segment in enumerate(LIMB_SEGMENTS[2:, 2].tolist()):
        planted = goals.planted[:, foot]
        for stands in (True, False) if swings else (True,):
            for begin, end in runs(planted == stands):
                at = np.arange(begin, end)
                found += [
                    PointGoal(at, BodyPoint(segment), goals.soles[at, foot], contact=stands),
                    OrientationGoal(at, segment, goals.rotations[at, foot]),
                ]
    return found


class Adaptation(NamedTuple):
    motion: Motion
    constraints: tuple[Constraint, ...]
    goals: FootPoses  # Where the feet have to be
    contacts: FootContacts  # When the feet of the original stand

    def root_shifts(self) -> Vec3s:
        """
        Return how the root moves with the feet: their mean shift, smoothed, shape (n, 3) [m].

        Not the mean of the contacts (LeeShin1999 section 4.5), which jumps when one begins or
        ends.
        """
        shift = (self.goals.soles - own_poses(self.motion, self.contacts).soles).mean(axis=1)
        width = SHIFT_WIDTH_S * self.motion.rate_hz
        return np.asarray(gaussian_filter1d(shift, width, axis=0, mode='nearest'))


def on_terrain(
    motion: Motion, surface: Surface, ground: Surface = FLOOR, swings: bool = True
) -> Adaptation:
    """
    Return what brings a motion's feet from one surface onto another (LeeShin1999 section 6).

    Soles lie along the slope; swinging feet clear the ground as before, held if `swings`.
    """
    contacts = detect_contacts(motion, ground)
    own = own_poses(motion, contacts)
    goals = firm_poses(motion, contacts, surface, ground)
    goals = cleared(goals, own, motion.skeleton, motion.rate_hz, (ground, surface))
    return Adaptation(motion, tuple(foot_constraints(goals, swings)), goals, contacts)


def for_body(
    motion: Motion, skeleton: Skeleton, world_scale: float | None = None, surface: Surface = FLOOR
) -> Adaptation:
    """
    Return what gives a performer's motion on the level floor to another body by the editor.

    Places on the floor are scaled by `world_scale`, without it by the ratio of leg lengths, and
    then the character strides as its legs are long. It walks on `surface`.
    """
    ratio = skeleton.leg_length / motion.skeleton.leg_length
    scale = ratio if world_scale is None else world_scale
    if not 0.01 <= scale <= 100.0:
        raise ConfigError(f'world_scale: expected 0.01 <= value <= 100, got {scale:g}')
    contacts = detect_contacts(motion)
    goals = firm_poses(motion, contacts)
    level = np.array([scale, scale, ratio])
    roots, soles = motion.root_positions * level, goals.soles * level
    start = Motion.from_rotations(skeleton, motion.rate_hz, roots, motion.rotations)
    soles[..., 2] += surface.height(soles[..., 0], soles[..., 1])
    goals = replace(goals, soles=soles)
    return Adaptation(start, tuple(foot_constraints(goals, swings=False)), goals, contacts)
