# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Root position of the puppet from goals and importances (kernel, Shin2002 section 5.1)."""

import math

from puppet_core.arrays import Floats, Vec3, Vec3s
from puppet_core.follower import follow
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import rotate
from puppet_core.work_array import work_array
from puppet_retarget.solvers.ball_intersection import closest_in_balls
from puppet_retarget.solvers.puppet_model import (
    MEAN,
    MEAN_AS_PRINTED,
    PuppetModel,
    REFERENCE,
    Tuning,
)
from puppet_retarget.solvers.root_balls import excess, limb_balls, LimbBalls, soften

STRAIN_SHARE = 0.1  # of a limb's reach: goal displacement at which half the softness is there [-]


@kernel
def reference_root(
    model: PuppetModel, tuning: Tuning, performer_hips: Vec3, q_root: Floats, out: Vec3
) -> None:
    """
    Write the root that puts the puppet's hips where its own leg length wants them.

    The performer's hips are scaled horizontally with the world and vertically with the
    reference height ratio (SPEC 5.2), so that with captured angles the feet are near the
    floor when the performer's are, whether anything is important or not.

    """
    rotate(q_root, model.hip_centre, out)
    out[0] = tuning.world_scale * performer_hips[0] - out[0]
    out[1] = tuning.world_scale * performer_hips[1] - out[1]
    out[2] = tuning.root_ratio * performer_hips[2] - out[2]


@kernel
def mean_offset(
    goals: Vec3s, importances: Floats, positions: Vec3s, as_printed: bool, out: Vec3
) -> None:
    """
    Write the importance-weighted mean displacement of the end-effectors (eq. 5.1).

    As printed the mean of one barely important end-effector moves the root as far as that of
    a planted one, and jumps to zero when nothing is important. The continuous form divides
    by no less than one, so that a vanishing importance moves nothing (SPEC 5.2).

    """
    total = 0.0
    out[0], out[1], out[2] = 0.0, 0.0, 0.0
    for i in range(4):
        total += importances[i]
        for k in range(3):
            out[k] += importances[i] * (goals[i, k] - positions[i, k])
    if total > 0.0:
        share = total if as_printed else max(total, 1.0)
        for k in range(3):
            out[k] /= share


@kernel
def place_root(
    model: PuppetModel, tuning: Tuning, goals: Vec3s, wrist_goals: Vec3s, importances: Floats,
    positions: Vec3s, p_world: Vec3s, balls: LimbBalls, root: Vec3,
) -> float:  # fmt: skip
    """
    Move the reference root to where it reaches the important goals.

    Mean offset if so tuned, then the softened nearest point in the balls. The form `reference`
    does not move it at all, which leaves all of the work to the body solver.

    Parameters
    ----------
    model, tuning : PuppetModel, Tuning
        The puppet.
    goals, wrist_goals : ndarray, shape (4, 3)
        Goals of end-effectors, and of wrists and ankles [m].
    importances : ndarray, shape (4,)
        w.
    positions, p_world : ndarray, shapes (8, 3), (16, 3)
        End-effectors and joints of the puppet at the reference root [m].
    balls : LimbBalls
        Out.
    root : ndarray, shape (3,)
        In: the reference root; out: the estimate [m].

    Returns
    -------
    relaxation : float
        0 if the root alone brings all goals within reach.

    """
    if tuning.root_form == MEAN or tuning.root_form == MEAN_AS_PRINTED:
        offset = work_array(3)
        mean_offset(goals, importances, positions, tuning.root_form == MEAN_AS_PRINTED, offset)
        for k in range(3):
            root[k] += offset[k]
    limb_balls(model, tuning, wrist_goals, importances, p_world, balls)
    if tuning.root_form == REFERENCE:
        return excess(balls, root)
    nearest = work_array(3)
    relaxation = closest_in_balls(
        root, balls.centres, balls.radii, balls.slacks, balls.grown_radii, nearest
    )
    if relaxation > 0.0:  # one point is left, and nothing to soften
        copy(nearest, root)
        return relaxation
    most = 0.0
    for i in range(4):
        reach = model.upper_lengths[i] + model.lower_lengths[i]
        balls.strain[i] = strain(goals[i], positions[i], reach)
        most = max(most, balls.strain[i])
    if most * tuning.root_softness > 0.0:
        soften(balls, tuning.root_softness, root)
    return closest_in_balls(
        root, balls.centres, balls.radii, balls.slacks, balls.grown_radii, root
    )


@kernel
def smooth_root(
    tuning: Tuning, captured_root: Vec3, follower: Floats, dt: float, root: Vec3
) -> None:
    """
    Smooth in time what is added to the performer's root (carried over with the world scale).

    Only the difference is smoothed, so a puppet of the performer's size has no delay at all.

    """
    for k in range(3):
        carried = tuning.world_scale * captured_root[k]
        if dt < math.inf:
            added = follow(follower[k], root[k] - carried, tuning.root_smoothing, dt)
            root[k] = carried + added
        else:
            follower[k, 0], follower[k, 1] = root[k] - carried, 0.0


@kernel
def strain(goal: Vec3, position: Vec3, reach: float) -> float:
    """
    Return in [0, 1) how far a goal is from where captured angles bring the end-effector.

    A puppet that is built like its performer has no strain anywhere, and keeps its posture.

    """
    square = 0.0
    for k in range(3):
        square += (goal[k] - position[k]) ** 2
    return square / (square + (STRAIN_SHARE * reach) ** 2)
