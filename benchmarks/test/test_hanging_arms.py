# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Arms that hang at the side: the palms touch the thighs, and puppets' arms hang as straight."""

import numpy as np
from puppet_core.body import Motion
from puppet_core.body.character import load_character
from puppet_core.math import quaternions
from puppet_retarget.importance import load_environment, SELF_IMPORTANCE
from puppet_retarget.offline import retarget_motion, RetargetJob
import pytest

RATE_HZ = 60.0
UPPER_ARMS, FOREARMS = (4, 7), (5, 8)


@pytest.fixture(scope='module')
def lowering(performer):
    """Return who lowers his arms from the T-pose to his sides, and lets them hang; 2 s."""
    n = round(2.0 * RATE_HZ)
    down = 1.55 * np.clip(np.arange(n) / (0.5 * n), 0.0, 1.0) ** 2
    turns = np.zeros((n, 16, 3))
    for side, sign in enumerate((-1.0, 1.0)):
        turns[:, UPPER_ARMS[side], 0] = sign * down
        turns[:, FOREARMS[side], 2] = sign * 0.1
    skeleton = performer.skeleton
    root = np.tile([0.0, 0.0, skeleton.rest_root_height], (n, 1))
    return Motion.from_rotations(skeleton, RATE_HZ, root, quaternions.exp(turns))


@pytest.mark.parametrize('name', ['sally', 'frog'])
def test_arms_hang_almost_as_straight_as_the_performers(lowering, characters_dir, name):
    floor = load_environment(characters_dir.parent / 'environments' / 'floor.yaml')
    job = RetargetJob(load_character(characters_dir / f'{name}.yaml'), floor)
    result = retarget_motion(lowering, job)
    assert (result.self_rows[-1, :2, SELF_IMPORTANCE] > 0.99).all()
    bends = np.degrees(
        np.linalg.norm(quaternions.log(result.puppet.rotations[-1, FOREARMS]), axis=1)
    )
    assert (bends < 20.0).all()
