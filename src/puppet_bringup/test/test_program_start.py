# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Programs as they are started: silent when Ctrl-C meets an import, else as their files."""

import os
from pathlib import Path
import signal
import subprocess
import sys

from puppet_bringup import program_start
from puppet_bringup.program_start import is_program
from puppet_bringup.supervisor import describe_end, Supervisor
import pytest

DEADLINE_S = 60.0
INLINE = 'print("here", flush=True); signal.pause()'
SLEEP = f'{INLINE}\n'
MAIN = 'def main():\n    return 0\n'


def _install(folder: Path, text: str) -> Path:
    info = folder / 'puppet_late-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: puppet_late\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text('[console_scripts]\nlate = late_module:main\n')
    (folder / 'late_module.py').write_text(f'import signal, sys\n{text}')
    program = folder / 'lib' / 'puppet_late' / 'late'
    program.parent.mkdir(parents=True)
    program.touch()
    return program


def _start(
    program: Path, *words: str, before: signal.Handlers | None = None, is_blocked: bool = False
) -> subprocess.Popen[str]:
    def leave() -> None:
        if before is not None:
            signal.signal(signal.SIGINT, before)
        if is_blocked:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            os.kill(os.getpid(), signal.SIGINT)

    return subprocess.Popen(
        [sys.executable, program_start.__file__, str(program), *words],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=leave,
        env={**os.environ, 'PYTHONPATH': str(program.parents[2])},
    )


def _interrupted(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == 'here\n'
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=DEADLINE_S)
    return process.returncode, said, complaints


def test_ctrl_c_while_modules_are_imported_ends_it_without_a_word(tmp_path):
    program = _install(tmp_path, SLEEP + MAIN)
    assert _interrupted(_start(program)) == (-signal.SIGINT, '', '')


def test_ctrl_c_that_was_to_wait_ends_it_before_any_import(tmp_path):
    with _start(_install(tmp_path, SLEEP + MAIN), is_blocked=True) as process:
        assert process.communicate(timeout=DEADLINE_S) == ('', '')
    assert process.returncode == -signal.SIGINT


def test_a_running_program_gets_pythons_interrupt(tmp_path):
    text = (
        f'def main():\n    try:\n        {INLINE}\n'
        '    except KeyboardInterrupt:\n        print("interrupted")\n        return 5\n'
    )
    program = _install(tmp_path, text)
    assert _interrupted(_start(program)) == (5, 'interrupted\n', '')


def test_an_interrupt_that_a_program_does_not_expect_ends_it_without_a_word(tmp_path):
    program = _install(tmp_path, f'def main():\n    {INLINE}\n')
    assert _interrupted(_start(program)) == (-signal.SIGINT, '', '')


def test_other_errors_are_shown_as_ever(tmp_path):
    with _start(_install(tmp_path, 'def main():\n    raise ValueError("wrong")\n')) as process:
        _, complaints = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1 and complaints.endswith('ValueError: wrong\n')


@pytest.mark.parametrize('is_blocked', [False, True], ids=['open', 'blocked'])
def test_who_ignores_ctrl_c_goes_on_to(tmp_path, is_blocked):
    """As in the background of a script."""
    text = 'def main():\n    print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)\n'
    started = _start(_install(tmp_path, text), before=signal.SIG_IGN, is_blocked=is_blocked)
    with started as process:
        assert process.communicate(timeout=DEADLINE_S) == ('True\n', '')
    assert process.returncode == 0


def test_a_program_sees_its_own_name_arguments_and_folder(tmp_path):
    program = _install(tmp_path, 'def main():\n    print(*sys.argv, sys.path[0])\n    return 3\n')
    with _start(program, 'a', '--b') as process:
        said, _ = process.communicate(timeout=DEADLINE_S)
    assert said.split() == [str(program), 'a', '--b', str(program.parent)]
    assert process.returncode == 3


def test_a_child_that_is_stopped_early_says_nothing(tmp_path):
    """Of a graph that is ended while its nodes load."""
    program = _install(tmp_path, SLEEP + MAIN)
    heard: list[str] = []
    environ = {**os.environ, 'PYTHONPATH': str(tmp_path)}
    with Supervisor(lambda _, line: heard.append(line), environ) as group:
        child = group.start('late', [str(program)])
    assert describe_end(child) == 'was ended by SIGINT'
    assert heard in ([], ['here'])


@pytest.mark.parametrize(
    ('path', 'expected'),
    [
        ('/ws/install/lib/puppet_filter/pose_filter', True),
        ('/usr/bin/rviz2', False),
        ('/opt/ros/jazzy/lib/tf2_ros/static_transform_publisher', False),
        ('/home/me/puppet_tools/rviz2', False),
    ],
)
def test_programs_of_the_suite_are_known_by_their_place(path, expected):
    assert is_program(Path(path)) == expected
