# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The colour scale of importance, the same in RViz, in the browser and in pictures."""

import numpy as np

STOPS = np.array([0.0, 0.5, 1.0])
COLOURS = np.array([[0.45, 0.58, 0.72], [0.95, 0.78, 0.25], [0.88, 0.20, 0.16]])


def importance_colour(importance: float) -> tuple[float, float, float]:
    """Return red, green, blue in 0 .. 1: grey-blue at 0, yellow halfway, red at 1."""
    red, green, blue = (float(np.interp(importance, STOPS, COLOURS[:, k])) for k in range(3))
    return red, green, blue
