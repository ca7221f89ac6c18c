# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Words for the system's scheduler: read, written, asked for in a process of their own."""

import json
import os
import subprocess
import sys

from puppet_core.io import ConfigError
from puppet_ros.node.spin import cores_of, PRIORITY, Scheduling, split_words
import pytest

LINUX = pytest.mark.skipif(not hasattr(os, 'sched_setaffinity'), reason='another system')
ASK = """
import os
from puppet_ros.node.spin import split_words
scheduling, rest = split_words({words!r})
print(*(refusal.partition(':')[0] for refusal in scheduling.apply()), sep='|')
print(sorted(os.sched_getaffinity(0)), os.sched_getscheduler(0) == os.SCHED_FIFO,
      os.sched_getparam(0).sched_priority)
"""
FOR_A_WHILE = """
import os, subprocess, sys, threading
from puppet_ros.node.spin import running_first
def classes():
    return [os.sched_getscheduler(int(name)) for name in os.listdir('/proc/self/task')]
n_files, ended = len(os.listdir('/proc/self/fd')), threading.Event()
with running_first() as refused:
    threading.Thread(target=ended.wait).start()
    print('refused' if refused else '')
    print(classes())
child = [sys.executable, '-c', 'import os; print(os.sched_getscheduler(0))']
told = subprocess.run(child, capture_output=True, text=True).stdout.strip()
print(classes(), told, len(os.listdir('/proc/self/fd')) - n_files)
ended.set()
"""


def asked(*words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, '-c', ASK.format(words=words)], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    'scheduling',
    [Scheduling(), Scheduling(True), Scheduling(False, (3,)), Scheduling(True, (0, 1))],
)
def test_words_say_what_they_were_made_of(scheduling: Scheduling) -> None:
    words = ['--ros-args', *scheduling.words(), '-p', 'a:=1']
    assert split_words(words) == (scheduling, ['--ros-args', '-p', 'a:=1'])


@pytest.mark.parametrize('text', ['a', '1,', '-1', '1;2', '1.5'])
def test_other_lists_of_processors_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match='pin: expected numbers'):
        cores_of(text)


@LINUX
def test_a_program_runs_where_it_is_pinned() -> None:
    core = max(os.sched_getaffinity(0))
    refused, state = asked(f'--pin={core}')
    assert not refused and state.startswith(f'[{core}] ')


@LINUX
def test_a_processor_that_is_not_there_is_refused_in_words_and_changes_nothing() -> None:
    refused, state = asked('--pin=4095')
    assert refused == 'pin' and state.startswith(f'{sorted(os.sched_getaffinity(0))} ')


@LINUX
def test_a_program_that_ran_first_for_a_while_is_as_before_afterwards() -> None:
    """All its threads, also one that began meanwhile, its children, and its open files."""
    done = subprocess.run([sys.executable, '-c', FOR_A_WHILE], capture_output=True, text=True)
    assert not done.stderr
    refused, within, afterwards = done.stdout.splitlines()
    assert refused == 'refused' or set(json.loads(within)) == {os.SCHED_FIFO}
    before = os.sched_getscheduler(0)
    policies, *own = afterwards.rsplit(' ', 2)
    assert set(json.loads(policies)) == {before} and own == [str(before), '0']


@LINUX
def test_realtime_is_in_force_or_refused_in_words() -> None:
    refused, state = asked('--realtime')
    if state.endswith(f'True {PRIORITY}'):
        assert refused in ('', 'realtime')  # processors may sleep
    else:
        assert refused.startswith('realtime')
