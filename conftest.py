# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where the tests find their helpers, and their order where several processes run them."""

import os
from pathlib import Path
import sys

from puppet_setup.run_tests import spread
import pytest

ROOT = Path(__file__).resolve().parent

# Fixtures that several packages share; a package's own conftest.py may override them.
pytest_plugins = ['body_fixtures']

# Every folder of tests: some share a module with others.
sys.path += sorted({str(path.parent) for path in ROOT.glob('src/*/test/**/*.py')})

# As ./puppet bench and ./puppet stress do.
os.environ['PYTHONPATH'] = os.pathsep.join(
    filter(None, (os.environ.get('PYTHONPATH'), str(ROOT), str(ROOT / 'test')))
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Spread the tests of whole programs among the others; pytest calls it."""
    if hasattr(config, 'workerinput'):  # a process of pytest-xdist
        items[:] = spread(items, ROOT / 'test')
