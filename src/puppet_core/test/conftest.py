# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of puppet_core's tests."""

from pathlib import Path

import numpy as np
from puppet_core.character import Character, load_character
from puppet_core.clip import load_clip
from puppet_core.posture import Motion
import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
CHARACTERS = REPOSITORY / 'config' / 'characters'


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a seeded source of numbers."""
    return np.random.default_rng(20021)


@pytest.fixture(scope='session')
def characters_dir() -> Path:
    """Return the folder of the built-in characters."""
    return CHARACTERS


@pytest.fixture(scope='session')
def adult_character() -> Character:
    """Return a body of ordinary proportions."""
    return load_character(CHARACTERS / 'performer.yaml')


@pytest.fixture(scope='session')
def tall_character() -> Character:
    """Return a body with very long limbs."""
    return load_character(CHARACTERS / 'sally.yaml')


@pytest.fixture(scope='session')
def mocap_dir() -> Path:
    """Return the folder of captured clips; skip where it is absent."""
    folder = REPOSITORY.parent / 'shared' / 'mocap'
    if not folder.is_dir():
        pytest.skip(f'captured clips are not in {folder}')
    return folder


@pytest.fixture(scope='session')
def walk_clip(mocap_dir: Path) -> Motion:
    """Return a captured walk on a flat floor."""
    folder = mocap_dir / 'cmu_asfamc'
    return load_clip(folder / '02_01.amc', folder / '02.asf')


@pytest.fixture(scope='session')
def dance_clip(mocap_dir: Path) -> Motion:
    """Return a captured dance, converted to BVH."""
    return load_clip(mocap_dir / 'cmu_bvh' / 'indian_13.bvh')
