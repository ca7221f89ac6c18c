# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Joint-frames beyond limits, of two joints whose motion is known."""

import numpy as np
from puppet_retarget.offline.limit_use import limit_use, Limits
import pytest

RATE_HZ = 100.0
N = 50
LIMITS = Limits(np.array([-1.0, -np.inf]), np.array([1.0, np.inf]), np.array([2.0, 1.0]))


@pytest.fixture
def still():
    return np.zeros((N, 2))


def test_who_keeps_within_limits_is_beyond_none(still):
    still[:, 0] = np.clip(0.02 * np.arange(N) - 0.5, -1.0, 1.0)  # at its speed, to its limit
    assert limit_use(still, RATE_HZ, LIMITS) == {'position': 0, 'speed': 0, 'acceleration': None}


def test_each_joint_and_frame_counts_once(still):
    still[10:, 0], still[:, 1] = 1.01, 100.0
    still[30:, 1] += 0.011
    found = limit_use(still, RATE_HZ, LIMITS)
    assert found == {'position': N - 10, 'speed': 2, 'acceleration': None}
    negative = limit_use(-still, RATE_HZ, LIMITS)
    assert negative == found


def test_accelerations_count_where_they_are_known(still):
    still[10:, 0] += 0.01  # 1 rad/s for a frame: 100 rad/s2 there and back
    known = LIMITS._replace(accelerations=np.array([99.0, 1.0]))
    assert limit_use(still, RATE_HZ, known)['acceleration'] == 2
    known = LIMITS._replace(accelerations=np.array([101.0, 1.0]))
    assert limit_use(still, RATE_HZ, known)['acceleration'] == 0


@pytest.mark.parametrize('count', [1, 2])
def test_short_motions_have_no_speed_or_acceleration(count):
    known = LIMITS._replace(accelerations=np.ones(2))
    assert limit_use(np.full((count, 2), 2.0), RATE_HZ, known) == {
        'position': count,
        'speed': 0,
        'acceleration': 0,
    }
