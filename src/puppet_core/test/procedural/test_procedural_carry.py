# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The performance that carries a box: rigid in the palms, still on the tables, and smooth."""

import numpy as np
from puppet_core.body.skeleton import LIMB_SEGMENTS
from puppet_core.math import quaternions
from puppet_core.procedural import carry
from puppet_core.procedural.carry import (
    BOX_SIZE_M,
    carry_motion,
    STAND_CENTRE_M,
    TABLE_CENTRE_M,
    throw_motion,
    THROWS,
)
from puppet_core.procedural.curve import unit
import pytest

RATE_HZ = 120.0
EXACT_M = 1e-12
TOP_M = STAND_CENTRE_M[2] + 0.5 * carry.TABLE_SIZE_M[2]


@pytest.fixture(scope='module')
def motion(adult_character):
    return carry_motion(adult_character, RATE_HZ)


@pytest.fixture(scope='module')
def box(motion):
    """Return where the box is and how it is turned."""
    row = motion.props.names.index('box')
    return motion.props.positions[:, row], motion.props.orientations[:, row]


@pytest.fixture(scope='module')
def grips(motion, box):
    """Return the palms in the box's frame, shape (n, 2, 3)."""
    position, q = box
    away = motion.end_effectors[:, :2] - position[:, None]
    return quaternions.rotate(quaternions.conjugate(q)[:, None], away)


def looped_rate(values):
    return (values - np.roll(values, 1, axis=0)) * RATE_HZ


def test_the_box_moves_in_the_palms_only(box, grips):
    position, q = box
    turn = quaternions.multiply(quaternions.conjugate(np.roll(q, 1, axis=0)), q)
    moves = np.linalg.norm(looped_rate(position), axis=1) > 1e-9
    moves |= np.linalg.norm(quaternions.log(turn), axis=1) > 1e-9
    assert moves.mean() > 0.4
    sides = 0.5 * BOX_SIZE_M[1] * np.array([1.0, -1.0])
    np.testing.assert_allclose(grips[moves][..., 1], np.tile(sides, (moves.sum(), 1)), atol=1e-9)
    assert np.ptp(grips[moves], axis=0).max() < EXACT_M  # nothing slides
    assert np.all(np.abs(grips[moves][..., [0, 2]]) < 0.5 * np.array(BOX_SIZE_M)[[0, 2]])


def test_the_box_stands_still_on_stand_and_table(motion, box):
    position, q = box
    for centre, least_s in ((STAND_CENTRE_M, 10.0), (TABLE_CENTRE_M, 3.0)):
        over = np.linalg.norm(position[:, :2] - centre[:2], axis=1) < 1e-9
        low = over & (position[:, 2] < TOP_M + 0.5 * BOX_SIZE_M[2] + 1e-9)
        assert low.sum() > least_s * RATE_HZ
        assert np.ptp(position[low], axis=0).max() < EXACT_M
        np.testing.assert_allclose(position[low, 2], TOP_M + 0.5 * BOX_SIZE_M[2])
        np.testing.assert_allclose(q[low, 1:3], 0.0)
    assert position[:, 2].min() > TOP_M + 0.5 * BOX_SIZE_M[2] - EXACT_M
    table = motion.props.positions[:, motion.props.names.index('table')]
    np.testing.assert_array_equal(table, np.tile(TABLE_CENTRE_M, (motion.n_frames, 1)))


def test_palms_stay_outside_of_the_box_and_both_tables(motion, grips):
    palms = motion.end_effectors[:, :2]
    for place, size, least_m in (
        (grips, BOX_SIZE_M, -1e-9),
        (palms - STAND_CENTRE_M, carry.TABLE_SIZE_M, 0.02),
        (palms - TABLE_CENTRE_M, carry.TABLE_SIZE_M, 0.02),
    ):
        assert np.min(np.max(np.abs(place) - 0.5 * np.array(size), axis=2)) > least_m


def test_hands_and_box_are_moved_gently(motion, box):
    for points in (motion.end_effectors[:, 0], motion.end_effectors[:, 1], box[0]):
        change = looped_rate(looped_rate(points))
        assert np.linalg.norm(change, axis=1).max() < 12.0


def test_elbows_and_knees_bend_one_way_and_are_never_stretched(motion):
    q_world, joints = motion.world_segments()
    for limb, (upper, lower, end) in enumerate(LIMB_SEGMENTS):
        way = unit(joints[:, end] - joints[:, upper])
        middle = joints[:, lower] - joints[:, upper]
        aside = middle - np.sum(middle * way, axis=1, keepdims=True) * way
        # elbows point back of the chest, knees ahead of the pelvis
        front = [-1.0, 0.0, 0.0] if limb < 2 else [1.0, 0.0, 0.0]
        front = quaternions.rotate(q_world[:, 2 if limb < 2 else 0], front)
        assert np.all(np.sum(aside * front, axis=1)[np.linalg.norm(aside, axis=1) > 0.03] > 0.0)
        reach = np.linalg.norm(joints[:, end] - joints[:, upper], axis=1)
        busy = slice(round(4.0 * RATE_HZ), round(-2.0 * RATE_HZ))
        assert reach[busy].max() < 0.998 * motion.skeleton.limb_lengths[limb].sum()


def test_a_thrown_box_flies_freely_between_hands_that_let_go(adult_character):
    motion = throw_motion(adult_character, 240.0)
    box = motion.props.positions[:, 0]
    falls = np.diff(box, n=2, axis=0) * 240.0**2
    flies = np.linalg.norm(falls - [0.0, 0.0, -9.81], axis=1) < 0.01
    aside = np.abs(motion.end_effectors[1:-1, :2] - box[1:-1, None])
    apart = aside[..., 0].min(axis=1) > 0.5 * BOX_SIZE_M[1] + 0.02  # it looks along y there
    assert np.diff(flies.astype(int)).clip(0).sum() == THROWS
    assert apart[flies].mean() > 0.6
    in_hands = (box[1:-1, 2] > TOP_M + 0.5 * BOX_SIZE_M[2] + 0.01) & ~flies
    assert not apart[in_hands].any()
    assert motion.root_positions[1:-1, 2][flies].min() > motion.root_positions[0, 2] - 0.05
