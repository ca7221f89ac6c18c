# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rate control: Jacobian and pseudo-inverse against numpy, goals, switching bases, stability."""

import numpy as np
from puppet_core.body.skeleton import LIMB_SEGMENTS
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as qb
from puppet_retarget.rate_control import AS_PRINTED, RateConfig, RateController
from puppet_retarget.rate_control.kinematics import change_base, joint_difference, move_tree
from puppet_retarget.rate_control.state import ALL_RATES, NO_ESTIMATE, SECONDARY_ONLY, TASKS_ONLY
from puppet_retarget.rate_control.step import damped_factor, Local, pseudo_inverse
from puppet_retarget.rate_control.tree import (
    BALL,
    BodyTree,
    FIXED,
    HINGE,
    HORIZONTAL,
    MAX_TASKS,
    ORIENTATION,
    POSITION,
    Task,
)
import pytest

pytestmark = pytest.mark.slow

TOP, LEFT, RIGHT, FOOT = 3, 6, 9, 12
N = 13
MET_M = 1e-4  # near a singularity the damping leaves some of the tolerance's multiple
STEP = 1e-6
DIFFERENCE_TOL = 1e-8  # of central differences with that step
DURATION_S = 4.0
SETTLING_FRAMES = 800
SETTLED_RAD = 0.01  # a frame
BODY_M = 2.0


def mixed_tree(rng):
    """Return a trunk with two arms and a leg, of joints of all kinds."""
    parents = [-1, 0, 1, 2, 3, 4, 5, 3, 7, 8, 0, 10, 11]
    kind_of = {'b': BALL, 'h': HINGE, 'f': FIXED}
    kinds = [kind_of[letter] for letter in 'bbhbbhbbhhbhf']
    axes = rng.normal(size=(N, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    offsets = rng.uniform(-0.3, 0.3, (N, 3))
    return BodyTree(tuple(f's{i}' for i in range(N)), parents, offsets, kinds, axes)


def mixed_tasks(rng):
    """Return tasks of both kinds, whole and along some axes only."""
    return [
        Task(LEFT, POSITION, rng.uniform(-0.2, 0.2, 3)),
        Task(RIGHT, POSITION, rng.uniform(-0.2, 0.2, 3), weight=0.7),
        Task(TOP, ORIENTATION),
        Task(0, POSITION, (0.1, 0.0, 0.0), HORIZONTAL),
        Task(FOOT, ORIENTATION, axes=np.eye(3)[1:2], weight=0.5),
        Task(FOOT, POSITION, axes=np.array([[0.6, 0.8, 0.0]])),
    ]


def possible_rotations(tree, rng, size):
    """Return joint rotations that a tree's joints can take, shape (n, 4)."""
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(tree.names), 1))
    for i in range(1, len(tree.names)):
        turns = size * rng.normal(size=3)
        rotations[i] = {
            FIXED: rotations[i],
            HINGE: qb.exp(turns[0] * tree.axes[i]),
            BALL: qb.exp(turns),
        }[int(tree.kinds[i])]
    return rotations


def mixed_controller(rng, base=0, config=RateConfig()):
    """Return a controller of the mixed tree in some posture."""
    tree = mixed_tree(rng)
    controller = RateController(tree, mixed_tasks(rng), config, base)
    controller.reset(
        rng.normal(size=3), qb.normalize(rng.normal(size=4)), possible_rotations(tree, rng, 0.5)
    )
    return controller


def numeric_pinv(jacobian, mobilities, damping):
    """Return W J^T (J W J^T + lambda^2 I)^-1 by singular values, shape (dofs, rows)."""
    root = np.sqrt(mobilities)
    u, s, vt = np.linalg.svd(jacobian * root, full_matrices=False)
    return root[:, None] * (vt.T * (s / (s**2 + damping**2))) @ u.T


def moved_goals(controller, rng, size):
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
def test_goals_in_reach_are_met(rng, base, is_driven):
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


@pytest.mark.parametrize('k1', [1.0, 0.4, 0.1])
@pytest.mark.parametrize('estimate', [NO_ESTIMATE, TASKS_ONLY, ALL_RATES, SECONDARY_ONLY])
def test_error_falls_as_eq_13_says(rng, k1, estimate):
    """ChoiKo2000 eq. 13, e[n] = (1 - K1) e[n-1]; the goal moves and angles are to be imitated."""
    config = AS_PRINTED._replace(k1=k1, estimate=estimate)
    controller = mixed_controller(rng, config=config)
    moved_goals(controller, rng, 0.03)
    before = controller.packed[0]['state']['before']
    for name in ('positions', 'orientations'):
        before[name] = getattr(controller.inputs, name)  # missed already by the frame before
    controller.inputs.imitated[:N] = qb.multiply(
        controller.rotations, possible_rotations(controller.tree, rng, 0.01)
    )
    missed, moves = controller.errors(), 1e-3 * rng.normal(size=(MAX_TASKS, 3))
    bound = 0.05 * np.abs(missed).max()
    for _ in range(3):
        controller.step()
        left = controller.errors()
        assert np.abs(left - (1.0 - k1) * missed).max() < bound
        controller.inputs.positions[:] += moves
        missed = left


def numeric_step(controller, config):
    """Return eq. 16 with the estimates of its steps 1 to 3 after no error, by numpy, (dofs,)."""
    n, tree, arrays = controller.tree.n_dofs, controller.tree, controller.packed[0]
    before, state, inputs = arrays['state'].copy(), arrays['state'], controller.inputs
    moves, jacobian = controller.errors(), controller.jacobian()
    inverse = numeric_pinv(jacobian, inputs.mobilities[:n], 0.0)
    wish, tried = np.zeros(n), inverse @ moves
    for j in range(1, N):
        first, kind = tree.first_dofs[j], int(tree.kinds[j])
        place = state['rotations'][j], inputs.imitated[j]
        wish[first : first + kind] = joint_difference(kind, tree.axes[j], *place)[:kind]
    move_tree(arrays['tree'], tried, state)
    expected = controller.errors()
    arrays['state'] = before
    gains = np.where(np.arange(n) < 6, 1.0, config.k2)  # the base has none
    secondary = gains * (wish - tried)
    return inverse @ (moves + config.k1 * expected - jacobian @ secondary) + secondary


@pytest.mark.parametrize(('k1', 'k2'), [(1.0, 1.0), (0.3, 0.6)])
def test_step_as_printed_is_eq_16(rng, k1, k2):
    """Both errors as steps 1 to 3 foresee them, by numpy's singular values; tasks move."""
    config = AS_PRINTED._replace(k1=k1, k2=k2, max_damping=0.0)
    controller, twin = (
        mixed_controller(np.random.default_rng(3), config=config) for _ in range(2)
    )
    shift = 0.03 * rng.normal(size=(6, 3))
    wanted = qb.multiply(twin.rotations, possible_rotations(twin.tree, rng, 0.05))
    for each in (controller, twin):
        each.inputs.positions[:6] += shift
        each.inputs.imitated[:N] = wanted
    rates = numeric_step(twin, config)
    move_tree(twin.packed[0]['tree'], rates, twin.packed[0]['state'])
    controller.step()
    np.testing.assert_allclose(controller.p_world, twin.p_world, atol=1e-9)
    np.testing.assert_allclose(controller.rotations, twin.rotations, atol=1e-9)


def test_estimate_of_three_steps_leaves_less_than_the_plain_one(rng):
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


def test_new_base_begins_where_it_was_and_eases_to_its_pose(rng):
    """Base and end-effector switched at a step's end, five centimetres wrong: no jump."""
    controller = mixed_controller(rng)
    controller.inputs.active[:] = 0
    controller.drive_base()
    pose, turn = controller.p_world[LEFT].copy(), controller.q_world[LEFT].copy()
    given = pose + [0.05, 0.0, 0.0]
    before = controller.p_world.copy()
    controller.inputs.base_position[:], controller.inputs.base_orientation[:] = given, turn
    change_base(controller.packed[0], LEFT)
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
        ({'axes': np.ones((2, 3))}, 'axes: expected unit vectors'),
        ({'names': ('a', 'a')}, 'names: expected'),
        ({'offsets': [[0, 0, 0], [0, 0, np.nan]]}, 'offsets: expected finite'),
    ],
)
def test_impossible_trees_are_refused(change, text):
    given = {'names': ('a', 'b'), 'parents': [-1, 0], 'offsets': np.zeros((2, 3)), **change}
    with pytest.raises(ConfigError, match=text):
        BodyTree(**given)


def test_impossible_tasks_are_refused(adult_character):
    tree = BodyTree.of_skeleton(adult_character.skeleton)
    with pytest.raises(ConfigError, match='axes: expected one to three perpendicular'):
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
    with pytest.raises(ConfigError, match='k1: expected a number < 2, got 2.0'):
        RateController(tree, [], RateConfig(k1=2.0))


@pytest.mark.parametrize('base', [0, TOP, LEFT, 12])
def test_jacobian_is_that_of_differences(rng, base):
    """All kinds of joints, walked both ways; the base's six; partial axes; carried goals."""
    carried = np.array([0.3, 1.0, 0.0, 0.6])
    controller = mixed_controller(rng, base)
    controller.inputs.carried[:4] = carried
    assert controller.tree.n_dofs == 6 + 6 * 3 + 5 * 1
    jacobian = controller.jacobian()
    assert jacobian.shape == (3 + 3 + 3 + 2 + 1 + 1, controller.tree.n_dofs)
    rates = np.zeros(controller.tree.n_dofs)
    for d in range(controller.tree.n_dofs):
        ends = []
        for sign in (1.0, -1.0):
            moved = mixed_controller(np.random.default_rng(20025), base)
            moved.inputs.carried[:4] = carried
            rates[:] = 0.0
            rates[d] = sign * STEP
            arrays = moved.packed[0]
            move_tree(arrays['tree'], rates, arrays['state'])
            ends.append(moved.errors())
        slope = (ends[1] - ends[0]) / (2.0 * STEP)
        np.testing.assert_allclose(jacobian[:, d], slope, atol=DIFFERENCE_TOL)


def solve(jacobian, wanted, wish, mobilities, max_damping=0.0):
    config = RateConfig(max_damping=max_damping, damped_below=0.3)
    factor, dexterity, damping = damped_factor(jacobian, mobilities, config)
    rates = pseudo_inverse(Local(jacobian, factor, 1.0), mobilities, wanted, wish)
    return rates, dexterity, damping


@pytest.mark.parametrize('shape', [(8, 30), (9, 42), (24, 51), (1, 6)])
def test_rates_are_those_of_numpys_pseudo_inverse(rng, shape):
    rows, dofs = shape
    for _ in range(20):
        jacobian = rng.normal(size=shape)
        wanted, wish = rng.normal(size=rows), rng.normal(size=dofs)
        mobilities = rng.uniform(0.1, 2.0, dofs)
        rates, _, damping = solve(jacobian, wanted, wish, mobilities)
        inverse = numeric_pinv(jacobian, mobilities, 0.0)
        expected = inverse @ wanted + wish - inverse @ (jacobian @ wish)
        assert damping == 0.0
        np.testing.assert_allclose(rates, expected, atol=1e-8)
        plain, _, _ = solve(jacobian, wanted, np.zeros(dofs), np.ones(dofs))
        np.testing.assert_allclose(plain, np.linalg.pinv(jacobian) @ wanted, atol=1e-8)


def test_singular_rows_are_damped_and_bounded(rng):
    """Damped least squares: twice the same constraint, and one of nothing at all."""
    jacobian = rng.normal(size=(8, 30))
    jacobian[1], jacobian[2] = jacobian[0], 0.0
    wanted = rng.normal(size=8)
    rates, dexterity, damping = solve(jacobian, wanted, np.zeros(30), np.ones(30), 0.05)
    assert damping == pytest.approx(0.05, abs=1e-6) and dexterity < 1e-5
    expected = numeric_pinv(jacobian, np.ones(30), damping) @ wanted
    np.testing.assert_allclose(rates, expected, atol=1e-6)
    assert np.linalg.norm(rates) < np.linalg.norm(wanted) / (2.0 * damping)


def test_damping_and_dexterity_follow_the_singular_values(rng):
    jacobian = rng.normal(size=(8, 30))
    u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
    for smallest in (1.0, 0.31, 0.29, 0.1, 0.01):
        s[-1] = smallest
        _, dexterity, damping = solve((u * s) @ vt, np.zeros(8), np.zeros(30), np.ones(30), 0.05)
        assert dexterity == pytest.approx(smallest / s[0], rel=0.05)
        share = max(1.0 - (smallest / 0.3) ** 2, 0.0)
        assert damping == pytest.approx(0.05 * np.sqrt(share), abs=1e-9)


def make(character, config, is_driven):
    """Return the suite's skeleton in the T-pose, arms and legs straight: singular."""
    skeleton = character.skeleton
    ends = [int(i) for i in LIMB_SEGMENTS[:, 2]]
    tasks = [Task(end, POSITION, p) for end, p in zip(ends, skeleton.interaction_points)]
    tasks += [Task(2, ORIENTATION), Task(15, ORIENTATION, weight=0.3)]
    controller = RateController(BodyTree.of_skeleton(skeleton), tasks, config)
    controller.drive_base(is_driven)
    controller.reset([0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], np.tile([1.0, 0, 0, 0], (16, 1)))
    return controller


def largest_turn(before, controller):
    """Return how far a joint has turned since [rad]."""
    turns = qb.log(qb.multiply(qb.conjugate(before[1:]), controller.rotations[1:]))
    return float(np.linalg.norm(turns, axis=1).max())


def harass(controller, size_m, rate_hz, seed):
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


def settle(controller):
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
def test_wild_goals_stay_bounded_and_settle(adult_character, rate_hz, size_m, is_driven):
    for seed in range(2):
        controller = make(adult_character, RateConfig(), is_driven)
        harass(controller, size_m, rate_hz, seed)
        controller.inputs.imitated[:16] = [1.0, 0.0, 0.0, 0.0]
        assert settle(controller) < SETTLED_RAD


def test_body_comes_back_from_where_it_could_not_reach(adult_character):
    controller = make(adult_character, RateConfig(), True)
    home = controller.inputs.positions[:4].copy()
    controller.inputs.positions[:4] += [3.0, -2.0, 1.0]
    settle(controller)
    controller.inputs.positions[:4] = home * [1.0, 0.8, 1.0]
    controller.inputs.positions[2:4] += [0.0, 0.0, 0.15]
    settle(controller)
    assert controller.error < 1e-3
