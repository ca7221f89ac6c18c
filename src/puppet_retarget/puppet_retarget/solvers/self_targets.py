# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Range balls that keep a puppet's contacts with itself (kernel, Shin2002 5.3.1).

The performer's displacement from each sample point, put on the same point of the puppet, says
where the puppet's hand should be; the weighted mean over the points is the ball's centre. Of an
elbow or knee only the distance from the surface is kept, not the place on it: a long upper arm
hanging at the performer's side would otherwise be lifted until its elbow is at waist height. The
place of a hand counts the more the nearer it is to touching: one that swings past the hip keeps
its swing.

"""

import math
from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.quaternion import rotate
from puppet_core.work_array import work_array
from puppet_retarget.importance.contact_rows import (
    CONTACT_WIDTH,
    DISPLACEMENT,
    FIRST_CONTACT,
    MAX_CONTACTS,
    N_SAMPLES,
    SAMPLE,
    SELF_IMPORTANCE,
    SELF_PLACE,
    SHARE,
    WEIGHT,
)


class SelfBalls(NamedTuple):
    """The range balls of the eight general end-effectors."""

    centres: Vec3s  # (8, 3) in world [m]
    radii: Floats  # (8,) [m]
    importances: Floats  # (8,); 0: no ball


def empty_self_balls() -> SelfBalls:
    """Return no balls."""
    return SelfBalls(np.zeros((8, 3)), np.zeros(8), np.zeros(8))


@njit(cache=True)
def _reduce_sideways(centre: Vec3, point: Vec3, direction: Vec3, share: float) -> None:
    """Scale what of centre - point is square to a direction, in place."""
    square, along = 0.0, 0.0
    for k in range(3):
        square += direction[k] * direction[k]
        along += direction[k] * (centre[k] - point[k])
    for k in range(3):
        straight = along / square * direction[k] if square > 1e-12 else 0.0
        centre[k] = point[k] + straight + share * (centre[k] - point[k] - straight)


@njit(cache=True)
def self_ball(
    row: Floats, importance: float, samples: Floats, world_scale: float, q_world: Quats,
    p_world: Vec3s, point: Vec3, sideways: float, centre: Vec3,
) -> float:  # fmt: skip
    """
    Write the centre of a general end-effector's range ball; return its radius.

    Parameters
    ----------
    row : ndarray, shape (SELF_ROW,)
        What the performer's end-effector is near.
    importance : float
        How much that counts.
    samples : ndarray, shape (16, 3, 40)
        The puppet's sample points in its segments' frames [m].
    world_scale : float
        Size of the puppet's world over the performer's.
    q_world, p_world : ndarray, shapes (16, 4), (16, 3)
        The puppet's segments in world [m].
    point : ndarray, shape (3,)
        The puppet's end-effector with captured angles [m].
    sideways : float
        Share of the way along the surface that is kept; 0 for the distance alone.
    centre : ndarray, shape (3,)
        Out [m].

    Returns
    -------
    radius : float
        Radius [m]; -1 if there is nothing to keep: all weights are zero (SPEC 5.6).

    """
    place, shift, direction = work_array(3), work_array(3), work_array(3)
    for axis in range(3):
        shift[axis], direction[axis] = 0.0, 0.0
    total, nearest = 0.0, math.inf
    for i in range(MAX_CONTACTS):
        contact = row[FIRST_CONTACT + i * CONTACT_WIDTH: FIRST_CONTACT + (i + 1) * CONTACT_WIDTH]
        weight = contact[WEIGHT]
        if contact[SAMPLE] < 0.0 or weight <= 0.0:
            continue
        number = int(contact[SAMPLE])
        segment, k = number // N_SAMPLES, number % N_SAMPLES
        square = 0.0
        for axis in range(3):
            place[axis] = world_scale * contact[DISPLACEMENT + axis]
            square += place[axis] * place[axis]
        nearest = min(nearest, math.sqrt(square))
        rotate(q_world[segment], place, place)
        for axis in range(3):
            direction[axis] += weight * place[axis]
        for axis in range(3):
            place[axis] = world_scale * contact[DISPLACEMENT + axis] + samples[segment, axis, k]
        rotate(q_world[segment], place, place)
        # Shin2002 eq. 5.9: v' = share (v + p_k - p_e)
        for axis in range(3):
            gap = place[axis] + p_world[segment, axis] - point[axis]
            shift[axis] += weight * contact[SHARE] * gap
        total += weight
    if total <= 0.0:
        centre[:] = point
        return -1.0
    for axis in range(3):
        centre[axis] = point[axis] + shift[axis] / total
    _reduce_sideways(centre, point, direction, sideways)
    # eq. 5.6 as it must be read (SPEC 5.5)
    return (1.0 - importance) * nearest


@njit(cache=True)
def limb_self_balls(
    limb: int, held: float, rows: Floats, samples: Floats, world_scale: float, q_world: Quats,
    p_world: Vec3s, points: Vec3s, balls: SelfBalls,
) -> None:  # fmt: skip
    """
    Fill the balls of a limb's end-effector and of its elbow or knee; see `self_ball`.

    Legs pass each other closely at every step. Those of a foot that matters to the floor, by
    its importance `held`, have that much less to do with each other.

    """
    for j in (limb, limb + 4):
        w = rows[j, SELF_IMPORTANCE]
        if limb >= 2:
            w *= (1.0 - held) ** 4
        balls.importances[j] = 0.0
        if w > 0.0:
            place = rows[j, SELF_PLACE]
            sideways = place * place if j < 4 else 0.0
            radius = self_ball(
                rows[j], w, samples, world_scale, q_world, p_world, points[j], sideways,
                balls.centres[j],
            )  # fmt: skip
            if radius >= 0.0:
                balls.radii[j], balls.importances[j] = radius, w
