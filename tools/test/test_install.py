# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What is installed, when again, and what a machine must have for it."""

from collections import namedtuple
import platform
import shutil
import subprocess
import sysconfig

from puppet_setup import install
from puppet_setup.checkout import Checkout, fingerprint, read_stamp, write_stamp
from puppet_setup.environment import RosSource
from puppet_setup.errata import correct_wheels
from puppet_setup.install import check_machine, Installation
from puppet_setup.process import SetupError
import pytest

Usage = namedtuple('Usage', 'total used free')

WHEEL_TEXT = (
    'INTERFACE_INCLUDE_DIRECTORIES "${_IMPORT_PREFIX}/include/std_msgs;'
    '/opt/python/cp311-cp311/include/python3.11;'
    '/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include"'
)


@pytest.fixture
def installed(checkout):
    """Return an environment that is up to date, tests included."""
    result = Installation(checkout, RosSource('jazzy', is_system=False), {})
    write_stamp(result.stamp_file, result.expected(with_tests=True))
    assert result.is_ready(with_tests=True)
    return result


def change(installed: Installation, name: str, old: str, new: str) -> None:
    """Change a pin."""
    path = installed.checkout.pins / f'{name}.txt'
    path.write_text(path.read_text().replace(old, new))


def test_changed_pin_is_noticed(installed):
    before = installed.toolchain()
    change(installed, 'runtime', '4.70.1', '4.71.0')
    assert not installed.is_ready(with_tests=False)
    assert installed.toolchain() == before
    change(installed, 'runtime', '7.1.6', '7.1.7')
    assert installed.toolchain() != before


def test_pins_of_other_pythons_do_not_count(installed):
    before = installed.requirements('runtime')
    change(installed, 'runtime', 'tqdm', "tomli==2.5.0 ; python_version in '3.8 3.9'\ntqdm")
    assert installed.requirements('runtime') == before
    change(installed, 'runtime', "'3.8 3.9'", "'3.10 3.11 3.12 3.13'")
    assert set(installed.requirements('runtime')) == {*before, 'tomli==2.5.0'}


def test_pins_of_the_tests_matter_only_to_them(installed):
    change(installed, 'test', '0.17.5', '0.18.0')
    assert installed.is_ready(with_tests=False)
    assert not installed.is_ready(with_tests=True)


def test_optional_parts_are_installed_on_demand_and_stay(installed):
    assert not installed.is_ready(with_tests=False, parts=['film'])
    write_stamp(installed.stamp_file, installed.expected(with_tests=True, parts=['film']))
    assert installed.lists(False, ['c3d']) == ['runtime', 'c3d', 'film']


def test_moved_checkout_is_set_up_anew(installed):
    moved = installed.checkout.root.with_name('moved')
    installed.checkout.root.rename(moved)
    there = Installation(Checkout(moved, 'wheels'), installed.ros, {})
    assert not there.is_ready(with_tests=False)


def test_sourced_ros_gets_what_it_lacks(checkout, tools, monkeypatch):
    (checkout.pins / 'runtime.in').write_text('# comment\nros-rclpy==7\ntqdm\ncolcon-core\n')
    here = Installation(checkout, RosSource('jazzy', is_system=True), {})
    assert here.requirements('runtime') == ['tqdm', 'colcon-core']
    tools.add('colcon')
    assert here.requirements('runtime') == ['tqdm']


@pytest.mark.parametrize('text', ['', '{"a": ', '[]', '\x00'], ids=['empty', 'cut', 'list', 'nul'])
def test_damaged_stamp_counts_as_none(tmp_path, text):
    (tmp_path / 'stamp.json').write_text(text)
    assert read_stamp(tmp_path / 'stamp.json') == {}


def test_fingerprint_separates_its_parts():
    assert fingerprint(['ab', 'c']) != fingerprint(['a', 'bc'])
    assert fingerprint(['ab', b'c']) == fingerprint([b'ab', 'c'])


def test_wheels_are_corrected(tmp_path):
    cmake = tmp_path / 'share' / 'std_msgs' / 'cmake' / 'export.cmake'
    cmake.parent.mkdir(parents=True)
    cmake.write_text(WHEEL_TEXT)
    (tmp_path / 'site' / 'ros_rcl.libs').mkdir(parents=True)
    for _ in range(2):
        correct_wheels(tmp_path, tmp_path / 'site')
        text = cmake.read_text()
        assert '/opt/python' not in text
        assert f'{sysconfig.get_path("include")};{tmp_path}/site/numpy/_core/include"' in text
    script = f'. {tmp_path}/local_setup.sh; echo "$AMENT_PREFIX_PATH $LD_LIBRARY_PATH"'
    done = subprocess.run(
        ['sh', '-uc', script],
        env={'PATH': '/usr/bin:/bin'},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [str(tmp_path), f'{tmp_path}/lib:{tmp_path}/site/ros_rcl.libs']


@pytest.fixture
def tools(monkeypatch):
    """Return the set of tools that the machine has; tests remove some."""
    present = {'cc', 'c++', 'cmake', 'make'}
    monkeypatch.setattr(shutil, 'which', lambda name: name if name in present else None)
    monkeypatch.setattr(platform, 'machine', lambda: 'x86_64')
    monkeypatch.setattr(platform, 'libc_ver', lambda: ('glibc', '2.36'))
    monkeypatch.setattr(shutil, 'disk_usage', lambda _: Usage(10**12, 0, 10**12))
    monkeypatch.delenv('CC', raising=False)
    monkeypatch.delenv('CXX', raising=False)
    return present


def test_complete_machine_passes(tools, tmp_path):
    check_machine(tmp_path, has_ros=False)
    tools -= {'cc', 'c++'}
    tools |= {'clang', 'clang++'}
    check_machine(tmp_path, has_ros=False)


@pytest.mark.parametrize('has_ros', [True, False])
@pytest.mark.parametrize(
    ('missing', 'fix'),
    [('cc', 'build-ess'), ('c++', 'build-ess'), ('cmake', 'install cm'), ('make', 'install m')],
)
def test_missing_tool_is_named_with_the_fix(tools, tmp_path, missing, fix, has_ros):
    tools.remove(missing)
    with pytest.raises(SetupError, match=fix) as failure:
        check_machine(tmp_path, has_ros)
    assert '\n' not in str(failure.value)


def test_wrong_compiler_variable_is_named(tools, tmp_path, monkeypatch):
    monkeypatch.setenv('CXX', 'icc -std=c++17')
    with pytest.raises(SetupError, match='unset CXX'):
        check_machine(tmp_path, has_ros=False)


@pytest.mark.parametrize(
    ('place', 'name', 'value', 'words'),
    [
        (platform, 'machine', 'aarch64', 'on aarch64; install ROS 2 Jazzy or Kilted'),
        (platform, 'libc_ver', ('', ''), 'glibc'),
        (shutil, 'disk_usage', Usage(10**12, 0, 3 * 10**8), '2 GB .* needed, 0.3 GB are there'),
        (install.sysconfig, 'get_path', '/nowhere', r'python3\.\d+-dev'),
        (install, 'find_spec', None, r'python3\.\d+-venv'),
    ],
)
def test_unfit_machine_is_told_why(tools, tmp_path, monkeypatch, place, name, value, words):
    monkeypatch.setattr(place, name, lambda *_: value)
    with pytest.raises(SetupError, match=words):
        check_machine(tmp_path, has_ros=False)
