# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Surfaces that constraints put points of the body on."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from puppet_core.arrays import Floats


class Surface(Protocol):
    """Ground or another height field; both methods broadcast."""

    def height(self, x: Floats, y: Floats) -> Floats:
        """Return z of the surface [m] over places x, y [m]."""
        ...

    def gradient(self, x: Floats, y: Floats) -> Floats:
        """Return how z changes with x and with y, shape (..., 2) [-]."""
        ...


@dataclass(frozen=True, slots=True)
class FlatSurface:
    """A level floor or ceiling."""

    z: float = 0.0
    """Its height [m]."""

    def height(self, x: Floats, y: Floats) -> Floats:
        """Return z everywhere [m]."""
        return np.full(np.broadcast(x, y).shape, self.z)

    def gradient(self, x: Floats, y: Floats) -> Floats:
        """Return zeros, shape (..., 2)."""
        return np.zeros((*np.broadcast(x, y).shape, 2))
