# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The viewer's calibrate button: one call of the performer's service, and what it says."""

from typing import Protocol

from puppet_msgs.srv import Calibrate
from rclpy.node import Node
from rclpy.task import Future

SERVICE = '/performer/calibrate'
DURATION_S = 2.0


class CalibrationPanel(Protocol):
    """What shows the outcome."""

    def show_calibration(self, text: str, is_error: bool, is_running: bool) -> None:
        """Show a line."""
        ...


class CalibrationCall:
    """Calls the service and shows the answer."""

    def __init__(self, node: Node, panel: CalibrationPanel) -> None:
        self._client = node.create_client(Calibrate, SERVICE)
        self._panel = panel
        self._pending: Future | None = None

    def start(self) -> None:
        """Call, unless a call is under way or nobody offers the service."""
        if self._pending is not None and not self._pending.done() and self.is_there:
            return
        if not self.is_there:
            self._panel.show_calibration(f'{SERVICE}: nobody offers it', True, False)
            return
        self._panel.show_calibration(f'stand still for {DURATION_S:g} s', False, True)
        request = Calibrate.Request(kind=Calibrate.Request.KIND_POSE, duration_s=DURATION_S)
        self._pending = self._client.call_async(request)
        self._pending.add_done_callback(self._show)

    @property
    def is_there(self) -> bool:
        """Whether somebody offers the service."""
        return bool(self._client.service_is_ready())

    def step(self) -> None:
        """Give up a call that nobody will answer any more."""
        if self._pending is not None and not self._pending.done() and not self.is_there:
            self._pending.cancel()
            self._pending = None
            self._panel.show_calibration(f'{SERVICE}: gone without an answer', True, False)

    def _show(self, future: Future) -> None:
        if future.cancelled():
            return
        answer = future.result()
        text = answer.message
        if answer.success:
            text += f': residual {1e3 * answer.residual_m:.1f} mm, {answer.residual_deg:.2f} deg'
        self._panel.show_calibration(text, not answer.success, False)
