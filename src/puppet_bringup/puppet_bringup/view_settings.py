# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The viewer's controls and the parameters of the nodes, kept equal through their services.

The ends of a slider are those that the node's own description of the parameter gives, and what
changes a parameter elsewhere moves the control: every node says so on /parameter_events.

"""

import queue
from typing import Protocol

from rcl_interfaces.msg import ParameterDescriptor, ParameterEvent
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import qos_profile_parameter_events
from rclpy.task import Future

# control -> nodes that have a parameter of that name; the first one's value is shown
TARGETS = {
    'character': ('retarget', 'visualization'),
    'prediction_s': ('importance',),
    'influence_distance_m': ('importance',),
    'smoothing_s': ('importance',),
    'stretch_limit': ('retarget',),
    'root_smoothing_s': ('retarget',),
}
UNBOUNDED = 1e12  # a wider range is none


class SettingsPanel(Protocol):
    """What shows the values."""

    def show_settings(self, values: dict[str, object]) -> None:
        """Move the controls."""
        ...

    def show_range(self, name: str, low: float, high: float) -> None:
        """Give a slider its ends."""
        ...

    def show_refusal(self, text: str) -> None:
        """Show why a value was refused, or '' when one was taken."""
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
        self._undescribed = set(TARGETS)
        self._under_way = dict.fromkeys(TARGETS, 0)
        self._events = node.create_subscription(
            ParameterEvent, '/parameter_events', self._on_event, qos_profile_parameter_events
        )

    def step(self) -> None:
        """Send what was changed since the last step, and ask for what is not known yet."""
        self._ask()
        latest: dict[str, object] = {}
        while not self._changes.empty():
            setting, value = self._changes.get()
            latest[setting] = value  # a slider on its way; only where it is now counts
        for setting, value in latest.items():
            self._send(setting, value)

    def _ask(self) -> None:
        for setting in tuple(self._unread | self._undescribed):
            client = self._clients[TARGETS[setting][0]]
            if not client.services_are_ready():
                continue
            if setting in self._undescribed:
                self._undescribed.discard(setting)
                future = client.describe_parameters([setting])
                future.add_done_callback(lambda f, setting=setting: self._describe(setting, f))
            if setting in self._unread:
                self._unread.discard(setting)
                future = client.get_parameters([setting])
                future.add_done_callback(lambda f, setting=setting: self._show(setting, f))

    def _send(self, setting: str, value: object) -> None:
        for name in TARGETS[setting]:
            client = self._clients[name]
            if not client.services_are_ready():
                self._refuse(setting, f'{name}: not there to take {setting}')
                continue
            self._under_way[setting] += 1
            future = client.set_parameters([Parameter(setting, value=value)])
            future.add_done_callback(lambda f, setting=setting: self._check(setting, f))

    def _refuse(self, setting: str, reason: str) -> None:
        self._node.get_logger().warning(reason)
        self._panel.show_refusal(reason)
        self._unread.add(setting)  # show what is in force

    def _describe(self, setting: str, future: Future) -> None:
        for described in future.result().descriptors:
            ends = _ends(described)
            if ends is not None:
                self._panel.show_range(setting, *ends)
        self._unread.add(setting)  # the control may have been at another end

    def _show(self, setting: str, future: Future) -> None:
        values = future.result().values
        if values:
            self._panel.show_settings({setting: parameter_value_to_python(values[0])})

    def _check(self, setting: str, future: Future) -> None:
        self._under_way[setting] -= 1
        for result in future.result().results:
            if result.successful:
                self._panel.show_refusal('')
            else:
                self._refuse(setting, result.reason)

    def _on_event(self, event: ParameterEvent) -> None:
        node = event.node.strip('/')
        for changed in (*event.new_parameters, *event.changed_parameters):
            nodes = TARGETS.get(changed.name, ())
            # while somebody moves the control here, it is where they want it
            if not nodes or nodes[0] != node or self._under_way[changed.name]:
                continue
            if self._changes.empty():
                value = parameter_value_to_python(changed.value)
                self._panel.show_settings({changed.name: value})


def _ends(described: ParameterDescriptor) -> tuple[float, float] | None:
    for bounds in described.floating_point_range:
        if max(abs(bounds.from_value), abs(bounds.to_value)) < UNBOUNDED:
            return bounds.from_value, bounds.to_value
    return None
