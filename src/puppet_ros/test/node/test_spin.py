# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""spin: exit codes, signals, sim time, services and timers under the suite's executor."""

from collections.abc import Callable, Iterator
from itertools import chain, count, repeat
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from puppet_ros.node import spin
import pytest
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock as ClockMsg

pytestmark = pytest.mark.ros

DEADLINE_S = 60.0
COMPLAINT = 'ignored: ValueError: Seconds value must not be negative\n'

PROGRAM = """
import sys
from rclpy.node import Node
from puppet_core.io import ConfigError, InputFileError
from puppet_ros.node.spin import spin_node

def warm_up():
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

def bad_config():
    raise ConfigError('gate.limit: expected 1.0 <= value, got 0.0')

def bad_file():
    raise InputFileError('a.yaml', 'named keys', 'none', 3)

build = {'good': Ticker, 'config': bad_config, 'file': bad_file}[sys.argv[1]]
sys.exit(spin_node(build, sys.argv[2:], warm_up, usage='ticks; example: ticker'))
"""


@pytest.fixture
def start(ros_context: Any, tmp_path: Any) -> Iterator[Callable[..., subprocess.Popen]]:
    """Yield a function that starts PROGRAM; whatever still runs is killed at the end."""
    running: list[subprocess.Popen] = []

    def run(*arguments: str) -> subprocess.Popen:
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
def test_signal_ends_a_spinning_node_with_0(start: Callable, number: int) -> None:
    process = start('good')
    assert process.stdout.readline() == 'warm\n'
    assert process.stdout.readline() == 'ticking\n'
    sent = time.monotonic()
    process.send_signal(number)
    _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, errors
    assert 'Traceback' not in errors
    assert time.monotonic() - sent < 5.0


@pytest.mark.parametrize(
    ('kind', 'text'),
    [
        ('config', 'gate.limit: expected 1.0 <= value, got 0.0\n'),
        ('file', 'a.yaml:3: expected named keys, got none\n'),
    ],
)
def test_bad_input_is_one_line_and_exit_2(start: Callable, kind: str, text: str) -> None:
    process = start(kind)
    _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2
    assert errors == text


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        (['--ros-args', '--params-file', 'none.yaml'], 'none.yaml'),
        (['--ros-args', '--nonsense'], '--nonsense'),
        (['nonsense'], "got 'nonsense'"),
    ],
    ids=['file', 'ros', 'own'],
)
def test_bad_arguments_are_named_and_exit_2(
    start: Callable, arguments: list[str], text: str
) -> None:
    process = start('good', *arguments)
    _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2
    assert text in errors and 'Traceback' not in errors


def test_help_is_printed_and_exit_0(start: Callable) -> None:
    process = start('good', '--help')
    output, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    assert output == 'ticks; example: ticker\n'


def test_timer_follows_the_simulated_clock(ros_context: Any, spin_until: Callable) -> None:
    sim = [Parameter('use_sim_time', value=True)]
    node = Node('simulated', context=ros_context, parameter_overrides=sim)
    ticks: list[int] = []
    steady: list[int] = []
    node.create_timer(1.0, lambda: ticks.append(1))
    node.create_timer(
        0.02, lambda: steady.append(1), clock=Clock(clock_type=ClockType.STEADY_TIME)
    )
    publisher = node.create_publisher(ClockMsg, '/clock', 10)
    assert spin_until([node], lambda: publisher.get_subscription_count() == 1)
    assert spin_until([node], lambda: len(steady) > 5)
    assert ticks == []
    seconds = count(1)

    def step_clock() -> bool:
        msg = ClockMsg()
        msg.clock.sec = next(seconds)
        publisher.publish(msg)
        return len(ticks) >= 3

    assert spin_until([node], step_clock)


def test_clock_before_zero_does_not_end_a_node(
    ros_context: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    sim = [Parameter('use_sim_time', value=True)]
    node = Node('simulated', context=ros_context, parameter_overrides=sim)
    publisher = node.create_publisher(ClockMsg, '/clock', 1)
    seconds = chain((-1, -2_000_000_000), repeat(5))
    said = ''

    def step() -> None:
        nonlocal said
        said += capfd.readouterr().err
        if COMPLAINT in said and node.get_clock().now().nanoseconds == 5_000_000_000:
            ros_context.try_shutdown()
        elif publisher.get_subscription_count():
            msg = ClockMsg()
            msg.clock.sec = next(seconds) if COMPLAINT in said else -1
            publisher.publish(msg)

    node.create_timer(0.02, step, clock=Clock(clock_type=ClockType.STEADY_TIME))
    late = threading.Timer(DEADLINE_S, ros_context.try_shutdown)
    late.start()
    executor = spin.make_executor(ros_context)
    executor.add_node(node)
    spin.spin(executor, ros_context)
    assert late.is_alive()
    late.cancel()
    assert said.count(COMPLAINT) == 1  # besides what rclpy writes itself


@pytest.mark.parametrize('kind', [RuntimeError, ValueError, OverflowError])
def test_exception_in_a_callback_leaves_spin(ros_context: Any, kind: type) -> None:
    """Whatever it is: only rclpy's own clock may raise without an end."""
    node = Node('failing', context=ros_context)

    def fail() -> None:
        raise kind('on purpose')

    node.create_timer(0.01, fail)
    executor = spin.make_executor(ros_context)
    executor.add_node(node)
    with pytest.raises(kind, match='on purpose'):
        spin.spin(executor, ros_context)


def test_shutdown_from_another_thread_ends_spin(ros_context: Any) -> None:
    node = Node('waiting', context=ros_context)
    executor = spin.make_executor(ros_context)
    executor.add_node(node)
    threading.Timer(0.2, ros_context.try_shutdown).start()
    spin.spin(executor, ros_context)
    assert not ros_context.ok()
