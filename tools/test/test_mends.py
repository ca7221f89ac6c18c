# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The mends of the wheels."""

from pathlib import Path
import subprocess
import sysconfig

from puppet_setup.mends import apply_mends
import pytest

WHEEL_TEXT = (
    'INTERFACE_INCLUDE_DIRECTORIES "${_IMPORT_PREFIX}/include/std_msgs;'
    '/opt/python/cp311-cp311/include/python3.11;'
    '/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include"'
)


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """Return an environment with one CMake file as in the wheels."""
    (tmp_path / 'share' / 'std_msgs' / 'cmake').mkdir(parents=True)
    (tmp_path / 'share' / 'std_msgs' / 'cmake' / 'export.cmake').write_text(WHEEL_TEXT)
    (tmp_path / 'site' / 'ros_rcl.libs').mkdir(parents=True)
    return tmp_path


def test_paths_of_the_build_machine_are_replaced(venv: Path) -> None:
    """By the headers of this Python and numpy's of the environment."""
    apply_mends(venv, venv / 'site')
    text = (venv / 'share' / 'std_msgs' / 'cmake' / 'export.cmake').read_text()
    assert '/opt/python' not in text
    assert f'{sysconfig.get_path("include")};{venv}/site/numpy/_core/include"' in text


def test_mending_twice_changes_nothing(venv: Path) -> None:
    """An environment is mended after every installation into it."""
    apply_mends(venv, venv / 'site')
    once = {path: path.read_bytes() for path in venv.rglob('*') if path.is_file()}
    apply_mends(venv, venv / 'site')
    assert once == {path: path.read_bytes() for path in venv.rglob('*') if path.is_file()}


def test_colcon_stays_out(venv: Path) -> None:
    """The environment is full of package.xml files."""
    apply_mends(venv, venv / 'site')
    assert (venv / 'COLCON_IGNORE').is_file()


def test_shell_script_sets_the_environment(venv: Path) -> None:
    """For setup.sh of the workspace, in a shell without ROS."""
    apply_mends(venv, venv / 'site')
    script = f'. {venv}/local_setup.sh; echo "$AMENT_PREFIX_PATH $LD_LIBRARY_PATH"'
    done = subprocess.run(['sh', '-uc', script], env={'PATH': '/usr/bin:/bin'}, check=True,
                          capture_output=True, text=True)
    assert done.stdout.split() == [str(venv), f'{venv}/lib:{venv}/site/ros_rcl.libs']
