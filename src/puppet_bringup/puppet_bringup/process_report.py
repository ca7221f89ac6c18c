# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The diagnostics of the programs themselves, which cannot tell that they have died.

One status for each on /diagnostics, once a second and whenever one ends: OK while it runs, and
for a while after its end what ended it and how often it was started again.

"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from puppet_bringup.respawner import News
from puppet_ros.node import DIAGNOSTICS_TOPIC, ERROR_HOLD_S, own_context, PERIOD_S
from rclpy.node import Node
from rclpy.parameter import Parameter

NODE_NAME = 'puppet_up'


class ProcessReport(Node):
    """
    Reports the state of the programs; needs no executor.

    Parameters
    ----------
    names : sequence of str
        The programs.

    """

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
        for name, text, exit_code in news:
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
        return DiagnosticStatus(
            name=f'{NODE_NAME}: {name}',
            level=level,
            message=message,
            values=[
                KeyValue(key='starts_again', value=str(self._starts[name])),
                KeyValue(key='last_end', value=text),
            ],
        )


@contextmanager
def process_report(names: Sequence[str]) -> Iterator[ProcessReport]:
    """Make the report of programs in a context of its own, which leaves signals alone."""
    with own_context() as context:
        node = ProcessReport(names, context=context)
        try:
            yield node
        finally:
            node.destroy_node()
