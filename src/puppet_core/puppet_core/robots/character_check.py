# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Warnings about a character that is usable but odd."""

from collections.abc import Iterator
import math
from pathlib import Path

import numpy as np
from puppet_core.body import (
    Character,
    END_EFFECTORS,
    general_end_effectors,
    JointLimit,
    LIMB_SEGMENTS,
    LIMBS,
    N_SEGMENTS,
    parse_urdf,
    Robot,
    segment_axis,
    SEGMENT_INDEX,
    SEGMENTS,
    Skeleton,
    swing_axes,
    world_segments,
)
from puppet_core.io import InputFileError
from puppet_core.math import Floats
from puppet_core.math import quaternions as qb
from puppet_core.robots.robot_files import find_mesh
from puppet_core.robots.segment_angles import turn_segments

SYMMETRY_TOL_M = 0.005
LEG_RANGE_M = (0.1, 3.0)
RATIO_RANGE = (0.4, 2.5)  # lower over upper part of a limb
MOST_NAMES = 6
LONGEST_LEGS = 2.0  # what a segment may be long [leg lengths]
SOLE_LEVEL_TOL_M = 0.005
ROBOT_REST_TOL_RAD = 0.02
_ENDS = LIMB_SEGMENTS[:, 2]
LOWERED_RAD = (0.0, 0.5, 1.0)  # arms; many shoulders stop short of the T-pose
MAX_TURN_DEG, MAX_OFF_CM = 60.0, 5.0  # a hand or foot, there or with arms lowered
_MIRROR = np.array([1.0, -1.0, 1.0])


def findings(character: Character) -> tuple[str, ...]:
    """Return a sentence for each oddity, none for a character that is as expected."""
    skeleton = character.skeleton
    found = [*_asymmetries(skeleton), *_lengths(skeleton), *_shape(character)]
    for limit in character.joint_limits:
        found += _limit(skeleton, limit)
    if character.robot is not None:
        found += [*_robot(character, character.robot), *_description(character.robot)]
    return tuple(found)


def _asymmetries(skeleton: Skeleton) -> Iterator[str]:
    for index, name in enumerate(SEGMENTS):
        if name.startswith('left_'):
            right = SEGMENT_INDEX[name.replace('left_', 'right_')]
            apart = np.abs(skeleton.offsets[index] * _MIRROR - skeleton.offsets[right]).max()
            if apart > SYMMETRY_TOL_M:
                yield (
                    f'joints_m.{name}: the right one is {1e3 * apart:.0f} mm from its mirror image'
                )
    for i in (0, 2):
        left, right = skeleton.interaction_points[i : i + 2]
        apart = np.abs(left * _MIRROR - right).max()
        if apart > SYMMETRY_TOL_M:
            yield (
                f'interaction_points_m.{END_EFFECTORS[i]}: the right one is '
                f'{1e3 * apart:.0f} mm from its mirror image'
            )
    for i, name in enumerate(SEGMENTS):
        if name.startswith('left_') and name.endswith(('thigh', 'upper_arm')):
            if skeleton.offsets[i, 1] <= 0.0:
                yield f'joints_m.{name}: expected on the left, at y > 0'


def _lengths(skeleton: Skeleton) -> Iterator[str]:
    low, high = LEG_RANGE_M
    if not low <= skeleton.leg_length <= high:
        yield (
            f'legs: {skeleton.leg_length:.3g} m from hip to sole, expected {low:g} .. {high:g} '
            'm; is the unit right?'
        )
    for name, (upper, lower) in zip(LIMBS, skeleton.limb_lengths):
        if not RATIO_RANGE[0] <= lower / upper <= RATIO_RANGE[1]:
            yield (
                f'{name}: its lower part is {lower / upper:.2g} times as long as its upper '
                f'one, expected {RATIO_RANGE[0]:g} .. {RATIO_RANGE[1]:g}'
            )
    for name, offset in zip(SEGMENTS, skeleton.offsets):
        if np.linalg.norm(offset) > LONGEST_LEGS * skeleton.leg_length:
            yield (
                f'joints_m.{name}: {np.linalg.norm(offset):.3g} m from its parent, legs are '
                f'{skeleton.leg_length:.3g} m; is the position right?'
            )
    rest = skeleton.rest_positions()
    for limb, (upper, _, end) in zip(LIMBS, LIMB_SEGMENTS):
        way = rest[end] - rest[upper]
        side = 1.0 if limb.startswith('left') else -1.0
        along = -way[2] if limb.endswith('leg') else side * way[1]
        if along < 0.8 * np.linalg.norm(way):
            where = 'down' if limb.endswith('leg') else 'sideways'
            yield f'{limb}: expected to go {where} in the T-pose'
    soles = rest[LIMB_SEGMENTS[2:, 2], 2] + skeleton.interaction_points[2:, 2]
    if abs(soles[0] - soles[1]) > SOLE_LEVEL_TOL_M:
        yield f'soles: one is {1e3 * abs(soles[0] - soles[1]):.0f} mm above the other'
    if np.any(skeleton.interaction_points[2:, 2] >= 0.0):
        yield 'interaction_points_m: expected soles below their ankles'
    if rest[SEGMENT_INDEX['head'], 2] <= rest[SEGMENT_INDEX['left_upper_arm'], 2] - 0.05:
        yield 'joints_m.head: expected at the shoulders or above'


def _shape(character: Character) -> Iterator[str]:
    bare = set(range(N_SEGMENTS)) - {c.segment for c in character.capsules}
    if not np.any(character.skeleton.offsets[2]) and not {1, 2} <= bare:
        bare -= {1, 2}  # spine and chest turn about one point
    if bare:
        yield (
            'capsules: none on '
            + ', '.join(SEGMENTS[i] for i in sorted(bare))
            + '; what has no shape is not seen, and does not keep others out'
        )


def _limit(skeleton: Skeleton, limit: JointLimit) -> Iterator[str]:
    """Report a limit that does not let the rest rotation be, the identity."""
    axis = segment_axis(skeleton, limit.segment)
    x, y, z, w = np.roll(qb.conjugate(limit.centre), -1)
    twist = 2.0 * math.atan2(np.array([x, y, z]) @ axis, w)
    twist -= 2.0 * math.pi * round(twist / (2.0 * math.pi))
    swing = qb.log(qb.multiply(qb.conjugate(limit.centre), qb.exp(-twist * axis)))
    parts = [swing @ a / half for a, half in zip(swing_axes(axis), limit.swing)]
    name = SEGMENTS[limit.segment]
    if math.hypot(*parts) > 1.0 + 1e-9:
        yield f'joint_limits.{name}: the T-pose is outside of its cone'
    if not limit.twist[0] - 1e-9 <= twist <= limit.twist[1] + 1e-9:
        yield f'joint_limits.{name}: the T-pose is outside of its twist'


def require_t_pose(character: Character, path: Path, hint: str = '') -> None:
    """
    Refuse a robot whose hand or foot is far from where it should be in the T-pose.

    Raise InputFileError naming `path`, the end-effector, joints at their limits, and the hint.
    """
    robot = character.robot
    if robot is None:
        return
    tried = [_follow(character.skeleton, robot, angle) for angle in LOWERED_RAD]
    faults = np.array([(np.degrees(off[_ENDS]), 100.0 * away) for _, off, away in tried])
    excess = np.max(faults / [[MAX_TURN_DEG], [MAX_OFF_CM]], axis=1)
    for limb in np.flatnonzero(excess.min(axis=0) > 1.0):
        k, name = int(np.argmin(excess[:, limb])), SEGMENTS[_ENDS[limb]]
        joints = [j for segment in LIMB_SEGMENTS[limb] for j in robot.joints_of(segment)]
        stopped = ', '.join(
            robot.names[j] for j in joints if not robot.lower[j] < tried[k][0][j] < robot.upper[j]
        )
        raise InputFileError(
            path,
            f'within {MAX_TURN_DEG:.0f} deg and {MAX_OFF_CM:.0f} cm of the T-pose',
            f'{faults[k, 0, limb]:.0f} deg and {faults[k, 1, limb]:.1f} cm'
            + (f', at the limits of {stopped}' if stopped else ''),
            field=name,
            hint=hint
            or f'mend {name} in robot.rest_wxyz, or lower_rad and upper_rad of its joints',
        )


def _follow(
    skeleton: Skeleton, robot: Robot, lowered: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """
    Return what limits alone leave of the T-pose with arms lowered by an angle [rad].

    Joint angles (n,), turns that are left (16,) [rad], palms' and soles' ways (4,) [m].
    """
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (1, N_SEGMENTS, 1))
    rotations[0, LIMB_SEGMENTS[:2, 0]] = qb.exp(np.outer([-lowered, lowered], [1.0, 0.0, 0.0]))
    root = np.zeros((1, 3))
    q_world, p_world = world_segments(skeleton, root, rotations)
    found = turn_segments(robot, skeleton, root[0], q_world[0])
    left = qb.log(qb.multiply(qb.conjugate(q_world[0]), found.q_world))
    asked = general_end_effectors(skeleton, q_world, p_world)[0]
    ends = general_end_effectors(skeleton, found.q_world[None], found.p_world[None])[0]
    away = np.linalg.norm(ends - asked, axis=1)[:4]
    return found.angles, np.linalg.norm(left, axis=1), away


def _robot(character: Character, robot: Robot) -> Iterator[str]:
    _, off, _ = _follow(character.skeleton, robot)
    worst = [
        f'{SEGMENTS[i]} by {math.degrees(off[i]):.0f} deg'
        for i in np.flatnonzero(off > ROBOT_REST_TOL_RAD)
    ]
    if worst:
        yield 'robot: its limits keep it from the T-pose: ' + ', '.join(worst)
    for index, name in enumerate(SEGMENTS):
        if index > 2 and not robot.joints_of(index):
            yield f'robot: no joint turns the {name}, it is rigid'
    if not robot.joints_of(1) and not robot.joints_of(2):
        yield 'robot: no joint turns the trunk, it is rigid'
    ends = np.maximum(np.abs(robot.lower), np.abs(robot.upper))
    wide = np.flatnonzero(np.isfinite(ends) & (ends > 2.0 * math.pi))
    if len(wide):
        first, count = wide[0], len(wide)
        yield (
            f'robot: limits of {count} joints look like degrees: {robot.names[first]} turns up to '
            f'{ends[first]:g} rad'
        )


def _description(robot: Robot) -> Iterator[str]:
    """Report joints that are not moved, and meshes that are missing."""
    if robot.held:
        names = [name for name, _ in robot.held]
        more = f' and {len(names) - MOST_NAMES} more' if len(names) > MOST_NAMES else ''
        yield f'robot: not moved: {", ".join(names[:MOST_NAMES])}{more}'
    links = parse_urdf(robot.urdf_path, robot.urdf).links.values()
    shapes = ((link, shape.file) for link in links for shape in (*link.shapes, *link.visuals))
    named = {file: link.name for link, file in shapes if file}
    gone = [mesh for mesh in named if find_mesh(robot.urdf_path, mesh) is None]
    if gone:
        more = f', nor {len(gone) - 1} others' if len(gone) > 1 else ''
        yield f'robot: link {named[gone[0]]}: expected a mesh, there is no file {gone[0]}{more}'
