# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Which segments count for which general end-effector."""

import numpy as np
from puppet_core.body.skeleton import CONSIDERED, GENERAL_END_EFFECTORS, SEGMENTS
import pytest


@pytest.mark.parametrize(('row', 'name'), enumerate(GENERAL_END_EFFECTORS))
def test_all_but_the_own_limb_count(row, name):
    side, part = name.split('_')
    own = (
        ('upper_arm', 'forearm', 'hand')
        if part in ('hand', 'elbow')
        else ('thigh', 'shank', 'foot')
    )
    left_out = {SEGMENTS[s] for s in np.flatnonzero(~CONSIDERED[row])}
    assert left_out == {f'{side}_{segment}' for segment in own}


def test_the_table_cannot_be_changed():
    with pytest.raises(ValueError, match='read-only'):
        CONSIDERED[0, 0] = False
