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
from puppet_setup.install import PARTS
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
    done = puppet('--help', PUPPET_PYTHON=sys.executable)
    assert done.returncode == 0
    assert done.stdout.startswith('usage: ./puppet COMMAND')


def test_unknown_command_exits_2_with_the_nearest():
    done = puppet('dmo', PUPPET_PYTHON=sys.executable)
    assert done.returncode == 2
    assert "got 'dmo'" in done.stderr and "'demo'" in done.stderr
    assert done.stderr.count('\n') == 1


@pytest.mark.parametrize('words', [['bench'], ['bench', 'qualty'], ['stress'], ['dev', 'x']])
def test_a_family_without_one_of_its_names_lists_them(words):
    done = puppet(*words, PUPPET_PYTHON=sys.executable)
    assert done.returncode == 2
    assert f'usage: ./puppet {words[0]} NAME' in done.stderr and not done.stdout


def test_the_version_is_that_of_the_packages():
    done = puppet('--version', PUPPET_PYTHON=sys.executable)
    name, version = done.stdout.split()
    assert (done.returncode, name) == (0, 'puppet')
    for path in (REPOSITORY / 'src').glob('puppet_*/package.xml'):
        assert f'<version>{version}</version>' in path.read_text(), path


def test_a_bench_is_a_module_of_the_checkout(monkeypatch):
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
    place = tmp_path / 'lib' / 'puppet_filter'
    place.mkdir(parents=True)
    program(place, 'pose_filter', '')
    ready = SimpleNamespace(
        checkout=SimpleNamespace(install=tmp_path, source=REPOSITORY / 'src'), environ={}
    )
    assert launcher._start(Command(package, program_name, ''), [], ready) == 2
    assert f'did you mean {near!r}?' in capsys.readouterr().err


@pytest.mark.parametrize(
    'arguments',
    [
        *(['run'], ['run', 'puppet_core'], ['dev', 'completion', 'fish'], ['setup', '--nonsense']),
        *(['setup', '--with', 'moon'], ['setup', '--with'], ['setup', '--with', 'all', 'x']),
    ],
)
def test_incomplete_commands_exit_2(arguments, capsys):
    assert main(arguments) == 2
    assert arguments[0] in capsys.readouterr().err


@pytest.mark.parametrize('words', ['--with film,c3d', '--with=film,c3d --test', '--with all'])
def test_setup_takes_the_names_of_parts(words, monkeypatch):
    asked, ready = [], SimpleNamespace(checkout=SimpleNamespace(home='there'))
    monkeypatch.setattr(launcher, 'prepare', lambda *given: asked.append(given[3]) or ready)
    assert main(['setup', *words.split()]) == 0
    assert asked == [list(PARTS) if 'all' in words else ['film', 'c3d']]


def test_wrong_python_variable_is_named():
    done = puppet('--help', PUPPET_PYTHON='/nowhere/python')
    assert done.returncode == 1
    assert done.stderr.startswith('puppet: PUPPET_PYTHON: expected a Python 3.10 to 3.13')
    assert done.stderr.count('\n') == 1


def test_missing_python_is_said_with_the_fix(tmp_path):
    for name in ('dirname', 'readlink'):
        (tmp_path / name).symlink_to(shutil.which(name))
    program(tmp_path, 'python3', '#!/bin/sh\necho no version is set >&2; exit 127\n')
    done = puppet('--help', PATH=str(tmp_path), ROS_DISTRO='jazzy')
    assert done.returncode == 1
    assert 'sudo apt install python3' in done.stderr
    assert done.stderr.count('\n') == 1


def test_usable_python_is_found_behind_unusable_ones(tmp_path):
    program(tmp_path, 'python3', '#!/bin/sh\nexit 1\n')
    program(tmp_path, 'python3.12', f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for name in ('dirname', 'readlink'):
        (tmp_path / name).symlink_to(shutil.which(name))
    assert puppet('--help', PATH=str(tmp_path), ROS_DISTRO='jazzy').returncode == 0


def test_link_to_puppet_works(tmp_path):
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
