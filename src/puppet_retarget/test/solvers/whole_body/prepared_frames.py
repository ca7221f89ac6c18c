# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Whole-body solvers whose frame is ready to be solved, and what sources of rows make of it."""

from collections.abc import Callable
from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS, Motion
from puppet_core.math import Floats
from puppet_core.math.values import vec3
from puppet_retarget.importance import (
    Environment,
    ImportanceConfig,
    ImportanceModel,
    SelfInteractionConfig,
)
from puppet_retarget.solvers import HEAD, SolverConfig
from puppet_retarget.solvers.whole_body import WholeBodySolver
from puppet_retarget.solvers.whole_body.carried import place_things
from puppet_retarget.solvers.whole_body.problem import clear
from puppet_retarget.solvers.whole_body.step import expect
from puppet_retarget.solvers.whole_body.tree import pose_tree
from puppet_retarget.solvers.whole_body.wishes import Captured, fill_wishes


@njit
def _begin(packed, captured, rows, self_rows, rests, dt):
    frame = packed[0]
    fill_wishes(frame, captured, rows, self_rows, rests, dt)
    expect(frame)


@njit
def pose(packed, x):
    """Pose the frame by unknowns."""
    frame = packed[0]
    n = frame.problem.n
    frame.x[:n] = x
    wishes = frame.wishes
    rotations, angles = wishes.rotations[:], wishes.angles[:]
    pose_tree(frame.tree, rotations, angles, vec3(wishes.root), frame.x[:], frame.pose)
    place_things(frame)


@njit
def add(packed, source):
    """Add a source's rows to an empty problem."""
    clear(packed[0].problem)
    source(packed[0])


class Prepared(NamedTuple):
    solver: WholeBodySolver
    packed: np.ndarray

    @property
    def frame(self) -> np.void:
        return self.packed[0]

    @property
    def x(self) -> Floats:
        """Return the unknowns that the frame begins with."""
        return self.frame['x'][: self.frame['problem']['n']].copy()

    def cost(self, source: Callable, x: Floats) -> float:
        pose(self.packed, x)
        add(self.packed, source)
        return float(self.frame['problem']['cost'][0])

    def gradient(self, source: Callable, x: Floats) -> Floats:
        """Return the gradient of half the cost as the rows have it."""
        self.cost(source, x)
        return -self.frame['problem']['right'][: len(x)].copy()


def prepared(
    character: Character, motion: Motion, environment: Environment, last: int, n: int = 4
) -> Prepared:
    """Return a solver that has solved some frames before one of a motion, which is ready."""
    skeleton = motion.skeleton
    solver = WholeBodySolver(character, environment, skeleton.leg_length, SolverConfig())
    model = ImportanceModel(environment, ImportanceConfig(), SelfInteractionConfig(), skeleton)
    segments = motion.world_segments()[1]
    for i in range(last - n, last + 1):
        posture = motion.posture(i)
        near = model.step(round(i * 1e9 / motion.rate_hz), posture, segments[i])
        hips = segments[i, LIMB_SEGMENTS[2:, 0]].mean(axis=0)
        dt = 1.0 / motion.rate_hz if i > last - n else np.inf
        given = posture.root_position, hips, posture.rotations
        if i < last:
            head = segments[i, HEAD].copy()
            solver.solve(*given, near.rows, dt, near.self_rows, near.moving, head, near.rests)
    solver._counterparts.place(near.moving, solver._objects, solver._world_scale)
    captured = Captured(*given, segments[last, HEAD].copy())
    _begin(solver._packed, captured, near.rows, near.self_rows, near.rests, dt)
    return Prepared(solver, solver._packed)
