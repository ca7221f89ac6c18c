# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Body posture computation, second step of a frame (kernels, Shin2002 5.2).

Only where a goal is out of reach from the estimated root. The objective is minimised over the
root's position and the orientations of pelvis, spine and chest, from the captured ones, by
conjugate gradients. A rigid torso (n = 1) is one segment: the chest keeps its rotation on the
spine.

Derivatives are by increments: the root moves by v, and each segment turns, with all that it
carries, about its joint by a rotation vector in world. A shoulder at an arm a_j from joint j moves
by v + sum_j w_j x a_j, and no chart of rotations is differentiated.
"""

from typing import NamedTuple

from puppet_core.math import Floats, kernel, Quats, Vec3s, work_array
from puppet_core.math.values import (
    add,
    conjugate,
    cross,
    dot,
    exp,
    log,
    multiply,
    norm,
    Quat,
    quat,
    rotate,
    rotate_inverse,
    scale,
    sub,
    Vec3,
    vec3,
)
from puppet_retarget.solvers.thesis.puppet import (
    CARRIED_BY,
    Goals,
    Pose,
    Puppet,
    REACH_TOL_M,
    Settings,
    STARTS,
)
from puppet_retarget.solvers.thesis.root import reach_over_importance

HALVINGS = 30  # of a step, until the objective falls
ZERO = (0.0, 0.0, 0.0)


class Trunk(NamedTuple):
    """The unknowns."""

    root: Vec3  # [m]
    pelvis: Quat  # in world
    spine: Quat  # on the pelvis
    chest: Quat  # on the spine


class Increment(NamedTuple):
    """A gradient, or a direction: movement of the root, turns of the segments in world."""

    root: Vec3
    pelvis: Vec3
    spine: Vec3
    chest: Vec3


class Task(NamedTuple):
    """What the body is to reach, and from where."""

    captured: Trunk
    offsets: Vec3s  # (16, 3) of the puppet [m]
    wrists: Vec3s  # (4, 3) goals [m]
    radii: Floats  # (4,) reach over importance, infinity is no goal [m]
    weights: tuple[float, float, float]  # alpha, beta, gamma
    bends_chest: bool  # n = 2


class Placed(NamedTuple):
    """Where a trunk has its segments."""

    pelvis: Quat  # in world, as those below
    spine: Quat
    chest: Quat
    p_spine: Vec3
    p_chest: Vec3


@kernel
def trunk_of(root: Floats, rotations: Quats) -> Trunk:
    """Return root and rotations of the first three joints as unknowns."""
    return Trunk(vec3(root), quat(rotations[0]), quat(rotations[1]), quat(rotations[2]))


@kernel
def place(task: Task, trunk: Trunk) -> Placed:
    """Return the segments in world."""
    spine = multiply(trunk.pelvis, trunk.spine)
    p_spine = add(trunk.root, rotate(trunk.pelvis, task.offsets[1]))
    p_chest = add(p_spine, rotate(spine, task.offsets[2]))
    return Placed(trunk.pelvis, spine, multiply(spine, trunk.chest), p_spine, p_chest)


@kernel
def _shoulder(task: Task, trunk: Trunk, placed: Placed, limb: int) -> Vec3:
    """Return where a limb begins [m]."""
    offset = task.offsets[STARTS[limb]]
    if CARRIED_BY[limb] == 0:
        return add(trunk.root, rotate(placed.pelvis, offset))
    return add(placed.p_chest, rotate(placed.chest, offset))


@kernel
def energy(task: Task, trunk: Trunk) -> float:
    """Return the objective."""
    alpha, beta, gamma = task.weights
    captured = task.captured
    # Shin2002 eq. 5.5
    moved = sub(trunk.root, captured.root)
    pelvis = _turn(captured.pelvis, trunk.pelvis)
    spine, chest = _turn(captured.spine, trunk.spine), _turn(captured.chest, trunk.chest)
    posture = beta * (dot(pelvis, pelvis) + dot(spine, spine) + dot(chest, chest))
    posture += gamma * dot(moved, moved)
    placed, goals = place(task, trunk), 0.0
    for i in range(4):
        beyond = norm(sub(_shoulder(task, trunk, placed, i), task.wrists[i])) - task.radii[i]
        # Shin2002 eq. 5.4 with the radius of eq. 5.2
        goals += beyond * beyond if beyond > 0.0 else 0.0
    # Shin2002 eq. 5.3
    return goals + alpha * posture


@kernel
def _turn(captured: Quat, q: Quat) -> Vec3:
    """Return the rotation vector from a captured rotation, in the segment's frame [rad]."""
    return log(multiply(conjugate(captured), q))


@kernel
def gradient(task: Task, trunk: Trunk) -> Increment:
    """Return the derivatives of the objective by increments."""
    alpha, beta, gamma = task.weights
    captured, placed = task.captured, place(task, trunk)
    root = scale(sub(trunk.root, captured.root), 2.0 * alpha * gamma)
    weight = 2.0 * alpha * beta
    # a geodesic distance grows along the turn
    pelvis = scale(rotate(placed.pelvis, _turn(captured.pelvis, trunk.pelvis)), weight)
    spine = scale(rotate(placed.spine, _turn(captured.spine, trunk.spine)), weight)
    chest = scale(rotate(placed.chest, _turn(captured.chest, trunk.chest)), weight)
    for i in range(4):
        shoulder = _shoulder(task, trunk, placed, i)
        way = sub(shoulder, task.wrists[i])
        distance = norm(way)
        if distance <= task.radii[i]:
            continue
        pull = scale(way, 2.0 * (distance - task.radii[i]) / distance)
        root = add(root, pull)
        pelvis = add(pelvis, cross(sub(shoulder, trunk.root), pull))
        if CARRIED_BY[i] > 0:
            spine = add(spine, cross(sub(shoulder, placed.p_spine), pull))
            chest = add(chest, cross(sub(shoulder, placed.p_chest), pull))
    return Increment(root, pelvis, spine, chest if task.bends_chest else ZERO)


@kernel
def _curvature(task: Task, trunk: Trunk, way: Increment) -> float:
    """Return the second derivative along a direction, as if shoulders moved straight on."""
    alpha, beta, gamma = task.weights
    turns = dot(way.pelvis, way.pelvis) + dot(way.spine, way.spine) + dot(way.chest, way.chest)
    total = 2.0 * alpha * (beta * turns + gamma * dot(way.root, way.root))
    placed = place(task, trunk)
    for i in range(4):
        shoulder = _shoulder(task, trunk, placed, i)
        away = sub(shoulder, task.wrists[i])
        distance = norm(away)
        if distance <= task.radii[i]:
            continue
        speed = add(way.root, cross(way.pelvis, sub(shoulder, trunk.root)))
        if CARRIED_BY[i] > 0:
            speed = add(speed, cross(way.spine, sub(shoulder, placed.p_spine)))
            speed = add(speed, cross(way.chest, sub(shoulder, placed.p_chest)))
        along, share = dot(away, speed) / distance, task.radii[i] / distance
        total += 2.0 * ((1.0 - share) * dot(speed, speed) + share * along * along)
    return total


@kernel
def moved(task: Task, trunk: Trunk, way: Increment, step: float) -> Trunk:
    """Return a trunk after a step along a direction."""
    placed = place(task, trunk)
    pelvis, spine = scale(way.pelvis, step), scale(way.spine, step)
    chest = scale(way.chest, step)
    return Trunk(
        add(trunk.root, scale(way.root, step)),
        multiply(trunk.pelvis, exp(rotate_inverse(placed.pelvis, pelvis))),
        multiply(trunk.spine, exp(rotate_inverse(placed.spine, spine))),
        multiply(trunk.chest, exp(rotate_inverse(placed.chest, chest))),
    )


@kernel
def product(a: Increment, b: Increment) -> float:
    """Return the scalar product."""
    turns = dot(a.pelvis, b.pelvis) + dot(a.spine, b.spine) + dot(a.chest, b.chest)
    return dot(a.root, b.root) + turns


@kernel
def _combined(a: Increment, share: float, b: Increment) -> Increment:
    """Return share a - b."""
    return Increment(
        sub(scale(a.root, share), b.root),
        sub(scale(a.pelvis, share), b.pelvis),
        sub(scale(a.spine, share), b.spine),
        sub(scale(a.chest, share), b.chest),
    )


@kernel
def minimise(task: Task, max_iterations: int, least_fall: float) -> tuple[Trunk, int]:
    """
    Return the minimum of the objective, from the captured trunk, and the iterations (eq. 5.3).

    Conjugate gradients of Polak and Ribiere; each step is that of the curvature along it, halved
    until the objective falls. They end where an iteration lowers it by less than a share.
    """
    trunk, now = task.captured, energy(task, task.captured)
    way = before = Increment(ZERO, ZERO, ZERO, ZERO)
    for iteration in range(max_iterations):
        slope = gradient(task, trunk)
        square, share = product(before, before), 0.0
        if square > 0.0:
            share = max((product(slope, slope) - product(slope, before)) / square, 0.0)
        way = _combined(way, share, slope)
        if product(way, slope) >= 0.0:
            way = _combined(way, 0.0, slope)
        descent = product(way, slope)
        if descent == 0.0:
            return trunk, iteration
        step, found, trial = -descent / _curvature(task, trunk, way), now, trunk
        for _ in range(HALVINGS):
            trial = moved(task, trunk, way, step)
            found = energy(task, trial)
            if found < now:
                break
            step *= 0.5
        if found >= now:
            return trunk, iteration
        is_lowest = now - found < least_fall * now
        trunk, now, before = trial, found, slope
        if is_lowest:
            return trunk, iteration + 1
    return trunk, max_iterations


@kernel
def is_reached(puppet: Puppet, goals: Goals, pose: Pose) -> bool:
    """Return whether a pose brings all its goals within reach of the limbs."""
    for i in range(4):
        radius = reach_over_importance(puppet, i, goals.importances[i])
        if norm(sub(pose.p[STARTS[i]], goals.wrists[i])) > radius + REACH_TOL_M:
            return False
    return True


@kernel
def bend_body(puppet: Puppet, settings: Settings, goals: Goals, pose: Pose) -> tuple[Trunk, int]:
    """Return the trunk of a pose, bent towards goals out of reach, and the iterations."""
    radii = work_array(4)
    for i in range(4):
        radii[i] = reach_over_importance(puppet, i, goals.importances[i])
    task = Task(
        trunk_of(pose.root, pose.rotations),
        puppet.offsets,
        goals.wrists,
        radii,
        (settings.alpha, settings.beta, settings.gamma),
        settings.torso_segments == 2,
    )
    return minimise(task, settings.max_iterations, settings.least_fall)
