# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Curves: splines against ChoiParkKo eqs. 2 and 3, channels of rotations that turn far."""

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as qb
from puppet_edit.enhancement.motion_curves import CHANNEL_KINDS, EULER, fit_spline, ROTVEC
import pytest
from scipy.interpolate import CubicSpline, make_lsq_spline

TIMES = np.arange(200) / 30.0
KEYS = np.array([0, 13, 50, 60, 61, 140, 199])
FREE = np.array([0.2, 1.0, 3.3, 5.0])
CLOSED_FORM_TOL = 1e-8  # the two ways have different round-off


@pytest.fixture
def walk_of_three(rng):
    """Return three channels that wander."""
    return np.cumsum(rng.normal(size=(len(TIMES), 3)), axis=0)


@pytest.fixture
def corrected(walk_of_three, rng):
    """Return keyframe values that are not quite those of the channels."""
    return walk_of_three[KEYS] + rng.normal(size=(len(KEYS), 3))


def clamped(values, first, last):
    """Return the cubic spline of given end derivatives, by scipy's tridiagonal system."""
    return CubicSpline(TIMES[KEYS], values, bc_type=((1, first), (1, last)))


def two_derivatives(measured, values):
    """Return P1' and Pn' by eq. 3 as printed, shape (2, c)."""
    zeros = np.zeros(values.shape[1])
    f1 = clamped(values, zeros, zeros)(TIMES)
    nothing = np.zeros(len(KEYS))
    x = np.stack([clamped(nothing, a, 1.0 - a)(TIMES) for a in (1.0, 0.0)], axis=1)
    return np.linalg.inv(x.T @ x) @ x.T @ (measured - f1)


def test_without_free_knots_it_is_eqs_2_and_3(walk_of_three, corrected):
    curve = fit_spline(TIMES, walk_of_three, TIMES[KEYS], corrected)
    ends = two_derivatives(walk_of_three, corrected)
    printed = clamped(corrected, ends[0], ends[1])
    fine = np.linspace(TIMES[0], TIMES[-1], 3001)
    assert np.allclose(curve(fine), printed(fine), atol=CLOSED_FORM_TOL)
    assert np.allclose(curve(TIMES[[0, -1]], 1), ends, atol=1e-6)


@pytest.mark.parametrize('free', [None, FREE], ids=['eqs. 2-3', 'free knots'])
def test_keyframes_are_met(walk_of_three, corrected, free):
    curve = fit_spline(TIMES, walk_of_three, TIMES[KEYS], corrected, free)
    assert np.allclose(curve(TIMES[KEYS]), corrected, atol=1e-11)


def jumps(curve, order, step):
    """Return how much a derivative changes over each inner knot, by one-sided differences."""
    weights = {1: [-1.5, 2.0, -0.5], 2: [1.0, -2.0, 1.0]}[order]
    inner = np.unique(curve.t)[1:-1]
    sides = []
    for side in (1.0, -1.0):
        values = [w * curve(inner + side * i * step) for i, w in enumerate(weights)]
        sides.append(side**order * sum(values) / step**order)
    return np.abs(sides[0] - sides[1]).max()


@pytest.mark.parametrize('free', [None, FREE], ids=['eqs. 2-3', 'free knots'])
@pytest.mark.parametrize('order', [1, 2])
def test_two_derivatives_are_continuous_over_the_knots(walk_of_three, corrected, free, order):
    """A jump would stay as the step shrinks; what is left shrinks in proportion."""
    curve = fit_spline(TIMES, walk_of_three, TIMES[KEYS], corrected, free)
    wide, narrow = jumps(curve, order, 1e-3), jumps(curve, order, 1e-4)
    third = np.abs(np.diff(curve(np.unique(curve.t)[:-1] + 1e-9, 3), axis=0)).max()
    assert narrow < 0.2 * wide and wide < 3.0 * third * 1e-3


def test_no_other_curve_of_these_knots_fits_better(walk_of_three, corrected, rng):
    """The misfit is square to every curve of the same knots that is zero at the keyframes."""
    curve = fit_spline(TIMES, walk_of_three, TIMES[KEYS], corrected, FREE)
    rest = curve(TIMES) - walk_of_three
    for _ in range(5):
        other = fit_spline(
            TIMES, rng.normal(size=rest.shape), TIMES[KEYS], np.zeros_like(corrected), FREE
        )(TIMES)
        assert abs(np.sum(rest * other)) < 1e-8 * np.linalg.norm(rest) * np.linalg.norm(other)


def test_the_two_freedoms_of_the_ends_do_not_reach_far(walk_of_three):
    """
    Eq. 3 fits the whole motion with them, but each keyframe passes on 2 - sqrt(3) of it.

    So between the inner keyframes of a long motion the printed curve does not depend on what
    was measured there: segments and free knots are for that.
    """
    keys = np.arange(0, 200, 19)
    values = walk_of_three[keys]
    other = walk_of_three.copy()
    other[1:19] += 1.0
    curves = [
        fit_spline(TIMES[:191], m[:191], TIMES[keys], values) for m in (walk_of_three, other)
    ]
    middles = 0.5 * (TIMES[keys[1:]] + TIMES[keys[:-1]])
    change = np.abs(curves[1](middles) - curves[0](middles))
    assert np.allclose(change[1:6] / change[:5], 2.0 - np.sqrt(3.0), rtol=1e-2)


def test_every_frame_a_keyframe_is_the_natural_spline(walk_of_three):
    """Eq. 3 as printed is 0/0 there; what is left open is bent least."""
    curve = fit_spline(TIMES, walk_of_three, TIMES, walk_of_three)
    fine = np.linspace(TIMES[0], TIMES[-1], 1001)
    natural = CubicSpline(TIMES, walk_of_three, bc_type='natural')
    assert np.allclose(curve(fine), natural(fine), atol=1e-4)


def test_without_keyframes_it_is_scipys_least_squares_spline(walk_of_three):
    curve = fit_spline(TIMES, walk_of_three, free_knots=FREE)
    scipys = make_lsq_spline(TIMES, walk_of_three, curve.t)
    assert np.allclose(curve.c, scipys.c, atol=1e-6)


T = np.linspace(0.0, 6.0, 721)
JOINTS = (0, 4, 5, 10)


def smooth_rotations(reach):
    """Return four joints that swing by a reach [rad], shape (721, 4, 4)."""
    speeds = 1.0 + 0.3 * np.arange(12).reshape(4, 3)
    return qb.exp(reach * np.sin(T[:, None, None] * speeds + np.arange(4)[:, None]))


def walking_round():
    """Return a body that walks three times round, nodding; shape (721, 1, 4)."""
    nod = 0.3 * np.stack((np.sin(5.0 * T), np.cos(4.0 * T), 0.0 * T), axis=-1)
    turn = np.stack((0.0 * T, 0.0 * T, np.pi * T), axis=-1)
    return qb.multiply(qb.exp(turn), qb.exp(nod))[:, None]


def tumbling():
    """Return three cartwheels; shape (721, 1, 4)."""
    roll = np.stack((np.pi * T, 0.2 * np.sin(T), 0.0 * T), axis=-1)
    return qb.exp(roll)[:, None]


def same_rotations(a, b):
    """Return whether quaternions are the same but for their signs."""
    return bool(np.all(np.abs(np.sum(a * b, axis=-1)) > 1.0 - 1e-12))


@pytest.mark.parametrize('kind', CHANNEL_KINDS)
@pytest.mark.parametrize(
    ('rotations', 'joints'),
    [
        (smooth_rotations(0.3), JOINTS),
        (smooth_rotations(1.1), JOINTS),
        (walking_round(), (0,)),
        (tumbling(), (0,)),
    ],
    ids=['small', 'large', 'walking round', 'cartwheels'],
)
def test_values_stand_for_their_rotations_whatever_their_signs(kind, rotations, joints, rng):
    signs = np.where(rng.random(rotations.shape[:2]) < 0.5, -1.0, 1.0)[..., None]
    channels = CHANNEL_KINDS[kind](signs * rotations, joints)
    assert same_rotations(channels.rotations(channels.values), rotations)


@pytest.mark.parametrize(
    ('rotations', 'joints', 'fastest'),
    [(smooth_rotations(0.8), JOINTS, 4.0), (walking_round(), (0,), 1.5), (tumbling(), (0,), 2.0)],
    ids=['large', 'walking round', 'cartwheels'],
)
def test_rotation_vectors_change_about_as_fast_as_the_joint(rotations, joints, fastest):
    """No jump by a turn, no run through a pole."""
    channels = CHANNEL_KINDS[ROTVEC](rotations, joints)
    turned = np.linalg.norm(
        qb.log(qb.multiply(qb.conjugate(rotations[:-1]), rotations[1:])), axis=-1
    )
    steps = np.linalg.norm(np.diff(channels.values, axis=0), axis=-1)
    assert np.max(steps / turned.max()) < fastest


def test_a_joint_past_half_a_turn_is_continuous():
    """The logarithm alone would jump by a turn at pi."""
    angles = 2.6 + 1.2 * np.sin(T)
    rotations = qb.exp(angles[:, None] * np.array([0.0, 0.6, 0.8]))[:, None]
    values = CHANNEL_KINDS[ROTVEC](rotations, (4,)).values
    assert np.max(np.abs(np.diff(values, axis=0))) < 1.2 * 6.0 / 720.0 * 1.01


@pytest.mark.parametrize('kind', CHANNEL_KINDS)
def test_values_of_corrected_keyframes_are_next_to_the_measured_ones(kind, rng):
    rotations = smooth_rotations(0.8)
    channels = CHANNEL_KINDS[kind](rotations, JOINTS)
    frames = np.arange(5, 721, 45)
    turns = rng.normal(0.0, 0.02, (len(frames), 4, 3))
    corrected = qb.multiply(rotations[frames], qb.exp(turns))
    near = channels.near(-corrected, frames)
    assert same_rotations(channels.rotations(near), corrected)
    assert np.max(np.abs(near - channels.values[frames])) < 0.5


def test_motion_that_rotation_vectors_cannot_hold_is_refused_by_name():
    """Turns about two axes in one motion: a whole turn about y after one about z."""
    half = np.linspace(0.0, 4.0 * np.pi, 300)
    zero = 0.0 * half
    about_z = qb.exp(np.stack((zero, zero, half), axis=-1))
    about_y = qb.exp(np.stack((zero, half, zero), axis=-1))
    rotations = np.concatenate((about_z, about_y))[:, None]
    with pytest.raises(ConfigError, match='left_hand: expected a joint .*choose euler'):
        CHANNEL_KINDS[ROTVEC](rotations, (6,))
    assert len(CHANNEL_KINDS[EULER](rotations, (6,)).values) == 600
