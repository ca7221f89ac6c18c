# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the tracker's markers, as data."""

from dataclasses import dataclass

from puppet_core.parameter_rows import Row

TRACKER_MARKERS_ROWS = (
    Row('rate_hz', 20.0, 'Hz', 0.0, 30.0, live=True,
        description='Rate of /tracker/markers; 0 is none.'),
    Row('trail_s', 2.0, 's', 0.0, 20.0, live=True,
        description='Length of the trails of the filtered positions; 0 is none.'),
    Row('axis_m', 0.08, 'm', 0.001, 1.0, live=True,
        description="Length of a sensor's drawn axes."),
    Row('residual_gain', 50.0, '-', 1.0, 1000.0, live=True,
        description='How many times longer than they are the residuals are drawn.'),
    Row('residual_full_mm', 3.0, 'mm', 0.0, 1000.0, live=True, low_open=True,
        description='Residual that is drawn red; none is green.'),
    Row('show_names', True, live=True, description='Write the names of the sensors.'),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TrackerMarkersConfig:
    """Parameters of the tracker's markers; see TRACKER_MARKERS_ROWS."""

    rate_hz: float = 20.0
    trail_s: float = 2.0
    axis_m: float = 0.08
    residual_gain: float = 50.0
    residual_full_mm: float = 3.0
    show_names: bool = True
