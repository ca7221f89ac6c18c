# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What is missing on a machine is said with the fix."""

from collections import namedtuple
from pathlib import Path
import platform
import shutil

from puppet_setup import machine
from puppet_setup.faults import SetupError
import pytest

Usage = namedtuple('Usage', 'total used free')


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the set of tools that the machine has; tests remove some."""
    present = {'cc', 'c++', 'cmake', 'make'}
    monkeypatch.setattr(shutil, 'which', lambda name: name if name in present else None)
    monkeypatch.delenv('CC', raising=False)
    monkeypatch.delenv('CXX', raising=False)
    return present


def test_complete_machine_passes(tools: set[str]) -> None:
    """No words are wasted."""
    machine.check_build_tools()


@pytest.mark.parametrize(('missing', 'fix'), [
    ('cc', 'build-essential'), ('c++', 'build-essential'), ('cmake', 'install cmake'),
    ('make', 'install make'),
])
def test_missing_tool_is_named_with_the_fix(tools: set[str], missing: str, fix: str) -> None:
    """One sentence."""
    tools.remove(missing)
    with pytest.raises(SetupError, match=fix) as failure:
        machine.check_build_tools()
    assert '\n' not in str(failure.value)


def test_other_compiler_will_do(tools: set[str]) -> None:
    """CMake finds clang by itself."""
    tools -= {'cc', 'c++'}
    tools |= {'clang', 'clang++'}
    machine.check_build_tools()


def test_wrong_compiler_variable_is_named(
        tools: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The user has set it, and forgotten it."""
    monkeypatch.setenv('CXX', 'icc -std=c++17')
    with pytest.raises(SetupError, match='unset CXX'):
        machine.check_build_tools()


@pytest.mark.parametrize('name', ['aarch64', 'riscv64'])
def test_other_architecture_is_sent_to_system_ros(
        tools: set[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """The wheels exist for x86_64 only."""
    monkeypatch.setattr(platform, 'machine', lambda: name)
    with pytest.raises(SetupError, match=f'on {name}; install ROS 2 Jazzy or Kilted'):
        machine.check_for_wheels(tmp_path)


def test_musl_is_named(tools: set[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Alpine cannot load the wheels."""
    monkeypatch.setattr(platform, 'machine', lambda: 'x86_64')
    monkeypatch.setattr(platform, 'libc_ver', lambda: ('', ''))
    with pytest.raises(SetupError, match='glibc'):
        machine.check_for_wheels(tmp_path)


def test_full_disk_is_said_before_the_work(
        tools: set[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With what is needed and what is there."""
    monkeypatch.setattr(platform, 'machine', lambda: 'x86_64')
    monkeypatch.setattr(machine, 'check_python', lambda: None)
    monkeypatch.setattr(shutil, 'disk_usage', lambda _: Usage(10**12, 10**12, 3 * 10**8))
    with pytest.raises(SetupError, match='2 GB of free disk are needed, 0.3 GB are there'):
        machine.check_for_wheels(tmp_path)


def test_missing_headers_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Distributions package them apart."""
    monkeypatch.setattr(machine.sysconfig, 'get_path', lambda _: str(tmp_path))
    with pytest.raises(SetupError, match=r'python3\.\d+-dev'):
        machine.check_python()
