# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Room between a robot's legs: soles are no nearer to each other sideways than its legs are thick.

A foot that swings gives way, and stays aside of where it was asked to be until it swings again: a
foot that stands never slides for it. Legs that are crossed stay so.
"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS
from puppet_core.math import add, clamp, copy, dot, kernel, norm, Quats, rotate, scale, sub, Vec3s
from puppet_core.math.values import ease, smooth_ramp, Vec3

ROOM_M = 0.015  # between the legs
CROSSED_M = 0.1  # so far on the other's side a foot is not kept from
UPRIGHT = 0.3  # of a pelvis that leans sideways, what of its left is level [-]
PLANTED, SWINGING = 0.3, 0.9  # a foot that stays, and that goes where there is room [legs/s]
ASIDE_S = 0.05  # time constant of a foot that swings
MOST_RAD = 0.5  # by which a leg is turned in
_LEFT_LEG = LIMB_SEGMENTS[2]
_FEET = tuple(int(s) for s in LIMB_SEGMENTS[2:, 2])


class Stance(NamedTuple):
    """What of a robot's legs keeps its soles apart."""

    width: float  # of soles whose straight legs touch [m]
    leg: float  # length of one [m]
    corners: Vec3s  # (8, 3) of the soles, four each, from them in the feet's axes [m]


@kernel
def _inner_side(stance: Stance, foot: int, q_world: Quats, inwards: Vec3) -> float:
    """Return how far a foot reaches from the middle of its sole [m]."""
    reach = 0.0
    for k in range(4 * foot, 4 * foot + 4):
        reach = max(reach, dot(rotate(q_world[_FEET[foot]], stance.corners[k]), inwards))
    return reach


@kernel
def part_soles(stance: Stance, q_world: Quats, ends: Vec3s, dt: float, aside: Vec3s) -> None:
    """
    Move soles and knees of general end-effectors `ends` (8, 3) apart, in place [m].

    Orientations asked for are `q_world` (16, 4); `aside` (4, 3) is how far both soles are moved,
    and where they were asked to be a time [s] before, which is infinite for the first frame.
    """
    x, y, _ = rotate(q_world[0], (0.0, 1.0, 0.0))
    left = scale((x, y, 0.0), 1.0 / max(math.hypot(x, y), UPRIGHT))
    width = _inner_side(stance, 0, q_world, scale(left, -1.0))
    width = max(stance.width, width + _inner_side(stance, 1, q_world, left))
    between = dot(sub(ends[2], ends[3]), left)
    share = clamp(1.0 + between / CROSSED_M, 0.0, 1.0)
    needed = ease(share) * smooth_ramp(width + 2.0 * ROOM_M - between, 2.0 * ROOM_M)
    for foot in range(2):
        sole, side = ends[2 + foot], 1.0 - 2.0 * foot
        pace = norm(sub(sole, aside[2 + foot])) / (stance.leg * dt)
        pace = clamp((pace - PLANTED) / (SWINGING - PLANTED), 0.0, 1.0)
        copy(sole, aside[2 + foot])
        # what the other foot does not do of it, half of it at least
        way, rate = 0.5 * needed, 1.0
        if dt < math.inf:
            way = max(way, needed + side * dot(aside[1 - foot], left))
            rate = pace * (1.0 - math.exp(-dt / ASIDE_S))
        change = sub(scale(left, side * way), aside[foot])
        aside[foot] = add(aside[foot], scale(change, rate))
    for foot in range(2):
        ends[2 + foot] = add(ends[2 + foot], aside[foot])
        ends[6 + foot] = add(ends[6 + foot], scale(aside[foot], 0.5))


def least_stance(character: Character) -> float:
    """Return how far apart soles are where straight legs that turn inwards touch [m]."""
    places = character.skeleton.rest_positions()
    hip, foot = places[_LEFT_LEG[[0, 2]]]
    sole = foot + character.skeleton.interaction_points[2] - hip
    legs = [c for c in character.capsules if c.segment in _LEFT_LEG]
    points = np.array([places[c.segment] + p - hip for c in legs for p in (c.start, c.end)])
    radii = np.array([c.radius for c in legs for _ in range(2)])
    angles = np.arange(0.0, MOST_RAD, 0.002)
    turns = np.array([np.cos(angles), np.sin(angles)])
    inmost = np.min(points[:, 1:] @ turns - radii[:, None], axis=0) + hip[1]
    apart = np.append(inmost >= min(inmost[0], 0.0), False)
    return float(2.0 * (hip[1] + sole[1:] @ turns[:, np.argmin(apart) - 1]))
