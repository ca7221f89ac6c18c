# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What a clip file holds before it is mapped to our skeleton: its own joints, its own axes.

In SI units. Euler angles are intrinsic: with axes (a, b, c) the rotation is R_a · R_b · R_c.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import permutations, product
from pathlib import Path

import numpy as np
from puppet_core.body import follow_chains
from puppet_core.io import ConfigError
from puppet_core.math import (
    check_shape,
    Floats,
    from_matrix,
    frozen,
    Ints,
    Quats,
    read_only,
    to_matrix,
    Vec3,
    Vec3s,
)
from puppet_core.math.quaternions import conjugate, multiply, rotate

TIP_SUFFIX = ' (end)'  # added to the joint's name for the end of a chain's last bone


@dataclass(frozen=True, slots=True)
class ClipFile:
    """
    A file's skeleton and motion, joints in parent-before-child order.

    The ends of last bones (BVH end sites, ends of ASF leaf bones) are joints too, named after
    their parent with TIP_SUFFIX; they do not rotate. All arrays are read-only.

    Raise ConfigError if the arrays are not of the same joints and frames, or a parent does not
    come before its joint; compiled code goes by them.
    """

    path: Path  # Where it was read from, for errors
    rate_hz: float  # Frames per second
    joint_names: tuple[str, ...]  # Length j, unique
    parents: Ints  # Index of each joint's parent, shape (j,); -1 for the root
    offsets: Vec3s  # Each joint in its parent's axes with all rotations zero, shape (j, 3) [m]
    rotations: Quats  # Each joint relative to its parent, shape (n, j, 4), unit
    # Each joint in its parent's axes, shape (n, j, 3) [m]; equal to `offsets` where fixed
    translations: Vec3s
    unit_m: float = 0.01  # Length of the file's unit that the reader took; BVH's by default
    up_axis: str = ''  # What the file says, '' if nothing
    notes: tuple[str, ...] = ()  # What else a user should know

    def __post_init__(self) -> None:
        count = len(self.joint_names)
        parents = read_only(self.parents, np.int64)
        if parents.shape != (count,) or not np.all((-1 <= parents) & (parents < np.arange(count))):
            raise ConfigError(f'parents: expected {count} joints before their own, got {parents}')
        object.__setattr__(self, 'parents', parents)
        n, names = len(self.rotations), ('offsets', 'rotations', 'translations')
        for name, shape in zip(names, [(count, 3), (n, count, 4), (n, count, 3)]):
            values = check_shape(name, getattr(self, name), shape)
            object.__setattr__(self, name, read_only(values))

    @property
    def n_frames(self) -> int:
        return len(self.rotations)

    def is_tip(self, joint: int) -> bool:
        return self.joint_names[joint].endswith(TIP_SUFFIX)

    def children(self, joint: int) -> tuple[int, ...]:
        return tuple(int(k) for k in np.flatnonzero(self.parents == joint))

    def path_down(self, ancestor: int, joint: int) -> tuple[int, ...] | None:
        """Return the joints below `ancestor` down to `joint`, None if that is not above it."""
        chain: list[int] = []
        while joint != ancestor:
            if joint < 0:
                return None
            chain.append(joint)
            joint = int(self.parents[joint])
        return tuple(reversed(chain))

    def rest_offset(self, ancestor: int, joint: int) -> Vec3:
        """Return where `joint` is in the axes of `ancestor` with all rotations zero [m]."""
        return self._rest_position(joint) - self._rest_position(ancestor)

    def without_first(self, count: int) -> 'ClipFile':
        q, p = self.rotations[count:], self.translations[count:]
        return replace(self, rotations=q, translations=p)

    def scaled(self, factor: float) -> 'ClipFile':
        if factor == 1.0:
            return self
        translations = frozen(factor * self.translations)
        return replace(self, offsets=factor * self.offsets, translations=translations)

    def thinned(self, max_frames: int) -> 'ClipFile':
        step = -(-self.n_frames // max_frames)
        q, p = self.rotations[::step], self.translations[::step]
        return replace(self, rate_hz=self.rate_hz / step, rotations=q, translations=p)

    def with_rest(self, rests: Quats) -> 'ClipFile':
        """Return the motion by joints whose zero is the pose of rotations `rests` (j, 4)."""
        q_above, q_rest = np.array(rests), np.array(rests)
        q_above[0] = [1.0, 0.0, 0.0, 0.0]
        for joint in range(1, len(rests)):
            q_above[joint] = q_rest[self.parents[joint]]
            q_rest[joint] = multiply(q_above[joint], rests[joint])
        rotations = multiply(multiply(q_above, self.rotations), conjugate(q_rest))
        translations = frozen(rotate(q_above, self.translations))
        offsets = rotate(q_above, self.offsets)
        return replace(
            self, offsets=offsets, rotations=frozen(rotations), translations=translations
        )

    def with_rest_upright(self) -> 'ClipFile':
        """Return the clip with its rest pose turned, by quarters, to how the root mostly is."""
        mean = to_matrix(self.rotations[:, 0]).mean(axis=0)
        signs = product((1.0, -1.0), repeat=3)
        turns = [np.array(a) * s for a, s in product(permutations(np.eye(3)), signs)]
        rests = np.tile([1.0, 0.0, 0.0, 0.0], (len(self.parents), 1))
        turns = [turn for turn in turns if np.linalg.det(turn) > 0.0]
        rests[0] = from_matrix(max(turns, key=lambda turn: float(np.sum(turn * mean))))
        return self.with_rest(rests)

    def world(self) -> tuple[Quats, Vec3s]:
        """Return orientations (n, j, 4) and positions (n, j, 3) [m] in the file's world."""
        q_world = np.empty_like(self.rotations)
        p_world = np.empty_like(self.translations)
        follow_chains(self.parents, self.rotations, self.translations, q_world, p_world)
        return q_world, p_world

    def relative_rotation(self, ancestor: int, joint: int) -> Quats:
        """Return the rotation of `joint` in the axes of `ancestor` above it, shape (n, 4)."""
        chain = self.path_down(ancestor, joint)
        assert chain is not None
        start = np.broadcast_to(np.array([1.0, 0.0, 0.0, 0.0]), (self.n_frames, 4))
        return reduce(multiply, (self.rotations[:, k] for k in chain), start)

    def _rest_position(self, joint: int) -> Floats:
        position = np.zeros(3)
        while joint >= 0 and self.parents[joint] >= 0:
            position = position + self.offsets[joint]
            joint = int(self.parents[joint])
        return position


# Euler angles of whole clips.

# Below this cosine of the middle angle the first angle is not observable and is held.
_LOCK_COSINE = 1e-7


def euler_to_quats(axes: Sequence[int], angles: Floats) -> Quats:
    """Return R_axes[0](angles[0]) · R_axes[1](angles[1]) · … of angles (..., k) [rad]."""
    halves = 0.5 * np.asarray(angles, dtype=np.float64)
    quats = np.zeros((*halves.shape[:-1], 4))
    quats[..., 0] = 1.0
    for column, axis in enumerate(axes):
        turn = np.zeros_like(quats)
        turn[..., 0] = np.cos(halves[..., column])
        turn[..., 1 + axis] = np.sin(halves[..., column])
        quats = multiply(quats, turn) if column else turn
    return quats


def quats_to_continuous_euler(quats: Quats, axes: Sequence[int]) -> Floats:
    """
    Return Euler angles that change smoothly from frame to frame, shape (n, k, 3) [rad].

    Of the two triples that give a rotation each frame takes the one nearest to the frame before;
    turns accumulate. Where the middle angle is at a quarter turn the first angle is held. `quats`
    are of k joints over n frames, shape (n, k, 4), `axes` a permutation of 0, 1, 2.
    """
    a, b, c = axes
    sign = 1.0 if (b - a) % 3 == 1 else -1.0
    matrices = to_matrix(quats)
    # R[a, c] = sign sin β; R[b, c] = -sign sin α cos β; R[c, c] = cos α cos β.
    sine, cosine = -sign * matrices[..., b, c], matrices[..., c, c]
    locked = np.hypot(sine, cosine) < _LOCK_COSINE
    alpha = np.where(locked, 0.0, np.arctan2(sine, cosine))
    # a locked frame has the angle of the last one that is not, 0 before the first
    frames = np.where(locked, -1, np.arange(len(quats))[:, None])
    last = np.maximum.accumulate(frames, axis=0)
    alpha = np.where(last < 0, 0.0, np.take_along_axis(alpha, np.maximum(last, 0), axis=0))
    # the rows of R_a(-α) R give β and γ
    cos_a, sin_a = np.cos(alpha), np.sin(alpha)
    row_b_a, row_b_b = (
        cos_a * matrices[..., b, k] + sign * sin_a * matrices[..., c, k] for k in (a, b)
    )
    row_c_c = cos_a * matrices[..., c, c] - sign * sin_a * matrices[..., b, c]
    beta = np.arctan2(sign * matrices[..., a, c], row_c_c)
    gamma = np.arctan2(sign * row_b_a, row_b_b)
    return _continuous(np.stack([alpha, beta, gamma], axis=-1))


def _continuous(triples: Floats) -> Floats:
    """Return triples (n, k, 3), or those that mean the same, each nearest to the one before."""
    start = np.zeros((1, *triples.shape[1:]))
    triples = np.concatenate((start, triples))
    others = np.array([1.0, -1.0, 1.0]) * triples + np.pi
    # Changing to the other triple keeps distances, so each frame only says whether to change.
    changes = _distance(others[1:], triples[:-1]) < _distance(triples[1:], triples[:-1])
    is_other = np.concatenate((start[..., 0] > 0.0, np.cumsum(changes, axis=0) % 2 == 1))
    return np.unwrap(np.where(is_other[..., None], others, triples), axis=0)[1:]


def _distance(a: Floats, b: Floats) -> Floats:
    """Return the sum of the ways between two triples, whole turns apart."""
    return np.abs(np.remainder(a - b + np.pi, 2.0 * np.pi) - np.pi).sum(axis=-1)
