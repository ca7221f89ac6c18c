# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One fault run: the graph up, faults one after the other, each watched until it is overcome.

The graph starts as the demo's does. From then on its programs are kept as `puppet_up` keeps
them, and the nodes that are started again start by themselves.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
import threading
import time
from typing import Any, NamedTuple

from puppet_bringup.graph_run import DemoRun, EMULATOR
from puppet_bringup.monitor import JOINTS_TOPIC, Monitor
from puppet_bringup.process_table import command_line, prepared, Process, SIM
from puppet_bringup.respawner import ProcessReport
from puppet_bringup.supervisor import Supervisor
from puppet_ros import config_files
from puppet_ros.node import ERROR_HOLD_S, observing, PERIOD_S
from rclpy.executors import Executor
from robustness.chaos.causes import CauseError, Stage, start_clock
from robustness.chaos.recovery import CONFIRM_S
from robustness.chaos.report import names, Row, Run
from robustness.chaos.schedule import Fault, faults, HOSTILE, KILL, targets_of, UNPLUG
from robustness.chaos.watch import ChaosWatch
from robustness.process_usage import memory_of

RATE_HZ = 120.0
UNDISTURBED_S = 5.0  # watched before the first fault
T_POSE_S = 2.0
GIVE_UP_S = 20.0  # after the end of a cause
TELL_S = 1.3  # after recovery, for the diagnostics, which come once a second
SPIN_S = 0.01

Say = Callable[[str], None]


class Settings(NamedTuple):
    """What to run."""

    seed: int  # Of the schedule
    duration_s: float  # How long faults are caused [s]
    kinds: tuple[str, ...]  # Of the faults
    character: str  # The puppet
    is_composed: bool  # Whether all nodes share a process
    is_sim_time: bool  # Whether time is what /clock says


class ChaosRun:
    """
    A running graph that faults happen to.

    Parameters
    ----------
    settings : Settings
        What to run.
    supervisor : Supervisor
        Gets all programs.
    folder : Path
        For ports and calibration.
    stopping : Event
        Ends the run early.
    say : callable
        Takes a line of progress.

    """

    def __init__(
        self,
        settings: Settings,
        supervisor: Supervisor,
        folder: Path,
        stopping: threading.Event,
        say: Say,
    ) -> None:
        self._settings = settings
        self._supervisor = supervisor
        self._folder = folder
        self._stopping = stopping
        self._say = say
        self.result = Run(settings._asdict())
        self._start_s = time.monotonic()
        self._watch: ChaosWatch
        self._report: ProcessReport
        self._stage: Stage
        self._expected: set[str] = set()
        self._fallen: list[str] = []

    def run(self) -> None:
        """
        Run until the time is over or told to stop; the result is in `result`.

        Raises
        ------
        PipelineError : if the graph does not come up.

        """
        with observing() as (executor, context):
            if self._settings.is_sim_time:
                start_clock(self._supervisor)
            if not self._bring_up(executor, context):
                return
            self._watch = ChaosWatch(RATE_HZ, context=context)
            executor.add_node(self._watch)
            listed = self._processes()
            self._report = ProcessReport([p.name for p in listed], context=context)
            config_dir = config_files.config_dir()
            commands = [(p.name, command_line(p, config_dir)) for p in listed]
            self._stage = Stage(self._supervisor, commands, self._watch)
            try:
                self._disturb(executor, listed)
            finally:
                self._stage.clear()
                self._watch.destroy_node()
                self._report.destroy_node()

    def _bring_up(self, executor: Executor, context: Any) -> bool:
        monitor = Monitor([JOINTS_TOPIC], context=context)
        executor.add_node(monitor)
        who = self._processes(), self._supervisor, monitor, executor
        try:
            start = DemoRun(*who, self._stopping, self._say)
            return start.start()
        finally:
            executor.remove_node(monitor)
            monitor.destroy_node()

    def _processes(self) -> tuple[Process, ...]:
        given = {
            'character': self._settings.character,
            'rate_hz': repr(RATE_HZ),
            't_pose_s': repr(T_POSE_S),
            'composed': str(self._settings.is_composed).lower(),
            'calibration_file': str(self._folder / 'calibration.yaml'),
        }
        listed = prepared(SIM, given, self._folder)
        return tuple(map(_with_sim_time, listed)) if self._settings.is_sim_time else listed

    def _disturb(self, executor: Executor, listed: Sequence[Process]) -> None:
        self._say('all nodes run; watching them undisturbed')
        if not self._spin(executor, T_POSE_S):
            return
        self._watch.begin()
        self._spin(executor, UNDISTURBED_S)
        memory = {p.name: self._memory_mb(p.name) for p in listed}
        nodes = [n.name for p in listed for n in (p.nodes or (p,) if p.is_node or p.nodes else ())]
        programs = [p.name for p in listed if p.is_node or p.nodes]
        targets = targets_of(programs, nodes, EMULATOR)
        end_s = time.monotonic() + self._settings.duration_s
        for fault in faults(self._settings.seed, self._settings.kinds, targets):
            if time.monotonic() >= end_s or self._stopping.is_set():
                break
            before = {name: self._memory_mb(name) for name in memory}
            row = self._suffer(executor, fault)
            if row is None:
                break
            self.result.rows.append(row)
            self._tell(row, end_s)
            if fault.kind == KILL:
                memory[fault.target] = self._memory_mb(fault.target)
            if fault.kind == HOSTILE:  # a history's places stay as large as a message was
                for name in memory:
                    memory[name] += max(self._memory_mb(name) - before[name], 0.0)
            if fault.kind == UNPLUG:
                memory[EMULATOR] = self._memory_mb(EMULATOR)
        for name, first in memory.items():
            self.result.memory_mb[name] = first, self._memory_mb(name)

    def _suffer(self, executor: Executor, fault: Fault) -> Row | None:
        """Cause a fault and wait for recovery; None if told to stop before it was over."""
        if not self._rest(executor, fault):
            return None
        self._watch.begin()
        self._fallen.clear()
        self._expected = {fault.target, EMULATOR} if fault.kind in (KILL, UNPLUG) else set()
        failure = ''
        try:
            for _ in self._stage.cause(fault):
                if not self._spin(executor, SPIN_S):
                    return None
        except CauseError as err:
            failure = ' '.join(str(err).split())
            self._stage.clear()
        stage = self._stage
        stage.begin_s = stage.begin_s or time.monotonic()
        stage.end_s = max(stage.end_s, stage.begin_s)
        recovery = None
        while recovery is None and time.monotonic() < stage.end_s + GIVE_UP_S:
            if not self._spin(executor, 0.5 * CONFIRM_S):
                return None
            recovery = self._watch.recovery(stage.begin_s, stage.end_s)
        if not self._spin(executor, TELL_S):
            return None
        check = self._watch.check
        row = Row(
            fault.kind,
            fault.target,
            stage.begin_s - self._start_s,
            stage.end_s - stage.begin_s,
            recovery,
            check.largest,
            check.n_frames,
            check.n_not_finite,
            tuple(self._watch.said),
            tuple(self._fallen),
            failure,
            self._watch.lost,
        )
        check.restart()
        return row

    def _rest(self, executor: Executor, fault: Fault) -> bool:
        """Let time pass before a fault, until nothing is said that would name it."""
        if not self._spin(executor, fault.pause_s):
            return False
        end = time.monotonic() + ERROR_HOLD_S + PERIOD_S
        while time.monotonic() < end and any(
            names(fault.kind, fault.target, text) for text in self._watch.standing
        ):
            if not self._spin(executor, SPIN_S):
                return False
        self._watch.settle()
        check = self._watch.check
        self.result.add_undisturbed(check.largest, check.n_not_finite)
        return True

    def _spin(self, executor: Executor, span_s: float) -> bool:
        """Let everything happen for a while; return False if told to stop."""
        end = time.monotonic() + span_s
        while not self._stopping.is_set():
            left_s = end - time.monotonic()
            if left_s <= 0.0:
                return True
            executor.spin_once(timeout_sec=min(left_s, SPIN_S))
            news = self._stage.respawner.tick()
            self._report.tick(news)
            for name, text, code, _ in news:
                if code is not None and name not in self._expected:
                    self._fallen.append(name)
                    last = '; '.join(list(self._supervisor.child(name).lines)[-3:])
                    self._say(f'{name} {text}: {last}')
        return False

    def _tell(self, row: Row, end_s: float) -> None:
        took = 'not recovered' if row.recovery is None else f'{row.recovery.flowing_s:.2f} s'
        misses = ''.join(f'; {text}' for text in row.misses())
        left_s = max(end_s - time.monotonic(), 0.0)
        self._say(
            f'{row.kind} {row.target}: {row.lasted_s:.2f} s long, recovered in {took}{misses} '
            f'({left_s:.0f} s left)'
        )

    def _memory_mb(self, name: str) -> float:
        try:
            return memory_of(self._supervisor.child(name).popen.pid).heap_mb
        except OSError:
            return float('nan')


def _with_sim_time(process: Process) -> Process:
    """Return a program whose nodes live by /clock."""
    if process.nodes:
        return replace(process, nodes=tuple(map(_with_sim_time, process.nodes)))
    if not process.is_node:
        return process
    return replace(process, parameters={**process.parameters, 'use_sim_time': True})
