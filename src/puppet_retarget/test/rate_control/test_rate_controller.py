# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The closed loop: it converges, takes any base and any second task, and says what is wrong."""

import numpy as np
from puppet_core.body.character import Character
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as qb
from puppet_retarget.rate_control import AS_PRINTED, RateConfig, RateController
from puppet_retarget.rate_control.tree import BodyTree, POSITION, Task
import pytest
from rate_bodies import LEFT, mixed_controller, mixed_tasks, possible_rotations, TOP

MET_M = 1e-4  # near a singularity the damping leaves some of the tolerance's multiple


def moved_goals(controller: RateController, rng: np.random.Generator, size: float) -> None:
    """Ask for where the tasks are after all joints have turned, so that it can be reached."""
    before = controller.rotations.copy()
    base = controller.base
    pose = controller.p_world[base].copy(), controller.q_world[base].copy()
    turned = before.copy()
    extra = possible_rotations(controller.tree, rng, size)
    turned[controller.tree.kinds == 3] = qb.multiply(before, extra)[controller.tree.kinds == 3]
    controller.reset(*pose, turned)
    goals = controller.inputs.positions.copy(), controller.inputs.orientations.copy()
    controller.reset(*pose, before)
    controller.inputs.positions[:], controller.inputs.orientations[:] = goals


@pytest.mark.parametrize('base', [0, TOP, LEFT])
@pytest.mark.parametrize('is_driven', [True, False], ids=['driven', 'free'])
def test_goals_in_reach_are_met(rng, base: int, is_driven: bool) -> None:
    controller = mixed_controller(rng, base)
    controller.drive_base(is_driven)
    if is_driven:
        # what is asked of the base itself no joint can do
        controller.inputs.active[:6] = [task.segment != base for task in mixed_tasks(rng)]
    for _ in range(5):
        moved_goals(controller, rng, 0.3)
        for _ in range(30):
            controller.step()
        assert controller.error < MET_M


def test_error_of_a_fixed_goal_falls_as_eq_13_says(rng) -> None:
    """ChoiKo2000 eq. 13 with K = I: what is left after a step is of second order."""
    controller = mixed_controller(rng, config=AS_PRINTED)
    controller.inputs.gains[:] = 0.0
    moved_goals(controller, rng, 0.05)
    errors = []
    for _ in range(4):
        errors.append(np.linalg.norm(controller.errors()))
        controller.step()
    assert errors[1] < 0.1 * errors[0] and errors[2] < 0.1 * errors[1]


def test_estimate_of_three_steps_leaves_less_than_the_plain_one(rng) -> None:
    """Steps 1 to 3 before eq. 17, on goals that move on."""
    left = []
    for estimate in (0, 1, 2):
        config = AS_PRINTED._replace(estimate=estimate)
        controller = mixed_controller(np.random.default_rng(7), config=config)
        goals = controller.inputs.positions[:2].copy()
        worst = 0.0
        for i in range(120):
            controller.inputs.positions[:2] = goals + 0.1 * np.sin(0.3 * i) * np.ones(3)
            controller.step()
            worst = max(worst, controller.error)
        left.append(worst)
    assert left[1] < 0.5 * left[0]
    assert left[2] <= left[1]


def test_new_base_begins_where_it_was_and_eases_to_its_pose(rng) -> None:
    """Base and end-effector switched at a step's end, five centimetres wrong: no jump."""
    controller = mixed_controller(rng)
    controller.inputs.active[:] = 0
    controller.drive_base()
    pose, turn = controller.p_world[LEFT].copy(), controller.q_world[LEFT].copy()
    given = pose + [0.05, 0.0, 0.0]
    before = controller.p_world.copy()
    controller.set_base(LEFT, given, turn)
    np.testing.assert_array_equal(controller.p_world, before)
    controller.step()
    assert np.abs(controller.p_world - before).max() < 0.21 * 0.05
    for _ in range(60):
        last = controller.p_world.copy()
        controller.step()
        assert np.abs(controller.p_world - last).max() < 0.011
    np.testing.assert_allclose(controller.p_world[LEFT], given, atol=1e-6)


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        ({'parents': [0, 0]}, 'parents: expected -1'),
        ({'kinds': [3, 4]}, 'kinds: expected 0'),
        ({'axes': np.ones((2, 2, 3))}, 'axes: expected unit vectors'),
        ({'names': ('a', 'a')}, 'names: expected'),
        ({'offsets': [[0, 0, 0], [0, 0, np.nan]]}, 'offsets: expected finite'),
    ],
)
def test_impossible_trees_are_refused(change: dict, text: str) -> None:
    given = {'names': ('a', 'b'), 'parents': [-1, 0], 'offsets': np.zeros((2, 3)), **change}
    with pytest.raises(ConfigError, match=text):
        BodyTree(**given)


def test_impossible_tasks_are_refused(adult_character: Character) -> None:
    tree = BodyTree.of_skeleton(adult_character.skeleton)
    with pytest.raises(ConfigError, match='axes: expected one to three unit vectors'):
        Task(0, axes=np.ones((2, 3)))
    with pytest.raises(ConfigError, match='weight: expected a number > 0'):
        Task(0, POSITION, weight=0.0)
    with pytest.raises(ConfigError, match='tasks: expected at most'):
        RateController(tree, [Task(0)] * 11)
    with pytest.raises(ConfigError, match='segment: expected 0 to 15, got 16'):
        RateController(tree, [Task(16)])
    with pytest.raises(ConfigError, match='segment: expected one of pelvis'):
        tree.index('tail')
    with pytest.raises(ConfigError, match='estimate: expected 0 to 3'):
        RateController(tree, [], RateConfig(estimate=4))
