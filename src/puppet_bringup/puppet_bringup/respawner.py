# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps programs running: one that dies is started again, with increasing delays, and reported."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
import time
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from puppet_bringup.supervisor import describe_end, Supervisor
from puppet_core.io import EXIT_BAD_INPUT, EXIT_OK
from puppet_ros.node import DIAGNOSTICS_TOPIC, ERROR_HOLD_S, own_context, PERIOD_S
from rclpy.node import Node
from rclpy.parameter import Parameter

DELAYS_S = (0.0, 0.3, 0.9, 2.7, 8.1)  # before the first restart, the second, … and every later one
LASTING_S = 10.0  # a program that ran longer is started again at once
FINAL = (EXIT_OK, EXIT_BAD_INPUT)  # exit codes of what is not started again
MOST_ERRORS = 3  # as many ends with an error soon after a start, one after the other, are the last

WATCH_PERIOD_S = 0.05  # how often to call `tick`

Command = tuple[str, Sequence[str]]


class Restarts:
    """The programs that are to be started again, and when, by a steady clock [s]."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._deaths: dict[str, int] = {}  # each soon after a start
        self._errors: dict[str, int] = {}  # of them the last ones, by no signal
        self._started: dict[str, float] = {}
        self._due: dict[str, float] = {}

    def started(self, name: str) -> None:
        """Take note that a program was started, when it was due or before."""
        self._started[name] = self._clock_s()
        self._due.pop(name, None)

    def died(self, name: str, exit_code: int) -> float | None:
        """Return in how many seconds to start a program again [s], or None: not any more."""
        if exit_code in FINAL:
            return None
        now_s = self._clock_s()
        lasted = now_s - self._started.get(name, now_s) >= LASTING_S
        deaths = 0 if lasted else self._deaths.get(name, 0)
        errors = self._errors[name] = (0 if lasted else self._errors.get(name, 0)) + 1
        if exit_code < 0:
            self._errors[name] = 0
        elif errors >= MOST_ERRORS:
            return None
        delay_s = DELAYS_S[min(deaths, len(DELAYS_S) - 1)]
        self._deaths[name], self._due[name] = deaths + 1, now_s + delay_s
        return delay_s

    def due(self) -> list[str]:
        """Return the programs whose time has come, each once."""
        now_s = self._clock_s()
        names = [n for n, due_s in self._due.items() if due_s <= now_s]
        for name in names:
            del self._due[name]
        return names

    @property
    def is_waiting(self) -> bool:
        return bool(self._due)


class News(NamedTuple):
    name: str  # of the program
    text: str  # what happened, a sentence without the name
    exit_code: int | None  # negative for a signal; None for a new start
    is_last: bool = False  # whether it is not started again


class Respawner:
    """Starts programs, by name and command, again as `Restarts` says, unless one `is_final`."""

    def __init__(
        self,
        supervisor: Supervisor,
        commands: Sequence[Command],
        is_final: Callable[[str, int], bool],
    ) -> None:
        self._supervisor = supervisor
        self._commands = dict(commands)
        self._is_final = is_final
        self._restarts = Restarts()
        self._news: list[News] = []
        for child in supervisor.children:
            self._restarts.started(child.name)

    def start(self, name: str) -> None:
        if any(child.name == name for child in self._supervisor.children):
            self._news.append(News(name, 'started again', None))
        self._supervisor.start(name, self._commands[name])
        self._restarts.started(name)

    @property
    def is_idle(self) -> bool:
        own = [child for child in self._supervisor.children if child.name in self._commands]
        return not self._restarts.is_waiting and all(c.exit_code is not None for c in own)

    def tick(self) -> list[News]:
        """Poll all programs, start what is due; return what has happened."""
        for child in self._supervisor.ended():
            code, text = child.exit_code, describe_end(child)
            if child.name in self._commands and code is not None:
                is_final = self._is_final(child.name, code)
                delay_s = None if is_final else self._restarts.died(child.name, code)
                if delay_s is not None:
                    text += f'; starting it again in {delay_s:.1f} s'
                elif code not in FINAL:
                    text += '; not started again'
                self._news.append(News(child.name, text, code, delay_s is None))
        for name in self._restarts.due():
            self.start(name)
        news, self._news = self._news, []
        return news


NODE_NAME = 'puppet_up'


class ProcessReport(Node):
    """Reports programs on /diagnostics, once a second and when one ends; needs no executor."""

    def __init__(self, names: Sequence[str], **kwargs: Any) -> None:
        # nobody would answer
        super().__init__(
            NODE_NAME,
            start_parameter_services=False,
            **kwargs,
            parameter_overrides=[Parameter('start_type_description_service', value=False)],
        )
        self._publisher = self.create_publisher(DiagnosticArray, DIAGNOSTICS_TOPIC, 10)
        self._ends = dict.fromkeys(names, ('', 0.0))
        self._starts = dict.fromkeys(names, 0)
        self._is_down = dict.fromkeys(names, False)
        self._due_s = 0.0

    def tick(self, news: Sequence[News]) -> None:
        """Take what has happened; publish if that is due."""
        now_s = time.monotonic()
        for name, text, exit_code, _ in news:
            if exit_code is None:
                self._starts[name] += 1
            else:
                self._ends[name] = text, now_s
            self._is_down[name] = exit_code is not None
        if not news and now_s < self._due_s:
            return
        self._due_s = now_s + PERIOD_S
        array = DiagnosticArray(status=[self._status(name, now_s) for name in self._ends])
        array.header.stamp = self.get_clock().now().to_msg()
        self._publisher.publish(array)

    def _status(self, name: str, now_s: float) -> DiagnosticStatus:
        text, ended_s = self._ends[name]
        level, message = DiagnosticStatus.OK, 'running'
        if self._is_down[name]:
            level, message = DiagnosticStatus.ERROR, text
        elif text and now_s - ended_s < ERROR_HOLD_S:
            level, message = DiagnosticStatus.WARN, f'{text}; started again'
        values = [
            KeyValue(key='starts_again', value=str(self._starts[name])),
            KeyValue(key='last_end', value=text),
        ]
        name = f'{NODE_NAME}: {name}'
        return DiagnosticStatus(name=name, level=level, message=message, values=values)


@contextmanager
def process_report(names: Sequence[str], namespace: str = '') -> Iterator[ProcessReport]:
    with own_context() as context:
        node = ProcessReport(names, context=context, namespace=namespace)
        try:
            yield node
        finally:
            node.destroy_node()
