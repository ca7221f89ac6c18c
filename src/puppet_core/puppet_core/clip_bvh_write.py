# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Writer of BVH files: Y up, centimetres, T-pose at rest, joints named as our segments (SPEC 7).

The front is +Z, the left +X. The ends of hands and feet are the interaction points, so a motion
read back has the same palms and soles. Angles are continuous over the frames. Each joint has
the order of rotations whose gimbal lock is where the joint hardly gets.

"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from puppet_core import atomic_file
from puppet_core.arrays import Floats, Vec3, Vec3s
from puppet_core.clip_euler import quats_to_continuous_euler
from puppet_core.clip_skeleton_map import Q_WORLD_Y_UP
from puppet_core.clip_text import format_rows
from puppet_core.posture import Motion
from puppet_core.quaternion_batch import conjugate, multiply, rotate
from puppet_core.skeleton import END_EFFECTORS, PARENTS, SEGMENT_INDEX, SEGMENTS, Skeleton

_CM_PER_M = 100.0
_DIGITS = 8  # decimals of centimetres and degrees: far below 1e-6 m and 1e-6 rad after chains
_HEAD_PER_LEG = 0.2  # length drawn for the head, which our skeleton does not have
_AXIS_LETTERS = 'XYZ'
# Axes in the file: X to the left, Y up, Z to the front. The middle one locks at a quarter turn,
# so it is the axis about which the joint turns least far.
_ROOT_ORDER = (1, 0, 2)
_ORDERS = {
    'thigh': (1, 2, 0),
    'shank': (1, 2, 0),
    'foot': (1, 2, 0),
    'forearm': (1, 2, 0),
    'hand': (2, 1, 0),
}
_OTHER_ORDER = (2, 0, 1)


def write_bvh(motion: Motion, path: str | Path) -> None:
    """
    Write a motion to a BVH file, all or nothing.

    Parameters
    ----------
    motion : Motion
        The motion; its end-effectors are those that its angles give.
    path : str or Path
        The file to make or replace.

    """
    atomic_file.write_text(path, bvh_text(motion))


def bvh_text(motion: Motion) -> str:
    """Return a motion as the text of a BVH file; see `write_bvh`."""
    lines = ['HIERARCHY', *_hierarchy(motion.skeleton)]
    lines += ['MOTION', f'Frames: {motion.n_frames}', f'Frame Time: {1.0 / motion.rate_hz:.12g}']
    return '\n'.join(lines) + '\n' + format_rows(_frame_rows(motion), _DIGITS)


def _rotation_order(index: int) -> tuple[int, int, int]:
    if index == 0:
        return _ROOT_ORDER
    return _ORDERS.get(SEGMENTS[index].split('_', 1)[-1], _OTHER_ORDER)


def _to_file_cm(points: Vec3s) -> Vec3s:
    return _CM_PER_M * rotate(conjugate(Q_WORLD_Y_UP), points)


def _hierarchy(skeleton: Skeleton) -> Iterator[str]:
    offsets = _to_file_cm(skeleton.offsets)
    ends: dict[int, Vec3] = {
        SEGMENT_INDEX['head']: np.array([0.0, 0.0, _HEAD_PER_LEG * skeleton.leg_length])
    }
    for name, point in zip(END_EFFECTORS, skeleton.interaction_points):
        ends[SEGMENT_INDEX[name]] = point
    return _joint_lines(0, 0, offsets, ends)


def _joint_lines(
    index: int, depth: int, offsets: Vec3s, ends: dict[int, Vec3]
) -> Iterator[str]:
    indent = '  ' * depth
    order = ' '.join(f'{_AXIS_LETTERS[axis]}rotation' for axis in _rotation_order(index))
    channels = f'3 {order}' if index else f'6 Xposition Yposition Zposition {order}'
    yield f'{indent}{"JOINT" if index else "ROOT"} {SEGMENTS[index]}'
    yield f'{indent}{{'
    yield f'{indent}  OFFSET {_numbers(offsets[index])}'
    yield f'{indent}  CHANNELS {channels}'
    for child in np.flatnonzero(PARENTS == index):
        yield from _joint_lines(int(child), depth + 1, offsets, ends)
    if index in ends:
        end = _numbers(_to_file_cm(ends[index]))
        yield from (f'{indent}  End Site', f'{indent}  {{')
        yield from (f'{indent}    OFFSET {end}', f'{indent}  }}')
    yield f'{indent}}}'


def _numbers(values: Floats) -> str:
    return ' '.join(f'{value:.{_DIGITS}f}' for value in values)


def _frame_rows(motion: Motion) -> Floats:
    """Return a row per frame: root position, then the angles in the order of the joints."""
    q_file = multiply(multiply(conjugate(Q_WORLD_Y_UP), motion.rotations), Q_WORLD_Y_UP)
    angles = np.empty((motion.n_frames, len(SEGMENTS), 3))
    for order in {_rotation_order(i) for i in range(len(SEGMENTS))}:
        own = [i for i in range(len(SEGMENTS)) if _rotation_order(i) == order]
        angles[:, own] = np.degrees(quats_to_continuous_euler(q_file[:, own], order))
    columns = angles[:, _depth_first()].reshape(motion.n_frames, -1)
    return np.hstack([_to_file_cm(motion.root_positions), columns])


def _depth_first() -> list[int]:
    """Return the segments in the order in which the hierarchy lists them."""
    order: list[int] = []
    stack = [0]
    while stack:
        index = stack.pop()
        order.append(index)
        stack.extend(int(child) for child in np.flatnonzero(PARENTS == index)[::-1])
    return order
