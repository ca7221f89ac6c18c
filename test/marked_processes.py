# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that tests start, and how to find everything that came of them."""

import os
from pathlib import Path

import psutil
import pytest

MARK = 'PUPPET_TEST_RUN'  # in the environment of everything that a test starts


def program(name: str, package: str = 'puppet_bringup') -> str:
    """Return the path of an installed program of a package; skip the test without it."""
    packages = pytest.importorskip('ament_index_python.packages', reason='needs ROS 2')
    try:
        prefix = Path(packages.get_package_prefix(package))
    except packages.PackageNotFoundError:
        pytest.skip('the suite is not installed: build the workspace first')
    path = prefix / 'lib' / package / name
    if not path.is_file():
        pytest.skip(f'{name} is not installed: build the workspace first')
    return str(path)


def has_mark(process: psutil.Process, value: str) -> bool:
    """Return whether a process is another one than this, runs, and was started by a test."""
    try:
        ours = process.environ().get(MARK) == value
        return ours and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
