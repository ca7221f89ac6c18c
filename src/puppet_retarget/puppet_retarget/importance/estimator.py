# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Importance and goal of each end-effector over all objects (Shin2002 eqs. 4.1-4.5).

One row per end-effector: importance, distance, distance rate, radius of the range ball at
zero importance, goal x y z, object index. These eight rows, of hands, feet, elbows and knees, are
the environment's; those of the own body are in `self_interaction`.

Every pair of end-effector and object has a row of that form first; what the end-effector
gets of them changes smoothly while the nearest object changes hands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from puppet_core.io import setting
from puppet_core.math import (
    add,
    copy,
    cross,
    dot,
    Floats,
    follow,
    kernel,
    pack_arrays,
    rotate,
    sub,
    vec3,
    Vec3s,
)
from puppet_core.math.values import Vec3, Vec3Like
from puppet_retarget.importance.environment import Environment, filled_up, N_ENDS, ObjectArrays
from puppet_retarget.importance.objects import (
    counterpart_point,
    from_object,
    signed_distance,
    to_object,
)

CONTACT_EXCESS = 0.04  # by which the follower's target at contact exceeds full importance [-]


@kernel
def importance(distance: float, rate: float, prediction: float, influence: float) -> float:
    """
    Return the importance in [0, 1] at a distance [m] that changes by rate [m/s].

    Lambda, how far ahead it is extrapolated, is `prediction` [s], D is `influence` [m].
    """
    # Shin2002 eqs. 4.2, 4.3: d_plus = d + lambda d_dot, d_bar = d_plus / D
    d_bar = (distance + prediction * rate) / influence
    # errata 1 (doc/papers.md): clamped, or a fast approach would lower the cubic again
    d_bar = min(max(d_bar, 0.0), 1.0)
    # Shin2002 eq. 4.4: cubic smooth step, 1 at contact, 0 at d_bar = 1
    return (2.0 * d_bar - 3.0) * d_bar * d_bar + 1.0


@kernel
def saturate(followed: float) -> float:
    """
    Return the importance in [0, 1] for the value of a follower that aims at 1 + CONTACT_EXCESS.

    A follower that aims at 1 comes near it for ever, and what is planted would never be wholly
    important. This one has passed 1 by half the excess a little later, and there the parabola
    that takes over at half the excess below 1 has its top: exactly 1, without a kink.
    """
    half = 0.5 * CONTACT_EXCESS
    missing = 1.0 + half - followed
    if missing <= 0.0:
        return 1.0
    if missing < 2.0 * half:
        return 1.0 - missing * missing / (4.0 * half)
    return max(followed, 0.0)


ROW = 8
IMPORTANCE, DISTANCE, RATE, RADIUS, GOAL, OBJECT = 0, 1, 2, 3, 4, 7
MAX_INPUT = 1e4  # [m], [m/s]; beyond it squares lose digits
MAX_STEP_S = 0.25  # a longer gap restarts the smoothing
_CONTACT_SHARE = 1e-3  # lack of importance at which a touched object's weight saturates [-]
VANISHED = 1e-9  # importance at which a pair is forgotten [-]
_FAR_SHARE = 1e-6  # weight of objects out of influence in a goal, so that it never is 0/0


@dataclass(frozen=True, slots=True)
class ImportanceConfig:
    """Tuning of the importance; see the parameter table for ranges."""

    prediction_s: float = setting(
        0.06, 's', 0.0, 1.0, 'lambda: how far ahead distances are extrapolated, Shin2002 eq. 4.2.'
    )
    influence_distance_m: float = setting(
        0.6,
        'm',
        0.0,
        10.0,
        'D if the environment file gives none, Shin2002 eq. 4.3.',
        low_open=True,
    )
    contact_margin_m: float = setting(
        0.03, 'm', 0.0, 0.5, 'Distance that counts as contact if the file gives none.'
    )
    smoothing_s: float = setting(
        0.03, 's', 0.0, 1.0, 'Time constant of the smoothing of importance; 0: none.'
    )


class EstimatorArrays(NamedTuple):
    """What the estimator keeps from frame to frame, packed into one argument."""

    objects: ObjectArrays
    pairs: Floats  # (n, 8, ROW)
    followers: Floats  # (n, 8, 2)
    rows: Floats  # (8, ROW)


def step_time(stamp_ns: int, before_ns: int | None) -> float:
    """Return the time since the posture before [s], infinity where smoothing starts anew."""
    dt = (stamp_ns - before_ns) * 1e-9 if before_ns is not None else math.inf
    return dt if 0.0 <= dt <= MAX_STEP_S else math.inf


class ImportanceEstimator:
    """Importance of the general end-effectors of one performer in one environment."""

    def __init__(self, environment: Environment, config: ImportanceConfig) -> None:
        objects = _objects(environment, config)
        n = len(objects.shapes)
        self.packed, self._arrays = pack_arrays(
            EstimatorArrays(
                objects,
                np.zeros((n, N_ENDS, ROW)),
                np.zeros((n, N_ENDS, 2)),
                np.zeros((N_ENDS, ROW)),
            )
        )
        """EstimatorArrays, for kernels that step many frames."""
        self._rows = self._arrays.rows
        self.objects = self._arrays.objects
        """Those that move are to be placed before each step."""
        self._config = config
        self._stamp_ns: int | None = None

    def retune(self, environment: Environment, config: ImportanceConfig) -> None:
        """Take new tuning of the same objects without a jump in the smoothed importance."""
        objects = self._arrays.objects
        new = _objects(environment, config)
        objects.influence_distances[:] = new.influence_distances
        objects.contact_margins[:] = new.contact_margins
        self._config = config

    def go_on(self, before: 'ImportanceEstimator', same: Sequence[tuple[int, int]]) -> None:
        """
        Go on from one of another environment, smoothly.

        Pairs of indices tell which object there is the same as which one here; what is new here
        begins without importance.
        """
        for there, here in same:
            self._arrays.pairs[here] = before._arrays.pairs[there]
            self._arrays.followers[here] = before._arrays.followers[there]
        self._stamp_ns = before._stamp_ns

    def reset(self) -> None:
        """Forget the past: the next step is not smoothed."""
        self._stamp_ns = None

    def step(self, stamp_ns: int, positions: Vec3s, velocities: Vec3s) -> Floats | None:
        """
        Return the rows (8, 8) of the next posture, or None if that is not finite or absurd.

        General end-effectors (8, 3) are in world [m], [m/s]. A gap over MAX_STEP_S or a step back
        restarts smoothing. The next step overwrites the rows.
        """
        config, dt = self._config, step_time(stamp_ns, self._stamp_ns)
        if not estimate_packed(
            self.packed, positions, velocities, config.prediction_s, config.smoothing_s, dt
        ):
            return None
        self._stamp_ns = stamp_ns
        return self._rows


def rows_of_objects(rows: Floats, names: Sequence[str], others: Sequence[str]) -> Floats:
    """Return rows of named objects as of other names, of none where it is not in there."""
    found = rows.copy()
    for row in found:
        j = int(row[OBJECT])
        name = names[j] if 0 <= j < len(names) else ''
        row[OBJECT] = others.index(name) if name in others else -1.0
    return found


def _objects(environment: Environment, config: ImportanceConfig) -> ObjectArrays:
    return filled_up(environment.arrays(config.influence_distance_m, config.contact_margin_m))


@kernel
def _is_sound(values: Vec3s) -> bool:
    """Return whether no value is NaN, infinite or absurd."""
    for i in range(values.shape[0]):
        for k in range(3):
            if not abs(values[i, k]) <= MAX_INPUT:  # true for NaN too
                return False
    return True


@kernel
def estimate_packed(
    packed: np.ndarray,
    positions: Vec3s,
    velocities: Vec3s,
    prediction: float,
    time_constant: float,
    dt: float,
) -> bool:
    """
    Advance by one posture in place; return False if that is not finite or absurd.

    `packed` holds EstimatorArrays; an infinite `dt` starts the smoothing anew.
    """
    if not (_is_sound(positions) and _is_sound(velocities)):
        return False
    arrays = packed[0]
    n = arrays.objects.n_objects
    pairs, followers = arrays.pairs[:n], arrays.followers[:n]
    estimate_pairs(arrays.objects, positions, velocities, prediction, pairs)
    smooth_pairs(pairs, followers, time_constant, dt)
    combine_pairs(pairs, positions, arrays.rows)
    return True


@kernel
def estimate_pairs(
    objects: ObjectArrays, positions: Vec3s, velocities: Vec3s, prediction: float, pairs: Floats
) -> None:
    """Fill a row (8,) for every pair of general end-effector and object."""
    for j in range(objects.n_objects):
        shape, size, q = objects.shapes[j], objects.sizes[j], objects.orientations[j]
        other, q_other = objects.puppet_sizes[j], objects.puppet_orientations[j]
        for i in range(len(positions)):
            row, influence = pairs[j, i], objects.influence_distances[j, i]
            if influence <= 0.0:
                row[:] = 0.0
                continue
            local = to_object(q, objects.positions[j], positions[i])
            distance, normal = signed_distance(shape, size, local)
            goal = counterpart_point(shape, size, other, local, distance, normal)
            goal = from_object(q_other, objects.puppet_positions[j], goal)
            copy(goal, row[GOAL : GOAL + 3])
            rate = dot(
                rotate(q, normal), sub(velocities[i], _velocity_of(objects, j, positions[i]))
            )
            gap = max(distance - objects.contact_margins[j, i], 0.0)
            row[IMPORTANCE] = importance(gap, rate, prediction, influence)
            row[DISTANCE], row[RATE], row[RADIUS], row[OBJECT] = distance, rate, influence, j


@kernel
def _velocity_of(objects: ObjectArrays, j: int, point: Vec3Like) -> Vec3:
    """Return the velocity [m/s] of what an object has at a point in world [m]."""
    moves = objects.velocities[j]
    return add(vec3(moves), cross(moves[3:], sub(point, objects.positions[j])))


@kernel
def blend_weight(importance: float, remoteness: float) -> float:
    """
    Return how much one of several objects counts in a goal.

    A touched object outweighs one that is only near a thousandfold. Remoteness is the distance
    over that of influence, >= 0; it decides between objects out of influence.
    """
    nearness = importance / (1.0 - importance + _CONTACT_SHARE)
    far = 0.01 + remoteness
    return nearness * nearness + _FAR_SHARE / (far * far)


@kernel
def smooth_pairs(pairs: Floats, state: Floats, time_constant: float, dt: float) -> None:
    """
    Replace the importance of every pair by its follower's; an infinite `dt` starts them anew.

    The printed importance follows the predicted distance at once; a lifting foot then takes
    it from 1 to 0 within a few frames and the root lurches. The prediction pays for the
    follower's delay (errata 12). Without a time constant the printed importance stays.
    """
    if time_constant <= 0.0:
        return
    for i in range(pairs.shape[0]):
        for j in range(pairs.shape[1]):
            target, memory = (1.0 + CONTACT_EXCESS) * pairs[i, j, IMPORTANCE], state[i, j]
            if dt == math.inf:
                memory[0], memory[1] = target, 0.0
            elif target <= 0.0 and max(memory[0], memory[1]) <= VANISHED:
                memory[0], memory[1] = 0.0, 0.0  # what is far apart costs nothing
                continue
            step = 0.0 if dt == math.inf else dt
            pairs[i, j, IMPORTANCE] = saturate(follow(memory, target, time_constant, step))


@kernel
def combine_pairs(pairs: Floats, positions: Vec3s, rows: Floats) -> None:
    """
    Fill the row of every end-effector from those of its pairs.

    The importance is the largest one (Shin2002 eq. 4.5). Goal and radius are means over the
    objects by `blend_weight`: the goal of a planted foot is not moved by the counterpart of the
    box beside it.
    """
    for i in range(len(rows)):
        row = rows[i]
        row[:] = 0.0
        row[OBJECT] = -1.0
        best, total = -1.0, 0.0
        for j in range(pairs.shape[0]):
            pair = pairs[j, i]
            if pair[RADIUS] <= 0.0:
                continue
            w = pair[IMPORTANCE]
            weight = blend_weight(w, max(pair[DISTANCE], 0.0) / pair[RADIUS])
            total += weight
            for k in range(RADIUS, OBJECT):
                row[k] += weight * pair[k]
            if weight > best:
                best = weight
                row[DISTANCE], row[RATE], row[OBJECT] = pair[DISTANCE], pair[RATE], pair[OBJECT]
            row[IMPORTANCE] = max(row[IMPORTANCE], w)  # Shin2002 eq. 4.5
        for k in range(RADIUS, OBJECT):
            row[k] = row[k] / total if total > 0.0 else 0.0
        if total == 0.0:
            row[RADIUS] = 1.0
            for k in range(3):
                row[GOAL + k] = positions[i, k]
