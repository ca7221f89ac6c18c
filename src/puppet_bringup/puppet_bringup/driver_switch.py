# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Configures and activates the tracker driver, a managed node, from outside."""

import time

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.node import Node
from rclpy.task import Future

DRIVER = '/tracker_driver'
NEXT_STEP = {
    State.PRIMARY_STATE_UNCONFIGURED: Transition.TRANSITION_CONFIGURE,
    State.PRIMARY_STATE_INACTIVE: Transition.TRANSITION_ACTIVATE,
}
ANSWER_TIMEOUT_S = 3.0  # a call to a driver that has just died is never answered


class DriverSwitch:
    """
    Brings the driver to its active state, step by step, while others spin.

    Every step begins with the question where the driver is, so that it does not matter what
    became of the one before.

    """

    def __init__(self, node: Node) -> None:
        self._state = node.create_client(GetState, f'{DRIVER}/get_state')
        self._change = node.create_client(ChangeState, f'{DRIVER}/change_state')
        self._question: Future | None = None
        self._step: Future | None = None
        self._deadline_s = 0.0
        self._is_active = False

    @property
    def is_there(self) -> bool:
        """Whether there is a driver to talk to."""
        return self._state.service_is_ready() and self._change.service_is_ready()

    def advance(self) -> bool:
        """Take the next step if one is due; return whether the driver became active."""
        if self._is_active:
            return True
        pending = self._step or self._question
        if pending is not None and not pending.done():
            if time.monotonic() < self._deadline_s:
                return False
            self._step = self._question = pending = None  # nobody will answer
        if self._step is not None or self._question is None:
            self._step, self._question = None, self._state.call_async(GetState.Request())
            self._deadline_s = time.monotonic() + ANSWER_TIMEOUT_S
            return False
        state = self._question.result().current_state.id
        self._question = None
        if state in NEXT_STEP:
            request = ChangeState.Request()
            request.transition.id = NEXT_STEP[state]
            self._step = self._change.call_async(request)
            self._deadline_s = time.monotonic() + ANSWER_TIMEOUT_S
        self._is_active = state == State.PRIMARY_STATE_ACTIVE
        return self._is_active
