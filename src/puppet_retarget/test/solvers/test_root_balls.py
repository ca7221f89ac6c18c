# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The root after its smoothing is held within reach of what is wholly important."""

import numpy as np
from puppet_core.body.character import Character
from puppet_core.math.arrays import Floats, Vec3, Vec3s
from puppet_retarget.solvers import root as root_balls
from puppet_retarget.solvers.state import LimbBalls, puppet_model, SolverConfig, tuning
import pytest

PERFORMER_LEG_M = 0.928


class Held:
    """A puppet whose root is held by balls."""

    def __init__(self, character: Character) -> None:
        self.model = puppet_model(character)
        self.tuning = tuning(SolverConfig(), character, PERFORMER_LEG_M)
        self.balls = LimbBalls(*map(np.copy, LimbBalls()))
        self.reaches = self.tuning.stretch_limit * character.skeleton.limb_lengths.sum(axis=1)

    def hold(self, centres: Vec3s, importances: Floats, root: Vec3) -> Vec3:
        """Return where a root goes that is near given centres of balls."""
        self.balls.centres[:] = centres
        out = root.copy()
        root_balls.hold_root(self.model, self.tuning, importances, self.balls, out)
        return out


@pytest.fixture
def short(short_character: Character) -> Held:
    """Return Blubby's root."""
    return Held(short_character)


def test_a_late_root_is_brought_to_the_nearest_place_that_reaches(short: Held) -> None:
    centres, importances = np.zeros((4, 3)), np.array([0.0, 0.0, 1.0, 0.0])
    reach = short.reaches[2]
    late = np.array([0.3, 0.4, 1.2])
    out = short.hold(centres, importances, late)
    np.testing.assert_allclose(out, reach * late / np.linalg.norm(late), atol=1e-9)
    inside = 0.99 * reach * late / np.linalg.norm(late)
    np.testing.assert_array_equal(short.hold(centres, importances, inside), inside)


def test_feet_with_room_hold_the_root_exactly_and_without_it_give_way_evenly(short: Held) -> None:
    importances = np.array([0.0, 0.0, 1.0, 1.0])
    late = np.array([0.0, 0.1, 1.0])
    reach = short.reaches[2]
    for half, exact in ((0.85, True), (0.98, False), (1.2, False)):
        centres = np.zeros((4, 3))
        centres[2:, 1] = half * reach, -half * reach
        out = short.hold(centres, importances, late)
        misses = np.linalg.norm(out - centres[2:], axis=1) - reach
        if exact:
            assert misses.max() < 1e-9
        else:
            # the least ball that both hold has the promised room
            grown = (half + root_balls.HELD_ROOM - 1.0) * reach
            np.testing.assert_allclose(misses.max(), grown, atol=1e-9)


def test_holding_is_continuous_while_balls_part_and_matter(short: Held) -> None:
    steps = np.linspace(0.0, 1.0, 20_001)
    outs = np.empty((len(steps), 3))
    for i, s in enumerate(steps):
        centres = np.zeros((4, 3))
        centres[2:, 1] = np.array([1.3, -1.3]) * s * short.reaches[2]
        importances = np.array([0.0, 0.0, 1.0, 0.9 + 0.1 * min(2.0 * s, 1.0)])
        outs[i] = short.hold(centres, importances, np.array([0.2, 0.1, 1.0]))
    assert np.linalg.norm(np.diff(outs, axis=0), axis=1).max() < 2e-3
    coarse = np.linalg.norm(np.diff(outs[::20], axis=0), axis=1).max()
    assert np.linalg.norm(np.diff(outs, axis=0), axis=1).max() < 0.3 * coarse
