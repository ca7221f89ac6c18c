# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of puppet_filter."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20261120)
