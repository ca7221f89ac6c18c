# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Points of a body from the markers on its skin: means, steps, hips by regression, chords.

Every function takes and gives trajectories, shape (n, 3) [m]; NaN where something is missing.

"""

import numpy as np
from numpy.typing import NDArray
from puppet_core.arrays import Floats, Vec3s

Bools = NDArray[np.bool_]  # shape (n,)

# Harrington2007, table 3, in metres: hip from the middle of the front spines of the pelvis, in
# its axes (front, outward, up), by its width between the front spines and its depth.
_HIP_FRONT_PER_DEPTH, _HIP_FRONT_M = -0.24, -0.0099
_HIP_OUT_PER_WIDTH, _HIP_OUT_M = 0.33, 0.0073
_HIP_UP_PER_WIDTH, _HIP_UP_M = -0.30, -0.0109


def fill_gaps(positions: Floats, max_frames: int) -> Floats:
    """
    Return trajectories whose short gaps are bridged, by cubics through both sides.

    Parameters
    ----------
    positions : ndarray, shape (n, m, 3)
        NaN where a marker was not seen.
    max_frames : int
        Longer gaps stay.

    """
    filled = np.array(positions)
    for marker in range(positions.shape[1]):
        seen = np.asarray(np.isfinite(positions[:, marker]).all(axis=1))
        filled[~seen, marker] = np.nan
        if seen.all() or seen.sum() < 2:
            continue
        edges = np.flatnonzero(np.diff(np.concatenate(([1], seen.astype(int), [1]))))
        for start, end in zip(edges[::2], edges[1::2]):
            if start > 0 and end < len(seen) and end - start <= max_frames:
                filled[start:end, marker] = _bridge(positions[:, marker], seen, start, end)
    return filled


def _bridge(points: Vec3s, seen: Bools, start: int, end: int) -> Vec3s:
    """Return the cubic Hermite curve over the gap [start, end), slopes from the neighbours."""
    before, after = start - 1, end
    length = float(after - before)
    slopes = []
    for at, beside in ((before, before - 1), (after, after + 1)):
        has_slope = 0 <= beside < len(seen) and seen[beside]
        step = (points[at] - points[beside]) * (at - beside) if has_slope else np.zeros(3)
        slopes.append(length * step)
    u = ((np.arange(start, end) - before) / length)[:, None]
    u2, u3 = u * u, u * u * u
    return (
        (2.0 * u3 - 3.0 * u2 + 1.0) * points[before]
        + (u3 - 2.0 * u2 + u) * slopes[0]
        + (3.0 * u2 - 2.0 * u3) * points[after]
        + (u3 - u2) * slopes[1]
    )


def unit(vectors: Vec3s) -> Vec3s:
    """Return directions; NaN for vectors without one."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    with np.errstate(invalid='ignore', divide='ignore'):
        return np.where(lengths > 1e-9, vectors / lengths, np.nan)


def hip_centre(
    left_front: Vec3s, right_front: Vec3s, back: Vec3s, is_left: bool
) -> Vec3s:
    """
    Return a hip joint's centre by the regression of Harrington2007.

    Parameters
    ----------
    left_front, right_front : ndarray, shape (n, 3)
        Front upper spines of the pelvis (ASIS) [m].
    back : ndarray, shape (n, 3)
        Middle between the rear ones (PSIS), or a marker on the sacrum [m].
    is_left : bool
        Which hip.

    """
    middle = 0.5 * (left_front + right_front)
    left = unit(left_front - right_front)
    up = unit(np.cross(middle - back, left))
    front = np.cross(left, up)
    width = np.nanmedian(np.linalg.norm(left_front - right_front, axis=1))
    depth = np.nanmedian(np.sum((middle - back) * front, axis=1))
    out = (_HIP_OUT_PER_WIDTH * width + _HIP_OUT_M) * (1.0 if is_left else -1.0)
    return (
        middle
        + (_HIP_FRONT_PER_DEPTH * depth + _HIP_FRONT_M) * front
        + out * left
        + (_HIP_UP_PER_WIDTH * width + _HIP_UP_M) * up
    )


def chord(centre: Vec3s, marker: Vec3s, plane: Vec3s, distance_m: float) -> Vec3s:
    """
    Return the joint centre that sees the centre above and a marker beside it at a right angle.

    The chord construction of the conventional gait model (Davis1991): the joint is in the
    plane of the joint above, the marker on the joint's outside and a third point, at a given
    distance from the marker, on the other side of the line from the joint above to the marker
    than the third point.

    Parameters
    ----------
    centre, marker, plane : ndarray, shape (n, 3)
        Joint above, marker, third point [m].
    distance_m : float
        Half the joint's width and the marker's radius [m].

    """
    to_centre = centre - marker
    length = np.linalg.norm(to_centre, axis=1, keepdims=True)
    u = unit(to_centre)
    aside = plane - marker
    v = -unit(aside - np.sum(aside * u, axis=1, keepdims=True) * u)
    with np.errstate(invalid='ignore', divide='ignore'):
        cosine = np.where(length > distance_m, distance_m / length, np.nan)
    return marker + distance_m * (cosine * u + np.sqrt(1.0 - cosine**2) * v)


def hinge_centre(
    upper: Vec3s, marker: Vec3s, lower: Vec3s, distance_m: float, is_left: bool
) -> Vec3s:
    """
    Return an elbow's centre from the marker on its outside and the joints above and below.

    From the centre, the marker is in the direction of the hinge's axis, at a right angle to
    both bones. With x from the marker to the centre this is x·(upper - marker) =
    x·(lower - marker) = |x|² = distance², two planes and a sphere. Of the two solutions the
    one counts from which the arm bends forward; for a straight arm they are the same.

    Parameters
    ----------
    upper, marker, lower : ndarray, shape (n, 3)
        Joint above, marker, joint below [m].
    distance_m : float
        Half the joint's width and the marker's radius [m].
    is_left : bool
        Which arm: the left one bends about the axis that points to the body.

    """
    a, b = upper - marker, lower - marker
    aa, bb, ab = (np.sum(u * v, axis=1, keepdims=True) for u, v in ((a, a), (b, b), (a, b)))
    with np.errstate(invalid='ignore', divide='ignore'):
        scale = distance_m**2 / (aa * bb - ab * ab)
        inside = scale * ((bb - ab) * a + (aa - ab) * b)
    rest = distance_m**2 - np.sum(inside * inside, axis=1, keepdims=True)
    normal = unit(np.cross(b, a)) * (1.0 if is_left else -1.0)
    return marker + inside + np.sqrt(np.maximum(rest, 0.0)) * normal
