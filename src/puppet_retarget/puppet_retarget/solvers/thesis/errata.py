# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The printed errors of Shin2002 chapter 5 that can be corrected one by one; numbers: doc/papers.md.

Errors that no code can follow have no name here. Without importance a ball of eq. 5.2 is no ball
(errata 3), and without weights there is no ball of eq. 5.7 (errata 6). The elbow's range for a
hand is a shell as its text says (errata 7). The blend goes the short way round, because turns of
eqs. 5.11 and 5.13 are at most half a turn (errata 11). Errata 1, 13 and the smoothing of 12 are
in chapter 4: the package `importance`.
"""

from collections.abc import Collection
from typing import NamedTuple


class Errata(NamedTuple):
    """Which errors are corrected; as printed without."""

    own_height: bool = True
    """2: the root begins at a height of the puppet's own, not at the performer's root."""

    continuous_mean: bool = True
    """2: eq. 5.1 divides by at least one; printed it jumps as the last importance vanishes."""

    no_mean: bool = True
    """12: the root is only moved into reach, without the offset of eq. 5.1."""

    all_candidates: bool = True
    """4: all candidates count; printed, circles are not tried where spheres have a point."""

    growing_balls: bool = True
    """4: balls without a common point grow together; printed, some are discarded."""

    shrinking_ball: bool = True
    """5: the ball of eq. 5.6 shrinks with the importance; printed it grows."""

    many_points: bool = True
    """18: all near points count in eq. 5.7; printed, the three nearest ones, which change."""

    turn_axis: bool = True
    """8: eqs. 5.11 and 5.13 turn to the target; printed, away from it."""

    unit_directions: bool = True
    """14: the angle there is that of the directions; printed is one of vectors in metres."""


ERRATA = Errata._fields
AS_PRINTED = Errata(*(False,) * len(ERRATA))
ALL, NONE = 'all', 'none'  # parameter files of ROS know no empty list


def errata_of(names: Collection[str]) -> Errata:
    """Return which errors are corrected by the names of these; `all` stands for every one."""
    return Errata(*(ALL in names or name in names for name in ERRATA))
