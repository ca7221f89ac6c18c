# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What a clip file holds before it is mapped to our skeleton: its own joints, its own axes.

The readers fill it with SI units; nothing here knows names, rest poses or the world's up axis.
"""

from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import numpy as np
from puppet_core.body import follow_chains
from puppet_core.io import ConfigError
from puppet_core.math import check_shape, Floats, frozen, Ints, Quats, read_only, Vec3, Vec3s
from puppet_core.math.quaternions import multiply

TIP_SUFFIX = ' (end)'  # added to the joint's name for the end of a chain's last bone


@dataclass(frozen=True, slots=True)
class ClipFile:
    """
    A file's skeleton and motion, joints in parent-before-child order.

    The ends of last bones (BVH end sites, ends of ASF leaf bones) are joints too, named after
    their parent with TIP_SUFFIX; they do not rotate. All arrays are read-only.

    Raises
    ------
    ConfigError : if the arrays are not of the same joints and frames, or a parent does not come
        before its joint; compiled code goes by them.

    """

    path: Path
    """Where it was read from, for errors."""

    rate_hz: float
    """Frames per second."""

    joint_names: tuple[str, ...]
    """Length j, unique."""

    parents: Ints
    """Index of each joint's parent, shape (j,); -1 for the root."""

    offsets: Vec3s
    """Each joint in its parent's axes with all rotations zero, shape (j, 3) [m]."""

    rotations: Quats
    """Each joint relative to its parent, shape (n, j, 4), unit."""

    translations: Vec3s
    """Each joint in its parent's axes, shape (n, j, 3) [m]; equal to `offsets` where fixed."""

    def __post_init__(self) -> None:
        count = len(self.joint_names)
        parents = read_only(self.parents, np.int64)
        if parents.shape != (count,) or not np.all((-1 <= parents) & (parents < np.arange(count))):
            raise ConfigError(f'parents: expected {count} joints before their own, got {parents}')
        object.__setattr__(self, 'parents', parents)
        shapes = {
            'offsets': (count, 3),
            'rotations': (None, count, 4),
            'translations': (len(self.rotations), count, 3),
        }
        for name, shape in shapes.items():
            values = check_shape(name, getattr(self, name), shape)
            object.__setattr__(self, name, read_only(values))

    @property
    def n_frames(self) -> int:
        """Return the number of frames."""
        return len(self.rotations)

    def is_tip(self, joint: int) -> bool:
        """Return whether the joint is the end of a last bone."""
        return self.joint_names[joint].endswith(TIP_SUFFIX)

    def children(self, joint: int) -> tuple[int, ...]:
        """Return the joints whose parent this is, in the order of the file."""
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
        """
        Return where `joint` is in the axes of `ancestor` with all rotations zero [m].

        Where one is not above the other the nearest common ancestor is passed through: at zero
        rotation all joints have the same axes.

        """
        return self._rest_position(joint) - self._rest_position(ancestor)

    def without_first(self, count: int) -> 'ClipFile':
        """Return the clip from frame `count` on."""
        return replace(
            self, rotations=self.rotations[count:], translations=self.translations[count:]
        )

    def scaled(self, factor: float) -> 'ClipFile':
        """Return the clip with all lengths multiplied."""
        if factor == 1.0:
            return self
        translations = frozen(factor * self.translations)
        return replace(self, offsets=factor * self.offsets, translations=translations)

    def thinned(self, max_frames: int) -> 'ClipFile':
        """Return evenly spaced frames of the clip, at most so many."""
        step = -(-self.n_frames // max_frames)
        return replace(
            self,
            rate_hz=self.rate_hz / step,
            rotations=self.rotations[::step],
            translations=self.translations[::step],
        )

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
