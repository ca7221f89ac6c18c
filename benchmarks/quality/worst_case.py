# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Search for the frame that takes longest: importance, self-interaction and solver.

Clips show what people do; a real-time promise needs what they could do. Random postures, folded
and pressed into themselves, with goals near and far and everything important, are timed from a
cold start; the slowest are changed a little again and again, and a change that takes longer
stays. A candidate's time is the least of several runs, so that what other programs take from
the processor does not count.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter_ns

import numpy as np
from puppet_core.body import (
    Character,
    end_effector_positions,
    forward_kinematics,
    LIMB_SEGMENTS,
    Posture,
    Skeleton,
)
from puppet_core.math import Floats, Quats, Vec3
from puppet_core.math.quaternions import exp
from puppet_retarget.importance import (
    Environment,
    estimator_of,
    GOAL,
    IMPORTANCE,
    ImportanceConfig,
    ImportanceEstimator,
    SelfInteractionConfig,
)
from puppet_retarget.solvers import make_solver, SOLVER_NAMES, SolverConfig

REPEATS = 7  # runs of a candidate, of which the fastest counts
KEPT = 8  # candidates that are changed further
MIN_CANDIDATES = 2 * KEPT
LARGEST_TURN_RAD = 2.0  # of a joint
LARGEST_PULL_M = 1.5  # of a goal from the end-effector's counterpart


@dataclass(frozen=True, slots=True)
class Candidate:
    """One frame as numbers that can be changed a little."""

    turns: Floats  # Joint rotation vectors, shape (16, 3) [rad]
    height: float  # Of the pelvis [m]
    # Of hands and feet; one below zero leaves it to the environment, shape (4,)
    importances: Floats
    pulls: Floats  # Displacement of the goals, shape (4, 3) [m]


@dataclass(frozen=True, slots=True)
class WorstCase:
    """What a search found."""

    times_us: Floats  # Time of every candidate [us]
    worst_us: float  # That of the slowest, timed once more [us]
    worst: Candidate  # The slowest


class _Rig:
    """The models of a frame, and how long a candidate keeps them busy."""

    def __init__(
        self,
        performer: Skeleton,
        character: Character,
        environment: Environment,
        config: SolverConfig,
    ) -> None:
        self._skeleton = performer
        self._importance = ImportanceEstimator(environment, ImportanceConfig())
        self._self_interaction = estimator_of(performer, SelfInteractionConfig())
        self._solver = make_solver(
            SOLVER_NAMES[0], character, environment, performer.leg_length, config
        )

    def time_us(self, candidate: Candidate, repeats: int = REPEATS) -> float:
        """Return the least time of a candidate's frame [us]."""
        posture, segments, hips = self._pose(candidate)
        return min(self._run(candidate, posture, segments, hips) for _ in range(repeats))

    def _pose(self, candidate: Candidate) -> tuple[Posture, Floats, Vec3]:
        rotations: Quats = exp(candidate.turns)
        q_world, segments, points = np.empty((16, 4)), np.empty((16, 3)), np.empty((8, 3))
        root = np.array([0.0, 0.0, candidate.height])
        skeleton = self._skeleton
        forward_kinematics(skeleton.offsets.copy(), root, rotations, q_world, segments)
        end_effector_positions(skeleton.interaction_points.copy(), q_world, segments, points)
        hips = segments[LIMB_SEGMENTS[2:, 0]].mean(axis=0)
        return Posture(root, rotations, points, np.zeros((8, 3))), segments, hips

    def _run(self, candidate: Candidate, posture: Posture, segments: Floats, hips: Vec3) -> float:
        self._importance.reset()
        self._self_interaction.reset()
        start = perf_counter_ns()
        rows = self._importance.step(0, posture.end_effectors, posture.end_effector_velocities)
        weighed = perf_counter_ns()
        assert rows is not None
        for limb in range(4):
            if candidate.importances[limb] >= 0.0:
                rows[limb, IMPORTANCE] = candidate.importances[limb]
                rows[limb, GOAL : GOAL + 3] += candidate.pulls[limb]
        told = perf_counter_ns()
        self_rows = self._self_interaction.step(0, posture, segments)
        self._solver.solve(posture.root_position, hips, posture.rotations, rows, np.inf, self_rows)
        return (perf_counter_ns() - told + weighed - start) * 1e-3


def search_worst(
    performer: Skeleton,
    character: Character,
    environment: Environment,
    config: SolverConfig,
    n_candidates: int,
    seed: int,
    progress: Callable[[int], object] | None = None,
) -> WorstCase:
    """
    Return the slowest frame of a seeded search: half of it random, half uphill from the worst.

    Parameters
    ----------
    performer, character, environment, config
        Who is captured, the puppet, the solids and the solver's tuning.
    n_candidates : int
        Frames to time, at least twice KEPT.
    seed : int
        Of the random numbers.
    progress : callable, optional
        Called with the number of candidates done since the last call.

    """
    rng = np.random.default_rng(seed)
    rig = _Rig(performer, character, environment, config)
    rig.time_us(_random(rng))  # compiles
    kept: list[tuple[float, Candidate]] = []
    times = np.empty(n_candidates)
    for i in range(n_candidates):
        uphill = i >= n_candidates // 2
        candidate = _changed(kept[i % len(kept)][1], rng) if uphill else _random(rng)
        times[i] = rig.time_us(candidate)
        kept = sorted([*kept, (times[i], candidate)], key=lambda k: -k[0])[:KEPT]
        if progress is not None:
            progress(1)
    # once more and longer: of thousands one had bad luck in all of its runs
    again = [(rig.time_us(candidate, 10 * REPEATS), candidate) for _, candidate in kept]
    worst_us, worst = max(again, key=lambda k: k[0])
    return WorstCase(times, worst_us, worst)


def _random(rng: np.random.Generator) -> Candidate:
    turns = rng.uniform(-1.0, 1.0, (16, 3)) * rng.uniform(0.0, LARGEST_TURN_RAD)
    weights = np.where(rng.random(4) < 0.5, 1.0, rng.uniform(-0.3, 1.0, 4))
    pulls = rng.normal(size=(4, 3)) * rng.uniform(0.0, LARGEST_PULL_M)
    return Candidate(turns, rng.uniform(0.1, 1.2), weights, pulls)


def _changed(candidate: Candidate, rng: np.random.Generator) -> Candidate:
    """Return a candidate with a few of its numbers changed by some tenths."""
    some = rng.random((16, 3)) < 0.2
    return replace(
        candidate,
        turns=candidate.turns + some * rng.normal(0.0, 0.3, (16, 3)),
        height=candidate.height + rng.normal(0.0, 0.05),
        importances=np.minimum(candidate.importances + rng.normal(0.0, 0.05, 4), 1.0),
        pulls=candidate.pulls + rng.normal(0.0, 0.1, (4, 3)),
    )
