# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Bodies that change over a motion: lengths of one character, then of others, smoothly.

A Motion has one skeleton, so a morph is angles and root positions with a body for each frame.
The joint angles are kept, the root's height goes with the legs, and the plants of the feet are
held by the editor, so that the stride stays what it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from puppet_core.body import Motion, N_SEGMENTS, PARENTS, SEGMENT_INDEX, Skeleton
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as qb
from puppet_core.math import Quats, Vec3s
from puppet_core.procedural import smooth_step
from puppet_edit.editor import Bodies


@dataclass(frozen=True, slots=True)
class MorphedMotion:
    """A motion whose body changes from frame to frame."""

    motion: Motion  # Angles and root positions; its own skeleton is the first frame's
    bodies: Bodies  # The lengths of each frame

    def skeleton(self, frame: int) -> Skeleton:
        """Return the body of one frame."""
        return Skeleton(self.bodies.offsets[frame], self.bodies.interaction_points[frame])

    def world_segments(self) -> tuple[Quats, Vec3s]:
        """Return orientations (n, 16, 4) and joint positions (n, 16, 3) in world."""
        return morphed_segments(self.motion, self.bodies)


def morphed_segments(motion: Motion, bodies: Bodies) -> tuple[Quats, Vec3s]:
    """Return forward kinematics with the body of each frame: (n, 16, 4) and (n, 16, 3) [m]."""
    q_world = np.array(motion.rotations)
    p_world = np.empty((motion.n_frames, N_SEGMENTS, 3))
    p_world[:, 0] = motion.root_positions
    for segment in range(1, N_SEGMENTS):
        parent = PARENTS[segment]
        q_world[:, segment] = qb.multiply(q_world[:, parent], motion.rotations[:, segment])
        offset = qb.rotate(q_world[:, parent], bodies.offsets[:, segment])
        p_world[:, segment] = p_world[:, parent] + offset
    return q_world, p_world


def proportioned(skeleton: Skeleton, legs: float, trunk: float, arms: float = 1.0) -> Skeleton:
    """
    Return a body with other lengths of legs, trunk and arms.

    Factors of the segments' lengths; hips and shoulders keep their width, hands and feet their
    size.
    """
    offsets = np.array(skeleton.offsets)
    for side in ('left', 'right'):
        for factor, names in ((legs, ('shank', 'foot')), (arms, ('forearm', 'hand'))):
            for name in names:
                offsets[SEGMENT_INDEX[f'{side}_{name}']] *= factor
        offsets[SEGMENT_INDEX[f'{side}_upper_arm'], 2] *= trunk
    for name in ('spine', 'chest', 'head'):
        offsets[SEGMENT_INDEX[name]] *= trunk
    return Skeleton(offsets, skeleton.interaction_points)


def bodies_between(skeletons: Sequence[Skeleton], frames: Sequence[int], n_frames: int) -> Bodies:
    """
    Return the bodies of a morph through some skeletons.

    Parameters
    ----------
    skeletons : sequence of Skeleton
        At least one.
    frames : sequence of int
        When the body is each of them; between them lengths follow a smooth step.
    n_frames : int
        Of the motion.

    """
    if not skeletons or len(skeletons) != len(frames) or list(frames) != sorted(set(frames)):
        raise ConfigError(
            f'morph: expected a rising frame for each body, got {len(skeletons)} bodies and '
            f'{list(frames)}'
        )
    t = np.arange(n_frames, dtype=np.float64)
    shares = [smooth_step((t - first) / (last - first)) for first, last in zip(frames, frames[1:])]
    fields = []
    for rows in ([s.offsets for s in skeletons], [s.interaction_points for s in skeletons]):
        values = np.tile(rows[0], (n_frames, 1, 1))
        for share, before, after in zip(shares, rows, rows[1:]):
            values = values + share[:, None, None] * (after - before)
        fields.append(values)
    return Bodies(*fields)


def morphed(motion: Motion, bodies: Bodies) -> MorphedMotion:
    """
    Return a motion's angles on changing bodies, its root as high as their legs are long.

    Horizontally the root stays where it is: the stride is to stay.
    """
    legs = np.array(
        [
            Skeleton(offsets, points).leg_length
            for offsets, points in zip(bodies.offsets, bodies.interaction_points)
        ]
    )
    roots = np.array(motion.root_positions)
    roots[:, 2] *= legs / motion.skeleton.leg_length
    first = Skeleton(bodies.offsets[0], bodies.interaction_points[0])
    moved = Motion.from_rotations(first, motion.rate_hz, roots, motion.rotations)
    return MorphedMotion(moved, bodies)
