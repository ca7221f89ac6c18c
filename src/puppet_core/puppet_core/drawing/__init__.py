# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Charts in one style, by matplotlib, and images as PNG files."""

from puppet_core.drawing import figures
from puppet_core.drawing.figures import (
    BLUE,
    DARK,
    GREEN,
    GREY,
    legend_above,
    Line,
    line_chart,
    new_figure,
    PURPLE,
    RED,
    save,
    styled,
    SUFFIXES,
)
from puppet_core.drawing.images import Picture, png_bytes, save_png, TEXT_COLOUR

__all__ = [
    'BLUE',
    'DARK',
    'GREEN',
    'GREY',
    'Line',
    'PURPLE',
    'Picture',
    'RED',
    'SUFFIXES',
    'TEXT_COLOUR',
    'figures',
    'legend_above',
    'line_chart',
    'new_figure',
    'png_bytes',
    'save',
    'save_png',
    'styled',
]
