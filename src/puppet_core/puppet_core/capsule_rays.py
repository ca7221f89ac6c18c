# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where straight lines enter and leave capsules, many at a time (offline, in plain numpy)."""

from collections.abc import Sequence

import numpy as np
from puppet_core.arrays import Floats, Vec3, Vec3s
from puppet_core.capsule import Capsule


def crossings(
    origins: Vec3s, directions: Vec3s, capsules: Sequence[Capsule]
) -> tuple[Floats, Floats]:
    """
    Return where straight lines enter and leave capsules.

    Parameters
    ----------
    origins, directions : ndarray, shape (n, 3)
        Points and unit vectors in the capsules' frame; lines run both ways [m].
    capsules : sequence of Capsule
        All taken in the same frame, whatever their segments; m of them.

    Returns
    -------
    enter, leave : ndarray, shape (n, m)
        Signed lengths along the line [m]; inf and -inf where it misses the capsule.

    """
    shape = (len(origins), len(capsules))
    enter, leave = np.full(shape, np.inf), np.full(shape, -np.inf)
    for j, capsule in enumerate(capsules):
        bone = capsule.end - capsule.start
        length = float(np.linalg.norm(bone))
        # a capsule is convex: its interval is from the first entry to the last exit of its parts
        parts = [_ball_interval(origins - end, directions, capsule.radius)
                 for end in (capsule.start, capsule.end)]
        if length > 0.0:
            parts.append(
                _tube_interval(
                    origins - capsule.start, directions, bone / length, length, capsule.radius
                )
            )
        for part_enter, part_leave in parts:
            hit = part_enter <= part_leave
            enter[hit, j] = np.minimum(enter[hit, j], part_enter[hit])
            leave[hit, j] = np.maximum(leave[hit, j], part_leave[hit])
    return enter, leave


def _ball_interval(offsets: Vec3s, directions: Vec3s, radius: float) -> tuple[Floats, Floats]:
    """Return entry and exit (n,) of lines for a ball at the origin; entry > exit: a miss."""
    along = np.einsum('nk,nk->n', offsets, directions)
    square = radius * radius - (np.einsum('nk,nk->n', offsets, offsets) - along * along)
    half = np.where(square >= 0.0, np.sqrt(np.maximum(square, 0.0)), -np.inf)
    return -along - half, -along + half


def _tube_interval(
    offsets: Vec3s, directions: Vec3s, bone: Vec3, length: float, radius: float
) -> tuple[Floats, Floats]:
    """Return entry and exit (n,) of lines for a tube from the origin along the unit bone."""
    height, climb = offsets @ bone, directions @ bone
    across = offsets - height[:, np.newaxis] * bone
    drift = directions - climb[:, np.newaxis] * bone
    a = np.einsum('nk,nk->n', drift, drift)
    b = np.einsum('nk,nk->n', across, drift)
    c = np.einsum('nk,nk->n', across, across) - radius * radius
    slanted = a > 1e-16
    safe = np.where(slanted, a, 1.0)
    square = b * b - safe * c
    half = np.where(square >= 0.0, np.sqrt(np.maximum(square, 0.0)), -np.inf)
    # a line along the tube is inside for good, or never
    always = np.where(c <= 0.0, np.inf, -np.inf)
    side = (
        np.where(slanted, (-b - half) / safe, -always),
        np.where(slanted, (-b + half) / safe, always),
    )
    level = np.abs(climb) < 1e-16
    steep = np.where(level, 1.0, climb)
    within = np.where((height >= 0.0) & (height <= length), np.inf, -np.inf)
    floor = np.where(level, -within, np.minimum(-height / steep, (length - height) / steep))
    roof = np.where(level, within, np.maximum(-height / steep, (length - height) / steep))
    return np.maximum(side[0], floor), np.minimum(side[1], roof)
