# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Children: heard, reported when they end, and gone after stop, whatever they do."""

import os
import signal
import subprocess
import sys
import time

import psutil
from puppet_bringup import supervisor as module
from puppet_bringup.supervisor import describe_end, Supervisor
import pytest

pytestmark = pytest.mark.slow

DEADLINE_S = 60.0
SLEEPER = 'import signal; signal.pause()'
POLITE = (
    'import signal, sys\nprint("up", flush=True)\n'
    'signal.signal(signal.SIGINT, lambda *_: sys.exit(0))\nsignal.pause()'
)
DEAF = (
    'import signal\nfor n in (signal.SIGINT, signal.SIGTERM): signal.signal(n, signal.SIG_IGN)\n'
    'print("up", flush=True)\nwhile True: signal.pause()'
)


def _python(text):
    return [sys.executable, '-c', text]


def _until(condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition() and time.monotonic() < deadline:
        os.sched_yield()
    return condition()


@pytest.fixture
def heard():
    return []


@pytest.fixture
def group(heard):
    return Supervisor(lambda name, line: heard.append((name, line)), os.environ)


def test_lines_of_both_streams_come_with_the_name(group, heard):
    with group:
        group.start('a', _python('import sys; print("out"); print("err", file=sys.stderr)'))
        assert _until(lambda: len(heard) == 2)
    assert sorted(heard) == [('a', 'err'), ('a', 'out')]
    assert sorted(group.child('a').lines) == ['err', 'out']


def test_end_is_reported_once_with_its_code(group):
    with group:
        group.start('a', _python('import sys; sys.exit(7)'))
        assert _until(lambda: group.child('a').exit_code is not None)
        assert [describe_end(c) for c in group.ended()] == ['ended with exit code 7']
        assert group.ended() == []


def test_stop_lets_children_end_by_themselves(group, heard):
    with group:
        group.start('a', _python(POLITE))
        assert _until(lambda: ('a', 'up') in heard)
    assert group.child('a').exit_code == 0


def test_stop_ends_the_deaf_too(group, heard, monkeypatch):
    monkeypatch.setattr(
        module, 'STOP_STEPS', ((signal.SIGINT, 0.2), (signal.SIGTERM, 0.2), (signal.SIGKILL, 5.0))
    )
    with group:
        group.start('a', _python(DEAF))
        assert _until(lambda: ('a', 'up') in heard)
    assert group.child('a').exit_code == -signal.SIGKILL


def test_sources_end_before_the_others(heard):
    group = Supervisor(lambda name, line: heard.append((name, line)), os.environ, ('source',))
    said = POLITE.replace('sys.exit(0)', '(print("end", flush=True), sys.exit(0))')
    with group:
        for name in ('source', 'sink'):
            group.start(name, _python(said))
        assert _until(lambda: len(heard) == 2)
    assert [name for name, line in heard if line == 'end'] == ['source', 'sink']


def test_children_outside_the_terminals_group_do_not_get_its_ctrl_c(group):
    with group:
        child = group.start('a', _python(SLEEPER))
        assert os.getpgid(child.popen.pid) != os.getpgid(0)


@pytest.mark.skipif(sys.platform != 'linux', reason='asks the Linux kernel')
def test_children_end_when_the_supervisor_is_killed(tmp_path):
    """No process is left behind, not even by SIGKILL."""
    script = tmp_path / 'boss.py'
    script.write_text(
        'import os, sys\nfrom puppet_bringup.supervisor import Supervisor\n'
        's = Supervisor(lambda n, l: print(l, flush=True), os.environ)\n'
        f's.start("a", [sys.executable, "-c", {POLITE!r}])\n'
        'print(s.child("a").popen.pid, flush=True)\nimport signal; signal.pause()\n'
    )
    boss = Supervisor(lambda name, line: None, os.environ)
    with boss:
        child = boss.start('boss', [sys.executable, str(script)])
        assert _until(lambda: sum(line.isdigit() or line == 'up' for line in child.lines) == 2)
        grandchild = int(next(line for line in child.lines if line.isdigit()))
        os.kill(child.popen.pid, signal.SIGKILL)
        assert _until(
            lambda: (
                not psutil.pid_exists(grandchild)
                or psutil.Process(grandchild).status() == psutil.STATUS_ZOMBIE
            )
        )


@pytest.mark.skipif(sys.platform != 'linux', reason='asks the Linux kernel')
@pytest.mark.parametrize(('parent', 'said', 'code'), [('os.getppid()', 'on', 0), ('0', '', 1)])
def test_a_child_whose_parent_has_ended_before_it_asked_ends_too(parent, said, code):
    text = (
        'import os\nfrom puppet_bringup.supervisor import die_with_parent\n'
        f'die_with_parent({parent})\nprint("on")'
    )
    done = subprocess.run(_python(text), stdout=subprocess.PIPE, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == (said, code)


def test_a_forked_child_loads_no_library(group, monkeypatch):
    """Another thread of the parent may have held the loader's lock."""

    def refuse(*_):
        raise OSError('loaded in a forked child')

    monkeypatch.setattr(module.ctypes, 'CDLL', refuse)
    with group:
        child = group.start('a', _python(''))
        assert _until(lambda: child.exit_code == 0)


COMMAND = (
    sys.executable,
    '-c',
    'from puppet_core.io import stop_on_signals\n'
    'stopping = stop_on_signals()\nprint("here", flush=True)\n'
    f'print(stopping.wait({DEADLINE_S}))',
)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_lets_it_end_by_itself(number):
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == 'here\n'
        process.send_signal(number)
        assert process.communicate(timeout=DEADLINE_S)[0] == 'True\n'
    assert process.returncode == 0
