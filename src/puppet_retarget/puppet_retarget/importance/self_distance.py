# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Importance of every pair of general end-effector and segment of one body (kernel, Shin2002 4.2).

The thesis takes the distance to the nearest of forty points of a segment. Between the points
of a chest a touching palm is 8 cm from the nearest, so unless told otherwise the distance is
that to the surface, and the points only say where on it.

"""

import math

import numpy as np
from puppet_core.arrays import Floats, Quats, read_only, Vec3, Vec3s
from puppet_core.body_shape_kernels import segment_distance
from puppet_core.follower import follow
from puppet_core.kernel import kernel
from puppet_core.quaternion import multiply, rotate, rotate_inverse
from puppet_core.self_contact import CONSIDERED
from puppet_core.skeleton import LIMB_SEGMENTS, PARENTS
from puppet_core.work_array import work_array
from puppet_retarget.importance.body_arrays import BodyArrays
from puppet_retarget.importance.importance_function import CONTACT_EXCESS, importance, saturate

IMPORTANCE, DISTANCE, RATE = 0, 1, 2
PAIR_COLUMNS = 3
MAX_APPROACH_M_S = 4.0  # the prediction looks no farther
PLACE_REACH = 2.0  # D of where on a surface a palm or sole is, over that of how far off [-]
VANISHED = 1e-9  # importance at which a pair is forgotten [-]
_PARENTS = tuple(int(p) for p in PARENTS)


def _relevant() -> np.ndarray:
    """Return which segments count for which end-effector, shape (8, 16)."""
    table = np.array(CONSIDERED)
    # what an arm does on a leg is the arm's interaction: solvers pose the legs first
    for leg in (2, 3, 6, 7):
        table[leg, LIMB_SEGMENTS[:2].ravel()] = False
    return read_only(table, np.bool_)


RELEVANT = _relevant()


@kernel
def nearest_sample(samples: Floats, local: Vec3) -> float:
    """Return the distance of a point from the nearest of samples (3, 40), one frame [m]."""
    best = math.inf
    for k in range(samples.shape[1]):
        dx, dy, dz = samples[0, k] - local[0], samples[1, k] - local[1], samples[2, k] - local[2]
        best = min(best, dx * dx + dy * dy + dz * dz)
    return math.sqrt(best)


@kernel
def world_orientations(rotations: Quats, q_world: Quats) -> None:
    """Fill the orientation of every segment in world from the joint rotations, (16, 4) each."""
    for k in range(4):
        q_world[0, k] = rotations[0, k]
    for segment in range(1, len(rotations)):
        multiply(q_world[_PARENTS[segment]], rotations[segment], q_world[segment])


@kernel
def _relative_velocity(
    point: Vec3, velocity: Vec3, local: Vec3, q_before: Floats, p_before: Vec3, dt: float,
    out: Vec3,
) -> float:  # fmt: skip
    """Write how a point moves beside a segment, in world [m/s]; return how fast."""
    if dt <= 0.0 or dt == math.inf:
        out[0], out[1], out[2] = 0.0, 0.0, 0.0
        return 0.0
    # where the segment carried this place one step ago
    rotate(q_before, local, out)
    for k in range(3):
        out[k] = velocity[k] - (point[k] - out[k] - p_before[k]) / dt
    return math.sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2])


@kernel
def estimate_self_pairs(
    body: BodyArrays, rotations: Quats, p_world: Vec3s, points: Vec3s, velocities: Vec3s,
    influences: Floats, margins: Floats, prediction: float, passing: float, samples_only: bool,
    dt: float, q_world: Quats, q_before: Quats, p_before: Vec3s, pairs: Floats,
) -> None:  # fmt: skip
    """
    Fill a row for every pair of general end-effector and segment.

    Parameters
    ----------
    body : BodyArrays
        The body's shape.
    rotations : ndarray, shape (16, 4)
        Its joint rotations.
    p_world : ndarray, shape (16, 3)
        Its joints in world [m].
    points, velocities : ndarray, shape (8, 3)
        Its general end-effectors in world [m], [m/s].
    influences, margins : ndarray, shapes (8, 16), (8,)
        D of each pair and contact margin of each end-effector [m].
    prediction : float
        lambda [s].
    passing : float
        How much farther soles and knees count that pass by, per speed along the surface [s].
    samples_only : bool
        Whether distances are to the nearest sample point.
    dt : float
        Time since the posture before [s]; infinity if there is none.
    q_world : ndarray, shape (16, 4)
        Out: orientations in world.
    q_before, p_before : ndarray, shapes (16, 4), (16, 3)
        In and out: frames of the segments one step ago.
    pairs : ndarray, shape (8, 16, 3)
        Out: importance, signed distance [m], rate [m/s]; of pairs too far apart to matter a
        bound of the distance, and no rate.

    """
    world_orientations(rotations, q_world)
    centre, local, normal, motion = work_array(3), work_array(3), work_array(3), work_array(3)
    for segment in range(16):
        rotate(q_world[segment], body.shape.centres[segment], centre)
        for k in range(3):
            centre[k] += p_world[segment, k]
        for j in range(8):
            pair = pairs[j, segment]
            pair[IMPORTANCE], pair[RATE] = 0.0, 0.0
            if not RELEVANT[j, segment]:
                pair[DISTANCE] = math.inf
                continue
            dx, dy, dz = (
                points[j, 0] - centre[0], points[j, 1] - centre[1], points[j, 2] - centre[2],
            )  # fmt: skip
            near = influences[j, segment] + margins[j]
            exact = PLACE_REACH * influences[j, segment] + margins[j] if j < 4 else near
            pair[DISTANCE] = math.sqrt(dx * dx + dy * dy + dz * dz) - body.shape.bounds[segment]
            if pair[DISTANCE] >= max(exact, near + prediction * MAX_APPROACH_M_S):
                continue
            for k in range(3):
                local[k] = points[j, k] - p_world[segment, k]
            rotate_inverse(q_world[segment], local, local)
            speed = _relative_velocity(
                points[j], velocities[j], local, q_before[segment], p_before[segment], dt,
                motion,
            )  # fmt: skip
            # nothing approaches faster than it moves
            approach = min(speed, MAX_APPROACH_M_S)
            if pair[DISTANCE] >= max(exact, near + prediction * approach):
                continue
            distance = segment_distance(body.shape, segment, local, normal)
            rotate(q_world[segment], normal, normal)
            if samples_only:
                distance = nearest_sample(body.samples[segment], local)
            pair[DISTANCE] = distance
            rate = normal[0] * motion[0] + normal[1] * motion[1] + normal[2] * motion[2]
            pair[RATE] = max(rate, -MAX_APPROACH_M_S)
            gap = max(distance - margins[j], 0.0)
            if j % 4 >= 2:  # legs pass each other at every step
                gap += passing * math.sqrt(max(speed * speed - rate * rate, 0.0))
            # what leaves has been touching until it is away: only an approach is predicted
            approach = min(pair[RATE], 0.0)
            pair[IMPORTANCE] = importance(gap, approach, prediction, influences[j, segment])
    for segment in range(16):
        for k in range(4):
            q_before[segment, k] = q_world[segment, k]
        for k in range(3):
            p_before[segment, k] = p_world[segment, k]


@kernel
def smooth_self_pairs(pairs: Floats, state: Floats, time_constant: float, dt: float) -> None:
    """
    Replace the importance of every pair by its follower's; an infinite `dt` starts them anew.

    As `smooth_pairs` does for objects; pairs that are far apart cost nothing.

    """
    if time_constant <= 0.0:
        return
    for j in range(pairs.shape[0]):
        for segment in range(pairs.shape[1]):
            target = (1.0 + CONTACT_EXCESS) * pairs[j, segment, IMPORTANCE]
            memory = state[j, segment]
            if dt == math.inf:
                memory[0], memory[1] = target, 0.0
            elif target <= 0.0 and max(memory[0], memory[1]) <= VANISHED:
                memory[0], memory[1] = 0.0, 0.0
                continue
            step = 0.0 if dt == math.inf else dt
            pairs[j, segment, IMPORTANCE] = saturate(follow(memory, target, time_constant, step))
