# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The shell part and the entry: what a user sees before anything is set up."""

import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

from puppet_setup import launcher
from puppet_setup.commands import BENCHES, Command, COMMANDS
from puppet_setup.launcher import main, shell_exports
import pytest

RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
REPOSITORY = Path(__file__).resolve().parents[2]


def puppet(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ./puppet with only these environment variables."""
    environ = {'PATH': os.defpath} | variables
    return subprocess.run(
        ['/bin/sh', str(REPOSITORY / 'puppet'), *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def program(folder: Path, name: str, text: str) -> None:
    """Put a program in a folder."""
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)


def test_help_exits_0():
    """On standard output, without setting anything up."""
    done = puppet('--help', PUPPET_PYTHON=sys.executable)
    assert done.returncode == 0
    assert done.stdout.startswith('usage: ./puppet COMMAND')


def test_unknown_command_exits_2_with_the_nearest():
    """And names what was given."""
    done = puppet('dmo', PUPPET_PYTHON=sys.executable)
    assert done.returncode == 2
    assert "got 'dmo'" in done.stderr and "'demo'" in done.stderr
    assert done.stderr.count('\n') == 1


@pytest.mark.parametrize('words', [['bench'], ['bench', 'qualty'], ['stress'], ['dev', 'x']])
def test_a_family_without_one_of_its_names_lists_them(words):
    """Exit code 2, on standard error."""
    done = puppet(*words, PUPPET_PYTHON=sys.executable)
    assert done.returncode == 2
    assert f'usage: ./puppet {words[0]} NAME' in done.stderr and not done.stdout


def test_the_version_is_that_of_the_packages():
    """All have the same."""
    done = puppet('--version', PUPPET_PYTHON=sys.executable)
    name, version = done.stdout.split()
    assert (done.returncode, name) == (0, 'puppet')
    for path in (REPOSITORY / 'src').glob('puppet_*/package.xml'):
        assert f'<version>{version}</version>' in path.read_text(), path


def test_a_bench_is_a_module_of_the_checkout(monkeypatch):
    """It finds benchmarks/ and test/robustness/ behind whatever else is on the path."""
    checkout = SimpleNamespace(source=REPOSITORY / 'src')
    ready = SimpleNamespace(checkout=checkout, environ={'PYTHONPATH': '/other'}, python='python')
    started: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(
        launcher, '_become', lambda command, found, *_: started.append((command, found)) or 0
    )
    assert launcher._start(BENCHES['replay'], ['a.mcap'], ready) == 0
    command, environ = started[0]
    assert command[2:] == ['benchmarks.replay', 'a.mcap']
    assert environ['PYTHONPATH'].split(os.pathsep)[:2] == ['/other', str(REPOSITORY)]


@pytest.mark.parametrize(
    ('package', 'program_name', 'near'),
    [
        ('puppet_fliter', 'pose_filter', 'puppet_filter'),
        ('puppet_filter', 'pose_filtr', 'pose_filter'),
    ],
)
def test_mistyped_package_or_program_is_named(package, program_name, near, tmp_path, capsys):
    """With the one that was probably meant."""
    place = tmp_path / 'lib' / 'puppet_filter'
    place.mkdir(parents=True)
    program(place, 'pose_filter', '')
    ready = SimpleNamespace(
        checkout=SimpleNamespace(install=tmp_path, source=REPOSITORY / 'src'), environ={}
    )
    assert launcher._start(Command(package, program_name, ''), [], ready) == 2
    assert f'did you mean {near!r}?' in capsys.readouterr().err


def test_no_command_exits_2_with_the_help():
    """A command is needed."""
    assert puppet(PUPPET_PYTHON=sys.executable).returncode == 2


@pytest.mark.parametrize(
    'arguments',
    [['run'], ['run', 'puppet_core'], ['setup', '--nonsense'], ['dev', 'completion', 'fish']],
)
def test_incomplete_commands_exit_2(arguments, capsys):
    """Before anything is set up."""
    assert main(arguments) == 2
    assert arguments[0] in capsys.readouterr().err


def test_wrong_python_variable_is_named():
    """One sentence."""
    done = puppet('--help', PUPPET_PYTHON='/nowhere/python')
    assert done.returncode == 1
    assert done.stderr.startswith('puppet: PUPPET_PYTHON: expected a Python 3.10 to 3.13')
    assert done.stderr.count('\n') == 1


def test_missing_python_is_said_with_the_fix(tmp_path):
    """A command that only prints an error, as version managers install, is no Python."""
    for name in ('dirname', 'readlink'):
        (tmp_path / name).symlink_to(shutil.which(name))
    program(tmp_path, 'python3', '#!/bin/sh\necho no version is set >&2; exit 127\n')
    done = puppet('--help', PATH=str(tmp_path), ROS_DISTRO='jazzy')
    assert done.returncode == 1
    assert 'sudo apt install python3' in done.stderr
    assert done.stderr.count('\n') == 1


def test_usable_python_is_found_behind_unusable_ones(tmp_path):
    """By asking each for its version."""
    program(tmp_path, 'python3', '#!/bin/sh\nexit 1\n')
    program(tmp_path, 'python3.12', f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for name in ('dirname', 'readlink'):
        (tmp_path / name).symlink_to(shutil.which(name))
    assert puppet('--help', PATH=str(tmp_path), ROS_DISTRO='jazzy').returncode == 0


def test_link_to_puppet_works(tmp_path):
    """From anywhere on PATH."""
    (tmp_path / 'puppet').symlink_to(REPOSITORY / 'puppet')
    environ = {'PATH': os.defpath, 'PUPPET_PYTHON': sys.executable}
    done = subprocess.run(
        [tmp_path / 'puppet', '--help'],
        env=environ,
        check=False,
        capture_output=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0


@pytest.mark.parametrize(
    ('command', 'given', 'expected'),
    [
        ('demo', None, 'LOCALHOST'),
        ('demo', 'SUBNET', 'SUBNET'),
        ('up', None, None),
        ('record', None, None),
        ('up', 'LOCALHOST', 'LOCALHOST'),
    ],
)
def test_discovery_stays_on_this_machine_where_a_command_has_its_own_graph(
    tmp_path, monkeypatch, command, given, expected
):
    """Unless the user says otherwise; this is what the program finds in its environment."""
    row = COMMANDS[command]
    place = tmp_path / 'lib' / row.package
    place.mkdir(parents=True)
    program(place, row.program, '')
    environ = {} if given is None else {RANGE: given}
    ready = SimpleNamespace(
        checkout=SimpleNamespace(install=tmp_path, source=tmp_path),
        environ=environ,
        python='/bin/python',
    )
    started: list[dict[str, str]] = []
    monkeypatch.setattr(launcher, '_become', lambda _, found, *__: started.append(found) or 0)
    assert launcher._start(row, [], ready) == 0
    assert started[0].get(RANGE) == expected


def test_ctrl_c_waits_until_the_starter_takes_care_of_it(tmp_path, monkeypatch):
    """Of a program, not of the tests, which know nothing of it."""
    row = COMMANDS['compare']
    place = tmp_path / 'lib' / row.package
    place.mkdir(parents=True)
    program(place, row.program, '')
    checkout = SimpleNamespace(install=tmp_path, source=REPOSITORY / 'src')
    ready = SimpleNamespace(checkout=checkout, environ={}, python=sys.executable)
    started: list[tuple[list[str], frozenset[signal.Signals]]] = []

    def start(command: list[str], *_: object) -> None:
        blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        started.append((command, blocked))

    monkeypatch.setattr(launcher.os, 'execve', lambda _, *rest: start(*rest))
    launcher._start(row, ['a'], ready)
    launcher._become(['other'], {})
    (command, blocked), (_, of_others) = started
    assert command[2:] == [str(place / row.program), 'a'] and Path(command[1]).is_file()
    assert (signal.SIGINT in blocked, signal.SIGINT in of_others) == (True, False)


def test_shell_exports_change_one_environment_to_the_other():
    """Quoted for the shell; what is gone is unset."""
    text = shell_exports({'A': '1', 'GONE': 'x', 'SAME': 's'}, {'A': "it's", 'SAME': 's'})
    shown = subprocess.run(
        ['sh', '-c', f'{text}\necho "$A ${{GONE-none}}"'],
        check=True,
        env={'GONE': 'x'},
        capture_output=True,
        text=True,
    ).stdout
    assert shown == "it's none\n"
    assert 'SAME' not in text
