# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One run of the simulated graph: start the processes and the tracker, measure, shut down."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
import os
from pathlib import Path
import threading
import time

from puppet_bringup import process_table
from puppet_bringup.compile_command import compile_kernels
from puppet_bringup.monitor import KINDS, Monitor, Usage, UsageMeter
from puppet_bringup.supervisor import Child, describe_end, LineSink, Supervisor
from puppet_core.io import ConfigError, PuppetError
from puppet_ros import config_files
from puppet_ros.node import observing
from puppet_ros.process import free_domain, middleware_settings
from rclpy.executors import Executor

DRIVER = 'tracker_driver'
EMULATOR = 'tracker_emulator'
READY_MARK = 'ready'  # what the emulator prints once its ports are there
SET_UP_TIMEOUT_S = 270.0  # a first compilation on a slow machine fits
SILENCE_TIMEOUT_S = 10.0
SETTLE_S = 0.5  # of streaming before the figures begin
GRACE_S = 0.3  # for the last frames to arrive
STATUS_PERIOD_S = 5.0
SPIN_S = 0.05
SHOWN_LINES = 8

Say = Callable[[str], None]


class PipelineError(PuppetError):
    """The graph did not come up, or did not stay up."""

    def __init__(self, text: str, is_bad_input: bool = False) -> None:
        self.is_bad_input = is_bad_input
        super().__init__(text)


@dataclass
class DemoRun:
    """The simulated graph with its observer, from start to stop; `say` gets lines on how far."""

    listed: Sequence[process_table.Process]
    supervisor: Supervisor
    monitor: Monitor
    executor: Executor
    stopping: threading.Event
    say: Say

    def start(self) -> bool:
        """Bring the graph to its first /joint_states, or PipelineError; False if asked to stop."""
        config_dir = config_files.config_dir()
        compile_kernels(self.listed, config_dir, self.supervisor.environ, self.stopping, self.say)
        self.say('starting the nodes')
        # the driver last: the performance begins when everybody listens
        for process in sorted(self.listed, key=lambda process: process.name == DRIVER):
            if process.name == DRIVER and not self._wait(self._missing, SET_UP_TIMEOUT_S):
                return False
            self.supervisor.start(process.name, process_table.command_line(process, config_dir))
        self.say('calibrating in the T-pose')
        return self._wait(self._silent, SET_UP_TIMEOUT_S)

    def measure(self, duration_s: float) -> tuple[float, float, dict[str, Usage]]:
        """Run for `duration_s` of stamps, 0 until stopped; return begin, end and usages."""
        self.settle()
        log = self.monitor.log
        begin_s = log.seconds(time.time_ns())
        meter = UsageMeter(self.supervisor.children)

        self.go_on(
            duration_s,
            STATUS_PERIOD_S,
            lambda s: self.say(f'{s:5.0f} s, {self.monitor.frames_solved} frames solved'),
        )
        end_s = log.seconds(time.time_ns())
        if duration_s > 0.0 and not self.stopping.is_set():
            end_s = begin_s + duration_s
        usage = meter.read()
        self.drain()
        return begin_s, end_s, usage

    def settle(self) -> None:
        """Let the graph run for the moment in which figures do not count yet."""
        self._spin_until(time.monotonic() + SETTLE_S)

    def go_on(self, duration_s: float, period_s: float, each: Callable[[float], None]) -> None:
        """
        Let the graph run for some seconds; with 0 until asked to stop.

        `each` is called once a period, and at the end, with the seconds since the begin. Raises
        PipelineError naming the process that failed, with its last lines.
        """
        start = due = time.monotonic()
        end = start + duration_s if duration_s > 0.0 else float('inf')
        while time.monotonic() < end and not self.stopping.is_set():
            due = max(due + period_s, time.monotonic())
            self._spin_until(min(end, due))
            each(time.monotonic() - start)

    def drain(self) -> None:
        self._spin_until(time.monotonic() + GRACE_S, heed_stop=False)

    def _missing(self) -> str:
        children = {child.name: child for child in self.supervisor.children}
        if EMULATOR in children and not any(
            line.startswith(READY_MARK) for line in children[EMULATOR].lines
        ):
            return EMULATOR
        return ', '.join(self.monitor.missing_nodes())

    def _silent(self) -> str:
        return '' if self.monitor.frames_solved else 'the first /joint_states'

    def _wait(self, missing: Callable[[], str], timeout_s: float) -> bool:
        start = time.monotonic()
        while not self.stopping.is_set():
            still = missing()
            if not still:
                return True
            elapsed_s = time.monotonic() - start
            if elapsed_s > timeout_s:
                raise PipelineError(
                    f'gave up waiting for {still} after {timeout_s:.0f} s\n'
                    f'{self._last_words(still)}'
                )
            if elapsed_s > STATUS_PERIOD_S:
                self.say(f'waiting for {still}')
            self._spin_until(time.monotonic() + STATUS_PERIOD_S, lambda: not missing())
        return False

    def _spin_until(
        self, deadline: float, done: Callable[[], bool] = lambda: False, heed_stop: bool = True
    ) -> None:
        next_check = 0.0
        while (now := time.monotonic()) < deadline:
            if heed_stop and self.stopping.is_set():
                return
            self.executor.spin_once(timeout_sec=min(SPIN_S, deadline - now))
            if now >= next_check:
                next_check = now + SPIN_S
                self._require_alive(now)
                if done():
                    return

    def _require_alive(self, now: float) -> None:
        for child in self.supervisor.ended():
            if not self.stopping.is_set():
                raise PipelineError(
                    f'{child.name} {describe_end(child)}\n{_words_of(child)}',
                    is_bad_input=child.exit_code == 2,
                )
        last = self.monitor.last_joints_s
        if last and now - last > SILENCE_TIMEOUT_S and not self.stopping.is_set():
            raise PipelineError(
                f'no /joint_states for {SILENCE_TIMEOUT_S:.0f} s\n{self._last_words("")}'
            )

    def _last_words(self, names: str) -> str:
        children = [c for c in self.supervisor.children if c.name in names]
        return '\n'.join(_words_of(c) for c in children or self.supervisor.children)


def _words_of(child: Child) -> str:
    lines = list(child.lines)[-SHOWN_LINES:] or ['(no output)']
    return '\n'.join(f'  {child.name}: {line}' for line in lines)


MIN_RATE_HZ, MAX_RATE_HZ = 1.0, 144.0  # the device's ceiling


def use_own_domain() -> int:
    """Set a free ROS domain and the middleware for this process and its children; return it."""
    domain = free_domain()
    os.environ['ROS_DOMAIN_ID'] = str(domain)
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.update(middleware_settings(os.environ))
    return domain


def check_rate(option: str, rate_hz: float) -> None:
    """Check a rate of the tracker; ConfigError naming the option, if no tracker has this rate."""
    if not MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ:
        raise ConfigError(
            f'{option}: expected {MIN_RATE_HZ} <= value <= {MAX_RATE_HZ}, got {rate_hz}'
        )


def simulation(
    folder: Path, character: str, rate_hz: float, is_composed: bool, **further: str
) -> tuple[process_table.Process, ...]:
    """
    Return the processes of a simulation.

    The folder is for the emulator's ports and the calibration, which a restarted node goes on
    with; `further` are more arguments of the launch description. Raises ConfigError for values
    that are not possible.
    """
    given = {
        'character': character,
        'rate_hz': repr(rate_hz),
        'composed': str(is_composed).lower(),
        't_pose_s': '2',
        'calibration_file': str(folder / 'calibration.yaml'),
        **further,
    }
    return process_table.prepared(process_table.SIM, given, folder)


@contextmanager
def watched_graph(
    listed: Sequence[process_table.Process],
    stopping: threading.Event,
    say: Say,
    topics: Sequence[str] = tuple(KINDS),
    on_line: LineSink = lambda *_: None,
) -> Iterator[DemoRun]:
    """
    Yield a graph that can be started, with a monitor on it; stop all of it afterwards.

    `say` gets lines on how far it is, `on_line` the name of a child and each line it writes.
    """
    environ = process_table.child_environment(os.environ)
    with (
        Supervisor(on_line, environ, process_table.SOURCES) as supervisor,
        observing() as (executor, context),
    ):
        monitor = Monitor(topics, context=context)
        executor.add_node(monitor)
        try:
            yield DemoRun(listed, supervisor, monitor, executor, stopping, say)
        finally:
            with suppress(KeyboardInterrupt):
                monitor.destroy_node()
