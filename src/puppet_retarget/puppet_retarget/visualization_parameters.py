# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the visualization node, as data."""

from dataclasses import dataclass

from puppet_core.parameter_rows import Row

VISUALIZATION_ROWS = (
    Row('environment', 'floor', description='Environment, by name or path of its YAML file.'),
    Row('character', 'blubby', live=True,
        description='Puppet, by name or path of its YAML file; its world scale is drawn.'),
    Row('tf_rate_hz', 60.0, 'Hz', 0.0, 240.0, live=True,
        description='Rate of /tf for each body; 0 is none.'),
    Row('marker_rate_hz', 20.0, 'Hz', 0.0, 30.0, live=True,
        description='Rate of /markers and, up to 10 Hz, of /puppet/markers; 0 is none.'),
    Row('show_range_balls', True, live=True, description='Draw the range balls of the goals.'),
    Row('show_labels', True, live=True,
        description='Write names over the bodies, and importance over the goals.'),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class VisualizationConfig:
    """Parameters of the visualization node; see VISUALIZATION_ROWS."""

    environment: str = 'floor'
    character: str = 'blubby'
    tf_rate_hz: float = 60.0
    marker_rate_hz: float = 20.0
    show_range_balls: bool = True
    show_labels: bool = True
