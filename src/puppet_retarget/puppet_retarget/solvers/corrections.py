# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Corrections as states: what a frame adds to the captured limbs changes no faster than a body moves.

A correction is the turn between a joint rotation that captured motion and environment ask for and
the one that the own body makes of it. Whatever that is, the turn follows critically damped and at
a bounded rate (`follow_turn`). Then ends that hold on to the environment are taken back to where
they were to be (`follow_limbs`): their elbows and knees ease, a planted foot does not. (Kernels.)
"""

import math

from puppet_core.math import copy, exp, Floats, kernel, log, norm, scale, sub
from puppet_core.math.values import (
    align_sign,
    angle_between,
    conjugate,
    IDENTITY,
    multiply,
    normalize,
    Quat,
    quat,
    QuatLike,
    rotate,
    slerp,
    Vec3,
    vec3,
)
from puppet_retarget.solvers.limbs import bend_limb, circle_point, STARTS, turn_limb
from puppet_retarget.solvers.root import MIN_IMPORTANCE
from puppet_retarget.solvers.state import Frame, Goals, limb_at, PuppetModel, update_kinematics

MAX_RATE_RAD_S = 12.0  # a joint seems to whip from some 17 on
BANDWIDTH = 60.0  # of what follows [1/s]
END_POWER = 12  # importance to this power takes an end back to the environment [-]
NOTHING_RAD = 1e-7
TURN_SIZE = 7  # of a joint's state: turn (quaternion), its rate [rad/s]


@kernel
def at_most(vector: Vec3, size: float) -> Vec3:
    """Return a vector, shortened to a size if it is longer."""
    return scale(vector, size / norm(vector)) if norm(vector) > size else vector


@kernel
def follow_turn(state: Floats, target: QuatLike, bandwidth: float, dt: float) -> Quat:
    """
    Return the turn that follows a target, critically damped; an infinite time takes it there.

    The state, shape (TURN_SIZE,), is that of the frame before, and then of this one.
    """
    turn = quat(state)
    if not dt < math.inf:
        copy(target, state[:4])
        state[4:] = 0.0
        return quat(target)
    missing = log(multiply(align_sign(turn, target), conjugate(turn)))
    rate = vec3(state[4:7])
    # critically damped towards a target that rests, exactly, whatever the time
    left, pull = math.exp(-bandwidth * dt), sub(rate, scale(missing, bandwidth))
    way = sub(missing, scale(sub(missing, scale(pull, dt)), left))
    rate = scale(sub(rate, scale(pull, bandwidth * dt)), left)
    way, rate = at_most(way, MAX_RATE_RAD_S * dt), at_most(rate, MAX_RATE_RAD_S)
    turn = normalize(multiply(exp(way), turn))
    copy(turn, state[:4])
    copy(rate, state[4:7])
    return turn


@kernel
def follow_limbs(model: PuppetModel, goals: Goals, dt: float, frame: Frame) -> None:
    """
    Let the limbs go where the steps before want them no faster than they may.

    The frame holds the joint rotations wanted and those without the own body. Limbs whose
    ends hold on are solved anew from these, turned about their lines to where elbows have come.
    """
    moves = False
    for segment in range(STARTS[0], 16):
        own, state = quat(frame.free_rotations[segment]), frame.corrections[segment]
        wanted = multiply(frame.rotations[segment], conjugate(own))
        turn = follow_turn(state, wanted, BANDWIDTH, dt)
        if angle_between(turn, IDENTITY) + norm(state[4:]) < NOTHING_RAD:
            continue  # exactly as it is
        copy(multiply(turn, own), frame.rotations[segment])
        moves = True
    if not moves:
        return
    update_kinematics(model, frame)
    for limb in range(4):
        held = goals.importances[limb] ** END_POWER
        if held > MIN_IMPORTANCE:
            q_end = frame.q_world[STARTS[limb] + 2]
            free = limb_at(model, frame, limb, frame.free_rotations, q_end)
            goal = sub(frame.free_ends[limb], rotate(q_end, model.interaction_points[limb]))
            current = norm(sub(free.wrist, free.shoulder))
            elbow, wrist = bend_limb(free, goal, current)
            elbow = circle_point(free.shoulder, elbow, wrist, frame.p_world[STARTS[limb] + 1])
            joints = turn_limb(free, elbow, wrist, 1.0)
            for i in range(3):
                own = frame.rotations[STARTS[limb] + i]
                copy(slerp(quat(own), joints[i], held), own)
    update_kinematics(model, frame)
