# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Multilevel B-splines: fitting, evaluation, and displacement that is exact."""

import numpy as np
from puppet_core.body.skeleton import N_SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_edit.editor.constraint_kernels import displace, POSE
from puppet_edit.editor.motion_edit import (
    basis,
    exact_displacement,
    fit_control_points,
    least_bent,
)
import pytest


def _points(frames, values, spacing, n_frames):
    """Fit columns of values, one group of three."""
    n_points = int((n_frames - 1) // spacing) + 4
    return fit_control_points(
        np.array(frames), values, np.ones((len(frames), 1)), spacing, n_points
    )


def _curve(frames, values, spacing, n_frames):
    points = _points(frames, values, spacing, n_frames)
    return np.asarray(basis(np.arange(n_frames), spacing, len(points)) @ points)


@pytest.mark.parametrize('spacing', [16.0, 5.3, 2.0, 1.0, 0.5])
@pytest.mark.parametrize('frame', [0, 17, 40])
def test_one_value_is_interpolated(spacing, frame):
    """Errata 9: with the printed denominator it is not."""
    values = np.array([[0.3, -1.0, 0.2]])
    curve = _curve([frame], values, spacing, 41)
    np.testing.assert_allclose(curve[frame], values[0], atol=1e-14)
    assert np.abs(curve).max() <= 1.0 + 1e-9


def test_influence_ends_within_seven_knots():
    spacing, frame = 4.0, 50
    curve = _curve([frame], np.ones((1, 3)), spacing, 101)[:, 0]
    touched = np.flatnonzero(curve)
    assert touched[-1] - touched[0] < 7 * spacing
    assert frame - 4 * spacing < touched[0] < frame < touched[-1] < frame + 4 * spacing


def _omegas(frame, spacing):
    """Return the first control point that a frame depends on, and the four weights."""
    first = int(frame // spacing)
    s = frame / spacing - first
    polynomials = [(1 - s) ** 3, 3 * s**3 - 6 * s**2 + 4, 0.0, s**3]
    polynomials[2] = 6.0 - polynomials[0] - polynomials[1] - polynomials[3]
    return first, np.array(polynomials) / 6.0


def test_control_points_are_the_weighted_means_of_eq_2(rng):
    n, spacing = 30, 3.7
    frames = np.sort(rng.choice(n, 11, replace=False))
    values = rng.normal(size=(11, 3))
    points = _points(list(frames), values, spacing, n)
    for j in range(len(points)):
        top, bottom = np.zeros(3), 0.0
        for frame, x in zip(frames, values):
            first, weights = _omegas(frame, spacing)
            if first <= j < first + 4:
                omega = weights[j - first]
                top += omega**2 * omega * x / np.sum(weights**2)
                bottom += omega**2
        expected = top / bottom if bottom > 0.0 else np.zeros(3)
        np.testing.assert_allclose(points[j], expected, atol=1e-13)


def test_sum_of_levels_comes_nearer_at_every_level(rng):
    frames = np.sort(rng.choice(200, 40, replace=False))
    rest = np.sin(0.05 * frames)[:, None] + 0.02 * rng.normal(size=(40, 3))
    errors = [np.abs(rest).max()]
    for level in range(6):
        rest = rest - _curve(list(frames), rest, 16.0 / 2**level, 200)[frames]
        errors.append(np.abs(rest).max())
    assert np.all(np.diff(errors) < 0.0)
    assert errors[-1] < 1e-3 * errors[0]


def test_displacing_is_eq_1(rng):
    n, poses = 5, np.zeros(5, POSE)
    roots, rotations = rng.normal(size=(n, 3)), qb.exp(rng.normal(size=(n, N_SEGMENTS, 3)))
    poses['root'], poses['rotations'] = roots, rotations
    displacements = rng.normal(0.0, 0.3, (n, 51))
    displacements[:, 12:15] = 0.0
    displace(displacements, poses)
    np.testing.assert_allclose(poses['root'], roots + displacements[:, :3])
    vectors = displacements[:, 3:].reshape(n, N_SEGMENTS, 3)
    turned = qb.multiply(rotations, qb.exp(vectors))
    np.testing.assert_allclose(poses['rotations'], turned, atol=1e-14)
    np.testing.assert_array_equal(poses['rotations'][:, 3], rotations[:, 3])


def _brute_force(frames, values, n, reach):
    out = np.zeros((n, values.shape[1]))
    out[frames] = values
    free = [
        i for i in range(n) if i not in frames and min(abs(i - frame) for frame in frames) < reach
    ]
    bend = np.diff(np.eye(n), n=2, axis=0)
    out[free] = -np.linalg.lstsq(bend[:, free], bend @ out, rcond=None)[0]
    return out


@pytest.mark.parametrize('frames', [[10], [0], [29], [3, 4, 5, 9, 20, 22], list(range(30))])
@pytest.mark.parametrize('reach', [1, 2, 8])
def test_exact_displacement_bends_least(rng, frames, reach):
    values = rng.normal(size=(len(frames), 2))
    out = least_bent(np.array(frames), values, 30, reach)
    np.testing.assert_array_equal(out[frames], values)
    np.testing.assert_allclose(out, _brute_force(frames, values, 30, reach), atol=1e-6)


def test_groups_without_a_value_in_a_frame_are_free_there(rng):
    frames, values = np.array([5, 10, 15]), rng.normal(size=(3, 9))
    counts = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    out = exact_displacement(frames, values, counts, 21, 8)
    np.testing.assert_array_equal(out[frames, :3], values[:, :3])
    np.testing.assert_array_equal(out[[5, 15], 3:6], values[[0, 2], 3:6])
    np.testing.assert_allclose(out[:, 3:6], least_bent(frames[[0, 2]], values[[0, 2], 3:6], 21, 8))
    assert not out[:, 6:].any()
    points = fit_control_points(frames, values, counts, 4.0, 9)
    assert not points[:, 6:].any()
    np.testing.assert_allclose(points[:, 3:6], _points([5, 15], values[[0, 2], 3:6], 4.0, 21))


def test_values_have_weights(rng):
    frames, values, says = np.array([5, 6]), rng.normal(size=(2, 3)), np.array([[1.0], [0.25]])
    points = fit_control_points(frames, values, says, 4.0, 9)
    omegas = [_omegas(frame, 4.0)[1] for frame in frames]
    betas = [omegas[i][:, None] * values[i] / np.sum(omegas[i] ** 2) for i in range(2)]
    top = sum(says[i] * omegas[i][:, None] ** 2 * betas[i] for i in range(2))
    bottom = sum(says[i] * omegas[i] ** 2 for i in range(2))
    np.testing.assert_allclose(points[1:5], top / bottom[:, None], atol=1e-14)
