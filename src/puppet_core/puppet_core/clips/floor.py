# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A clip's floor, and how far a sole is below its ankle, read off the feet while they stand."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from puppet_core.body.motion_measures import runs
from puppet_core.math import Floats, Ints, read_only, Vec3, Vec3s

Bools = NDArray[np.bool_]  # shape (n,)
_UP = read_only([0.0, 0.0, 1.0])

STAND_SPEED_M_S = 0.25  # a standing foot's joint moves slower; as in the bench's planted feet
_MIN_STAND_S = 0.04  # a running foot stands for about this long
_SPEED_SPAN_S = 0.025  # speeds are differences over this time, above the capture's jitter
# The rest is relative to the leg (hip to ankle), so that any body size works.
_FLOOR_BAND = 0.07  # stands this close above the lowest one are on the floor too
_LOWEST_DROP, _HIGHEST_DROP = 0.015, 0.14  # of the sole below the foot's middle, believable
_DEFAULT_DROP = 0.075  # measured on the CMU subjects: 0.06 to 0.09
_LEVEL_QUANTILE = 0.25  # of the stands' heights, by duration: heels lift while feet stand
_MAX_FEET_DIFFERENCE = 0.03  # between the drops of both feet; more is a step, not a foot
_BELOW_STANDS = 0.04  # feet lower than this below the lowest stand are below it
_SELDOM_FRACTION = 0.1  # of all frames; feet may be below the lowest stand so often
_MAX_TILT_RAD = np.radians(2.5)  # more is a slope
_MIN_TILT_RISE = 0.015  # of the floor over the stands; less is noise
_MAX_TILT_RESIDUAL = 0.4  # of the stands to the plane, over the plane's rise, both RMS
_MIN_SPREAD_M = 0.3  # standard deviation; stands spread less in a direction do not show its tilt


@dataclass(frozen=True, slots=True)
class Stands:
    """Runs of frames in which a foot stands; one row each."""

    feet: Ints  # 0 left, 1 right, shape (k,)
    points: Vec3s  # Median position of the foot's middle, shape (k, 3) [m]
    weights: Floats  # Duration [s], shape (k,)


@dataclass(frozen=True, slots=True)
class FloorFit:
    """How to move a clip, and where its soles are."""

    normal: Vec3  # The floor's normal in the clip's world, shape (3,)
    pivot: Vec3  # Point to turn about [m]
    drops: Floats  # Sole below the middle of the left and right foot, shape (2,) [m]
    floor_height: float  # Height of the floor after turning [m]


def standing_frames(points: Vec3s, rate_hz: float) -> Bools:
    """Return which frames a point, (n, 3) [m] over time, hardly moves in, shape (n,)."""
    half = max(1, round(0.5 * _SPEED_SPAN_S * rate_hz))
    frames = np.arange(len(points))
    before, after = np.maximum(frames - half, 0), np.minimum(frames + half, len(points) - 1)
    span_s = np.maximum(after - before, 1) / rate_hz
    speed = np.linalg.norm(points[after] - points[before], axis=1) / span_s
    return speed < STAND_SPEED_M_S


def find_stands(feet: Vec3s, rate_hz: float) -> Stands:
    """Return the stands of both feet, whose middles over time, Z up, are (n, 2, 3) [m]."""
    rows: list[tuple[int, Vec3, float]] = []
    for foot in range(2):
        points = feet[:, foot]
        for start, end in runs(standing_frames(points, rate_hz)):
            if end - start >= _MIN_STAND_S * rate_hz:
                rows.append((foot, np.median(points[start:end], axis=0), (end - start) / rate_hz))
    return Stands(
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows]).reshape(-1, 3),
        np.array([row[2] for row in rows]),
    )


def fit_floor(feet: Vec3s, rate_hz: float, leg_length: float) -> FloorFit:
    """
    Return the floor and the soles that fit the feet's motion best.

    The file's own zero is the floor if the soles can reach it from there, else the lowest stands,
    with usual soles; feet often well below all stands count instead. `feet` (n, 2, 3) are the
    middles of the left and right foot over time, Z up, `leg_length` is hip to ankle [m].
    """
    stands = find_stands(feet, rate_hz)
    heights = stands.points[:, 2]
    low = heights < heights.min(initial=np.inf) + _FLOOR_BAND * leg_length
    floor = Stands(stands.feet[low], stands.points[low], stands.weights[low])
    lowest = np.sort(feet[..., 2].min(axis=1))[int(_SELDOM_FRACTION * (len(feet) - 1))]
    drop = _DEFAULT_DROP * leg_length
    if not floor.weights.size or (lowest < floor.points[:, 2].min() - _BELOW_STANDS * leg_length):
        is_at_zero = _LOWEST_DROP <= lowest / leg_length <= _HIGHEST_DROP
        height = 0.0 if is_at_zero else float(lowest) - drop
        return FloorFit(_UP, np.zeros(3), np.full(2, drop), height)
    normal, pivot = _fit_tilt(floor, leg_length)
    levels = _levels(floor, normal, pivot, leg_length)
    base = float(levels.min())
    if _LOWEST_DROP <= base / leg_length <= _HIGHEST_DROP:
        return FloorFit(normal, pivot, levels, 0.0)
    return FloorFit(normal, pivot, levels - base + drop, base - drop)


def _fit_tilt(stands: Stands, leg_length: float) -> tuple[Vec3, Vec3]:
    """Return normal and pivot of the plane through the stands; (0, 0, 1) if it is not tilted."""
    weights = stands.weights / stands.weights.sum()
    pivot = weights @ stands.points
    sides = np.stack([stands.feet == 0, stands.feet == 1], axis=1).astype(np.float64)
    directions = _spread_directions(stands.points[:, :2], sides, weights)
    # Unknowns: one slope per direction in which the stands are spread, and one level per foot,
    # or one for both where there are too few stands to distinguish.
    spare = len(weights) - directions.shape[1]
    if directions.shape[1] == 0 or spare < 2:
        return _UP, pivot
    levels = sides if spare > 3 else np.ones((len(weights), 1))
    along = (stands.points[:, :2] - pivot[:2]) @ directions
    columns = np.hstack([levels, along])
    root = np.sqrt(weights)
    solution = np.linalg.lstsq(root[:, None] * columns, root * stands.points[:, 2], rcond=None)[0]
    slopes = solution[levels.shape[1] :]
    rises = along @ slopes
    residual = float(np.sqrt(weights @ (stands.points[:, 2] - columns @ solution) ** 2))
    tilted = float(np.sqrt(weights @ (rises - weights @ rises) ** 2))
    if (
        np.arctan(np.linalg.norm(slopes)) > _MAX_TILT_RAD
        or np.ptp(rises) < _MIN_TILT_RISE * leg_length
        or residual > _MAX_TILT_RESIDUAL * tilted
    ):
        return _UP, pivot
    normal = np.array([*(-directions @ slopes), 1.0])
    return normal / np.linalg.norm(normal), pivot


def _spread_directions(points: Floats, sides: Floats, weights: Floats) -> Floats:
    """Return the horizontal directions, columns, in which each foot's own stands are spread."""
    own = (sides * weights[:, None]).sum(axis=0)
    means = (sides * weights[:, None]).T @ points / np.where(own > 0.0, own, 1.0)[:, None]
    apart = points - sides @ means
    variances, directions = np.linalg.eigh(apart.T @ (weights[:, None] * apart))
    return directions[:, variances > _MIN_SPREAD_M**2]


def _levels(stands: Stands, normal: Vec3, pivot: Vec3, leg_length: float) -> Floats:
    """Return the height of both feet's middles on the floor, shape (2,) [m]."""
    heights = pivot[2] + (stands.points - pivot) @ normal
    levels = np.full(2, np.nan)
    for foot in range(2):
        own = stands.feet == foot
        if own.any():
            order = np.flatnonzero(own)[np.argsort(heights[own])]
            total = np.cumsum(stands.weights[order])
            levels[foot] = heights[order[np.searchsorted(total, _LEVEL_QUANTILE * total[-1])]]
    low = float(np.nanmin(levels))
    differs = np.abs(levels - low) > _MAX_FEET_DIFFERENCE * leg_length
    return np.where(np.isnan(levels) | differs, low, levels)
