# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The fist-matching experiment, measured, and a short walk, for the tests of editing."""

from benchmarks.enhance import fist_motion, fist_take
import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.procedural.performer import procedural_motion
from puppet_edit.enhancement.enhancer import enhance
from puppet_edit.enhancement.keyframes import choose_keyframes
from puppet_edit.enhancement.motion_curves import EnhanceConfig
import pytest


@pytest.fixture(scope='session')
def skeleton(adult_character):
    return adult_character.skeleton


@pytest.fixture(scope='session')
def fist(skeleton):
    return fist_motion(skeleton)


@pytest.fixture(scope='session')
def take(fist):
    return fist_take(fist, 1)


@pytest.fixture(scope='session')
def chosen(take):
    return choose_keyframes(take.targets, take.motion.rate_hz)


@pytest.fixture(
    scope='session',
    params=[
        EnhanceConfig(detail_s=0.0),
        EnhanceConfig(follow=False),
        EnhanceConfig(),
        EnhanceConfig(channels='euler', detail_s=0.0),
    ],
    ids=['the paper', 'detail', 'followed', 'euler'],
)
def enhanced(request, take, chosen):
    """Return the fist-matching experiment made better, by each kind of curve."""
    return enhance(take.motion, take.targets, chosen, request.param)


@pytest.fixture(scope='session')
def walk(skeleton):
    motion = procedural_motion(skeleton, 60.0)
    frames = slice(345, 465, 2)
    return Motion.from_rotations(
        skeleton, 30.0, motion.root_positions[frames], np.array(motion.rotations[frames])
    )
