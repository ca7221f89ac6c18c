# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Every case change in the intersection of the root's balls, through the whole frame (errata 4).

Goals and importances move so that the balls of the four limbs take given paths. Which case
holds is told by multipliers: those of the active balls prove that the root is the nearest
feasible point, or that no smaller growth gives the balls a common point.

Where balls part, the rim of what they share moves like a square root, at any speed. So the
nearest point as such has no bound of speed: there the longest steps must vanish as they are
divided. With the smoothing of the root all speeds are bounded by those of the input.

"""

from collections.abc import Callable
from itertools import pairwise

from continuity_runs import (
    check_divided,
    HIGH_HZ,
    LOW_HZ,
    phase,
    play,
    Played,
    Script,
    Stage,
    swell,
)
import numpy as np
from puppet_core.body.character import Character
from puppet_core.math.arrays import Floats, Vec3, Vec3s
from puppet_retarget.solvers.puppet_model import SolverConfig
from puppet_retarget.solvers.registry import ElbowCircleSolver, ImportanceBasedSolver
from puppet_retarget.solvers.root import HELD_POWER, MIN_IMPORTANCE
from puppet_retarget.solvers.solver import Solver
import pytest
from scipy.optimize import nnls

TIGHT_M = 1e-7  # distance from a ball's surface at which it is active
PROOF_TOL = 1e-9
LOOKED_AT = 4  # every so many frames are proven
HALVES = 0.5 * np.pi * np.arange(4)
NEAREST = SolverConfig(
    root_softness=0.0, root_smoothing_s=0.0, max_iterations=0, self_push_out=False
)
AT_ONCE = SolverConfig(root_smoothing_s=0.0, self_push_out=False)
SMOOTHED = SolverConfig(self_push_out=False)
PUPPETS = pytest.mark.parametrize('puppet', ['short_character', 'tall_character'])
LEFT_HAND, LEFT_FOOT, RIGHT_FOOT = 0, 2, 3


def columns(*coordinates: Floats | float) -> Vec3s:
    """Return points whose coordinates may be arrays over time."""
    return np.stack(np.broadcast_arrays(*coordinates), axis=-1)


def no_balls(t: Floats) -> tuple[Vec3s, Floats]:
    """Return infinite balls."""
    return np.zeros((len(t), 4, 3)), np.full((len(t), 4), np.inf)


# paths of the balls' centres about the reference root and their radii, in units of a leg's reach


def one_ball(t: Floats) -> tuple[Vec3s, Floats]:
    """Return a ball that leaves the root behind: it is inside, then on its sphere."""
    centres, radii = no_balls(t)
    centres[:, LEFT_FOOT], radii[:, LEFT_FOOT] = columns(0.3, 0.1 + 0.9 * swell(t), -0.8), 1.0
    return centres, radii


def feet_apart(t: Floats) -> tuple[Vec3s, Floats]:
    """Return two balls whose lens the root touches, narrows to nothing and opens again."""
    centres, radii = no_balls(t)
    for i, sign in ((LEFT_FOOT, 1.0), (RIGHT_FOOT, -1.0)):
        y = sign * (0.2 + 1.05 * swell(t)) + 0.1 * np.sin(2.0 * np.pi * t)
        centres[:, i], radii[:, i] = columns(0.15, y, -0.75), 1.0
    return centres, radii


def three_apart(t: Floats) -> tuple[Vec3s, Floats]:
    """Return three balls of which each two still meet where all three do not."""
    centres, radii = no_balls(t)
    away = 0.6 + 0.48 * swell(t)
    x, y = 0.25 * np.sin(2.0 * np.pi * t), 0.1 * np.sin(4.0 * np.pi * t)
    for k, i in enumerate((LEFT_HAND, LEFT_FOOT, RIGHT_FOOT)):
        angle = 2.0 * np.pi * k / 3.0 + 0.3
        centres[:, i] = columns(x + away * np.cos(angle), y + away * np.sin(angle), -0.3)
        radii[:, i] = 1.0
    return centres, radii


def four_through_a_point(t: Floats) -> tuple[Vec3s, Floats]:
    """Return four balls through one point, a tip for the root; it becomes an edge twice."""
    late = np.clip(2.0 * t - 1.0, 0.0, 1.0)
    lean = 0.2 * np.sin(2.0 * np.pi * late) * np.sin(np.pi * late) ** 2
    x, y = 0.5 * np.sin(2.0 * np.pi * t), 0.4 * np.sin(4.0 * np.pi * t)
    centres, radii = np.empty((len(t), 4, 3)), np.ones((len(t), 4))
    for i, angle in enumerate(HALVES + 0.4):
        away = 0.6 + (lean if i % 2 else -lean)
        centres[:, i] = columns(x + away * np.cos(angle), y + away * np.sin(angle), -1.2)
    return centres, radii


def four_apart(t: Floats) -> tuple[Vec3s, Floats]:
    """Return four balls at the corners of a tetrahedron, of which only all four do not meet."""
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3.0)
    middle = columns(0.2 * np.sin(2.0 * np.pi * t), 0.2 * np.cos(2.0 * np.pi * t), -0.5)
    away = 0.7 + 0.34 * swell(t)
    return middle[:, None] + away[:, None, None] * corners, np.ones((len(t), 4))


def nested(t: Floats) -> tuple[Vec3s, Floats]:
    """Return a ball within a ball of twice its size, which it touches and pokes through."""
    centres, radii = no_balls(t)
    u = swell(t)
    centres[:, LEFT_FOOT], radii[:, LEFT_FOOT] = (0.0, 0.0, -3.0), 2.0
    centres[:, RIGHT_FOOT] = columns(0.1 + 1.1 * u, 0.1 * np.sin(2.0 * np.pi * t), 0.3 * u - 2.2)
    radii[:, RIGHT_FOOT] = 1.0
    return centres, radii


def infinite_ball_comes(t: Floats) -> tuple[Vec3s, Floats]:
    """Return a ball that shrinks from infinity till it is active, then apart from the other."""
    centres, radii = no_balls(t)
    w = np.clip(1.4 * swell(t) - 0.2, 0.0, 1.0)
    w *= w * (3.0 - 2.0 * w)
    centres[:, LEFT_FOOT], centres[:, RIGHT_FOOT] = (0.3, 1.6, -0.8), (0.2, -0.9, -0.8)
    np.divide(1.0, w, out=radii[:, LEFT_FOOT], where=w > 0.0)
    radii[:, RIGHT_FOOT] = 1.0
    return centres, radii


# with the changes that must be seen in one direction; a way there is a way back
CHANGES = {
    one_ball: {('inside', 'on 1')},
    feet_apart: {('inside', 'on 1'), ('on 1', 'on 2'), ('on 2', 'none for 2')},
    three_apart: {('inside', 'on 1'), ('on 1', 'on 2'), ('on 2', 'on 3'), ('on 3', 'none for 3')},
    four_through_a_point: {('on 1', 'on 2'), ('on 2', 'on 3'), ('on 3', 'on 4'), ('on 4', 'on 2')},
    four_apart: {('on 1', 'on 2'), ('on 2', 'on 3'), ('on 3', 'none for 4')},
    nested: {('on 1', 'on 2')},
    infinite_ball_comes: {('on 1', 'on 2'), ('on 2', 'none for 2')},
}
PATHS = pytest.mark.parametrize('path', CHANGES, ids=lambda path: path.__name__)


def proven_case(centres: Vec3s, radii: Floats, slacks: Floats, start: Vec3, root: Vec3) -> str:
    """Return which case a root is in, by multipliers that prove it to be right."""
    finite = np.isfinite(radii)
    centres, radii, slacks = centres[finite], radii[finite], slacks[finite]
    away = np.linalg.norm(root - centres, axis=1)
    growth = max(((away - radii) / slacks).max(), 0.0)
    active = np.abs(away - radii - growth * slacks) < TIGHT_M
    normals = ((root - centres) / away[:, None])[active].T
    if growth > PROOF_TOL:
        # nowhere are all balls nearer: normals to which no direction is opposite
        rows = np.vstack((normals, np.ones(normals.shape[1])))
        multipliers, residual = nnls(rows, np.array([0.0, 0.0, 0.0, 1.0]))
        assert residual < PROOF_TOL
        return f'none for {np.sum(multipliers > PROOF_TOL)}'
    if np.linalg.norm(root - start) < PROOF_TOL:
        return 'inside'
    # nothing of the balls is nearer: the way back is a sum of outward normals
    assert nnls(normals, start - root)[1] < PROOF_TOL
    return f'on {active.sum()}'


class Driven:
    """A puppet whose balls take a path."""

    def __init__(self, character: Character, performer: Character, path: Callable) -> None:
        self.stage = Stage(character, performer)
        self.path = path
        self.unit = self.stage.reaches.max()

    def balls(self, t: Floats) -> tuple[Vec3s, Floats, Floats]:
        """Return centres from the reference root, radii [m] and importances."""
        centres, radii = self.path(t)
        importances = np.minimum(self.stage.reaches / (self.unit * radii), 1.0)
        return self.unit * centres, self.unit * radii, importances

    def script(self, t: Floats) -> Script:
        """Return what a solver is given for the path."""
        centres, _, importances = self.balls(t)
        return self.stage.with_balls(centres, importances)

    def fastest(self) -> float:
        """Return the highest speed of goals, and of radii as far as they matter [m/s]."""
        centres, _, importances = self.balls(phase(LOW_HZ))
        moves = np.linalg.norm(np.diff(centres, axis=0), axis=-1).max()
        return LOW_HZ * (moves + self.unit * np.abs(np.diff(importances, axis=0)).max())

    def cases(self, t: Floats, played: Played) -> list[str]:
        """Return the case of some of the frames, each proven."""
        centres, radii, importances = self.balls(t)
        slacks = 1.0 / np.maximum(importances, MIN_IMPORTANCE) ** 2
        start = self.stage.reference
        return [
            proven_case(start + centres[i], radii[i], slacks[i], start, played.roots[i])
            for i in range(0, len(t), LOOKED_AT)
        ]


@pytest.fixture
def driven(request, adult_character: Character, puppet: str, path: Callable) -> Driven:
    """Return a puppet whose balls take a path."""
    return Driven(request.getfixturevalue(puppet), adult_character, path)


@pytest.fixture
def solver(request, scene: Callable, adult_character: Character, puppet: str) -> Callable:
    """Return a maker of solvers for the puppet, in an empty world."""

    def make(config: SolverConfig, kind: type = ImportanceBasedSolver) -> Solver:
        character = request.getfixturevalue(puppet)
        return kind(character, scene(), adult_character.skeleton.leg_length, config)

    return make


@PUPPETS
@PATHS
def test_nearest_point_takes_every_case_without_a_jump(
    driven: Driven, solver: Callable, path: Callable
) -> None:
    t = phase(HIGH_HZ)
    exact = solver(NEAREST)
    played = play(exact, driven.script(t), HIGH_HZ)
    cases = driven.cases(t, played)
    assert CHANGES[path] <= set(pairwise(cases)) | set(pairwise(cases[::-1]))
    np.testing.assert_array_equal(
        played.reachable[::LOOKED_AT], [not case.startswith('none') for case in cases]
    )
    check_divided(exact, driven.script, t, played)


@pytest.mark.parametrize('path', [nested], ids=['nested'])
@PUPPETS
def test_nested_ball_comes_to_touch_the_outer_one(driven: Driven) -> None:
    """The path passes inner tangency."""
    centres, radii, _ = driven.balls(phase(HIGH_HZ))
    apart = np.linalg.norm(centres[:, LEFT_FOOT] - centres[:, RIGHT_FOOT], axis=1)
    within = apart < radii[:, LEFT_FOOT] - radii[:, RIGHT_FOOT]
    assert 1000 < within.sum() < 5000


@pytest.mark.parametrize('path', [infinite_ball_comes], ids=['infinite_ball_comes'])
@PUPPETS
def test_infinite_ball_becomes_finite(driven: Driven) -> None:
    """The path has no, hardly any and full importance."""
    w = driven.balls(phase(HIGH_HZ))[2][:, LEFT_FOOT]
    assert w[0] == 0.0 and w.max() == 1.0
    assert ((w > MIN_IMPORTANCE) & (w < 1e-3)).any()


@pytest.mark.parametrize('puppet', ['short_character'])
@PATHS
def test_softened_root_and_bent_body_do_not_jump(driven: Driven, solver: Callable) -> None:
    """All of the frame but the smoothing of the root; the body solver starts and ends."""
    t = phase(HIGH_HZ)
    at_once = solver(AT_ONCE)
    played = play(at_once, driven.script(t), HIGH_HZ)
    assert played.iterations[played.reachable].max() == 0
    if not played.reachable.all():
        assert played.reachable.any()
        assert driven.path is feet_apart or played.iterations.max() > 0
    check_divided(at_once, driven.script, t, played)


@pytest.mark.parametrize(
    ('puppet', 'kind'),
    [
        ('short_character', ImportanceBasedSolver),
        ('tall_character', ImportanceBasedSolver),
        ('tall_character', ElbowCircleSolver),
    ],
    ids=['short', 'tall', 'tall on circles'],
)
@PATHS
def test_smoothed_root_bounds_all_speeds_by_the_inputs(
    driven: Driven, solver: Callable, kind: type
) -> None:
    half, high = (
        play(solver(SMOOTHED, kind), driven.script(phase(rate)), rate).speeds(rate)
        for rate in (0.5 * HIGH_HZ, HIGH_HZ)
    )
    # balls that hold grow with a power of the importance, the rim of two moves twice as fast
    fastest = HELD_POWER * driven.fastest()
    assert high.root < 2.1 * fastest
    assert high.ends < 4.0 * fastest
    # near full stretch a joint turns up to sixteen times per limb length
    assert high.joints < 2.0 * 16.0 / driven.unit * fastest
    # a jump would be twice as fast at twice the rate
    assert high.root < 1.1 * half.root
    assert high.ends < 1.1 * half.ends
