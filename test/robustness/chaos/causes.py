# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How each fault is caused: a generator for each kind, which yields while the cause lasts.

Whoever runs one does everything else between its steps. It tells the stage when the cause
began and when it ended; of a kill that is when the program was started again.
"""

from collections.abc import Callable, Iterator, Sequence
import os
import signal
import sys
import time

from puppet_bringup.graph_run import EMULATOR, READY_MARK
from puppet_bringup.respawner import Command, Respawner
from puppet_bringup.supervisor import Child, Supervisor
from puppet_bringup.up import is_final
from puppet_core.io import PuppetError
from rclpy.node import Node
from robustness.chaos.agent import CLOCK_SOURCE, OFFSET_TOPIC
from robustness.chaos.schedule import (
    CLOCK,
    clock_step_s,
    DEAF,
    Fault,
    HOSTILE,
    KILL,
    LEAP,
    PAUSE,
    PULLED,
    RIVAL,
    STARVE,
    STORM,
    SWAY,
    TWIN,
    UNPLUG,
)
from std_msgs.msg import Float64

AGENT = 'chaos_agent'
N_BUSY = 4  # a core
SWAYS = 6
PATIENCE_S = 30.0  # for an agent's first word
AFTER_S = 10.0  # for its last one, beyond its time


class CauseError(PuppetError):
    """A fault that could not be caused."""


class Stage:
    """
    What causes act on.

    Parameters
    ----------
    supervisor : Supervisor
        Has the programs of the graph, and gets those of the faults.
    commands : sequence of Command
        Of the graph's programs, by name, which `respawner` starts again.
    node : Node
        Sets the clock.

    """

    def __init__(self, supervisor: Supervisor, commands: Sequence[Command], node: Node) -> None:
        self.supervisor = supervisor
        self.held: set[str] = set()  # programs that are not started again on their own
        self.respawner = Respawner(
            supervisor, commands, lambda name, code: name in self.held or is_final(name, code)
        )
        self.begin_s = self.end_s = 0.0
        self._offset_s = 0.0
        self.agents: list[str] = []
        self._clock = node.create_publisher(Float64, OFFSET_TOPIC, 10)

    def cause(self, fault: Fault) -> Iterator[None]:
        """
        Cause a fault; `begin_s` and `end_s` are then its times [s].

        Raises
        ------
        CauseError : if that is not possible, saying why.

        """
        self.begin_s = self.end_s = 0.0
        yield from CAUSES[fault.kind](self, fault)
        self.end_s = self.end_s or time.monotonic()
        self.clear()

    def clear(self) -> None:
        """End what faults have started and stopped."""
        for name in self.agents:
            self.send(name, signal.SIGKILL)
        self.agents.clear()
        for child in self.supervisor.children:
            self.send(child.name, signal.SIGCONT)

    def began(self) -> None:
        """Take note that the cause begins now."""
        self.begin_s = time.monotonic()

    def send(self, name: str, number: int) -> None:
        """Send a signal to a program unless it has ended."""
        child = self.supervisor.child(name)
        if child.exit_code is None:
            child.popen.send_signal(number)

    def start_agent(self, kind: str, *words: str, number: int = 0) -> Child:
        """Start one of the programs of the faults."""
        name = f'{AGENT}_{kind}_{number}'
        command = [sys.executable, '-m', 'robustness.chaos.agent', kind, *words]
        self.agents.append(name)
        return self.supervisor.start(name, command)

    def set_clock(self, offset_s: float) -> None:
        """Set how far simulated time is ahead of the system's [s]."""
        self._offset_s = offset_s
        self._clock.publish(Float64(data=offset_s))

    def step_clock(self, step_s: float) -> None:
        """Set simulated time forward or back [s]."""
        self.set_clock(self._offset_s + step_s)


def start_clock(supervisor: Supervisor) -> Child:
    """Start the program that publishes /clock."""
    return supervisor.start(
        f'{AGENT}_{CLOCK_SOURCE}', [sys.executable, '-m', 'robustness.chaos.agent', CLOCK_SOURCE]
    )


def _kill(stage: Stage, fault: Fault) -> Iterator[None]:
    victim = stage.supervisor.child(fault.target)
    stage.began()
    stage.send(fault.target, signal.SIGKILL)
    yield from _wait_for(lambda: stage.supervisor.child(fault.target) is not victim, fault.target)


def _pause(stage: Stage, fault: Fault) -> Iterator[None]:
    stage.began()
    stage.send(fault.target, signal.SIGSTOP)
    yield from _wait(fault.hold_s)
    stage.send(fault.target, signal.SIGCONT)


def _unplug(stage: Stage, fault: Fault) -> Iterator[None]:
    victim = stage.supervisor.child(EMULATOR)
    stage.held.add(EMULATOR)
    stage.began()
    # a program that is told to end takes the names of its ports with it, a killed one does not
    stage.send(EMULATOR, signal.SIGKILL if fault.target == PULLED else signal.SIGINT)
    yield from _wait(fault.hold_s)
    # by the respawner, to whoever looks at it between the steps
    yield from _wait_for(lambda: victim.is_reported, 'the end of the emulator')
    stage.held.discard(EMULATOR)
    stage.respawner.start(EMULATOR)
    yield from _wait_for(lambda: _has_said(stage, EMULATOR), EMULATOR)


def _starve(stage: Stage, fault: Fault) -> Iterator[None]:
    n_busy = N_BUSY * (os.cpu_count() or 1)
    busy = [stage.start_agent(STARVE, number=i) for i in range(n_busy)]
    yield from _wait_for(lambda: all(map(_begin_of, busy)), 'busy processes')
    stage.began()
    yield from _wait(fault.hold_s)
    for child in busy:
        stage.send(child.name, signal.SIGKILL)


def _set_clock(stage: Stage, fault: Fault) -> Iterator[None]:
    stage.began()
    step_s = clock_step_s(fault.size)
    if fault.target != SWAY:
        stage.step_clock(step_s if fault.target == LEAP else -step_s)
        return
    for i in range(SWAYS):
        stage.step_clock(step_s if i % 2 else -step_s)
        yield from _wait(fault.hold_s / SWAYS)


def _be_deaf(stage: Stage, fault: Fault) -> Iterator[None]:
    agent = stage.start_agent(DEAF)
    yield from _wait_for(lambda: _begin_of(agent) > 0.0, agent.name)
    stage.began()
    stage.send(agent.name, signal.SIGSTOP)
    yield from _wait(fault.hold_s)
    stage.send(agent.name, signal.SIGKILL)


def _let_agent(stage: Stage, fault: Fault) -> Iterator[None]:
    """Let an agent do something for a while."""
    agent = stage.start_agent(
        fault.kind,
        '--target',
        fault.target,
        '--hold-s',
        f'{fault.hold_s:.3f}',
        '--seed',
        str(int(1e6 * fault.size)),
    )
    yield from _wait_for(lambda: _begin_of(agent) > 0.0 or agent.exit_code is not None, agent.name)
    stage.begin_s = _begin_of(agent) or time.monotonic()
    deadline = time.monotonic() + fault.hold_s + AFTER_S
    while agent.exit_code is None and time.monotonic() < deadline:
        yield
    stage.end_s = _word_of(agent, 'end') or time.monotonic()
    if agent.exit_code != 0:
        said = ' / '.join(agent.lines) or 'nothing'
        raise CauseError(f'{fault.name}: expected its program to end well, it said: {said}')


def _start_twin(stage: Stage, fault: Fault) -> Iterator[None]:
    """Start a running program once more, which has to say that its name is taken."""
    name = f'{AGENT}_{TWIN}'
    stage.began()
    twin = stage.supervisor.start(name, stage.supervisor.child(fault.target).command)
    stage.agents.append(name)
    yield from _wait_for(lambda: twin.exit_code is not None, f'{fault.name}: its end')
    said = ' / '.join(twin.lines)
    if twin.exit_code == 0 or 'expected no other' not in said:
        raise CauseError(f'{fault.name}: expected a refusal, got {twin.exit_code}: {said}')


CAUSES: dict[str, Callable[[Stage, Fault], Iterator[None]]] = {
    KILL: _kill,
    PAUSE: _pause,
    UNPLUG: _unplug,
    STARVE: _starve,
    CLOCK: _set_clock,
    STORM: _let_agent,
    RIVAL: _let_agent,
    DEAF: _be_deaf,
    HOSTILE: _let_agent,
    TWIN: _start_twin,
}


def _wait(hold_s: float) -> Iterator[None]:
    end = time.monotonic() + hold_s
    while time.monotonic() < end:
        yield


def _wait_for(done: Callable[[], bool], what: str) -> Iterator[None]:
    end = time.monotonic() + PATIENCE_S
    while not done():
        if time.monotonic() > end:
            raise CauseError(f'{what}: expected to begin within {PATIENCE_S:.0f} s')
        yield


def _has_said(stage: Stage, name: str) -> bool:
    return any(line.startswith(READY_MARK) for line in stage.supervisor.child(name).lines)


def _begin_of(agent: Child) -> float:
    return _word_of(agent, 'begin')


def _word_of(agent: Child, word: str) -> float:
    """Return the time that an agent wrote after a word; 0 if it did not [s]."""
    for line in list(agent.lines):
        if line.startswith(f'{word} '):
            return float(line.split()[1])
    return 0.0
