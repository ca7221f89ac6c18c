# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Constraints that hold feet where they have to be: plants alone, or swings as well."""

from collections.abc import Sequence

import numpy as np
from puppet_core.skeleton import LIMB_SEGMENTS
from puppet_retarget.editing.constraints import (
    BodyPoint,
    Constraint,
    OnSurface,
    OrientationGoal,
    PointGoal,
    Surface,
)
from puppet_retarget.editing.foot_contacts import stretches
from puppet_retarget.editing.foot_goals import FootPoses


def foot_constraints(
    goals: FootPoses, swings: bool, frames: tuple[int, int] | None = None
) -> list[Constraint]:
    """
    Return a place and an orientation for each foot and stretch of frames.

    Parameters
    ----------
    goals : FootPoses
        Where the feet have to be, and when they stand.
    swings : bool
        Whether they have to be there when they do not stand, too.
    frames : tuple of int, optional
        First and last frame that counts; plants that reach out of them are cut.

    """
    n = len(goals.soles)
    first, last = frames or (0, n - 1)
    inside = np.zeros(n, dtype=bool)
    inside[first: last + 1] = True
    found: list[Constraint] = []
    for foot, segment in enumerate(LIMB_SEGMENTS[2:, 2].tolist()):
        planted = goals.planted[:, foot]
        for stands in (True, False) if swings else (True,):
            for begin, end in stretches((planted == stands) & inside):
                at = np.arange(begin, end)
                found += [
                    PointGoal(at, BodyPoint(segment), goals.soles[at, foot], contact=stands),
                    OrientationGoal(at, segment, goals.rotations[at, foot]),
                ]
    return found


def keep_beside(
    frames: Sequence[int], points: Sequence[BodyPoint], surface: Surface, side: str,
    clearance_m: float = 0.0,
) -> list[Constraint]:  # fmt: skip
    """Return the constraints that keep points on one side of a surface in some frames."""
    at = np.asarray(frames, dtype=np.int64)
    if not len(at):
        return []
    return [OnSurface(at, point, surface, side, clearance_m) for point in points]
