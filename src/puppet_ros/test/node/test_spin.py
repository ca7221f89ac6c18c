# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""spin: exit codes, signals, simulated time, executors, and the system's scheduler."""

import os
import signal
import subprocess
import sys
import time

from puppet_core.io import ConfigError
from puppet_ros.node import spin
from puppet_ros.node.spin import cores_of, PRIORITY, Scheduling, split_words
import pytest
from rclpy.node import Node

pytestmark = pytest.mark.ros

DEADLINE_S = 60.0

PROGRAM = """
import ctypes
import sys
from rclpy.node import Node
from puppet_core.io import ConfigError, InputFileError, Row
from puppet_ros.node import NODE_OPTIONS, ParameterTable, spin_node

def warm_up():
    if sys.argv[1] != 'named':
        print('warm', flush=True)

class Ticker(Node):
    def __init__(self):
        super().__init__('ticker')
        self.create_timer(0.01, self.tick)
        self.ticks = 0
    def tick(self):
        self.ticks += 1
        if self.ticks == 3:
            print('ticking', flush=True)

class Named(Node):
    def __init__(self):
        super().__init__('named', **NODE_OPTIONS)
        ParameterTable(self, (Row('a', 1),), dict)
        self.create_timer(0.01, lambda: print('up', flush=True))

def bad_config():
    raise ConfigError('gate.limit: expected 1.0 <= value, got 0.0')

def bad_file():
    raise InputFileError('a.yaml', 'named keys', 'none', 3)

def slow():
    print('compiling', flush=True)
    while ctypes.CDLL(None).sleep(600):  # a signal cuts it short; no handler of Python is called
        pass

build = {'good': Ticker, 'config': bad_config, 'file': bad_file, 'slow': slow, 'named': Named}
sys.exit(spin_node(build[sys.argv[1]], sys.argv[2:], warm_up, usage='ticks; example: ticker'))
"""


@pytest.fixture
def start(ros_context, tmp_path):
    """Yield a function that starts PROGRAM; whatever still runs is killed at the end."""
    running = []

    def run(*arguments):
        process = subprocess.Popen(
            [sys.executable, '-c', PROGRAM, *arguments],
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=['int', 'term'])
def test_signal_ends_a_spinning_node_with_0(start, number):
    process = start('good')
    assert process.stdout.readline() == 'warm\n'
    assert process.stdout.readline() == 'ticking\n'
    sent = time.monotonic()
    process.send_signal(number)
    _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, errors
    assert 'Traceback' not in errors
    assert time.monotonic() - sent < 5.0


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=['int', 'term'])
def test_signal_ends_a_node_that_compiles_at_once_and_with_0(start, number):
    process = start('slow')
    while process.stdout.readline() != 'compiling\n':
        assert process.poll() is None
    process.send_signal(number)
    assert process.communicate(timeout=DEADLINE_S) == ('', '')
    assert process.returncode == 0


@pytest.mark.parametrize(
    ('words', 'code', 'output', 'error'),
    [
        (['config'], 2, 'warm\n', 'gate.limit: expected 1.0 <= value, got 0.0\n'),
        (['file'], 2, 'warm\n', 'a.yaml:3: expected named keys, got none\n'),
        (['good', '--ros-args', '--params-file', 'none.yaml'], 2, '', 'none.yaml'),
        (['good', '--ros-args', '--nonsense'], 2, '', '--nonsense'),
        (['good', 'nonsense'], 2, '', "got 'nonsense'"),
        (['good', '--help'], 0, 'ticks; example: ticker\n', ''),
    ],
    ids=['config', 'file', 'ros file', 'ros', 'own', 'help'],
)
def test_node_that_cannot_start_says_why(start, words, code, output, error):
    """Bad input and arguments are a line each, exit code 2."""
    process = start(*words)
    said, errors = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, said) == (code, output)
    assert errors == error if error.endswith('\n') else error in errors
    assert 'Traceback' not in errors


def test_a_second_node_of_a_name_is_refused_while_the_first_lives(start):
    first = start('named')
    assert first.stdout.readline() == 'up\n'
    second = start('named')
    said, complaint = second.communicate(timeout=DEADLINE_S)
    assert (second.returncode, said) == (2, '')
    assert complaint.startswith('/named: expected no other such node on domain ')
    assert f'process {first.pid}; end it' in complaint and len(complaint.splitlines()) == 1
    first.kill()  # which no discovery hears of for seconds
    assert start('named').stdout.readline() == 'up\n'


@pytest.mark.parametrize(
    'words', [['--allow-second'], ['--ros-args', '-r', '__ns:=/other']], ids=['allowed', 'other']
)
def test_a_second_node_starts_if_it_is_allowed_or_has_another_name(start, words):
    assert start('named').stdout.readline() == 'up\n'
    second = start('named', *words)
    assert second.stdout.readline() == 'up\n'
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=DEADLINE_S)
    assert second.returncode == 0


def test_exception_in_a_callback_leaves_spin(ros_context):
    node = Node('failing', context=ros_context)

    def fail():
        raise RuntimeError('on purpose')

    node.create_timer(0.01, fail)
    executor = spin.make_executor(ros_context)
    executor.add_node(node)
    with pytest.raises(RuntimeError, match='on purpose'):
        spin.spin(executor, ros_context)


LINUX = pytest.mark.skipif(not hasattr(os, 'sched_setaffinity'), reason='another system')
ASK = """
import os
from puppet_ros.node.spin import split_words
scheduling, rest = split_words({words!r})
print(*(refusal.partition(':')[0] for refusal in scheduling.apply()), sep='|')
print(sorted(os.sched_getaffinity(0)), os.sched_getscheduler(0) == os.SCHED_FIFO,
      os.sched_getparam(0).sched_priority)
"""


def asked(*words):
    done = subprocess.run(
        [sys.executable, '-c', ASK.format(words=words)], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    'scheduling',
    [Scheduling(), Scheduling(True), Scheduling(False, (3,)), Scheduling(True, (0, 1))],
)
def test_words_say_what_they_were_made_of(scheduling):
    words = ['--ros-args', *scheduling.words(), '-p', 'a:=1']
    assert split_words(words) == (scheduling, ['--ros-args', '-p', 'a:=1'])


@pytest.mark.parametrize('text', ['a', '1,', '-1', '1;2', '1.5'])
def test_other_lists_of_processors_are_refused(text):
    with pytest.raises(ConfigError, match='pin: expected numbers'):
        cores_of(text)


@LINUX
def test_a_program_runs_where_it_is_pinned():
    core = max(os.sched_getaffinity(0))
    refused, state = asked(f'--pin={core}')
    assert not refused and state.startswith(f'[{core}] ')


@LINUX
def test_a_processor_that_is_not_there_is_refused_in_words_and_changes_nothing():
    refused, state = asked('--pin=4095')
    assert refused == 'pin' and state.startswith(f'{sorted(os.sched_getaffinity(0))} ')


@LINUX
def test_realtime_is_in_force_or_refused_in_words():
    refused, state = asked('--realtime')
    if state.endswith(f'True {PRIORITY}'):
        assert refused in ('', 'realtime')  # processors may sleep
    else:
        assert refused.startswith('realtime')
