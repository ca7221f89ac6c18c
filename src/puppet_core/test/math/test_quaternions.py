# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Array rotations against the kernels, scipy and transforms3d."""

import numpy as np
from puppet_core.math import quaternions as batch
from puppet_core.math import values
from puppet_core.math.quaternions import continuous_rows
import pytest
from transforms3d import quaternions as t3d

TOL = 1e-14  # a few roundings of numbers of size one


def _quats(rng, *shape):
    return batch.normalize(rng.normal(size=(*shape, 4)))


@pytest.mark.parametrize(
    ('name', 'kinds'),
    [
        ('multiply', 'qq'),
        ('slerp', 'qqt'),
        ('conjugate', 'q'),
        ('normalize', 'q'),
        ('rotate', 'qv'),
        ('exp', 'v'),
        ('log', 'q'),
    ],
)
def test_functions_agree_with_the_kernels(rng, name, kinds):
    sizes = 10.0 ** rng.uniform(-12, 0.5, (200, 1))
    make = {'q': lambda: _quats(rng, 200), 'v': lambda: sizes * rng.normal(size=(200, 3))}
    arguments = [rng.random(200) if kind == 't' else make[kind]() for kind in kinds]
    ours = getattr(batch, name)(*arguments)
    expected = [getattr(values, name)(*row) for row in zip(*arguments)]
    flip = np.sign(np.sum(ours * expected, axis=1, keepdims=True))
    np.testing.assert_allclose(flip * ours, expected, atol=1e-13)


def test_leading_axes_broadcast(rng):
    q, v = _quats(rng, 5, 1), rng.normal(size=(3, 3))
    many = batch.rotate(q, v)
    assert many.shape == (5, 3, 3)
    np.testing.assert_allclose(many[4, 2], batch.rotate(q[4, 0], v[2]), atol=TOL)
    assert batch.multiply(q, _quats(rng, 7)).shape == (5, 7, 4)
    assert batch.slerp(q, _quats(rng, 7), rng.random(7)).shape == (5, 7, 4)


def test_matrices_are_those_of_transforms3d(rng):
    q = _quats(rng, 30)
    expected = np.array([t3d.quat2mat(row) for row in q])
    np.testing.assert_allclose(batch.to_matrix(q), expected, atol=TOL)


def test_matrix_round_trip_keeps_shape_and_picks_positive_w(rng):
    q = _quats(rng, 4, 6)
    q[0, :, 0] = 0.0  # half turns
    q = batch.normalize(q)
    back = batch.from_matrix(batch.to_matrix(q))
    assert back.shape == q.shape
    assert np.all(back[..., 0] >= 0.0)
    same = np.abs(np.sum(back * q, axis=-1))
    np.testing.assert_allclose(same, 1.0, atol=TOL)


def test_align_signs_makes_a_sign_flipping_sequence_continuous(rng):
    smooth = batch.exp(np.cumsum(0.05 * rng.normal(size=(300, 2, 3)), axis=0))
    flipped = smooth * rng.choice([-1.0, 1.0], size=(300, 2, 1))
    aligned = batch.align_signs(flipped)
    assert np.max(np.linalg.norm(np.diff(aligned, axis=0), axis=-1)) < 0.3
    np.testing.assert_array_equal(aligned[0], flipped[0])
    np.testing.assert_allclose(np.abs(aligned), np.abs(smooth), atol=0.0)


@pytest.mark.parametrize('plain', [False, True], ids=['jit', 'py'])
def test_continuous_rows_are_unit_and_nearest_to_the_frame_before(rng, plain):
    q = np.cumsum(rng.normal(size=(30, 4, 4)), axis=0) * rng.choice([-2.0, 2.0], (30, 4, 1))
    out = np.empty_like(q)
    (continuous_rows.py_func if plain else continuous_rows)(q, out)
    np.testing.assert_allclose(out, batch.align_signs(batch.normalize(q)), atol=1e-15)
