# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The viewer's controls and the parameters of the nodes, kept equal through their services."""

import queue
from typing import Protocol

from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future

# control -> nodes that have a parameter of that name; the first one's value is shown
TARGETS = {
    'character': ('retarget', 'visualization'),
    'prediction_s': ('importance',),
    'influence_distance_m': ('importance',),
}


class SettingsPanel(Protocol):
    """What shows the values."""

    def show_settings(self, values: dict[str, object]) -> None:
        """Move the controls."""
        ...


class NodeSettings:
    """Carries changes from the controls to the nodes, and the nodes' values to the controls."""

    def __init__(
        self, node: Node, changes: 'queue.SimpleQueue[tuple[str, object]]', panel: SettingsPanel
    ) -> None:
        self._node = node
        self._changes = changes
        self._panel = panel
        names = {name for nodes in TARGETS.values() for name in nodes}
        self._clients = {name: AsyncParameterClient(node, name) for name in sorted(names)}
        self._unread = set(TARGETS)

    def step(self) -> None:
        """Send what was changed since the last step, and ask for what is not known yet."""
        for setting in tuple(self._unread):
            client = self._clients[TARGETS[setting][0]]
            if client.services_are_ready():
                self._unread.discard(setting)
                future = client.get_parameters([setting])
                future.add_done_callback(lambda f, setting=setting: self._show(setting, f))
        latest: dict[str, object] = {}
        while not self._changes.empty():
            setting, value = self._changes.get()
            latest[setting] = value  # a slider on its way; only where it is now counts
        for setting, value in latest.items():
            self._send(setting, value)

    def _send(self, setting: str, value: object) -> None:
        for name in TARGETS[setting]:
            client = self._clients[name]
            if not client.services_are_ready():
                self._node.get_logger().warning(f'{name}: not there to take {setting}')
                continue
            future = client.set_parameters([Parameter(setting, value=value)])
            future.add_done_callback(lambda f, setting=setting: self._check(setting, f))

    def _show(self, setting: str, future: Future) -> None:
        values = future.result().values
        if values:
            self._panel.show_settings({setting: parameter_value_to_python(values[0])})

    def _check(self, setting: str, future: Future) -> None:
        for result in future.result().results:
            if not result.successful:
                self._node.get_logger().warning(result.reason)
                self._unread.add(setting)  # show what is in force
