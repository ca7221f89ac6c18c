# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How every node of the suite starts, spins and ends, and how its process is scheduled."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
import gc
import os
import signal
import struct
import sys
import threading
import time
from typing import NamedTuple

from puppet_core.io import ConfigError, EXIT_BAD_INPUT, EXIT_OK, PuppetError
from puppet_core.math import on_first_compilation
from puppet_ros.process import guard_names, release_names
import rclpy
from rclpy.context import Context
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

REALTIME, PIN = '--realtime', '--pin='
PRIORITY = 10  # of 1 to 99: before all ordinary programs, after what the system itself needs
SLEEP_STATES = '/dev/cpu_dma_latency'  # the kernel's PM QoS: held open, it bounds the wake-up

SPIN_TIMEOUT_S = 0.5  # only bounds how late a shutdown without a wake-up is noticed
END_S = 4.0  # a node that takes longer to end is ended; `ros2 launch` waits for 5 s

# Arguments of every node: make it, which compiles its kernels, and end; see `process.claim`.
OWN_WORDS = COMPILE_ONLY, ALLOW_SECOND = '--compile-only', '--allow-second'

COMPILES = (
    'compiling kernels, once for each version: usually one to three minutes, in which no service '
    'answers; `ros2 run puppet_bringup puppet_compile` does it beforehand'
)


class Scheduling(NamedTuple):
    realtime: bool = False  # before all ordinary programs, on processors that do not go to sleep
    cores: tuple[int, ...] = ()  # only on these processors; empty for all

    def words(self) -> tuple[str, ...]:
        pin = (PIN + ','.join(map(str, self.cores)),) if self.cores else ()
        return ((REALTIME,) if self.realtime else ()) + pin

    def of_node(self, number: int) -> 'Scheduling':
        """Return how the n-th node on a frame's way runs: on one of the processors, in turns."""
        if not self.cores:
            return self
        return self._replace(cores=(self.cores[number % len(self.cores)],))

    def apply(self) -> list[str]:
        """Ask for it for all threads of this process; return what was refused, a sentence each."""
        refused = []
        if self.cores:
            try:
                for thread in threads():
                    os.sched_setaffinity(thread, self.cores)
            except (OSError, AttributeError):
                got = ', '.join(map(str, self.cores))
                refused.append(f'pin: expected processors of this machine, got {got}')
        if self.realtime:
            refused += run_first() + _stay_awake()
        return refused


ORDINARY = Scheduling()


def cores_of(text: str) -> tuple[int, ...]:
    """Return the processors of a list such as 2,3 or of none; raise ConfigError for others."""
    words = [word.strip() for word in text.split(',')] if text.strip() else []
    if not all(word.isdecimal() for word in words):
        raise ConfigError(f'pin: expected numbers of processors such as 2,3, got {text!r}')
    return tuple(int(word) for word in words)


def split_words(words: Sequence[str]) -> tuple[Scheduling, list[str]]:
    """Return what a command line asks for, and its other words."""
    cores = [cores_of(word[len(PIN) :]) for word in words if word.startswith(PIN)]
    rest = [word for word in words if word != REALTIME and not word.startswith(PIN)]
    return Scheduling(REALTIME in words, cores[-1] if cores else ()), rest


def threads() -> list[int]:
    return [int(name) for name in os.listdir('/proc/self/task')]


def run_first() -> list[str]:
    """Let this process run before ordinary programs; return what was refused, in a sentence."""
    try:
        for thread in threads():
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except (OSError, AttributeError):
        return [
            f'realtime: expected the right to priority {PRIORITY}, got none; '
            f'give it by a line such as "@puppet - rtprio {PRIORITY}" in /etc/security/limits.conf'
        ]
    return []


def _stay_awake() -> list[str]:
    """Keep processors from sleeping while this process lives: its descriptor is left open."""
    try:
        descriptor = os.open(SLEEP_STATES, os.O_RDWR | os.O_CLOEXEC)
        os.write(descriptor, struct.pack('i', 0))  # [us]
    except OSError as err:
        return [
            f'realtime: expected to write to {SLEEP_STATES}, got {err.strerror}; '
            'processors may sleep between frames'
        ]
    return []


def make_executor(context: Context | None = None) -> Executor:
    """Return the executor of the suite's nodes."""
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)


@contextmanager
def own_context() -> Iterator[Context]:
    """Make a context that leaves signals alone; its nodes are the caller's to destroy."""
    context = Context()
    rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    try:
        yield context
    finally:
        with suppress(KeyboardInterrupt):
            rclpy.try_shutdown(context=context)


@contextmanager
def observing() -> Iterator[tuple[Executor, Context]]:
    """Make an executor, and its own context, for nodes that a command watches a graph with."""
    with own_context() as context:
        executor = make_executor(context)
        try:
            yield executor, context
        finally:
            with suppress(KeyboardInterrupt):
                executor.shutdown()


class StopSignals:
    """
    SIGINT and SIGTERM from now on, once or often: an end with exit code 0.

    Handlers run late in compiled code, so a thread waits for what Python writes to a descriptor.
    It ends the process, or if there is an executor, that, and the process if it lasts for `END_S`.
    """

    def __init__(self) -> None:
        self._executor: Executor | None = None
        self.is_set = False
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        threading.Thread(target=self._wait, daemon=True).start()

    def wake(self, executor: Executor) -> None:
        """Let the first signal only end `spin` of an executor."""
        self._executor = executor

    def _wait(self) -> None:
        os.read(self._read, 1)
        self.is_set = True
        if self._executor is not None:
            self._executor.wake()
            time.sleep(END_S)
        os._exit(EXIT_OK)


def spin(
    executor: Executor, context: Context | None = None, stopping: StopSignals | None = None
) -> None:
    """Run callbacks until a signal to stop, the end of the context, or an exception of one."""
    context = context if context is not None else rclpy.get_default_context()
    with suppress(ExternalShutdownException):
        while context.ok() and not (stopping and stopping.is_set):
            executor.spin_once(timeout_sec=SPIN_TIMEOUT_S)


def spin_node(
    build: Callable[[], Node],
    argv: Sequence[str] | None = None,
    warm_up: Callable[[], None] | None = None,
    usage: str = '',
) -> int:
    """
    Run one node until SIGINT, SIGTERM or shutdown, and return its exit code.

    `build` makes the node, after `warm_up`, which compiles kernels before the first message. A
    PuppetError is the user's: one line on stderr, exit code 2, as for bad arguments. `argv` has no
    program's name, None stands for the process' own; `usage` is what --help prints.
    """
    try:
        scheduling, arguments = split_words(sys.argv[1:] if argv is None else argv)
        if _wants_help(arguments):
            print(usage.strip() or 'Parameters: --ros-args -p NAME:=VALUE')  # noqa: T201
            return EXIT_OK
    except PuppetError as err:
        return _complain(str(err))

    def make() -> Iterator[Node]:
        if warm_up is not None:
            warm_up()
        yield build()

    return spin_nodes(make, arguments, scheduling)


def spin_nodes(
    make: Callable[[], Iterable[Node]],
    arguments: Sequence[str] = (),
    scheduling: Scheduling = ORDINARY,
) -> int:
    """
    Run nodes until SIGINT, SIGTERM or shutdown, and return the exit code, as of `spin_node`.

    `make` yields them in the order in which they are to end; `arguments` are ROS' and OWN_WORDS.
    """
    nodes: list[Node] = []
    executor: Executor | None = None
    stopping = StopSignals()
    try:
        ros_arguments = [word for word in arguments if word not in OWN_WORDS]
        rclpy.init(args=ros_arguments, signal_handler_options=SignalHandlerOptions.NO)
        if not set(OWN_WORDS).intersection(arguments):
            guard_names(rclpy.get_default_context())
        on_first_compilation(lambda: print(COMPILES, flush=True))  # noqa: T201
        for node in make():
            nodes.append(node)
        if COMPILE_ONLY in arguments:
            return EXIT_OK
        executor = make_executor()
        for node in nodes:
            executor.add_node(node)
        # what exists now lives as long as the process: keep the collector from walking it
        gc.collect()
        gc.freeze()
        for refusal in scheduling.apply():
            print(refusal, file=sys.stderr)  # noqa: T201
        stopping.wake(executor)
        spin(executor, stopping=stopping)
    except PuppetError as err:
        return _complain(str(err))
    finally:
        if executor is not None:
            executor.shutdown()
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown()
        release_names()
    return EXIT_OK


def _wants_help(arguments: list[str]) -> bool:
    """Return whether --help is among the words; ConfigError for a word that nobody reads."""
    try:
        # reads all of them, parameter files too, and complains without side effects
        own = remove_ros_args(arguments)
    except RuntimeError as err:
        raise ConfigError(f'arguments: expected valid ROS arguments, got {err}') from err
    if '-h' in own or '--help' in own:
        return True
    own = [word for word in own if word not in OWN_WORDS]
    if own:
        raise ConfigError(
            f'arguments: expected --ros-args -p NAME:=VALUE or --help, got {own[0]!r}'
        )
    return False


def _complain(text: str) -> int:
    print(' '.join(text.split()), file=sys.stderr)  # noqa: T201
    return EXIT_BAD_INPUT
