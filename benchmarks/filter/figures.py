# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pieces of the benchmark's recordings as charts: one axis of one sensor, and the errors."""

from collections.abc import Mapping

from benchmarks.filter.data_sets import DataSet
from benchmarks.filter.scores import Output
from benchmarks.line_chart import Line, line_chart
import numpy as np
from puppet_core.drawing import BLUE, DARK, GREEN, GREY, Picture, PURPLE, RED
from puppet_core.math import Floats

FIGURES = {
    'static': (2.0, 1.5),
    'slow': (2.0, 2.0),
    'fast': (2.0, 1.5),
    'walk': (2.0, 1.2),
    'jumps': (2.85, 0.4),
    'fast_outliers': (2.0, 1.5),
}
"""Start and length of the piece of each data set that is drawn [s]."""

COLOURS = {'kalman': BLUE, 'none': GREY, 'euler': GREEN, 'low_pass': RED, 'fixed_low_pass': PURPLE}
ORDER = ('none', 'euler', 'low_pass', 'fixed_low_pass', 'kalman')  # ours on top


def draw_figure(name: str, data: DataSet, outputs: Mapping[str, Output]) -> Picture:
    """Return the chart of a data set: its liveliest axis, and how far the filters err."""
    start_s, length_s = FIGURES[name]
    times = data.motion.times_s
    piece = (times >= start_s) & (times <= start_s + length_s)
    truth = 1e3 * data.motion.positions[piece]
    sensor, axis = np.unravel_index(np.argmax(np.ptp(truth, axis=0)), truth.shape[1:])
    middle = truth[:, sensor, axis].mean()
    shown = [key for key in ORDER if key in outputs]
    places = {key: 1e3 * outputs[key].positions[piece, sensor, axis] - middle for key in shown}
    true_places = truth[:, sensor, axis] - middle
    tracks = [_curve(key, places[key]) for key in shown]
    tracks.append(Line('truth', true_places, DARK, 1.1, '--'))
    errors = [_curve(key, places[key] - true_places) for key in shown]
    return line_chart(times[piece], {f'{name}: place [mm]': tracks, 'error [mm]': errors})


def _curve(key: str, values: Floats) -> Line:
    return Line(key, values, COLOURS[key], 1.9 if key == 'kalman' else 1.1)
