# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A service whose answer comes later than its callback returns, one request at a time.

rclpy's coroutine callbacks are not run by the events executor: here the callback returns a mark.
"""

from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.timer import Timer

_LATER = object()


class DeferredService:
    """
    A service that is answered by `answer`, when there is an answer.

    `on_request` returns a response to answer at once, or the time [s] within which `answer` will
    be called; `on_deadline` returns the response for a request that was not answered in that time.
    """

    def __init__(
        self,
        node: Node,
        srv_type: type,
        name: str,
        on_request: Callable[[Any], Any],
        on_deadline: Callable[[], Any],
    ) -> None:
        self._node = node
        self._on_request = on_request
        self._on_deadline = on_deadline
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._header: Any = None
        self._timer: Timer | None = None
        self._service = node.create_service(srv_type, name, self._on_call)
        self._send = self._service.send_response
        self._service.send_response = self._send_unless_later  # type: ignore[method-assign]

    @property
    def is_pending(self) -> bool:
        return self._timer is not None

    def answer(self, response: Any) -> None:
        if self._timer is None:
            return
        self._node.destroy_timer(self._timer)
        header, self._header, self._timer = self._header, None, None
        self._send(response, header)

    def _on_call(self, request: Any, _response: Any) -> Any:
        result = self._on_request(request)
        if not isinstance(result, float):
            return result
        self._timer = self._node.create_timer(result, self._on_timer, clock=self._clock)
        return _LATER

    def _send_unless_later(self, response: Any, header: Any) -> None:
        if response is _LATER:
            self._header = header
        else:
            self._send(response, header)

    def _on_timer(self) -> None:
        self.answer(self._on_deadline())
