# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Limbs that touch the body, through the whole frame: push-out, and ranges that come and go.

As `test_continuity_limbs`: the root is not smoothed, and what is inside of the body has a nearest
side of it.
"""

from collections.abc import Callable

from continuity_runs import Act, check_smooth, HIGH_HZ, phase, play, Script, swell
import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats
from puppet_retarget.solvers.penetration import ALLOWED_M, MAX_PUSH_M_S
from puppet_retarget.solvers.solver import Solver
from puppet_retarget.solvers.state import SolverConfig
import pytest

AT_ONCE = SolverConfig(root_smoothing_s=0.0, self_push_out=False)
PUSHED = SolverConfig(root_smoothing_s=0.0)
PUPPETS = pytest.mark.parametrize('puppet', ['short_character', 'tall_character'])


@pytest.fixture
def act(request, adult_character: Character, puppet: str) -> Act:
    """Return a puppet of a performer."""
    return Act(request.getfixturevalue(puppet), adult_character)


def depths(played_script: Script, solver: Solver, every: int = 20) -> Floats:
    """Return how deep the puppet's general end-effectors are in itself, (n, 8) [m]."""
    return np.array(
        [
            solver.solve(root, hips, rotations, rows, np.inf, self_rows).self_depths.copy()
            for root, hips, rotations, rows, self_rows in zip(*(f[::every] for f in played_script))
        ]
    )


def to_belly(act: Act, t: Floats, share: float) -> Script:
    """Return a palm that goes to the belly."""
    u = swell(t)
    script = act.pose(t)
    vectors = qb.log(script.rotations)
    vectors[:, SEGMENT_INDEX['left_upper_arm']] = np.stack(
        (np.full(len(t), -1.0), 0.2 * np.sin(2.0 * np.pi * t) + 0.1, -0.2 - 0.5 * share * u),
        axis=1,
    )
    vectors[:, SEGMENT_INDEX['left_forearm'], 2] = -0.8 - 1.6 * share * u
    script.rotations[:] = qb.exp(vectors)
    return script


def to_sides(act: Act, t: Floats, share: float) -> Script:
    """Return elbows that go to the sides."""
    y = 0.1 * np.sin(2.0 * np.pi * t)
    return act.pose(t, upper_arm=(-0.6 - 0.9 * share * swell(t), y, 0.0))


def together(act: Act, t: Floats, share: float) -> Script:
    """Return palms that meet ahead of the chest."""
    u = swell(t)
    return act.pose(
        t,
        upper_arm=(-0.5, 0.3 * u, -0.6 - 0.5 * share * u),
        forearm=(0.0, 0.0, -0.4 - 1.7 * share * u),
    )


def knock_knees(act: Act, t: Floats, share: float) -> Script:
    """Return knees that meet."""
    return act.pose(t, thigh=(-0.35 * share * swell(t), -0.3, 0.0))


@pytest.mark.parametrize(
    ('puppet', 'move', 'share', 'inside'),
    [
        ('short_character', to_belly, 1.2, 0),
        ('short_character', to_sides, 1.2, 4),
        ('tall_character', to_sides, 1.2, 4),
        ('short_character', together, 0.9, 0),
        ('short_character', knock_knees, 1.0, 6),
        ('tall_character', knock_knees, 0.3, 6),
    ],
)
def test_general_end_effectors_leave_the_body_smoothly(
    act: Act, move: Callable, share: float, inside: int
) -> None:
    def dip(t: Floats) -> Script:
        return move(act, t, share)

    off, t = act.solver(AT_ONCE), phase(HIGH_HZ)
    free = play(off, dip(t), HIGH_HZ)
    fastest = free.speeds(HIGH_HZ).ends
    reach = act.stage.reaches[inside % 4]
    # the knee of a straight leg turns on a small circle, out of the way in a wide arc
    _, high = check_smooth(act.solver(PUSHED), dip, 4.0 * fastest, 128.0 / reach * fastest)
    deep = depths(dip(t), off)[:, inside] > ALLOWED_M
    assert 0.02 < deep.mean() < 0.7
    moved = np.linalg.norm(high.ends - free.ends, axis=2)[:, inside] > 0.0
    assert moved[::20][deep].all() and not moved.all()


def wandering(act: Act, t: Floats, seed: int) -> Script:
    """Return limbs that swing at random, deep into the body as well."""
    rng = np.random.default_rng(seed)
    script = act.pose(t)
    vectors = qb.log(script.rotations)
    for segment in LIMB_SEGMENTS[:, :2].ravel():
        for axis in range(3):
            turns, begins = rng.normal(0.0, 0.5, 2), rng.uniform(0.0, 2.0 * np.pi, 2)
            swings = np.sin(2.0 * np.pi * np.outer((1.0, 2.0), t) + begins[:, None])
            vectors[:, segment, axis] += turns @ swings
    script.rotations[:] = qb.exp(vectors)
    return script


@PUPPETS
def test_limbs_go_round_the_body_at_a_bounded_speed(act: Act) -> None:
    """However deep: where the way out changes sides the limb goes over, without a jump."""
    t, jumps = phase(HIGH_HZ), 0
    for seed in range(6):
        script = wandering(act, t, seed)
        free, pushed = (play(act.solver(c), script, HIGH_HZ) for c in (AT_ONCE, PUSHED))
        ends, solver = np.empty_like(free.ends), act.solver(PUSHED)
        for i, (root, hips, rotations, rows, self_rows) in enumerate(zip(*script)):
            out = solver.solve(root, hips, rotations, rows, np.inf, self_rows)
            ends[i] = out.end_effectors
        speeds = [
            HIGH_HZ * np.linalg.norm(np.diff(p, axis=0), axis=2).max()
            for p in (free.ends, pushed.ends, ends)
        ]
        bound = 3.0 * speeds[0] + 2.0 * MAX_PUSH_M_S
        assert speeds[1] < bound
        jumps += speeds[2] > bound
    assert jumps > 1  # without a past nothing is bounded
