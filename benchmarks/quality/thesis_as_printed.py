# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Chapters 4 and 5 of Shin2002 as printed: a solver for comparison only, in plain Python.

Every formula stands as it does there, also where doc/papers.md says that it is wrong. A comment
`errata N` says what is done where it cannot be computed. `mended` names errata that are put
right, so that what each of them does can be told apart: `as_printed+8+12` on the bench.

What the thesis leaves open is as elsewhere in the suite: hands and feet are at palm and sole,
goals are carried to an object's counterpart, alpha, beta, gamma and D are the parameters'
values, dots over a quantity are its differences from frame to frame.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
import math
from typing import NamedTuple

from benchmarks.quality.peer_solver import PeerSolver, Targets
import numpy as np
from puppet_core.body import (
    CONSIDERED,
    end_effector_positions,
    forward_kinematics,
    LIMB_SEGMENTS,
    Skeleton,
)
from puppet_core.math import Floats, follow, Quat, quaternions, Quats, Vec3, Vec3s
from puppet_retarget.importance import body_arrays, GOAL, ObjectArrays, signed_distance, to_object
from puppet_retarget.offline import RetargetJob
from puppet_retarget.solvers.body import (
    body_energy,
    body_gradient,
    BodyState,
    BodyTask,
    move_unknowns,
    N_UNKNOWNS,
)
from scipy.optimize import minimize_scalar

CLAMP, MEAN, CASES, SIGN, AXES, TIME = 1, 2, 4, 5, 8, 12  # errata that can be mended
ERRATA = (CLAMP, MEAN, CASES, SIGN, AXES, TIME)

PREDICTION_S = 0.15  # lambda of fig. 4.3
SMOOTHING_S = 0.03  # of the importance where errata 12 is mended
TOL_M = 1e-6  # what still counts as inside a ball
LEAST_FALL = 1e-2  # of E in one iteration, below which the minimiser has converged [-]
TORSO_SEGMENTS = 2  # n of eq. 5.5: spine and chest
ATTACHED_TO = (2, 2, 0, 0)  # segment that carries the limb
FIRST_OF_LIMBS = 4  # of the segments; those before are torso and head


class Pose(NamedTuple):
    """A body in world."""

    root: Vec3  # (3,) [m]
    rotations: Quats  # (16, 4) of the joints
    q: Quats  # (16, 4) of the segments
    p: Vec3s  # (16, 3) joints [m]
    points: Vec3s  # (8, 3) general end-effectors [m]


def posed(skeleton: Skeleton, root: Vec3, rotations: Quats) -> Pose:
    """Return a body with these joint rotations."""
    q, p, points = np.empty((16, 4)), np.empty((16, 3)), np.empty((8, 3))
    forward_kinematics(skeleton.offsets, root, rotations, q, p)
    end_effector_positions(skeleton.interaction_points, q, p, points)
    return Pose(root, rotations, q, p, points)


# Chapter 4: importance.


def importance(d_bar: Floats, mended: frozenset[int] = frozenset()) -> Floats:
    """Return eq. 4.4 of normalised distances; below 0 it falls again (errata 1)."""
    if CLAMP in mended:
        d_bar = np.maximum(d_bar, 0.0)
    return np.where(d_bar < 1.0, (2.0 * d_bar - 3.0) * d_bar**2 + 1.0, 0.0)


def object_distances(objects: ObjectArrays, points: Vec3s) -> Floats:
    """Return the distances of end-effectors from solids, 0 inside, shape (objects, points) [m]."""
    distances = np.zeros((objects.n_objects, len(points)))
    for j in range(objects.n_objects):
        for i, point in enumerate(points):
            local = to_object(objects.orientations[j], objects.positions[j], point)
            distance, _ = signed_distance(objects.shapes[j], objects.sizes[j], local)
            distances[j, i] = max(distance, 0.0)
    return distances


class Derivative:
    """Difference of an array from frame to frame; 0 in the first."""

    def __init__(self) -> None:
        self._before: Floats | None = None

    def step(self, values: Floats, dt: float) -> Floats:
        """Return the derivative [1/s]; an infinite time starts anew."""
        before, self._before = self._before, values
        if before is None or not 0.0 < dt < math.inf:
            return np.zeros_like(values)
        return (values - before) / dt


# Section 5.1 and appendix A: the closest point in balls.


class Ball(NamedTuple):
    """Where the root, an elbow or a hand should be: inside a sphere, or outside of it."""

    centre: Vec3
    radius: float
    importance: float
    is_outside: bool = False


def contains(ball: Ball, point: Vec3) -> bool:
    beyond = _length(point - ball.centre) - ball.radius
    return bool(beyond >= -TOL_M if ball.is_outside else beyond <= TOL_M)


def have_common_points(a: Ball, b: Ball) -> bool:
    distance = _length(a.centre - b.centre)
    if a.is_outside and b.is_outside:
        return True
    if a.is_outside or b.is_outside:
        hole, ball = (a, b) if a.is_outside else (b, a)
        return distance + ball.radius >= hole.radius - TOL_M
    return distance <= a.radius + b.radius + TOL_M


def closest_point(
    start: Vec3,
    balls: Sequence[Ball],
    sphere: Ball | None = None,
    mended: frozenset[int] = frozenset(),
) -> Vec3:
    """
    Return the closest point to `start` in the intersection of balls, and on a sphere if given.

    The spheres, then circles, then vertices are tried, and the first that have a point there win
    (5.1), though the others may have a closer one (errata 4). Where balls have no common point,
    those that do not meet the most important one are discarded.
    """
    balls = list(balls)
    while balls:
        groups = list(_candidates(start, balls, sphere))
        for group in [sum(groups, [])] if CASES in mended else groups:
            inside = [x for x in group if all(contains(ball, x) for ball in balls)]
            if inside:
                return min(inside, key=lambda x: _length(x - start))
        first = max(balls, key=lambda ball: ball.importance)
        kept = [ball for ball in balls if have_common_points(first, ball)]
        if len(kept) == len(balls):
            # errata 4: pairs meet and all together do not, so the least important one goes
            least = min(reversed(kept), key=lambda ball: ball.importance)
            kept = [ball for ball in kept if ball is not least]
        if not kept and sphere is not None:
            # errata 4: the sphere does not meet the last ball; the point nearest to it
            way = _unit(first.centre - sphere.centre) * (-1.0 if first.is_outside else 1.0)
            return sphere.centre + sphere.radius * way
        balls = kept
    return start


def _candidates(start: Vec3, balls: Sequence[Ball], sphere: Ball | None) -> Iterator[list[Vec3]]:
    """Yield the start, then what is closest to it on each sphere, circle and vertex."""
    fixed = () if sphere is None else (sphere,)
    yield [start]
    for n in range(1, 4 - len(fixed)):
        chosen = combinations(balls, n)
        yield [x for some in chosen for x in _closest_on_all(start, (*fixed, *some))]


def _closest_on_all(start: Vec3, spheres: Sequence[Ball]) -> list[Vec3]:
    """Return the point of a sphere or circle closest to the start, or the vertices."""
    if len(spheres) == 1:
        (sphere,) = spheres
        return [sphere.centre + sphere.radius * _unit(start - sphere.centre)]
    found = circle_of(*spheres[:2])
    if found is None:
        return []
    centre, normal, radius = found
    if len(spheres) == 2:
        flat = start + (normal @ (centre - start)) * normal
        return [centre + radius * _unit(flat - centre)]  # eq. A.7
    third = spheres[2]
    away = (normal @ (centre - third.centre)) * normal  # eq. A.8
    cut = Ball(third.centre + away, _root(third.radius**2 - float(away @ away)), 0.0)  # eq. A.9
    found = circle_of(Ball(centre, radius, 0.0), cut)
    if found is None:
        return []
    middle, d, half = found  # eqs. A.10 and A.11
    u = np.cross(normal, d)
    return [middle + half * u, middle - half * u]


def circle_of(a: Ball, b: Ball) -> tuple[Vec3, Vec3, float] | None:
    """Return centre, normal and radius of the circle of two spheres (eqs. A.3 to A.6)."""
    d = b.centre - a.centre
    distance = _length(d)
    if distance == 0.0:
        return None  # errata 4: no circle
    x = (a.radius**2 - b.radius**2 + distance**2) / (2.0 * distance)
    radius = _root(a.radius**2 - x**2)
    return None if math.isnan(radius) else (a.centre + x * d / distance, d / distance, radius)


def _root(square: float) -> float:
    """Return the square root; 0 for what rounding makes of touching spheres (errata 4)."""
    return math.nan if not square > -(TOL_M**2) else math.sqrt(max(square, 0.0))


def _length(v: Vec3) -> float:
    return math.sqrt(v @ v)


def _unit(v: Vec3) -> Vec3:
    length = _length(v)
    # errata 4: of no direction any is as good
    return v / length if length > 0.0 else np.array([1.0, 0.0, 0.0])


# Section 5.2: the body.


def minimise_by_conjugate_gradients(task: BodyTask) -> tuple[int, BodyState]:
    """
    Return iterations and minimum of eqs. 5.3 to 5.5, from the captured posture.

    Plain conjugate gradients (Polak and Ribiere), exact line searches, no preconditioner, no cap.
    """
    state = _copied(BodyState())
    gradient, curvature = np.zeros(N_UNKNOWNS), np.zeros((N_UNKNOWNS, N_UNKNOWNS))
    direction, before = np.zeros(N_UNKNOWNS), np.zeros(N_UNKNOWNS)
    iterations, energy, fall = 0, body_energy(task, state), 1.0
    while fall >= LEAST_FALL:
        body_gradient(task, state, TORSO_SEGMENTS, gradient, curvature)
        square = float(before @ before)
        ratio = max(float(gradient @ (gradient - before)) / square, 0.0) if square > 0.0 else 0.0
        direction = ratio * direction - gradient
        if direction @ gradient >= 0.0:
            direction = -gradient
        state = _lowest_along(task, state, direction)
        found, before = body_energy(task, state), gradient.copy()
        fall, energy = (energy - found) / energy, found
        iterations += 1
    return iterations, state


def _lowest_along(task: BodyTask, start: BodyState, direction: Floats) -> BodyState:
    """Return the state of least energy along a direction."""
    state, n = _copied(start), TORSO_SEGMENTS

    def energy(step: float) -> float:
        move_unknowns(start.unknowns, start.q_body, step, direction, n, state.unknowns)
        return body_energy(task, state)

    energy(minimize_scalar(energy, bracket=(0.0, 0.25)).x)
    return state


def _copied(state: BodyState) -> BodyState:
    return BodyState(*(part.copy() for part in state))


# Section 5.3: limbs.


def rotation_onto(captured: Vec3, target: Vec3, mended: frozenset[int] = frozenset()) -> Quat:
    """Return eqs. 5.11 and 5.13; the printed axis turns the other way (errata 8)."""
    axis = np.cross(captured, target) if AXES in mended else np.cross(target, captured)
    if _length(axis) == 0.0:
        return np.array([1.0, 0.0, 0.0, 0.0])  # errata 8: no axis, no turn
    # the printed cosine lacks the lengths of the vectors
    cosine = float(captured @ target) / (_length(captured) * _length(target))
    # exp is of the full angle here (errata 10)
    return quaternions.exp(math.acos(min(max(cosine, -1.0), 1.0)) * _unit(axis))


def blended(captured: Quat, solved: Quat, w: float) -> Quat:
    """Return eq. 5.14."""
    turn = quaternions.multiply(solved, quaternions.conjugate(captured))
    return quaternions.multiply(quaternions.exp(w * quaternions.log(turn)), captured)


def self_radius(w: float, nearest: float, mended: frozenset[int] = frozenset()) -> float:
    """Return eq. 5.6, which grows with the importance (errata 5)."""
    return (1.0 - w) * nearest if SIGN in mended else w * nearest


def elbow_ranges(hand: Ball, forearm: float) -> list[Ball]:
    """Return where the elbow may be for a hand in a ball (fig. 5.6)."""
    larger = Ball(hand.centre, forearm + hand.radius, hand.importance)
    if hand.radius >= forearm:
        return [larger]
    return [larger, Ball(hand.centre, forearm - hand.radius, hand.importance, True)]


class AsPrinted(PeerSolver):
    """The solver of chapter 5 behind the importance of chapter 4."""

    name = 'as_printed'

    def __init__(
        self,
        job: RetargetJob,
        performer: Skeleton,
        mended: frozenset[int] = frozenset(),
        estimates_root: bool = True,
    ) -> None:
        super().__init__(job, performer)
        self._mended, self._estimates_root = mended, estimates_root
        self._skeleton, self._tuning = job.character.skeleton, job.tuning
        self._offsets = self._skeleton.offsets.copy()
        self._lengths = self._skeleton.limb_lengths
        scale, influence = self._world_scale, job.importance.influence_distance_m
        self._objects = job.environment.arrays(influence, 0.0, scale)
        self._self_influences = job.self_interaction.influences_m
        own = body_arrays(self._skeleton, job.character.capsules)
        self._samples = own.samples.transpose(0, 2, 1)
        self._performer_samples = body_arrays(performer).samples.transpose(0, 2, 1)
        self._rate, self._self_rate = Derivative(), Derivative()
        self._followers = np.zeros((4, 2))

    def pose(self, targets: Targets) -> tuple[Vec3, Quats]:
        """Return the puppet's root [m] and joint rotations, shape (16, 4)."""
        performer = posed(self._performer, targets.captured_root, targets.rotations)
        w, radii = self._importance(performer, targets.dt)
        goals = self._world_scale * targets.rows[:, GOAL : GOAL + 3]
        body = posed(self._skeleton, self._world_scale * targets.captured_root, targets.rotations)
        q_ends = body.q[LIMB_SEGMENTS[:, 2]]  # captured orientations of hands and feet
        palms = quaternions.rotate(q_ends, self._skeleton.interaction_points)
        if self._estimates_root:
            body = self._root(body, goals, goals - palms, w)
        body, self._output.body_iterations = self._body(body, goals - palms, w)
        self_w = self._self_importance(performer, targets.dt)
        rotations = body.rotations.copy()
        for i in range(4):
            hands = [Ball(goals[i] - palms[i], radii[i], w[i])]
            for ball in self._self_ball(i, performer, body, self_w[i]):
                hands.append(ball._replace(centre=ball.centre - palms[i]))
            elbows = self._self_ball(i + 4, performer, body, self_w[i + 4])
            end = max(w[i], self_w[i])
            weights = max(end, self_w[i + 4]), end  # of eq. 5.14
            solved = self._solve_limb(i, body, hands, elbows)
            self._blend_limb(i, body, solved, weights, rotations)
            self._keep_end(i, body, q_ends[i], rotations)
        body = posed(self._skeleton, body.root, rotations)
        self._push_out(body, q_ends, palms)
        return body.root, body.rotations

    # Chapter 4.

    def _importance(self, performer: Pose, dt: float) -> tuple[Floats, Floats]:
        """Return importances and range radii (eq. 5.10) of hands and feet, shape (4,) each."""
        objects = self._objects
        if objects.n_objects == 0:
            return np.zeros(4), np.ones(4)
        d = object_distances(objects, performer.points[:4])
        d_plus = d + PREDICTION_S * self._rate.step(d, dt)  # eq. 4.2
        p = importance(d_plus / objects.influence_distances[:, :4], self._mended)  # eqs. 4.3, 4.4
        w = p.max(axis=0)  # eq. 4.5
        if TIME in self._mended:
            for i in range(4):
                if dt == math.inf:
                    self._followers[i] = w[i], 0.0
                w[i] = follow(self._followers[i], w[i], SMOOTHING_S, dt if dt < math.inf else 0.0)
        closest = objects.influence_distances[d.argmin(axis=0), range(4)]
        return w, self._world_scale * closest * (1.0 - w)  # eq. 5.10

    # Section 5.1.

    def _root(self, body: Pose, goals: Vec3s, wrist_goals: Vec3s, w: Floats) -> Pose:
        """Return the body moved to where it reaches its goals."""
        root, total = body.root, w.sum()
        if MEAN in self._mended:
            total = max(total, 1.0)
        if TIME not in self._mended and total != 0.0:  # errata 2: 0/0 moves nothing
            root = root + w @ (goals - body.points[:4]) / total  # eq. 5.1
        starts = body.p[LIMB_SEGMENTS[:, 0]] - body.root
        balls = [
            Ball(wrist_goals[i] - starts[i], self._lengths[i].sum() / w[i], w[i])  # eq. 5.2
            for i in range(4)
            if w[i] > 0.0  # errata 3: else no ball
        ]
        return posed(
            self._skeleton, closest_point(root, balls, None, self._mended), body.rotations
        )

    # Section 5.2.

    def _body(self, body: Pose, wrist_goals: Vec3s, w: Floats) -> tuple[Pose, int]:
        """Return the body bent towards what is out of reach, and the iterations."""
        radii = np.full(4, math.inf)
        np.divide(self._lengths.sum(axis=1), w, out=radii, where=w > 0.0)  # eq. 5.2, errata 3
        shoulders = body.p[LIMB_SEGMENTS[:, 0]]
        if np.all(np.linalg.norm(shoulders - wrist_goals, axis=1) <= radii + TOL_M):
            return body, 0
        tuning = self._tuning
        weights = tuning.posture_weight, tuning.orientation_weight, tuning.position_weight
        task = BodyTask(self._offsets, body.root, body.rotations, wrist_goals, radii, weights)
        iterations, state = minimise_by_conjugate_gradients(task)
        rotations = body.rotations.copy()
        turns = quaternions.exp(state.unknowns[3:].reshape(3, 3))
        rotations[:3] = quaternions.multiply(rotations[:3], turns)
        return posed(self._skeleton, state.p_body[0].copy(), rotations), iterations

    # Section 5.3.1, and 4.2 for its importance.

    def _displacements(self, j: int, performer: Pose) -> tuple[Floats, Floats]:
        """Return v_jk and its lengths for all sample points, (16, 40, 3) and (16, 40) [m]."""
        points = quaternions.rotate(performer.q[:, None], self._performer_samples)
        v = performer.points[j] - (points + performer.p[:, None])
        distances = np.linalg.norm(v, axis=-1)
        distances[~CONSIDERED[j]] = math.inf  # errata 6: its own limb is no contact
        return v, distances

    def _self_importance(self, performer: Pose, dt: float) -> Floats:
        """Return the importance of each general end-effector, shape (8,)."""
        d = np.stack([self._displacements(j, performer)[1].min(axis=1) for j in range(8)])
        near = np.isfinite(d)
        rates = self._self_rate.step(np.where(near, d, 0.0), dt)
        d_plus = d + PREDICTION_S * rates  # eq. 4.2
        # eqs. 4.3 to 4.5
        return importance(d_plus / self._self_influences, self._mended).max(axis=1)

    def _self_ball(self, j: int, performer: Pose, body: Pose, w: float) -> list[Ball]:
        """Return the range ball of a general end-effector, none where nothing is near."""
        v, distances = self._displacements(j, performer)
        three = np.argsort(distances, axis=None)[:3]  # the three closest sample points
        segments = three // distances.shape[1]
        d_bar = distances.flat[three] / self._self_influences[j, segments]
        weights = importance(d_bar, self._mended)
        if w <= 0.0 or weights.sum() == 0.0:
            return []  # errata 6
        own = quaternions.rotate(body.q[segments], self._samples.reshape(-1, 3)[three])
        p_k = own + body.p[segments]
        ways = self._world_scale * v.reshape(-1, 3)[three] + p_k - body.points[j]  # eq. 5.8
        ways[segments >= FIRST_OF_LIMBS] /= 2.0  # eq. 5.9
        nearest = self._world_scale * distances.min()
        radius = self_radius(w, nearest, self._mended)
        return [Ball(weights @ ways / weights.sum() + body.points[j], radius, w)]

    # Section 5.3.3.

    def _blend_limb(
        self,
        i: int,
        body: Pose,
        solved: tuple[Quat, Quat],
        weights: tuple[float, float],
        rotations: Quats,
    ) -> None:
        """Write a limb's first two joints, part of the way from captured to solved."""
        upper, lower, _ = LIMB_SEGMENTS[i]
        parents = body.q[ATTACHED_TO[i]], solved[0]
        for segment, parent, q, w in zip((upper, lower), parents, solved, weights):
            joint = quaternions.multiply(quaternions.conjugate(parent), q)
            rotations[segment] = blended(body.rotations[segment], joint, w)

    def _solve_limb(
        self, i: int, body: Pose, hands: Sequence[Ball], elbows: Sequence[Ball]
    ) -> tuple[Quat, Quat]:
        """Return the orientations in world of upper and lower segment."""
        upper, lower, end = LIMB_SEGMENTS[i]
        shoulder, (upper_length, forearm) = body.p[upper], self._lengths[i]
        ranges = [*elbows, *(r for hand in hands for r in elbow_ranges(hand, forearm))]
        start = body.p[lower]
        elbow = closest_point(start, ranges, Ball(shoulder, upper_length, 0.0), self._mended)
        turn = rotation_onto(start - shoulder, elbow - shoulder, self._mended)  # eq. 5.11
        q_upper = quaternions.multiply(turn, body.q[upper])  # eq. 5.12
        q_lower = quaternions.multiply(q_upper, body.rotations[lower])
        way = quaternions.rotate(q_lower, self._skeleton.offsets[end])
        hand = closest_point(elbow + way, hands, Ball(elbow, forearm, 0.0), self._mended)
        turn = rotation_onto(way, hand - elbow, self._mended)  # eq. 5.13
        return q_upper, quaternions.multiply(turn, q_lower)

    def _keep_end(self, i: int, body: Pose, q_end: Quat, rotations: Quats) -> None:
        """Write the wrist that preserves the hand's captured orientation."""
        upper, lower, end = LIMB_SEGMENTS[i]
        q_upper = quaternions.multiply(body.q[ATTACHED_TO[i]], rotations[upper])
        q_lower = quaternions.multiply(q_upper, rotations[lower])
        rotations[end] = quaternions.multiply(quaternions.conjugate(q_lower), q_end)

    def _push_out(self, body: Pose, q_ends: Quats, palms: Vec3s) -> None:
        """Bring what is inside an object to where the ray from the shoulder enters it."""
        for i in range(4):
            upper, lower, _ = LIMB_SEGMENTS[i]
            shoulder, point = body.p[upper], body.points[i]
            if self._is_free(point) or not self._is_free(shoulder):
                continue
            free, inside = 0.0, 1.0
            for _ in range(40):
                middle = 0.5 * (free + inside)
                if self._is_free(shoulder + middle * (point - shoulder)):
                    free = middle
                else:
                    inside = middle
            goal = shoulder + free * (point - shoulder) - palms[i]
            solved = self._solve_limb(i, body, [Ball(goal, 0.0, 1.0)], [])
            self._blend_limb(i, body, solved, (1.0, 1.0), body.rotations)
            self._keep_end(i, body, q_ends[i], body.rotations)

    def _is_free(self, point: Vec3) -> bool:
        objects = self._objects
        return all(
            signed_distance(
                objects.shapes[j],
                objects.puppet_sizes[j],
                to_object(objects.puppet_orientations[j], objects.puppet_positions[j], point),
            )[0]
            >= 0.0
            for j in range(objects.n_objects)
        )
