# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How late the tracker's bytes came, from the driver's diagnostics: no node can make that less."""

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from puppet_ros.node import DIAGNOSTICS_TOPIC
from rclpy.node import Node

STATUS = 'tracker_driver: stream'
KEYS = {'p50': 'arrival_jitter_ms_p50', 'p99': 'arrival_jitter_ms_p99'}


class LateBytes:
    """
    Collects the driver's reports, one a second.

    Parameters
    ----------
    node : Node
        Listens.

    """

    def __init__(self, node: Node) -> None:
        self._reports: dict[str, list[float]] = {name: [] for name in KEYS}
        self._input = node.create_subscription(
            DiagnosticArray, DIAGNOSTICS_TOPIC, self._on_array, 50
        )

    def clear(self) -> None:
        """Forget what was reported so far."""
        for values in self._reports.values():
            values.clear()

    def figures(self) -> dict[str, float | None]:
        """Return the medians of the reports' percentiles [ms]; None without any."""
        return {
            name: float(np.median(values)) if values else None
            for name, values in self._reports.items()
        }

    def _on_array(self, array: DiagnosticArray) -> None:
        for status in array.status:
            if status.name == STATUS:
                told = {pair.key: pair.value for pair in status.values}
                for name, key in KEYS.items():
                    if key in told and np.isfinite(float(told[key])):
                        self._reports[name].append(float(told[key]))
