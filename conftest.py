# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The order of all tests where several processes run them."""

from pathlib import Path

from puppet_setup.run_tests import spread
import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Spread the tests of whole programs among the others; pytest calls it."""
    if hasattr(config, 'workerinput'):  # a process of pytest-xdist
        items[:] = spread(items, Path(__file__).resolve().parent / 'test')
