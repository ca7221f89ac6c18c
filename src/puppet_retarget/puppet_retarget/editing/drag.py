# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Direct manipulation: one point of the body dragged at one frame (LeeShin1999 section 4.4).

The change spreads over the frames around: seven knots of the first level, so its spacing says
how far.

"""

from collections.abc import Sequence

import numpy as np
from puppet_core.arrays import Vec3
from puppet_core.errors import ConfigError
from puppet_core.posture import Motion
from puppet_retarget.editing.constraints import BodyPoint, Constraint, PointGoal
from puppet_retarget.editing.edit_config import EditConfig

KNOTS_REACHED = 7  # of the coarsest level, by one constraint (LeeShin1999 section 6)


def point_of(motion: Motion, frame: int, point: BodyPoint) -> Vec3:
    """Return where a point of the body is in a frame, shape (3,) [m]."""
    posture = Motion.from_rotations(
        motion.skeleton, motion.rate_hz,
        motion.root_positions[frame][None], motion.rotations[frame][None],
    )  # fmt: skip
    q_world, p_world = posture.world_segments()
    offset = point.offset_in(motion.skeleton)
    from_joint = np.asarray(offset, dtype=np.float64)
    w, axis = q_world[0, point.segment, 0], q_world[0, point.segment, 1:]
    twice = 2.0 * np.cross(axis, from_joint)
    turned = from_joint + w * twice + np.cross(axis, twice)
    return np.asarray(p_world[0, point.segment] + turned)


def drag_constraints(
    motion: Motion, frame: int, point: BodyPoint, place: Vec3, held: Sequence[BodyPoint] = ()
) -> list[Constraint]:
    """
    Return what a drag means: the point there, and others where they are, in that one frame.

    Raises
    ------
    ConfigError : if the motion has no such frame.

    """
    if not 0 <= frame < motion.n_frames:
        raise ConfigError(f'frame: expected 0 .. {motion.n_frames - 1}, got {frame}')
    at = np.array([frame])
    found: list[Constraint] = [PointGoal(at, point, np.asarray(place, dtype=np.float64))]
    found += [
        PointGoal(at, other, point_of(motion, frame, other), keep_orientation=True)
        for other in held
        if other != point
    ]
    return found


def drag_config(reach_s: float, rate_hz: float, levels: int = 4) -> EditConfig:
    """Return options with which a drag reaches about so far to both sides [s]."""
    if not reach_s > 0.0:
        raise ConfigError(f'reach_s: expected > 0, got {reach_s:g}')
    spacing = 2.0 * reach_s * rate_hz / KNOTS_REACHED
    return EditConfig(levels=levels, frames_per_knot=max(spacing, 0.5))
