# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where the root goes: reference height, mean offset, reach of the goals, smoothing, holding."""

from dataclasses import replace

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.posture import general_end_effectors
from puppet_core.math import pack_arrays
from puppet_core.math.arrays import Floats, Vec3, Vec3s
from puppet_retarget.solvers import root as kernels
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.state import Frame, Goals, puppet_model, tuning
import pytest

PERFORMER_LEG_M = 0.928
REST = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
ROOT_NOW = SolverConfig(root_softness=0.0, root_smoothing_s=0.0)


class Placing:
    """A puppet in the rest pose, and what `place_root` and `hold_root` need."""

    def __init__(self, character: Character, config: SolverConfig = ROOT_NOW) -> None:
        self.model = puppet_model(character)
        self.tuning = tuning(config, character, PERFORMER_LEG_M)
        self.skeleton = character.skeleton
        self.reaches = self.tuning.stretch_limit * self.skeleton.limb_lengths.sum(axis=1)
        self.joints = self.skeleton.rest_positions()
        self.points = general_end_effectors(self.skeleton, REST[None], self.joints[None])[0]
        _, self.frame = pack_arrays(Frame())

    def place(self, root: Vec3, goals: Vec3s, importances: Floats) -> tuple[Vec3, float]:
        """Return root and relaxation for goals of the palms and soles."""
        frame = self.frame
        frame.wrist_goals[:] = goals - self.skeleton.interaction_points
        frame.end_effectors[:], frame.p_world[:] = self.points + root, self.joints + root
        frame.root[:] = root
        places, weights = np.zeros((8, 3)), np.append(importances, np.zeros(4))
        places[:4] = goals
        asked = Goals(places, weights, np.zeros(8), np.zeros((8, 1)))
        relaxation = kernels.place_root(self.model, self.tuning, asked, frame)
        return frame.root.copy(), relaxation

    def stretch(self, root: Vec3, goals: Vec3s) -> Floats:
        """Return distance from shoulder or hip to each goal's wrist, over the limb's length."""
        shoulders = self.joints[[4, 7, 10, 13]] + root
        away = goals - self.skeleton.interaction_points - shoulders
        return np.linalg.norm(away, axis=1) / self.skeleton.limb_lengths.sum(axis=1)

    def hold(self, centres: Vec3s, importances: Floats, root: Vec3) -> Vec3:
        """Return where a smoothed root goes that is near given centres of balls."""
        balls, out = self.frame.balls, root.copy()
        balls.centres[:4] = centres
        weights = np.append(importances, np.zeros(4))
        kernels.hold_root(self.model, self.tuning, weights, balls, out)
        return out


@pytest.fixture
def short(short_character):
    """Return Blubby, placed without softening or smoothing."""
    return Placing(short_character)


def stance(skeleton, apart: float) -> Vec3s:
    """Return goals of soles on the floor, the hands' far from mattering."""
    return np.array(
        [[0.0, 0.5, 1.0], [0.0, -0.5, 1.0], [0.0, apart / 2, 0.0], [0.0, -apart / 2, 0.0]]
    )


FEET = np.array([0.0, 0.0, 1.0, 1.0])


def test_eq_5_1_is_the_weighted_mean_of_what_matters(rng):
    goals, positions, w = rng.normal(size=(4, 3)), rng.normal(size=(8, 3)), rng.uniform(size=4)
    w[0] = 1.0
    wanted = np.average(goals - positions[:4], axis=0, weights=w)
    np.testing.assert_allclose(kernels.mean_offset(goals, w, positions), wanted, atol=1e-12)


def test_mean_offset_is_continuous_through_zero_importance(rng):
    """Errata 2: the last importance vanishes and so does the offset."""
    goals, positions = rng.normal(size=(4, 3)), rng.normal(size=(8, 3))
    w = 1e-9 * np.array([0.0, 0.0, 1.0, 0.0])
    assert np.linalg.norm(kernels.mean_offset(goals, w, positions)) < 1e-8
    np.testing.assert_array_equal(kernels.mean_offset(goals, 0.0 * w, positions), 0.0)


def test_reference_form_leaves_the_root_to_the_body_solver(short_character):
    """Shin2002 table 7.1, without root estimation."""
    placing = Placing(short_character, replace(ROOT_NOW, root_form='reference'))
    root = np.array([0.0, 0.0, placing.skeleton.rest_root_height])
    near = stance(placing.skeleton, 0.1)
    out, relaxation = placing.place(root - [0.0, 0.0, 0.05], near, FEET)
    np.testing.assert_array_equal(out, root - [0.0, 0.0, 0.05])
    assert relaxation == 0.0
    lifted = root + [0.0, 0.0, 0.1]
    out, relaxation = placing.place(lifted, near, FEET)
    np.testing.assert_array_equal(out, lifted)
    # importance 1: relaxation is the missing length itself
    reach = placing.stretch(lifted, near)[2:] * placing.skeleton.limb_lengths[2:].sum(axis=1)
    full = placing.tuning.stretch_limit * placing.skeleton.limb_lengths[2:].sum(axis=1)
    assert relaxation == pytest.approx(np.max(reach - full))


def test_important_goals_come_within_reach(short):
    root = np.array([0.3, 0.1, 0.9])
    out, relaxation = short.place(root, stance(short.skeleton, 0.3), FEET)
    assert relaxation == 0.0
    assert short.stretch(out, stance(short.skeleton, 0.3))[2:].max() == pytest.approx(
        short.tuning.stretch_limit, abs=1e-9
    )


def test_empty_intersection_is_told_and_shared(short):
    """Feet 1.5 m apart: no root reaches both; the strain is the same for both."""
    goals = stance(short.skeleton, 1.5)
    out, relaxation = short.place(np.array([0.0, 0.0, 0.5]), goals, FEET)
    assert relaxation > 0.1
    stretch = short.stretch(out, goals)
    assert stretch[2] == pytest.approx(stretch[3], abs=1e-9)


def test_legs_whose_feet_matter_keep_their_bend_however_far_feet_are_apart(short, rng):
    """And the root stays where nothing matters, or where knees carry."""
    soles = short.points[2:4] + [[0.08, 0.04, 0.0], [-0.08, -0.04, 0.0]]
    bent = np.linalg.norm(short.joints[[12, 15]] - short.joints[[10, 13]], axis=1)
    frame = short.frame
    for knees, weight, is_kept in ((0.0, 1.0, True), (0.0, 0.0, False), (1.0, 1.0, False)):
        start = np.array([0.3, -0.2, 1.0 + 0.01 * rng.normal()])
        frame.root[:], frame.p_world[:] = start, short.joints + start
        frame.wrist_goals[2:] = soles - short.skeleton.interaction_points[2:] + [0.3, -0.2, 1.03]
        weights = np.array([0.0, 0.0, weight, weight, 0.0, 0.0, knees, knees])
        goals = Goals(np.zeros((8, 3)), weights, np.zeros(8), np.zeros((8, 1)))
        kernels.keep_extensions(short.model, short.tuning, goals, frame)
        hips = short.joints[[10, 13]] + frame.root
        np.testing.assert_array_equal(frame.root[:2], start[:2])
        if is_kept:
            length = np.linalg.norm(hips - frame.wrist_goals[2:], axis=1)
            np.testing.assert_allclose(length, bent, atol=1e-9)
        else:
            np.testing.assert_array_equal(frame.root, start)


def test_of_two_legs_the_straighter_one_sets_the_height(short):
    """The leg of a foot on a step wants the root 5 cm lower, and has it so if it is alone."""
    start, frame = np.array([0.0, 0.0, 1.0]), short.frame
    ankles = short.joints[[12, 15]] + start
    ankles[0] += 0.4 * (short.joints[10] + start - ankles[0])
    frame.root[:], frame.p_world[:] = start, short.joints + start
    frame.p_world[12] = ankles[0]
    frame.wrist_goals[2:] = ankles - [[0.0, 0.0, 0.05], [0.0, 0.0, 0.0]]
    for weights, lowest, highest in (([1.0, 1.0], -0.003, 0.0), ([1.0, 0.0], -0.051, -0.049)):
        frame.root[:] = start
        importances = np.array([0.0, 0.0, *weights, *np.zeros(4)])
        goals = Goals(np.zeros((8, 3)), importances, np.zeros(8), np.zeros((8, 1)))
        kernels.keep_extensions(short.model, short.tuning, goals, frame)
        assert lowest < frame.root[2] - start[2] <= highest


def test_balls_open_gently_as_hands_and_feet_let_go(short):
    """Those of elbows and knees as printed, reach / w; none at all without importance."""
    radii, found, shares = short.frame.balls.radii, [], np.linspace(0.0, 1.0, 101)
    for w in shares:
        goals = Goals(np.zeros((8, 3)), np.full(8, w), np.zeros(8), np.zeros((8, 1)))
        kernels.fill_root_balls(short.model, short.tuning, goals, short.frame)
        found.append(radii.copy())
    grown = np.array(found)[1:] / found[-1]
    assert np.isinf(found[0]).all() and (np.diff(grown, axis=0) < 0.0).all()
    np.testing.assert_allclose(grown[:, 4:], 1.0 / np.tile(shares[1:, None], 4))
    assert (grown[89, :4] < 1.035).all()  # at 0.9, where the printed ball has grown by a ninth


@pytest.mark.parametrize('softness', [0.5, 0.9])
def test_straight_legs_under_the_body_are_not_lowered(short_character, softness):
    """Softening must not make a standing puppet crouch."""
    placing = Placing(short_character, replace(ROOT_NOW, root_softness=softness))
    skeleton = placing.skeleton
    goals = stance(skeleton, 0.22)
    goals[2:, 0] = skeleton.interaction_points[2:, 0]
    height = 0.998 * skeleton.limb_lengths[2].sum() - skeleton.interaction_points[2, 2]
    root = np.array([0.0, 0.0, height - skeleton.offsets[10, 2]])
    out, _ = placing.place(root, goals, FEET)
    np.testing.assert_allclose(out, root, atol=1e-9)


@pytest.mark.parametrize('softness', [0.0, 0.5])
def test_root_is_continuous_while_the_feet_part(short_character, softness):
    """Errata 4, through the empty intersection; a lens h thick is some sqrt(h) wide."""
    placing = Placing(short_character, replace(ROOT_NOW, root_softness=softness))
    apart = np.linspace(0.8, 1.6, 4001)
    results = [
        placing.place(np.array([0.2, 0.0, 0.6]), stance(placing.skeleton, d), FEET) for d in apart
    ]
    relaxations = np.array([t for _, t in results])
    assert relaxations[0] == 0.0 < relaxations[-1]
    steps = np.linalg.norm(np.diff([x for x, _ in results], axis=0), axis=1)
    assert steps.max() < 2.0 * np.sqrt(apart[1] - apart[0])


def test_a_root_sinks_at_once_and_rises_slowly(short_character):
    """Times until half of a step of 1 cm or 30 cm is done, in ticks of 1 ms."""
    placing = Placing(short_character, SolverConfig())
    frame, none = placing.frame, np.zeros(8)
    fixed = placing.model, placing.tuning, np.zeros(3), Goals(none, none, none, none)
    halves = {}
    for step in (-0.3, -0.01, 0.01, 0.3):
        frame.root[:] = 0.0
        kernels.smooth_root(*fixed, np.inf, frame)
        for tick in range(1, 1000):
            frame.root[:] = 0.0, 0.0, step
            kernels.smooth_root(*fixed, 1e-3, frame)
            if abs(frame.root[2]) >= 0.5 * abs(step):
                halves[step] = tick
                break
    assert halves[-0.3] == halves[-0.01] < 50
    assert 2.5 * halves[-0.01] < halves[0.01] < 4.0 * halves[-0.01]
    assert halves[-0.3] < halves[0.3] < 2.0 * halves[-0.3]


def test_a_late_root_is_brought_to_the_nearest_place_that_reaches(short):
    centres, importances = np.zeros((4, 3)), np.array([0.0, 0.0, 1.0, 0.0])
    reach = short.reaches[2]
    late = np.array([0.3, 0.4, 1.2])
    out = short.hold(centres, importances, late)
    np.testing.assert_allclose(out, reach * late / np.linalg.norm(late), atol=1e-9)
    inside = 0.99 * reach * late / np.linalg.norm(late)
    np.testing.assert_allclose(short.hold(centres, importances, inside), inside, atol=1e-12)


def test_feet_with_room_hold_the_root_exactly_and_without_it_give_way_evenly(short):
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
            grown = (half + kernels.HELD_ROOM - 1.0) * reach
            np.testing.assert_allclose(misses.max(), grown, atol=1e-9)


def test_holding_is_continuous_while_balls_part_and_matter(short):
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
