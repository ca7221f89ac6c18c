# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint rotations of one limb from its goal, and their blend (kernel, Shin2002 5.3.3).

Shoulder and elbow turn by the least rotation that takes the captured segment direction to
the solved one (eqs. 5.11-5.13); the wrist keeps the captured orientation of the hand in
world; every joint is then blended with its captured rotation by importance (eq. 5.14).

"""

import numpy as np
from puppet_core.arrays import Quat, Quats, Vec3, Vec3s
from puppet_core.kernel import kernel
from puppet_core.quaternion import between, conjugate, multiply, rotate, slerp
from puppet_core.work_array import work_array
from puppet_retarget.solvers.limb_position import place_elbow

# where a straight limb bends to, in its upper segment's frame: knees forward, elbows back
_KNEE_HINT = np.array([1.0, 0.0, 0.0])
_ELBOW_HINT = np.array([-1.0, 0.0, 0.0])


@kernel
def bend_hint(limb: int, q_upper: Quat, out: Vec3) -> None:
    """Write the world direction to which a straight elbow or knee moves when it bends."""
    rotate(q_upper, _ELBOW_HINT if limb < 2 else _KNEE_HINT, out)


@kernel
def solve_limb(
    limb: int, q_parent: Quat, shoulder: Vec3, captured: Quats, q_end: Quat, offsets: Vec3s,
    upper: float, lower: float, goal: Vec3, current: float, weight: float, out: Quats,
) -> None:  # fmt: skip
    """
    Write the three joint rotations of a limb.

    Parameters
    ----------
    limb : int
        Index into LIMBS.
    q_parent : ndarray, shape (4,)
        Chest or pelvis in world.
    shoulder : ndarray, shape (3,)
        Shoulder or hip in world [m].
    captured : ndarray, shape (3, 4)
        Captured rotations of shoulder, elbow and wrist, each relative to its parent.
    q_end : ndarray, shape (4,)
        Orientation of the hand in world to keep.
    offsets : ndarray, shape (2, 3)
        Elbow in the upper segment's frame, wrist in the lower segment's [m].
    upper, lower : float
        Lengths of `offsets` [m].
    goal : ndarray, shape (3,)
        Where the wrist should be in world [m].
    current : float
        A distance of the wrist to be reached exactly; see `soft_reach` [m].
    weight : float
        Share of the solved rotations in the blend; 0 gives the captured ones exactly.
    out : ndarray, shape (3, 4)
        The rotations; may be `captured` itself.

    """
    q_upper, q_lower, hint = work_array(4), work_array(4), work_array(3)
    elbow, wrist = work_array(3), work_array(3)
    multiply(q_parent, captured[0], q_upper)
    rotate(q_upper, offsets[0], elbow)
    multiply(q_upper, captured[1], q_lower)
    rotate(q_lower, offsets[1], wrist)
    for k in range(3):
        elbow[k] += shoulder[k]
        wrist[k] += elbow[k]
    bend_hint(limb, q_upper, hint)
    place_elbow(shoulder, elbow, wrist, upper, lower, goal, current, hint)
    turn_limb(q_parent, shoulder, captured, q_end, offsets, elbow, wrist, weight, weight, out)


@kernel
def turn_limb(
    q_parent: Quat, shoulder: Vec3, captured: Quats, q_end: Quat, offsets: Vec3s, elbow: Vec3,
    wrist: Vec3, weight: float, end_weight: float, out: Quats,
) -> None:  # fmt: skip
    """
    Write the joint rotations of a limb whose elbow and wrist should be at given places.

    Parameters
    ----------
    q_parent, shoulder, captured, q_end, offsets, out
        As for `solve_limb`.
    elbow, wrist : ndarray, shape (3,)
        The places, the segments' lengths apart [m].
    weight, end_weight : float
        Shares of the solved rotations in the blend at the shoulder, and at the elbow; the
        wrist keeps the hand's orientation by the first.

    """
    q_upper, q_lower, turn = work_array(4), work_array(4), work_array(4)
    before, after = work_array(3), work_array(3)
    multiply(q_parent, captured[0], q_upper)
    rotate(q_upper, offsets[0], before)
    for k in range(3):
        after[k] = elbow[k] - shoulder[k]
    between(before, after, turn)  # eq. 5.11
    multiply(turn, q_upper, q_upper)  # eq. 5.12

    multiply(q_upper, captured[1], q_lower)
    rotate(q_lower, offsets[1], before)
    for k in range(3):
        after[k] = wrist[k] - elbow[k]
    between(before, after, turn)  # eq. 5.13
    multiply(turn, q_lower, q_lower)

    blend_joint(q_upper, q_lower, captured[1], end_weight, turn, out[1])
    blend_joint(q_parent, q_upper, captured[0], weight, turn, out[0])
    # the blended forearm's, not the solved one's: the hand keeps its orientation all the way
    multiply(q_parent, out[0], q_lower)
    multiply(q_lower, out[1], q_lower)
    blend_joint(q_lower, q_end, captured[2], weight, turn, out[2])


@kernel
def blend_joint(
    q_parent: Quat, q_child: Quat, captured: Quat, weight: float, work: Quat, out: Quat
) -> None:
    """Write the joint rotation between the captured one and the solved one (eq. 5.14)."""
    conjugate(q_parent, work)
    multiply(work, q_child, work)
    slerp(captured, work, weight, out)
