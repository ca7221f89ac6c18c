# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Curves of the procedural performer."""

import numpy as np
from puppet_core.procedural.curve import eased, End, quintic, smoothed
import pytest


def test_eased_rests_at_its_keys():
    t = np.array([-1.0, 1.0, 2.0, 3.5, 9.0])
    curve = eased(t, [(1.0, 5.0), (2.0, 7.0), (3.5, 6.0)])
    np.testing.assert_allclose(curve, [5.0, 5.0, 7.0, 6.0, 6.0])


@pytest.mark.parametrize('order', [0, 1, 2], ids=['value', 'velocity', 'acceleration'])
def test_quintic_has_the_ends_it_was_given(order):
    start, end = End(1.0, -2.0, 3.0), End(0.5, 4.0, -9.81)
    step = 1e-4
    for at, wanted in ((1.0, start), (1.3, end)):
        values = quintic(at + step * np.arange(-2, 3), 1.0, 1.3, start, end)
        derivatives = (
            values[2],
            (values[3] - values[1]) / (2 * step),
            (values[3] - 2 * values[2] + values[1]) / step**2,
        )
        assert derivatives[order] == pytest.approx(wanted[order], abs=2e-3)


def test_smoothed_is_a_gaussian_in_time():
    impulse = np.zeros(1201)
    impulse[600] = 120.0
    response = smoothed(impulse, 120.0, 0.1)
    t = (np.arange(1201) - 600) / 120.0
    gaussian = np.exp(-0.5 * (t / 0.1) ** 2) / (0.1 * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(response, gaussian, atol=1e-6)
