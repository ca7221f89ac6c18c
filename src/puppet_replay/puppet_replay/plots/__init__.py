# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Plots and tables of a bag over time: importance, feet, filter, latency."""

from puppet_replay.plots.drawings import draw_feet, draw_filter, draw_importance, draw_latency
from puppet_replay.plots.reading import PlotBag, Series, Span, statistics
