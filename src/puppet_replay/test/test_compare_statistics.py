# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Distances of values, symmetric and honest about what is no number, and their statistics."""

import numpy as np
from puppet_replay.compare import comparison
from puppet_replay.compare.channels import Channel, EQUAL, NUMBER, ROTATION, VECTOR
from puppet_replay.compare.tolerances import Tolerance
import pytest
from scipy.spatial.transform import Rotation

NAN, INF = np.nan, np.inf
BIG = 2**63 - 1  # no float can tell it from its neighbour
UNIT, NONE, TURNED = [0.0, 0.0, 0.0, 1.0], [0.0] * 4, [0.0, 0.0, 0.6, 0.8]
LABELS = ('left_hand', 'right_hand')


@pytest.mark.parametrize(
    ('metric', 'a', 'b', 'apart'),
    [
        (VECTOR, [[NAN], [NAN], [INF], [INF], [1.0]], [[NAN], [1], [INF], [-INF], [INF]],
         [0.0, INF, 0.0, INF, INF]),
        (VECTOR, [[0.0, 0, 0]], [[3.0, -4.0, 0]], [5.0]),
        (NUMBER, [[0.5], [1000.0]], [[0.4], [1001.0]], [0.1, 1 / 1001]),
        (EQUAL, [[1], [BIG]], [[1], [BIG - 1]], [0.0, 1.0]),
        (EQUAL, [[NAN]], [[NAN]], [0.0]),
        # another length is no rotation, two that are none are equal, the inverse is another
        (ROTATION, [UNIT, UNIT, NONE, [NAN] * 4, TURNED],
         [NONE, [0, 0, 0, 2.0], NONE, NONE, [0.0, 0.0, 0.6, -0.8]],
         [INF, INF, 0.0, 0.0, np.degrees(4.0 * np.arcsin(0.6))]),
    ],
    ids=['no number', 'length', 'size', 'flags', 'flags without a number', 'rotations'],
)  # fmt: skip
def test_values_are_compared_by_their_metric(metric, a, b, apart):
    for one, other in ((a, b), (b, a)):
        channels = [Channel(np.array(v)[:, None], metric, 'mm', ()) for v in (one, other)]
        np.testing.assert_allclose(comparison.difference(*channels)[:, 0], apart)


@pytest.mark.parametrize('angle', [0.0, 1e-12, 1e-7, 1e-3, 1.0, 90.0, 179.0, 180.0])
def test_angle_is_that_of_scipy_whatever_the_signs(angle):
    rng = np.random.default_rng(1)
    a, axes = Rotation.random(50, random_state=2), rng.normal(size=(50, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    b = a * Rotation.from_rotvec(np.radians(angle) * axes)
    for sign in (1.0, -1.0):
        found = comparison.angles_deg(a.as_quat(), sign * b.as_quat())
        assert found == pytest.approx(np.full(50, angle), rel=1e-6, abs=3e-14)


def test_sign_breaks_are_where_one_stream_alone_jumps():
    q = Rotation.from_rotvec(np.linspace(0, 1, 20)[:, None] * [1.0, 0, 0]).as_quat()[:, None]
    other = q.copy()
    other[7:] *= -1.0
    assert np.flatnonzero(comparison.sign_breaks(q, other)[:, 0]).tolist() == [6]
    assert not np.any(comparison.sign_breaks(q, -q))
    assert not np.any(comparison.sign_breaks(other, other))


def evaluated(values, block=1000, order=None):
    """Return the result of values (n, 2), given in blocks; frame i is from i * 10 ns."""
    found = comparison.FieldStatistics('mm', Tolerance(max=0.1))
    index = np.arange(len(values)) if order is None else np.array(order)
    for first in range(0, len(values), block):
        part = slice(first, first + block)
        rows = values[part][..., None]
        sides = [Channel(v, VECTOR, 'mm', LABELS, ('x',)) for v in (2.0 * rows, rows)]
        found.add(comparison.Stamped(10 * index[part], index[part]), values[part], LABELS, sides)
    return found.result('/t', 'f')


@pytest.mark.parametrize(('scale', 'block'), [(1e-12, 7), (1.0, 7), (1.0, 5000), (1e6, 5000)])
def test_figures_are_those_of_numpy(scale, block):
    values = scale * np.random.default_rng(1).gamma(0.5, size=(5000, 2))
    values[::3] = 0.0
    found = evaluated(values, block)
    assert (found.n, found.peak) == (10_000, values.max())
    assert found.n_beyond == np.sum(values > 0.1)
    assert found.rms == pytest.approx(np.sqrt(np.mean(values**2)), rel=1e-12)
    assert found.p99 == np.percentile(values, 99, method='inverted_cdf')


@pytest.mark.parametrize('unequal', [0, 40, 99, 101, 3000])
def test_flags_are_counted_and_not_kept(unequal):
    values = np.zeros((10_000, 1))
    values[:unequal] = 1.0
    counted = comparison.FieldStatistics('count', Tolerance(max=0.0))
    counted.add(comparison.Stamped(np.arange(10_000), np.arange(10_000)), values)
    found = counted.result('/t', 'f')
    assert (found.n, found.n_beyond, found.rms) == (10_000, unequal, np.sqrt(unequal / 10_000))
    assert found.p99 == np.percentile(values, 99, method='inverted_cdf')


def test_first_and_worst_are_named_and_drawn():
    values = np.full((5000, 2), 0.05)
    values[2000, 1], values[3000, 0] = 0.2, 0.9
    found = evaluated(values, 7)
    assert (found.first.frame_index, found.first.component) == (2000, 'right_hand x')
    assert (found.worst.frame_index, found.worst.component) == (3000, 'left_hand x')
    assert found.worst.stamp_ns == 30_000 and found.n_beyond == 2 and not found.within
    curve = found.curve
    peaks = dict(zip(curve.stamps_ns.tolist(), curve.apart.tolist()))
    assert len(peaks) < 2000 and list(peaks) == sorted(peaks)
    assert (peaks[20_000], peaks[30_000], set(peaks.values())) == (0.2, 0.9, {0.05, 0.2, 0.9})
    near = np.flatnonzero(curve.near_ns == 30_000)
    assert [side[near] for side in curve.values] == [1.8, 0.9]
    assert evaluated(np.ones((3, 2)), 1, [5, 3, 9]).first.frame_index == 3


def test_infinite_difference_is_the_peak_and_not_in_the_mean():
    values = np.full((10, 2), 3.0)
    values[4, 0] = INF
    found = evaluated(values)
    assert (found.peak, found.worst.frame_index, found.rms) == (INF, 4, 3.0)
    assert found.note.startswith('1 values without a number')
