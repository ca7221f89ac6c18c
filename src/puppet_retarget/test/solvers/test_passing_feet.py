# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A swinging foot makes room for the other leg before it is there, and no more than it needs."""

from continuity_runs import Act, phase, Script
import numpy as np
from puppet_core.body.capsules import Capsule, shape_arrays
from puppet_core.body.character import Character
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math.arrays import Floats
from puppet_retarget.solvers.penetration import (
    ALLOWED_M,
    approach,
    NOW_PREFERRED,
    swing_leg_clearance,
)
from puppet_retarget.solvers.solver import Solver
from puppet_retarget.solvers.state import SolverConfig
import pytest
from scipy.optimize import minimize

SHANK, LEG = SEGMENT_INDEX['right_shank'], SEGMENT_INDEX['right_thigh']
RADIUS, HALF = 0.05, 0.25
POST = shape_arrays((Capsule(SHANK, (0.0, 0.0, -HALF), (0.0, 0.0, HALF), RADIUS),))
PUSHED = SolverConfig(root_smoothing_s=0.0)
FREE = SolverConfig(root_smoothing_s=0.0, self_push_out=False)
TICK_S = 1.0 / 120.0
ENDS, PLACES = np.zeros((16, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))


@pytest.mark.parametrize('kind', ['any', 'along the line', 'a ball', 'at rest'])
def test_approach_is_the_least_of_its_box(rng, kind: str) -> None:
    for _ in range(40):
        a, b, p, v = rng.normal(0.0, 0.3, (4, 3))
        v *= 10.0
        b = a.copy() if kind == 'a ball' else b
        v = (b - a) * 7.0 if kind == 'along the line' else v * (kind != 'at rest')
        t, way = approach(a, b, p, v, 0.1)
        out = np.array(way)

        def cost(x):
            apart = p + x[0] * v - a - x[1] * (b - a)
            return apart @ apart + NOW_PREFERRED * (v @ v) * x[0] ** 2

        least = min(
            minimize(cost, (t0, s0), bounds=((-0.1, 0.1), (0.0, 1.0)), tol=1e-14).fun
            for t0 in (-0.05, 0.05)
            for s0 in (0.2, 0.8)
        )
        assert abs(t) <= 0.1
        assert out @ out + NOW_PREFERRED * (v @ v) * t * t == pytest.approx(least, abs=1e-9)


def pass_by(speed: float, side: float, scale: float = 1.0):
    """Return the places of a sole that passes a post, and its way aside, each (n, 3)."""
    x = np.arange(-0.5, 0.5, speed * TICK_S)
    soles = np.stack((x, np.full(len(x), side), np.zeros(len(x))), axis=1)
    before, room, ways = np.zeros((3, 3)), np.zeros((3, 2)), np.zeros((len(x), 3))
    for i, sole in enumerate(soles):
        swing_leg_clearance(
            POST,
            LEG,
            PLACES,
            ENDS,
            sole,
            0.0,
            scale,
            TICK_S if i else np.inf,
            before,
            room,
            ways[i],
        )
    return soles, ways


def jerk(points) -> float:
    """Return the RMS third difference of points (n, 3)."""
    return float(np.sqrt(np.mean(np.diff(points, 3, axis=0) ** 2)))


@pytest.mark.parametrize('speed', [2.0, 3.0, 4.5])
def test_room_is_made_early_and_gently(speed: float) -> None:
    soles, ways = pass_by(speed, 0.025)
    inside = np.hypot(soles[:, 0], soles[:, 1]) < RADIUS
    thrown_out = np.zeros_like(ways)
    thrown_out[inside, 1] = np.sqrt(RADIUS**2 - soles[inside, 0] ** 2) - 0.025
    assert inside.sum() > 1
    assert np.argmax(ways[:, 1] > 1e-4) < np.argmax(inside) - 2
    assert jerk(ways) < 0.5 * jerk(thrown_out)
    depth = RADIUS - np.linalg.norm((soles + ways)[:, :2], axis=1)
    assert depth.max() < 0.3 * 0.025  # the push-out takes what little is left
    assert np.abs(ways[-1]).max() < 1e-3


def swing(solver: Solver, script: Script, dt: float) -> tuple[Floats, Floats]:
    """Return the right sole (n, 3) and how deep it is in the other leg (n,) [m]."""
    soles, depths = np.zeros((2, len(script.roots), 3))
    for i, (root, hips, rotations, rows, self_rows) in enumerate(zip(*script)):
        out = solver.solve(root, hips, rotations, rows, dt if i else np.inf, self_rows)
        soles[i], depths[i] = out.end_effectors[3], out.self_depths[3]
    return soles, depths[:, 0]


@pytest.mark.parametrize('roll', [0.12, 0.13, 0.14])
def test_a_puppet_swings_its_foot_round_the_other_leg(
    tall_character: Character, adult_character: Character, roll: float
) -> None:
    act, t = Act(tall_character, adult_character), phase(1.0 / TICK_S)
    forth = 0.35 * np.cos(2.0 * np.pi * t) - 0.45
    script = act.pose(t, right_thigh=(roll, forth, 0.0), right_shank=(0.0, 0.9, 0.0))
    free, in_the_leg = swing(act.solver(FREE), script, TICK_S)
    round_it, depth = swing(act.solver(PUSHED), script, TICK_S)
    # each frame as if it were the first
    thrown, _ = swing(act.solver(PUSHED), script, np.inf)
    assert in_the_leg.max() > 0.01 and depth.max() < ALLOWED_M + 1e-4
    assert jerk(round_it - free) < 0.4 * jerk(thrown - free)
    assert np.linalg.norm(round_it - free, axis=1).max() < 1.5 * in_the_leg.max()
