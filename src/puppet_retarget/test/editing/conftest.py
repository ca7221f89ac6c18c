# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The fist-matching experiment, measured, and a short walk, for the tests of editing."""

import numpy as np
from puppet_core.character import Character
from puppet_core.posture import Motion
from puppet_core.procedural_performer import procedural_motion
from puppet_core.skeleton import Skeleton
from puppet_retarget.editing.disturbed_take import Take
from puppet_retarget.editing.enhance import enhance, Enhanced
from puppet_retarget.editing.enhance_config import EnhanceConfig
from puppet_retarget.editing.enhance_study import fist_take
from puppet_retarget.editing.fist_motion import fist_motion, FistMotion
from puppet_retarget.editing.keyframes import choose_keyframes, KeyframeSpacing
import pytest


@pytest.fixture(scope='session')
def skeleton(adult_character: Character) -> Skeleton:
    """Return the average adult's lengths."""
    return adult_character.skeleton


@pytest.fixture(scope='session')
def fist(skeleton: Skeleton) -> FistMotion:
    """Return arms that swing and fists that meet."""
    return fist_motion(skeleton)


@pytest.fixture(scope='session')
def take(fist: FistMotion) -> Take:
    """Return what was measured of it."""
    return fist_take(fist, 1)


@pytest.fixture(scope='session')
def chosen(take: Take) -> dict[int, str]:
    """Return keyframes found in the measurement."""
    return choose_keyframes(take.targets, take.motion.rate_hz, KeyframeSpacing())


@pytest.fixture(
    scope='session',
    params=[EnhanceConfig(detail_s=0.0), EnhanceConfig(follow=False), EnhanceConfig(),
            EnhanceConfig(channels='euler', detail_s=0.0)],
    ids=['the paper', 'detail', 'followed', 'euler'],
)  # fmt: skip
def enhanced(request: pytest.FixtureRequest, take: Take, chosen: dict[int, str]) -> Enhanced:
    """Return the fist-matching experiment made better, by each kind of curve."""
    return enhance(take.motion, take.targets, chosen, request.param)


@pytest.fixture(scope='session')
def walk(skeleton: Skeleton) -> Motion:
    """Return two seconds of a walk at 30 Hz."""
    motion = procedural_motion(skeleton, 60.0)
    frames = slice(345, 465, 2)
    return Motion.from_rotations(
        skeleton, 30.0, motion.root_positions[frames], np.array(motion.rotations[frames])
    )
