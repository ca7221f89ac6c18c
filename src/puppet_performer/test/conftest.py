# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of puppet_performer: seeded numbers, and a random performer."""

from motion_samples import ADULT, LAYOUT
import numpy as np
import pytest
from virtual_performer import random_character, VirtualPerformer


@pytest.fixture
def rng():
    return np.random.default_rng(20261120)


@pytest.fixture
def virtual(rng):
    return VirtualPerformer(rng, random_character(rng, ADULT), LAYOUT, rng.uniform(-3.1, 3.1))
