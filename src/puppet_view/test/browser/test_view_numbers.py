# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The viewer's numbers: a latency only where stamps and clock are of one time."""

import pytest

pytest.importorskip('viser', reason='viser is not installed')

from puppet_view.browser import live_page  # noqa: E402,I100


@pytest.mark.parametrize(
    ('latency_ms', 'shown'),
    [
        ((4.21, 9.0), '4.2 ms (p99 9.0)'),
        (None, '>-<'),
        ((1.795e12, 1.795e12), '>-<'),  # stamps of a played bag
        ((-9e9, -8e9), '>-<'),
    ],
)
def test_a_latency_of_another_clock_is_not_shown(latency_ms, shown):
    html = live_page._numbers(60.0, latency_ms)
    assert shown in html and '60.0 Hz' in html
