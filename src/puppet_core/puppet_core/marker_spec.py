# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Markers that RViz and the viewers draw, as plain descriptions, and the importance colours."""

from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats, Quat, read_only, Vec3, Vec3s

CUBE_SHAPE, SPHERE_SHAPE, CYLINDER_SHAPE = 'cube', 'sphere', 'cylinder'
LINES_SHAPE, TEXT_SHAPE = 'lines', 'text'
SPACE_WIDTH = 0.4  # of a text's height [-]
IDS_PER_PUPPET = 1000  # those of the second puppet's markers begin there, and so on

IDENTITY: Quat = read_only(np.array([1.0, 0.0, 0.0, 0.0]))
NO_POINTS: Vec3s = read_only(np.zeros((0, 3)))
NO_COLOURS: Floats = read_only(np.zeros((0, 4)))

Colour = tuple[float, float, float, float]
WHITE: Colour = (1.0, 1.0, 1.0, 1.0)

STOPS = np.array([0.0, 0.5, 1.0])
COLOURS = np.array([[0.45, 0.58, 0.72], [0.95, 0.78, 0.25], [0.88, 0.20, 0.16]])


class MarkerSpec(NamedTuple):
    """One solid, text or group of lines to draw."""

    namespace: str  # Group it belongs to, such as 'environment'
    identifier: int  # Unique within the group
    # CUBE_SHAPE, SPHERE_SHAPE, CYLINDER_SHAPE (along its own z), LINES_SHAPE or TEXT_SHAPE
    shape: str
    position: Vec3  # Centre in the frame, shape (3,) [m]
    orientation: Quat  # Shape (4,)
    # Full extents along its own axes [m]; of lines the width first, of text a space's width first
    # and the height last
    size: Vec3
    colour: Colour  # Red, green, blue, opacity in 0 .. 1
    text: str = ''  # What to write; of a solid the name of the object it is part of
    points: Vec3s = NO_POINTS  # Ends of lines, two of each, in its own axes, shape (2 n, 3) [m]
    colours: Floats = NO_COLOURS  # Of each end, shape (2 n, 4) in 0 .. 1; or none, for one colour.
    # TF frame that it moves with; '' for the message's frame at the message's stamp
    frame: str = ''


def line_marker(
    namespace: str, identifier: int, points: Vec3s, colours: Floats, width: float
) -> MarkerSpec:
    """Return lines by both ends of each, (2 n, 3) [m], and colour and opacity there, (2 n, 4)."""
    size, here = np.array([width, 0.0, 0.0]), np.zeros(3)
    lines = MarkerSpec(namespace, identifier, LINES_SHAPE, here, IDENTITY, size, WHITE)
    return lines._replace(points=points, colours=colours)


def text_marker(
    namespace: str,
    identifier: int,
    text: str,
    position: Vec3,
    height: float,
    colour: Colour = WHITE,
    frame: str = '',
) -> MarkerSpec:
    """Return a text in a TF frame ('': the message's), its capitals `height` high [m]."""
    # RViz takes x for the width of a space, and a wide one for 0
    size = np.array([SPACE_WIDTH * height, 0.0, height])
    return MarkerSpec(
        namespace, identifier, TEXT_SHAPE, position, IDENTITY, size, colour, text, frame=frame
    )


def importance_colour(importance: float) -> tuple[float, float, float]:
    """Return red, green, blue in 0 .. 1: grey-blue at 0, yellow halfway, red at 1."""
    red, green, blue = (float(np.interp(importance, STOPS, COLOURS[:, k])) for k in range(3))
    return red, green, blue
