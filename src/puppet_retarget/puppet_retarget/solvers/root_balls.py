# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Balls in which the root reaches each limb's goal (kernel, Shin2002 eq. 5.2, SPEC 5.3).

They are softened before the root's smoothing, and hold the root after it.

"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Vec3, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.work_array import work_array
from puppet_retarget.solvers.ball_intersection import closest_in_balls
from puppet_retarget.solvers.puppet_model import PuppetModel, Tuning

SOFT_STEPS = 8  # radii over which the root is averaged [-]
RESERVE = 0.11  # of the softness: kept in reserve for what smoothing makes the root late [-]
HELD_POWER = 3  # importance to this power holds the smoothed root [-]
HELD_ROOM = 0.1  # of a limb's reach: least radius of the room that holds it [-]
HELD_SLACK = 0.05  # how much less than an unimportant ball a wholly important one gives way [-]
MIN_IMPORTANCE = 1e-6  # below it a ball is too large to constrain anything [-]


class LimbBalls(NamedTuple):
    """The balls in which the root reaches each limb's goal, and working space."""

    centres: Vec3s  # (4, 3) [m]
    radii: Floats  # (4,) [m]
    slacks: Floats  # (4,) growth of a radius per unit of relaxation
    strain: Floats  # (4,) how far captured angles miss the goal, in [0, 1)
    inner_centres: Vec3s  # (4, 3) of the smaller balls of the softening
    inner_radii: Floats  # (4,)
    grown_radii: Floats  # (4,)


def empty_balls() -> LimbBalls:
    """Return balls of zeros."""
    return LimbBalls(
        np.zeros((4, 3)), np.zeros(4), np.zeros(4), np.zeros(4), np.zeros((4, 3)), np.zeros(4),
        np.zeros(4),
    )  # fmt: skip


@kernel
def limb_balls(
    model: PuppetModel, tuning: Tuning, wrist_goals: Vec3s, importances: Floats,
    p_world: Vec3s, balls: LimbBalls,
) -> None:  # fmt: skip
    """
    Fill the balls in which the root brings each goal within its limb's reach (eq. 5.2).

    Parameters
    ----------
    model, tuning : PuppetModel, Tuning
        The puppet.
    wrist_goals : ndarray, shape (4, 3)
        Goals of wrists and ankles in world [m].
    importances : ndarray, shape (4,)
        w; below MIN_IMPORTANCE there is no constraint (SPEC 5.3).
    p_world : ndarray, shape (16, 3)
        Joints of the puppet, pelvis in row 0 [m].
    balls : LimbBalls
        Out: centres, radii and slacks; an important ball gives way least when they do not
        intersect.

    """
    for i in range(4):
        w = importances[i]
        reach = tuning.stretch_limit * (model.upper_lengths[i] + model.lower_lengths[i])
        if w > MIN_IMPORTANCE:
            balls.radii[i] = reach / w
            balls.slacks[i] = 1.0 / (w * w)
        else:
            balls.radii[i] = math.inf
            balls.slacks[i] = 1.0
    centre_balls(wrist_goals, p_world, balls)


@kernel
def centre_balls(wrist_goals: Vec3s, p_world: Vec3s, balls: LimbBalls) -> None:
    """Put each ball where the root is when its limb starts at the goal of wrist or ankle."""
    starts = (4, 7, 10, 13)
    for i in range(4):
        for k in range(3):
            balls.centres[i, k] = wrist_goals[i, k] - (p_world[starts[i], k] - p_world[0, k])


@kernel
def excess(balls: LimbBalls, root: Vec3) -> float:
    """Return how much the balls must grow to hold the root where it is; 0 if they do."""
    worst = 0.0
    for i in range(len(balls.radii)):
        square = 0.0
        for k in range(3):
            square += (root[k] - balls.centres[i, k]) ** 2
        worst = max(worst, (math.sqrt(square) - balls.radii[i]) / balls.slacks[i])
    return worst


@kernel
def soften(balls: LimbBalls, softness: float, root: Vec3) -> None:
    """
    Move the root to the mean of its nearest points in ever smaller balls.

    The nearest point in the balls themselves moves with a kink when the root comes to a
    ball's surface, and that kink is most of a puppet's added root jerk. Averaged over radii
    from r (1 - softness) to nearly r the kink becomes a bend. The smaller balls touch
    the full one from inside, straight above (or below) its centre, so that the pull sets in
    early for a wide stance and not at all for straight legs under the body. A limb without
    strain keeps its full ball.

    """
    nearest, mean = work_array(3), work_array(3)
    mean[0], mean[1], mean[2] = 0.0, 0.0, 0.0
    for step in range(SOFT_STEPS):
        level = ((step + 0.5) / SOFT_STEPS) ** 2.5  # mostly near the full balls
        for i in range(len(balls.radii)):
            radius = balls.radii[i]
            share = balls.strain[i] * softness * (RESERVE + (1.0 - RESERVE) * level)
            balls.inner_radii[i] = (1.0 - share) * radius
            for k in range(3):
                balls.inner_centres[i, k] = balls.centres[i, k]
            if radius < math.inf:
                lift = root[2] - balls.centres[i, 2]
                balls.inner_centres[i, 2] += share * min(max(lift, -radius), radius)
        closest_in_balls(
            root, balls.inner_centres, balls.inner_radii, balls.slacks, balls.grown_radii, nearest
        )
        for k in range(3):
            mean[k] += nearest[k] / SOFT_STEPS
    copy(mean, root)


@kernel
def hold_root(
    model: PuppetModel, tuning: Tuning, importances: Floats, balls: LimbBalls, root: Vec3
) -> None:
    """
    Move the smoothed root back to where it reaches what is wholly important.

    The balls grow as the importance to the HELD_POWER falls below one, so that only limbs that
    are all but planted hold the root. Where several of them leave the root little room, its
    rim moves at any speed as they close. They give way then, the least important first, until
    the room holds a ball of HELD_ROOM.

    Parameters
    ----------
    model, tuning : PuppetModel, Tuning
        The puppet.
    importances : ndarray, shape (4,)
        w.
    balls : LimbBalls
        In: centres; the radii and slacks are overwritten.
    root : ndarray, shape (3,)
        In and out [m].

    """
    for i in range(4):
        held = min(max(importances[i], 0.0), 1.0) ** HELD_POWER
        reach = tuning.stretch_limit * (model.upper_lengths[i] + model.lower_lengths[i])
        balls.radii[i] = reach / held if held > MIN_IMPORTANCE else math.inf
        balls.inner_radii[i] = balls.radii[i] - HELD_ROOM * reach
        balls.slacks[i] = 1.0 + HELD_SLACK - min(importances[i], 1.0)
    if excess(balls, root) <= 0.0:
        return
    nearest = work_array(3)
    growth = closest_in_balls(
        root, balls.centres, balls.inner_radii, balls.slacks, balls.grown_radii, nearest
    )
    for i in range(4):
        balls.radii[i] += growth * balls.slacks[i]
    closest_in_balls(root, balls.centres, balls.radii, balls.slacks, balls.grown_radii, root)
