# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rate control never goes unstable: goals out of reach, contradictory, singular, at any rate.

ChoiKo2000 says of its own that there is no easy way to guarantee that.
"""

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.skeleton import LIMB_SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats
from puppet_retarget.rate_control import RateConfig, RateController
from puppet_retarget.rate_control.tree import BodyTree, ORIENTATION, POSITION, Task
import pytest

DURATION_S = 4.0
SETTLING_FRAMES = 800
SETTLED_RAD = 0.01  # a frame
BODY_M = 2.0


def make(character: Character, config: RateConfig, is_driven: bool) -> RateController:
    """Return the suite's skeleton in the T-pose, arms and legs straight: singular."""
    skeleton = character.skeleton
    ends = [int(i) for i in LIMB_SEGMENTS[:, 2]]
    tasks = [Task(end, POSITION, p) for end, p in zip(ends, skeleton.interaction_points)]
    tasks += [Task(2, ORIENTATION), Task(15, ORIENTATION, weight=0.3)]
    controller = RateController(BodyTree.of_skeleton(skeleton), tasks, config)
    controller.drive_base(is_driven)
    controller.reset([0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], np.tile([1.0, 0, 0, 0], (16, 1)))
    return controller


def largest_turn(before: Floats, controller: RateController) -> float:
    """Return how far a joint has turned since [rad]."""
    turns = qb.log(qb.multiply(qb.conjugate(before[1:]), controller.rotations[1:]))
    return float(np.linalg.norm(turns, axis=1).max())


def harass(controller: RateController, size_m: float, rate_hz: float, seed: int) -> None:
    """Move all goals about, let them jump every second, and ask for wild angles."""
    rng = np.random.default_rng(seed)
    home = controller.inputs.positions[:4].copy()
    phases, speeds = rng.uniform(0.0, 6.28, (4, 3)), rng.uniform(0.3, 2.0, (4, 3))
    for i in range(round(DURATION_S * rate_hz)):
        t = i / rate_hz
        jump = rng.normal(size=(4, 3)) if i % rate_hz == rate_hz // 2 else 0.0
        away = np.sin(6.28 * speeds * t + phases) + jump
        controller.inputs.positions[:4] = home + size_m * away
        controller.inputs.orientations[4] = qb.exp(3.0 * np.sin(6.28 * speeds[0] * t))
        controller.inputs.imitated[:16] = qb.exp(rng.normal(size=(16, 3)))
        controller.step()
        assert np.isfinite(controller.p_world).all()
        norms = np.linalg.norm(controller.rotations, axis=1)
        np.testing.assert_allclose(norms, 1.0, atol=1e-9)
        farthest = np.linalg.norm(controller.inputs.positions[:4], axis=1).max()
        assert np.linalg.norm(controller.p_world[0]) < farthest + BODY_M


def settle(controller: RateController) -> float:
    """Hold all goals; return the largest turn of a joint in the last frames [rad]."""
    turns = []
    for _ in range(SETTLING_FRAMES):
        before = controller.rotations.copy()
        controller.step()
        turns.append(largest_turn(before, controller))
    return max(turns[-10:])


@pytest.mark.parametrize('rate_hz', [5, 30, 120])
@pytest.mark.parametrize('size_m', [0.0, 0.5, 5.0])
@pytest.mark.parametrize('is_driven', [True, False], ids=['driven', 'free'])
def test_wild_goals_stay_bounded_and_settle(
    adult_character: Character, rate_hz: int, size_m: float, is_driven: bool
) -> None:
    for seed in range(2):
        controller = make(adult_character, RateConfig(), is_driven)
        harass(controller, size_m, rate_hz, seed)
        controller.inputs.imitated[:16] = [1.0, 0.0, 0.0, 0.0]
        assert settle(controller) < SETTLED_RAD


def test_body_comes_back_from_where_it_could_not_reach(adult_character: Character) -> None:
    controller = make(adult_character, RateConfig(), True)
    home = controller.inputs.positions[:4].copy()
    controller.inputs.positions[:4] += [3.0, -2.0, 1.0]
    settle(controller)
    controller.inputs.positions[:4] = home * [1.0, 0.8, 1.0]
    controller.inputs.positions[2:4] += [0.0, 0.0, 0.15]
    settle(controller)
    assert controller.error < 1e-3
