# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Distances: symmetric, sign-free for rotations, honest about what is no number."""

import numpy as np
from puppet_replay.compare.channels import Channel, EQUAL, NUMBER, ROTATION, VECTOR
from puppet_replay.compare.differences import angles_deg, difference, sign_breaks
import pytest
from scipy.spatial.transform import Rotation

NAN, INF = np.nan, np.inf


def amounts(a: list, b: list, metric: str = VECTOR) -> np.ndarray:
    """Return the differences of two channels of one row."""
    made = [Channel(np.array(v)[:, None], metric, 'mm', ()) for v in (a, b)]
    return difference(*made).amounts[:, 0]


@pytest.mark.parametrize('angle', [0.0, 1e-12, 1e-7, 1e-3, 1.0, 90.0, 179.0, 180.0])
def test_angle_is_that_of_scipy_whatever_the_signs(angle: float) -> None:
    """For every sign of either quaternion, down to angles far below single rounding."""
    rng = np.random.default_rng(1)
    a = Rotation.random(50, random_state=2)
    axes = rng.normal(size=(50, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    b = a * Rotation.from_rotvec(np.radians(angle) * axes)
    for sign in (1.0, -1.0):
        found = angles_deg(a.as_quat(), sign * b.as_quat())
        assert found == pytest.approx(np.full(50, angle), rel=1e-6, abs=3e-14)


def test_inverse_rotation_is_another_one() -> None:
    """The sign of a quaternion's real part alone is no matter of sign: it turns the other way."""
    q = Rotation.from_rotvec([0.0, 0.0, 0.5]).as_quat()
    flipped = q * [1.0, 1.0, 1.0, -1.0]
    assert angles_deg(q, flipped) == pytest.approx(np.degrees(1.0))


def test_what_is_no_rotation_differs_from_one() -> None:
    """Zero, NaN, and another length; two that are none are equal."""
    unit, none = [0.0, 0.0, 0.0, 1.0], [0.0] * 4
    assert angles_deg(
        np.array([unit, unit, none, [NAN] * 4]), np.array([none, [0, 0, 0, 2.0], none, none])
    ) == pytest.approx([INF, INF, 0.0, 0.0])


def test_no_number_on_one_side_is_infinitely_far() -> None:
    """And equal on both; of infinities the sign counts."""
    found = amounts([[NAN], [NAN], [INF], [INF], [1.0]], [[NAN], [1.0], [INF], [-INF], [INF]])
    assert np.array_equal(found, [0.0, INF, 0.0, INF, INF])


def test_vectors_are_compared_by_length_and_name_the_axis() -> None:
    """Of (3, 4, 0) the length is 5 and y differs most."""
    a, b = (Channel(np.array([[v]]), VECTOR, 'mm', ()) for v in ([0.0, 0, 0], [3.0, -4.0, 0]))
    found = difference(a, b)
    assert found.amounts[0, 0] == 5.0 and found.axes[0, 0] == 1


def test_numbers_are_compared_by_their_size() -> None:
    """Small ones as they are, large ones relative."""
    assert amounts([[0.5], [1000.0]], [[0.4], [1001.0]], NUMBER) == pytest.approx([0.1, 1 / 1001])


def test_flags_are_equal_or_not() -> None:
    """Whole numbers too large for floats as well."""
    big = 2**63 - 1
    assert np.array_equal(amounts([[1], [big]], [[1], [big - 1]], EQUAL), [0.0, 1.0])
    assert np.array_equal(amounts([[NAN]], [[NAN]], EQUAL), [0.0])


def test_sign_breaks_are_where_one_stream_alone_jumps() -> None:
    """A stream negated from some frame on breaks there and nowhere else."""
    q = Rotation.from_rotvec(np.linspace(0, 1, 20)[:, None] * [1.0, 0, 0]).as_quat()[:, None]
    other = q.copy()
    other[7:] *= -1.0
    assert np.flatnonzero(sign_breaks(q, other)[:, 0]).tolist() == [6]
    assert not np.any(sign_breaks(q, -q))
    assert not np.any(sign_breaks(other, other))
    assert difference(*(Channel(v, ROTATION, 'deg', ()) for v in (q, other))).amounts.max() == 0.0
