# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors and quaternions as values, against numpy and scipy."""

import numpy as np
from puppet_core.math import values
import pytest
from scipy.spatial.transform import Rotation

RNG = np.random.default_rng(5)
A, B = RNG.normal(size=(2, 3))
P, Q = RNG.normal(size=(2, 4))
P, Q = P / np.linalg.norm(P), Q / np.linalg.norm(Q)


def _rotation(q: np.ndarray) -> Rotation:
    return Rotation.from_quat(np.roll(q, -1))


@pytest.mark.parametrize(
    ('name', 'given', 'wanted'),
    [
        ('vec3', (A,), A),
        ('quat', (Q,), Q),
        ('add', (A, B), A + B),
        ('sub', (A, B), A - B),
        ('scale', (A, 3.5), 3.5 * A),
        ('dot', (A, B), A @ B),
        ('cross', (A, B), np.cross(A, B)),
        ('norm', (A,), np.linalg.norm(A)),
        ('normalized', (A,), A / np.linalg.norm(A)),
        ('clamp', (0.5, 1.0, 2.0), 1.0),
        ('clamp', (2.5, 1.0, 2.0), 2.0),
        ('clamp', (1.5, 1.0, 2.0), 1.5),
        ('conjugate', (Q,), Q * (1.0, -1.0, -1.0, -1.0)),
        ('rotate', (Q, A), _rotation(Q).apply(A)),
        ('rotate_inverse', (Q, A), _rotation(Q).inv().apply(A)),
    ],
)
def test_values_agree_with_numpy(name: str, given: tuple, wanted: np.ndarray) -> None:
    takes_array = name in ('vec3', 'quat')
    arguments = [
        tuple(v.tolist()) if isinstance(v, np.ndarray) and not takes_array else v for v in given
    ]
    np.testing.assert_allclose(getattr(values, name)(*arguments), wanted, atol=1e-15)


def test_product_rotates_by_the_second_first() -> None:
    product = values.multiply(tuple(P.tolist()), tuple(Q.tolist()))
    wanted = (_rotation(P) * _rotation(Q)).as_matrix()
    np.testing.assert_allclose(_rotation(np.array(product)).as_matrix(), wanted, atol=1e-15)
