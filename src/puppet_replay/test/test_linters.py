# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The linters of ROS 2 on this package.

ament_copyright is not among them: it does not know the short licence headers, which the tests of
the whole repository check.
"""

import importlib.util
from pathlib import Path
import subprocess
import sys

import pytest

PACKAGE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize('linter', ['ament_flake8', 'ament_pep257'])
def test_linter_finds_nothing(linter: str) -> None:
    """In a process of its own: flake8 forks, which a process with ROS's threads must not."""
    if importlib.util.find_spec(linter) is None:
        pytest.skip(f'{linter} is not installed')
    code = f'import sys; from {linter}.main import main; sys.exit(main(sys.argv[1:]))'
    done = subprocess.run([sys.executable, '-c', code, str(PACKAGE)], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, f'{done.stdout}\n{done.stderr}'
