# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""./puppet in a checkout that is set up."""

import os
import subprocess
import time

import pytest
from source_tree import ROOT

SECOND_START_S = 1.0  # what a start may add when nothing is to be done
TRIES = 5  # the best of them counts: the machine may be busy with other things

own_folder = os.environ.get('NUMBA_CACHE_DIR', '').startswith(f'{ROOT}/.puppet/')
pytestmark = pytest.mark.skipif(not own_folder, reason='not started by ./puppet test')


def puppet(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ./puppet as a user of this shell would, with these variables besides."""
    return subprocess.run(
        [ROOT / 'puppet', *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_second_start_adds_less_than_a_second():
    """Nothing is installed, nothing is built."""
    times_s = []
    for _ in range(TRIES):
        start = time.monotonic()
        done = puppet('setup', '--test')
        times_s.append(time.monotonic() - start)
        assert done.returncode == 0
        assert done.stderr.startswith('puppet: ready')
    assert min(times_s) < SECOND_START_S


def test_shell_in_our_environment_changes_nothing():
    """This process has it already; the folders that conftest.py adds are the tests' own."""
    own = {str(ROOT), str(ROOT / 'test')}
    before = os.environ['PYTHONPATH'].split(os.pathsep)
    path = os.pathsep.join(folder for folder in before if folder not in own)
    done = puppet('dev', 'shell-env', PYTHONPATH=path)
    assert done.returncode == 0
    changed = {line.split()[1].split('=')[0] for line in done.stdout.splitlines()}
    assert not changed & {'AMENT_PREFIX_PATH', 'LD_LIBRARY_PATH', 'PATH', 'PYTHONPATH'}


def test_program_of_a_package_runs():
    """As with `ros2 run`: its own exit status, its own help."""
    done = puppet('run', 'puppet_driver', 'tracker_emulator', '--help')
    assert done.returncode == 0
    assert done.stdout.startswith('usage: tracker_emulator')


@pytest.mark.parametrize(
    ('package', 'program', 'meant'),
    [
        ('puppet_driver', 'tracker_drivers', 'tracker_driver'),
        ('puppet_drivers', 'tracker_driver', 'puppet_driver'),
    ],
)
def test_unknown_program_exits_2(package, program, meant):
    """With what there is."""
    done = puppet('run', package, program)
    assert done.returncode == 2
    assert f"'{meant}'" in done.stderr
