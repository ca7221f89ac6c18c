# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Chapter 5 of Shin2002 once more, in plain numpy and scipy: what the solver is compared with.

Written for itself: candidates are all combinations of spheres, the body's minimum is scipy's, rays
are walked in steps of a micrometre. Nothing of the solver's package is used but the names of the
errata.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS
from puppet_core.body.posture import general_end_effectors, world_segments
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quat, Quats, Vec3, Vec3s
from puppet_retarget.importance import (
    body_arrays,
    CONTACT_WIDTH,
    Environment,
    FIRST_CONTACT,
    GOAL,
    IMPORTANCE,
    RADIUS,
    SELF_IMPORTANCE,
    signed_distance,
    to_object,
)
from puppet_retarget.solvers.thesis.errata import Errata
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

TOL_M = 1e-9
CARRIED_BY = (2, 2, 0, 0)
STARTS = LIMB_SEGMENTS[:, 0]


class Ball(NamedTuple):
    """Where something should be: inside of one sphere, and outside of another."""

    centre: Vec3
    radius: float
    importance: float
    inner: float = 0.0

    def grown(self, growth: float) -> 'Ball':
        more = growth / max(self.importance, 1e-2) ** 2
        return self._replace(radius=self.radius + more, inner=self.inner - more)

    def holds(self, x: Vec3) -> bool:
        distance = float(np.linalg.norm(x - self.centre))
        return self.inner - TOL_M <= distance <= self.radius + TOL_M

    def meets(self, other: 'Ball') -> bool:
        distance = float(np.linalg.norm(other.centre - self.centre))
        if distance > self.radius + other.radius + TOL_M:
            return False
        return distance + other.radius >= self.inner and distance + self.radius >= other.inner


def closest_point(
    start: Vec3, balls: Sequence[Ball], errata: Errata, sphere: Ball | None = None
) -> Vec3:
    """Return the nearest point to the start in balls, and on a sphere if one is given."""
    balls = [ball for ball in balls if ball.radius < math.inf]

    def found(some: Sequence[Ball]) -> Vec3 | None:
        groups = list(_candidates(start, some, sphere))
        for group in [sum(groups, [])] if errata.all_candidates else groups:
            inside = [x for x in group if all(ball.holds(x) for ball in some)]
            if inside:
                return min(inside, key=lambda x: float(np.linalg.norm(x - start)))
        return None

    point = found(balls)
    if point is None and errata.growing_balls:
        low, high = 0.0, 10.0
        while high - low > 1e-13:
            middle = 0.5 * (low + high)
            trial = found([ball.grown(middle) for ball in balls])
            if trial is None:
                low = middle
            else:
                high, point = middle, trial
    while point is None:
        first = max(balls, key=lambda ball: ball.importance)
        kept = [ball for ball in balls if first.meets(ball)]
        if len(balls) == 1:
            way = unit(first.centre - sphere.centre)
            ends = sphere.centre + sphere.radius * way, sphere.centre - sphere.radius * way
            return ends[int(np.linalg.norm(ends[0] - first.centre) < first.inner)]
        if len(kept) == len(balls):
            least = min(reversed(balls), key=lambda ball: ball.importance)
            kept = [ball for ball in balls if ball is not least]
        balls = kept
        point = found(balls)
    return point


def _candidates(start: Vec3, balls: Sequence[Ball], sphere: Ball | None) -> Iterator[list[Vec3]]:
    """Yield the start, what is nearest to it on spheres, on circles of two, vertices of three."""
    fixed = [] if sphere is None else [(sphere.centre, sphere.radius)]
    bounds = [
        (ball.centre, r) for ball in balls for r in (ball.inner, ball.radius) if 0.0 < r < math.inf
    ]
    yield [start if sphere is None else sphere.centre + sphere.radius * unit(start - fixed[0][0])]
    for n in range(1, 4 - len(fixed)):
        yield [x for some in combinations(bounds, n) for x in _on_all(start, [*fixed, *some])]


def _on_all(start: Vec3, spheres: list[tuple[Vec3, float]]) -> list[Vec3]:
    """Return the nearest point of one sphere or of a circle, or the vertices of three."""
    (a, ra), *others = spheres
    if not others:
        return [a + ra * unit(start - a)]
    # planes of the circles: (b - a) x = (|b|^2 - |a|^2 + ra^2 - rb^2) / 2
    normals = np.array([b - a for b, _ in others])
    rights = np.array([0.5 * (b @ b - a @ a + ra**2 - rb**2) for b, rb in others])
    if np.linalg.matrix_rank(normals, tol=1e-12) < len(others):
        return []
    middle = a + np.linalg.pinv(normals) @ (rights - normals @ a)
    square = ra**2 - float((middle - a) @ (middle - a))
    if square < -1e-12:
        return []
    radius = math.sqrt(max(square, 0.0))
    if len(others) == 2:
        along = unit(np.cross(*normals))
        return [middle + radius * along, middle - radius * along]
    axis = unit(normals[0])
    return [middle + radius * unit((start - middle) - ((start - middle) @ axis) * axis)]


def unit(v: Vec3) -> Vec3:
    length = np.linalg.norm(v)
    return v / length if length > 0.0 else np.array([1.0, 0.0, 0.0])


class PlainThesis:
    """The puppet of a character in an environment, frame by frame."""

    def __init__(
        self,
        character: Character,
        environment: Environment,
        performer_leg_length: float,
        errata: Errata,
        weights: tuple[float, float, float] = (0.01, 1.0, 1.0),
    ) -> None:
        self._skeleton, self._errata, self._weights = character.skeleton, errata, weights
        self._scale = character.scale_for(performer_leg_length)
        self._ratio = character.root_ratio_for(performer_leg_length)
        self._lengths = self._skeleton.limb_lengths
        self._samples = body_arrays(self._skeleton, character.capsules).samples
        self._objects = environment.arrays(1.0, 0.0, self._scale)

    def solve(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, self_rows: Floats
    ) -> tuple[Vec3, Quats]:
        """Return root and joint rotations."""
        rotations, w = rotations.copy(), rows[:4, IMPORTANCE]
        place = self._first_root(root, hips, rotations[0])
        q, p, points = self._pose(place, rotations)
        self._q_ends = q[LIMB_SEGMENTS[:, 2]].copy()
        self._palms = qb.rotate(self._q_ends, self._skeleton.interaction_points)
        goals = self._scale * rows[:4, GOAL : GOAL + 3]
        with np.errstate(divide='ignore'):
            reach = self._lengths.sum(axis=1) / w  # eq. 5.2
        place = self._estimated(place, p, points, goals, reach, w)
        p = self._pose(place, rotations)[1]
        away = np.linalg.norm(p[STARTS] - (goals - self._palms), axis=1)
        if np.any(away > reach + TOL_M):
            place = self._bend(place, rotations, goals - self._palms, reach)
        q, p, points = self._pose(place, rotations)
        solved = rotations.copy()
        for i in range(4):
            radius = self._scale * rows[i, RADIUS] * (1.0 - w[i])  # eq. 5.10
            outer = Ball(goals[i] - self._palms[i], radius, w[i])
            own = self._self_ball(self_rows[i], i, q, p, points)
            own = own._replace(centre=own.centre - self._palms[i])
            elbow = self._self_ball(self_rows[i + 4], i + 4, q, p, points)
            end = max(outer.importance, own.importance)
            shares = max(end, elbow.importance), end
            self._solve_limb(i, q, p, rotations, solved, [outer, own, elbow], shares)
        return place, self._pushed_out(place, solved)

    def _pose(self, root: Vec3, rotations: Quats) -> tuple[Quats, Vec3s, Vec3s]:
        q, p = world_segments(self._skeleton, root[None], rotations[None])
        return q[0], p[0], general_end_effectors(self._skeleton, q, p)[0]

    def _first_root(self, root: Vec3, hips: Vec3, q_root: Quat) -> Vec3:
        if not self._errata.own_height:
            return self._scale * root
        middle = self._skeleton.offsets[STARTS[2:]].mean(axis=0)
        return np.array([self._scale, self._scale, self._ratio]) * hips - qb.rotate(q_root, middle)

    def _estimated(
        self, root: Vec3, p: Vec3s, points: Vec3s, goals: Vec3s, reach: Floats, w: Floats
    ) -> Vec3:
        """Return the root of section 5.1."""
        start = root
        if not self._errata.no_mean and w.sum() > 0.0:
            total = max(w.sum(), 1.0) if self._errata.continuous_mean else w.sum()
            start = root + w @ (goals - points[:4]) / total  # eq. 5.1
        centres = goals - self._palms - (p[STARTS] - root)
        balls = [Ball(centres[i], reach[i], w[i]) for i in range(4)]
        return closest_point(start, balls, self._errata)

    def _bend(self, root: Vec3, rotations: Quats, wrists: Vec3s, reach: Floats) -> Vec3:
        """Write the rotations of section 5.2; return the root."""
        captured, (alpha, beta, gamma) = rotations.copy(), self._weights

        def posture(x: Floats) -> tuple[Vec3, Quats]:
            rotations[:3] = qb.multiply(captured[:3], qb.exp(x[3:].reshape(3, 3)))
            return root + x[:3], rotations

        def energy(x: Floats) -> float:
            shoulders = self._pose(*posture(x))[1][STARTS]
            beyond = np.maximum(np.linalg.norm(shoulders - wrists, axis=1) - reach, 0.0)
            kept = gamma * x[:3] @ x[:3] + beta * x[3:] @ x[3:]
            return float(beyond @ beyond + alpha * kept)  # eqs. 5.3 to 5.5

        x = np.zeros(12)
        for _ in range(3):
            x = minimize(energy, x, method='BFGS', options={'gtol': 1e-10}).x
        return posture(x)[0]

    def _self_ball(self, row: Floats, j: int, q: Quats, p: Vec3s, points: Vec3s) -> Ball:
        """Return the ball of section 5.3.1."""
        contacts = row[FIRST_CONTACT:].reshape(-1, CONTACT_WIDTH)
        contacts = contacts[(contacts[:, 0] >= 0.0) & (contacts[:, 1] > 0.0)]
        w = float(row[SELF_IMPORTANCE])
        if len(contacts) == 0 or w <= 0.0:
            return Ball(np.zeros(3), math.inf, 0.0)
        if not self._errata.many_points:
            lengths = np.linalg.norm(contacts[:, 2:], axis=1)
            contacts = contacts[lengths <= np.sort(lengths)[:3][-1]]
        segments, k = np.divmod(contacts[:, 0].astype(int), self._samples.shape[2])
        v = self._scale * contacts[:, 2:]
        ways = qb.rotate(q[segments], self._samples[segments, :, k] + v) + p[segments] - points[j]
        ways[segments >= STARTS[0]] *= 0.5  # eq. 5.9
        centre = np.average(ways, axis=0, weights=contacts[:, 1]) + points[j]
        nearest = float(np.linalg.norm(v, axis=1).min())
        return Ball(centre, nearest * (1.0 - w if self._errata.shrinking_ball else w), w)

    def _solve_limb(
        self,
        i: int,
        q: Quats,
        p: Vec3s,
        captured: Quats,
        out: Quats,
        ranges: Sequence[Ball],
        shares: tuple[float, float],
    ) -> None:
        """Write the rotations of a limb of section 5.3.3."""
        upper, lower, end = LIMB_SEGMENTS[i]
        length, forearm = self._lengths[i]
        *hands, own = ranges
        elbows = [b._replace(radius=forearm + b.radius, inner=forearm - b.radius) for b in hands]
        start = p[upper] + qb.rotate(q[upper], self._skeleton.offsets[lower])
        sphere = Ball(p[upper], length, 0.0)
        elbow = closest_point(start, [*elbows, own], self._errata, sphere)
        q_upper = qb.multiply(self._turn(start - p[upper], elbow - p[upper]), q[upper])
        q_lower = qb.multiply(q_upper, captured[lower])
        way = qb.rotate(q_lower, self._skeleton.offsets[end])
        wrist = closest_point(elbow + way, hands, self._errata, Ball(elbow, forearm, 0.0))
        q_lower = qb.multiply(self._turn(way, wrist - elbow), q_lower)
        parents = q[CARRIED_BY[i]], q_upper
        for segment, parent, solved, w in zip((upper, lower), parents, (q_upper, q_lower), shares):
            joint = qb.multiply(qb.conjugate(parent), solved)
            turn = qb.log(qb.multiply(joint, qb.conjugate(captured[segment])))
            out[segment] = qb.multiply(qb.exp(w * turn), captured[segment])  # eq. 5.14
        q_lower = qb.multiply(qb.multiply(parents[0], out[upper]), out[lower])
        out[end] = qb.multiply(qb.conjugate(q_lower), self._q_ends[i])

    def _turn(self, u: Vec3, v: Vec3) -> Quat:
        """Return the turn of eqs. 5.11 and 5.13."""
        axis = np.cross(u, v) if self._errata.turn_axis else np.cross(v, u)
        if np.linalg.norm(axis) <= 1e-6 * np.linalg.norm(u) * np.linalg.norm(v):
            return np.array([1.0, 0.0, 0.0, 0.0])
        cosine = float(u @ v)
        if self._errata.unit_directions:
            cosine /= float(np.linalg.norm(u) * np.linalg.norm(v))
        angle = math.acos(min(max(cosine, -1.0), 1.0))
        return Rotation.from_rotvec(angle * unit(axis)).as_quat()[[3, 0, 1, 2]]

    def _pushed_out(self, root: Vec3, rotations: Quats) -> Quats:
        q, p, points = self._pose(root, rotations)
        out = rotations.copy()
        for i in range(4):
            start, end = p[STARTS[i]], points[i]
            if self._distance(end) >= -1e-7 or self._distance(start) < 0.0:
                continue
            shares, width = np.linspace(0.0, 1.0, 1001), 1e-3
            while True:
                ray = start + np.outer(shares, end - start)
                first = int(np.argmax([self._distance(x) < 0.0 for x in ray])) - 1
                if width < 1e-8:
                    break
                shares = shares[first] + np.linspace(0.0, width, 101)
                width *= 1e-2
            ball = Ball(ray[first] - self._palms[i], 0.0, 1.0)
            free = Ball(np.zeros(3), math.inf, 0.0)
            self._solve_limb(i, q, p, rotations, out, [ball, free, free], (1.0, 1.0))
        return out

    def _distance(self, x: Vec3) -> float:
        objects = self._objects
        locals_ = [
            to_object(objects.puppet_orientations[j], objects.puppet_positions[j], x)
            for j in range(objects.n_objects)
        ]
        return min(
            (
                signed_distance(objects.shapes[j], objects.puppet_sizes[j], local)[0]
                for j, local in enumerate(locals_)
            ),
            default=math.inf,
        )
