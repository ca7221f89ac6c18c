# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin as colcon installs it: found in a repository that does not name it."""

from importlib.util import find_spec
import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest
from source_tree import ROOT

pytest.importorskip('rclpy', reason='needs ROS 2')

pytestmark = pytest.mark.slow

PACKAGE = 'puppet_replay'


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """Return the prefix of the package, built from a copy and without links to it."""
    if find_spec('colcon_core') is None:
        pytest.skip('colcon is not installed')
    folder = tmp_path_factory.mktemp('workspace')
    shutil.copytree(ROOT / 'src' / PACKAGE, folder / 'src' / PACKAGE)
    done = subprocess.run(
        [sys.executable, '-m', 'colcon', 'build', '--merge-install'],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / 'install'


def fixtures_of(folder: Path, *paths: str) -> str:
    """Return what pytest lists in a folder, with these entries on the Python path alone."""
    folder.mkdir()
    (folder / 'test_none.py').touch()
    environ = {name: value for name, value in os.environ.items() if not name.startswith('PYTEST_')}
    environ['PYTHONPATH'] = os.pathsep.join(paths)
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '--fixtures', '-p', 'no:cacheprovider'],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def test_installed_plugin_shows_its_fixture_in_a_foreign_repository(installed, tmp_path):
    """The entry point brings it, and nothing else does."""
    others = [
        path for path in os.environ.get('PYTHONPATH', '').split(os.pathsep) if PACKAGE not in path
    ]
    (packages,) = installed.glob('lib/python*/site-packages')
    assert not list(installed.rglob('*.egg-link'))
    assert 'puppet_regression' not in fixtures_of(tmp_path / 'without', *others)
    told = fixtures_of(tmp_path / 'with', str(packages), *others)
    assert 'fixtures defined from puppet_replay.pytest_plugin' in told
    assert 'puppet_regression -- ' in told and f'{packages.parts[-2]}/site-packages' in told
