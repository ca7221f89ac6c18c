# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Climbing a rope: a motion of our own, and the constraints that keep hands and feet on a rope.

One hand goes up, then the other, then both feet, then the body follows: once a cycle all rise
by the same way. Where a hand or foot holds the rope it does so all the time in one place; the
places of each are evenly spaced. The same grips on another rope are found by sliding along it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import LIMB_SEGMENTS, Motion, runs, SEGMENT_INDEX, Skeleton, world_segments
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Quats, Vec3, Vec3s
from puppet_core.math import quaternions as qb
from puppet_core.procedural import (
    ADULT_LEG_LENGTH_M,
    bump,
    hand_rotations,
    Palm,
    placed_arm,
    rest_rotations,
    smooth_step,
    two_bone_rotations,
    unit,
)
from puppet_edit.editor import BodyPoint, Constraint, OrientationGoal, PointGoal

CYCLE_S = 2.3
RISE_M = 0.34  # of an adult, each cycle
# fraction of a cycle in which each moves: left hand, right hand, both feet, the body
_MOVES = ((0.02, 0.22), (0.26, 0.46), (0.50, 0.70), (0.72, 0.98))
_AHEAD_M = 0.27  # of the rope from the pelvis
_GRIPS_M = (0.60, 0.48, -0.68, -0.72)  # over the pelvis before a cycle: hands, feet
_BESIDE_M = (0.012, -0.012, 0.055, -0.055)
_AWAY_M = (0.08, 0.08, 0.05, 0.05)  # from the rope in the middle of a move
_PITCH, _ROLL = 0.75, 0.55  # of the feet that clasp the rope
_HANDS = (0, 1)
_X_AXIS, _Y_AXIS, _Z_AXIS = np.eye(3)

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rope:
    """A straight rope."""

    point: Vec3  # On it [m]
    direction: Vec3  # Upward along it, any length but zero

    def __post_init__(self) -> None:
        length = float(np.linalg.norm(self.direction))
        if not length > 1e-6 or not np.isfinite(length):
            raise ConfigError(f'rope: expected a direction, got {self.direction}')
        object.__setattr__(self, 'point', np.array(self.point, dtype=np.float64))
        object.__setattr__(self, 'direction', np.asarray(self.direction) / length)

    def turn_to(self, other: 'Rope') -> Quats:
        """Return the shortest turn of this rope's direction to another's."""
        axis = np.cross(self.direction, other.direction)
        return np.asarray(qb.normalize(np.append(1.0 + self.direction @ other.direction, axis)))


@dataclass(frozen=True, slots=True)
class Climb:
    """A climbing motion and when hands and feet hold the rope."""

    motion: Motion  # What the body does
    rope: Rope  # What it climbs
    holds: Bools  # In the order of END_EFFECTORS, shape (n, 4)


def climb(skeleton: Skeleton, rate_hz: float, n_frames: int) -> Climb:
    """Return a body that climbs a vertical rope in front of it, facing +X."""
    size = skeleton.leg_length / ADULT_LEG_LENGTH_M
    rope = Rope(np.array([size * _AHEAD_M, 0.0, 0.0]), _Z_AXIS)
    cycle = np.arange(n_frames) / rate_hz / CYCLE_S
    risen = [_risen(cycle, move) for move in _MOVES]
    rotations = rest_rotations(n_frames, qb.exp(0.12 * _Y_AXIS))
    sway = 0.05 * (np.sin(2.0 * np.pi * cycle)[:, None] * _Z_AXIS)
    for segment in ('spine', 'chest'):
        rotations[:, SEGMENT_INDEX[segment]] = qb.exp(sway)
    rotations[:, SEGMENT_INDEX['head']] = qb.exp(-0.35 * _Y_AXIS)
    roots = np.zeros((n_frames, 3))
    roots[:, 2] = size * (1.3 + RISE_M * risen[3][0])
    grips, holds = [], []
    for end, grip in enumerate(_GRIPS_M):
        height, share = risen[min(end, 2)]
        place = np.zeros((n_frames, 3))
        place[:, 0] = _AHEAD_M - _AWAY_M[end] * bump(share)
        place[:, 1] = _BESIDE_M[end] + np.sign(_BESIDE_M[end]) * 0.5 * _AWAY_M[end] * bump(share)
        place[:, 2] = 1.3 + grip + RISE_M * height
        grips.append(size * place)
        holds.append((share <= 0.0) | (share >= 1.0))
    q_world, p_world = world_segments(skeleton, roots, rotations)
    _add_arms(skeleton, rotations, (q_world, p_world), grips)
    _add_legs(skeleton, rotations, (q_world, p_world), grips)
    motion = Motion.from_rotations(skeleton, rate_hz, roots, rotations)
    return Climb(motion, rope, np.stack(holds, axis=1))


def grip_constraints(
    source: Climb, rope: Rope, scale: float = 1.0, rise: float = 1.0
) -> list[Constraint]:
    """
    Return what keeps a climb's hands and feet where they are, seen from the rope, on another.

    Parameters
    ----------
    source : Climb
        Whose grips they are.
    rope : Rope
        What is to be climbed; its point is where that of the source's rope comes to be.
    scale : float
        Of the distances from the rope, such as for a body of another size.
    rise : float
        Of the distances along the rope: spacing of the grips.

    """
    turn = source.rope.turn_to(rope)
    q_world, _ = source.motion.world_segments()
    found: list[Constraint] = []
    for end, segment in enumerate(LIMB_SEGMENTS[:, 2].tolist()):
        places = source.motion.end_effectors[:, end] - source.rope.point
        along = places @ source.rope.direction
        beside = places - along[:, None] * source.rope.direction
        goals = rope.point + rise * along[:, None] * rope.direction
        goals = goals + scale * qb.rotate(turn, beside)
        orientations = qb.multiply(turn, q_world[:, segment])
        for first, last in runs(source.holds[:, end]):
            at = np.arange(first, last)
            # the place of a hold is its first frame's
            goal, q_goal = goals[at].mean(axis=0), orientations[at[len(at) // 2]]
            found += [
                PointGoal(at, BodyPoint(segment), goal, contact=True),
                OrientationGoal(at, segment, q_goal),
            ]
    return found


def carried_to(source: Climb, skeleton: Skeleton, rope: Rope, rise: float = 1.0) -> Motion:
    """Return the climb's angles on another body beside another rope: what is to be edited."""
    turn = source.rope.turn_to(rope)
    along = (source.motion.root_positions - source.rope.point) @ source.rope.direction
    beside = source.motion.root_positions - source.rope.point
    beside = beside - along[:, None] * source.rope.direction
    roots = rope.point + rise * along[:, None] * rope.direction + qb.rotate(turn, beside)
    rotations = np.array(source.motion.rotations)
    rotations[:, 0] = qb.multiply(turn, rotations[:, 0])
    return Motion.from_rotations(skeleton, source.motion.rate_hz, roots, rotations)


def _risen(cycle: Floats, move: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return how many rises are done at times in cycles, and the fraction of the present move."""
    share = np.clip((cycle % 1.0 - move[0]) / (move[1] - move[0]), 0.0, 1.0)
    return np.floor(cycle) + smooth_step(share), share


def _add_arms(
    skeleton: Skeleton, rotations: Quats, world: tuple[Quats, Vec3s], grips: list[Vec3s]
) -> None:
    chest = SEGMENT_INDEX['chest']
    n = len(rotations)
    for side in _HANDS:
        mirror = 1.0 if side == 0 else -1.0
        # fingers point inward and up round the rope, the palm looks ahead to it
        fingers = unit(np.array([0.35, -mirror * 0.45, 0.82]))
        looking = np.array([0.85, -mirror * 0.52, 0.0])
        looking = unit(looking - (looking @ fingers) * fingers)
        q_hand = hand_rotations(side, np.tile(fingers, (n, 1)), looking)
        pole = np.tile([-0.2, mirror * 0.4, -0.9], (n, 1))
        palm = Palm(np.ones(n), grips[side], q_hand, pole)
        arm = placed_arm(skeleton, side, (world[0][:, chest], world[1][:, chest]), palm)
        for segment, values in zip(LIMB_SEGMENTS[side], arm):
            rotations[:, segment] = values


def _add_legs(
    skeleton: Skeleton, rotations: Quats, world: tuple[Quats, Vec3s], grips: list[Vec3s]
) -> None:
    n = len(rotations)
    for side in _HANDS:
        mirror = 1.0 if side == 0 else -1.0
        thigh, shank, foot = LIMB_SEGMENTS[2 + side]
        q_foot = np.tile(
            qb.multiply(qb.exp(_PITCH * _Y_AXIS), qb.exp(-mirror * _ROLL * _X_AXIS)), (n, 1)
        )
        point = skeleton.interaction_points[2 + side]
        ankles = grips[2 + side] - qb.rotate(q_foot, point)
        pole = np.tile([1.0, mirror * 0.75, 0.1], (n, 1))
        bones = skeleton.offsets[[shank, foot]]
        q_thigh, q_shank = two_bone_rotations(world[1][:, thigh], ankles, bones, _Y_AXIS, pole)
        chain = (world[0][:, 0], q_thigh, q_shank, q_foot)
        for segment, parent, child in zip((thigh, shank, foot), chain, chain[1:]):
            rotations[:, segment] = qb.multiply(qb.conjugate(parent), child)
