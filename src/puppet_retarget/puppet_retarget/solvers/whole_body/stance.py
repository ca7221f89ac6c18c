# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Room between a robot's legs: goals of soles are as far apart as legs and feet are thick (kernels).

A foot that swings gives way, and stays aside of where it was asked to be until it swings again: a
foot that stands never slides for it. Legs that are crossed stay so.
"""

import math

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS
from puppet_core.math import copy, kernel
from puppet_core.math.values import (
    add,
    between,
    clamp,
    dot,
    ease,
    norm,
    quat,
    rotate,
    scale,
    smooth_ramp,
    sub,
    Vec3,
    vec3,
)
from puppet_retarget.importance import gap_between, PLANE, REST_SOFT_M, Solid
from puppet_retarget.solvers.whole_body.frame import Frame
from puppet_retarget.solvers.whole_body.tree import ENDS, MIDDLES

ROOM_M = 0.015  # between the legs
CROSSED_M = 0.1  # so far on the other's side a foot is not kept from
UPRIGHT = 0.3  # of a pelvis that leans sideways, what of its left is level [-]
PLANTED, SWINGING = 0.3, 0.9  # a foot that stays, and that goes where there is room [legs/s]
ASIDE_S = 0.05  # time constant of a foot that swings
MOST_RAD = 0.5  # by which a leg is turned in
ORIGIN = (0.0, 0.0, 0.0)


@kernel
def part_soles(frame: Frame) -> None:
    """Move the goals of soles and knees apart."""
    wishes, aside, soles = frame.wishes, frame.memory.aside, frame.memory.soles
    x, y, _ = rotate(wishes.rotations[0], (0.0, 1.0, 0.0))
    left = scale((x, y, 0.0), 1.0 / max(math.hypot(x, y), UPRIGHT))
    width = _inner_side(frame, 2, left) + _inner_side(frame, 3, scale(left, -1.0))
    width = max(frame.stance, width)
    apart = dot(sub(wishes.goals[2], wishes.goals[3]), left)
    share = clamp(1.0 + apart / CROSSED_M, 0.0, 1.0)
    needed = ease(share) * smooth_ramp(width + 2.0 * ROOM_M - apart, 2.0 * ROOM_M)
    leg = norm(frame.tree.offsets[ENDS[2]]) + norm(frame.tree.offsets[MIDDLES[2]])
    before = vec3(aside[0]), vec3(aside[1])
    for foot in range(2):
        side, way, rate = 1.0 - 2.0 * foot, 0.5 * needed, 1.0
        if wishes.dt < math.inf:
            # what the other foot does not do of it, half of it at least
            way = max(way, needed + side * dot(before[1 - foot], left))
            pace = norm(sub(wishes.goals[2 + foot], soles[foot])) / (leg * wishes.dt)
            rate = clamp((pace - PLANTED) / (SWINGING - PLANTED), 0.0, 1.0)
            rate *= 1.0 - math.exp(-wishes.dt / ASIDE_S)
        change = sub(scale(left, side * way), aside[foot])
        copy(add(aside[foot], scale(change, rate)), aside[foot])
    for foot in range(2):
        copy(wishes.goals[2 + foot], soles[foot])
        copy(add(wishes.goals[2 + foot], aside[foot]), wishes.goals[2 + foot])
        copy(add(wishes.goals[6 + foot], scale(aside[foot], 0.5)), wishes.goals[6 + foot])


@kernel
def _inner_side(frame: Frame, limb: int, outward: Vec3) -> float:
    """Return how far a foot reaches from the middle of its sole to the other one [m]."""
    q, s, shape = quat(frame.wishes.segments[ENDS[limb]]), ENDS[limb], frame.shape
    if shape.first[s] == shape.first[s + 1]:
        return 0.0
    side = Solid(PLANE, ORIGIN, between((0.0, 0.0, 1.0), outward), ORIGIN)
    capsules = shape.first[s], shape.first[s + 1]
    inmost, _, _ = gap_between(shape, s, capsules, (q, ORIGIN), side, REST_SOFT_M)
    return dot(outward, rotate(q, frame.tree.points[limb])) - inmost


def least_stance(character: Character) -> float:
    """Return how far apart soles are where straight legs that turn inwards touch [m]."""
    leg = LIMB_SEGMENTS[2]
    places = character.skeleton.rest_positions()
    hip, foot = places[leg[[0, 2]]]
    sole = foot + character.skeleton.interaction_points[2] - hip
    capsules = [c for c in character.capsules if c.segment in leg]
    if not capsules:
        return 0.0
    points = np.array([places[c.segment] + p - hip for c in capsules for p in (c.start, c.end)])
    radii = np.repeat([c.radius for c in capsules], 2)
    angles = np.arange(0.0, MOST_RAD, 0.002)
    turns = np.array([np.cos(angles), np.sin(angles)])
    inmost = np.min(points[:, 1:] @ turns - radii[:, None], axis=0) + hip[1]
    apart = np.append(inmost >= min(inmost[0], 0.0), False)
    return float(2.0 * (hip[1] + sole[1:] @ turns[:, np.argmin(apart) - 1]))
