# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Array rotations against the kernels, scipy and transforms3d."""

import numpy as np
from puppet_core.math import quaternion
from puppet_core.math import quaternions as batch
from puppet_core.math.quaternion import continuous_rows
import pytest
from scipy.spatial.transform import Rotation
from transforms3d import quaternions as t3d

TOL = 1e-14  # a few roundings of numbers of size one


def _quats(rng, *shape):
    return batch.normalize(rng.normal(size=(*shape, 4)))


def _each(kernel, size, *stacks):
    """Return the kernel applied row by row."""
    out = np.empty((len(stacks[0]), size))
    for i, row in enumerate(zip(*stacks)):
        kernel(*row, out[i])
    return out


@pytest.mark.parametrize('name', ['multiply', 'slerp'])
def test_binary_functions_agree_with_the_kernels(rng, name):
    a, b, t = _quats(rng, 200), _quats(rng, 200), rng.random(200)
    arguments = (a, b, t) if name == 'slerp' else (a, b)
    ours = getattr(batch, name)(*arguments)
    expected = _each(getattr(quaternion, name), 4, *arguments)
    flip = np.sign(np.sum(ours * expected, axis=1, keepdims=True))
    np.testing.assert_allclose(flip * ours, expected, atol=1e-13)


@pytest.mark.parametrize('name, size', [('conjugate', 4), ('normalize', 4), ('log', 3)])
def test_unary_functions_agree_with_the_kernels(rng, name, size):
    q = _quats(rng, 200)
    expected = _each(getattr(quaternion, name), size, q)
    np.testing.assert_allclose(getattr(batch, name)(q), expected, atol=TOL)


@pytest.mark.parametrize('scale', [0.0, 1e-12, 1e-7, 1e-4, 1.0, 3.0])
def test_exp_agrees_with_the_kernel_at_every_size(rng, scale):
    rotvecs = scale * rng.normal(size=(50, 3))
    expected = _each(quaternion.exp, 4, rotvecs)
    np.testing.assert_allclose(batch.exp(rotvecs), expected, atol=TOL, rtol=1e-14)


def test_rotate_agrees_with_the_kernel(rng):
    q, v = _quats(rng, 100), rng.normal(size=(100, 3))
    np.testing.assert_allclose(batch.rotate(q, v), _each(quaternion.rotate, 3, q, v), atol=TOL)


def test_leading_axes_broadcast(rng):
    q, v = _quats(rng, 5, 1), rng.normal(size=(3, 3))
    many = batch.rotate(q, v)
    assert many.shape == (5, 3, 3)
    np.testing.assert_allclose(many[4, 2], batch.rotate(q[4, 0], v[2]), atol=TOL)
    assert batch.multiply(q, _quats(rng, 7)).shape == (5, 7, 4)
    assert batch.slerp(q, _quats(rng, 7), rng.random(7)).shape == (5, 7, 4)


@pytest.mark.parametrize('scale', [0.0, 1e-300, 1e-9, 1e-8, 3e-8, 1e-3, 3.1])
def test_log_inverts_exp(scale):
    rotvec = scale * np.array([[0.6, -0.8, 0.0]])
    np.testing.assert_allclose(batch.log(batch.exp(rotvec)), rotvec, rtol=1e-14)


def test_log_of_opposite_quaternions_is_the_same_short_rotation(rng):
    q = _quats(rng, 100)
    np.testing.assert_array_equal(batch.log(q), batch.log(-q))
    assert np.all(np.linalg.norm(batch.log(q), axis=1) <= np.pi)


def test_matrices_are_those_of_transforms3d(rng):
    q = _quats(rng, 30)
    expected = np.array([t3d.quat2mat(row) for row in q])
    np.testing.assert_allclose(batch.to_matrix(q), expected, atol=TOL)


def test_matrix_round_trip_keeps_shape_and_picks_positive_w(rng):
    q = _quats(rng, 4, 6)
    back = batch.from_matrix(batch.to_matrix(q))
    assert back.shape == q.shape
    assert np.all(back[..., 0] >= 0.0)
    same = np.abs(np.sum(back * q, axis=-1))
    np.testing.assert_allclose(same, 1.0, atol=TOL)


def test_half_turns_survive_the_matrix(rng):
    axes = rng.normal(size=(20, 3))
    q = np.insert(axes / np.linalg.norm(axes, axis=1, keepdims=True), 0, 0.0, axis=1)
    back = batch.from_matrix(batch.to_matrix(q))
    np.testing.assert_allclose(np.abs(np.sum(back * q, axis=1)), 1.0, atol=TOL)


def test_slerp_goes_the_short_way(rng):
    """Errata 11."""
    a, b = _quats(rng, 50), _quats(rng, 50)
    whole = (
        Rotation.from_quat(a[:, [1, 2, 3, 0]]).inv() * Rotation.from_quat(b[:, [1, 2, 3, 0]])
    ).magnitude()
    part = batch.log(batch.multiply(batch.conjugate(a), batch.slerp(a, -b, 0.25)))
    np.testing.assert_allclose(np.linalg.norm(part, axis=1), 0.25 * whole, atol=1e-13)


def test_align_signs_makes_a_sign_flipping_sequence_continuous(rng):
    smooth = batch.exp(np.cumsum(0.05 * rng.normal(size=(300, 2, 3)), axis=0))
    flipped = smooth * rng.choice([-1.0, 1.0], size=(300, 2, 1))
    aligned = batch.align_signs(flipped)
    assert np.max(np.linalg.norm(np.diff(aligned, axis=0), axis=-1)) < 0.3
    np.testing.assert_array_equal(aligned[0], flipped[0])
    np.testing.assert_allclose(np.abs(aligned), np.abs(smooth), atol=0.0)


def test_align_signs_of_one_frame_is_a_copy(rng):
    q = _quats(rng, 1, 3)
    aligned = batch.align_signs(q)
    aligned[:] = 0.0
    assert np.all(np.linalg.norm(q, axis=-1) > 0.9)


@pytest.mark.parametrize('plain', [False, True], ids=['jit', 'py'])
def test_continuous_rows_are_unit_and_nearest_to_the_frame_before(rng, plain):
    q = np.cumsum(rng.normal(size=(30, 4, 4)), axis=0) * rng.choice([-2.0, 2.0], (30, 4, 1))
    out = np.empty_like(q)
    (continuous_rows.py_func if plain else continuous_rows)(q, out)
    np.testing.assert_allclose(out, batch.align_signs(batch.normalize(q)), atol=1e-15)
