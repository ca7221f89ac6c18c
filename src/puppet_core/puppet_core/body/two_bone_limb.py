# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The triangle of shoulder, elbow and wrist: angles from lengths, and what is in reach."""

import math

from puppet_core.math import kernel


@kernel
def polar_limit(side: float, axis: float, opposite: float) -> float:
    """
    Return the angle between sides `side` and `axis` of a triangle with this third side.

    Clamped to [0, pi] where the triangle does not close: the law of cosines, in the form of
    half-angle tangents, which keeps full precision for thin triangles.
    """
    top = (opposite - (side - axis)) * (opposite + (side - axis))
    bottom = ((side + axis) - opposite) * ((side + axis) + opposite)
    if top <= 0.0:
        return 0.0
    if bottom <= 0.0:
        return math.pi
    return 2.0 * math.atan2(math.sqrt(top), math.sqrt(bottom))


@kernel
def soft_distance(
    distance: float, current: float, upper: float, lower: float, kept_back: float
) -> float:
    """
    Return the distance at which the wrist ends when it should go to `distance` [m].

    The elbow's angle changes infinitely fast where a limb becomes straight or folded. So distances
    nearer to that than `kept_back` > 0, and than the current one (0 for none), are approached only
    halfway and never passed; all others are reached.
    """
    length, fold = upper + lower, abs(upper - lower)
    far, near = length - kept_back, fold + kept_back
    if current > 0.0:
        far, near = max(far, current), min(near, current)
    if distance > far:
        left = 0.5 * max(length - far, 1e-12)
        return far + left * (1.0 - math.exp((far - distance) / left))
    if distance < near:
        left = 0.5 * max(near - fold, 1e-12)
        return near - left * (1.0 - math.exp((distance - near) / left))
    return distance


@kernel
def soft_distance_slope(
    distance: float, current: float, upper: float, lower: float, kept_back: float
) -> float:
    """Return the derivative of `soft_distance`, with its arguments, by the distance, in [0, 1]."""
    length, fold = upper + lower, abs(upper - lower)
    far, near = length - kept_back, fold + kept_back
    if current > 0.0:
        far, near = max(far, current), min(near, current)
    if distance > far:
        return math.exp((far - distance) / (0.5 * max(length - far, 1e-12)))
    if distance < near:
        return math.exp((distance - near) / (0.5 * max(near - fold, 1e-12)))
    return 1.0
