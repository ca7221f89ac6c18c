# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Cameras: where world points appear, and paths for instants, all of one distance."""

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Vec3, Vec3s
from puppet_view.render.scene import Body
from scipy.ndimage import gaussian_filter1d

VIEW_ANGLE_DEG = 24.0  # small is far away and flat
FIXED, FOLLOW, ORBIT = KINDS = ('fixed', 'follow', 'orbit')
ORBIT_DEG = 360.0  # over all instants
VIEWS_DEG = {
    'front': 0.0,
    'left': 90.0,
    'back': 180.0,
    'right': -90.0,
    'side': -90.0,
    'three-quarter': -40.0,
}
SMOOTH_S = 0.4  # standard deviation of the following camera's averaging


class Camera(NamedTuple):
    """A pinhole camera, its up direction as near to world's Z as its aim allows."""

    position: Vec3  # in world, shape (3,) [m]
    target: Vec3  # the point in the picture's middle, shape (3,) [m]
    view_angle_deg: float = 30.0  # between the picture's upper and lower edge

    def axes(self) -> Vec3s:
        """Return the unit right, up and forward directions in world, shape (3, 3)."""
        forward = self.target - self.position
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right = right / np.linalg.norm(right)
        return np.array([right, np.cross(right, forward), forward])

    def pixel_size(self, height_px: int) -> float:
        """Return the size of a pixel on the image plane at distance one."""
        return 2.0 * math.tan(0.5 * math.radians(self.view_angle_deg)) / height_px

    def project(self, points: Vec3s, size_px: tuple[int, int]) -> Floats:
        """Return column and row of points (n, 3) from the upper left corner; NaN behind it."""
        x, y, depth = self.axes() @ (np.atleast_2d(points) - self.position).T
        depth = np.where(depth > 1e-6, depth, np.nan)
        scale = 1.0 / (depth * self.pixel_size(size_px[1]))
        return np.stack((0.5 * size_px[0] + scale * x, 0.5 * size_px[1] - scale * y), axis=1)


@dataclass(frozen=True, slots=True)
class View:
    azimuth_deg: float = 35.0  # where the viewer is in world: 0 on the side of +X, 90 of +Y
    elevation_deg: float = 8.0  # how far above the level of the bodies
    kind: str = FOLLOW  # FIXED, FOLLOW or ORBIT
    # Of the picture that bodies keep clear of: left, above, right, below
    margins_px: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    def backs(self, count: int) -> Vec3s:
        """Return the unit direction to the viewer at each of so many instants, (count, 3)."""
        turned = np.arange(count) * (ORBIT_DEG / count) if self.kind == ORBIT else np.zeros(count)
        elevation = math.radians(self.elevation_deg)
        level, up = math.cos(elevation), math.sin(elevation)
        return np.array(
            [
                [level * math.cos(azimuth), level * math.sin(azimuth), up]
                for azimuth in map(math.radians, self.azimuth_deg + turned)
            ]
        )


def smooth_path(places: Vec3s, rate_hz: float) -> Vec3s:
    """Return places over time averaged over SMOOTH_S before and after, shape (n, 3) [m]."""
    sigma = SMOOTH_S * rate_hz
    reach = math.ceil(4.0 * sigma)
    # goes on at the ends as it came, turned about the end: or the camera would stay behind there
    sides = ((reach, reach), *[(0, 0)] * (places.ndim - 1))
    padded = np.pad(places, sides, 'reflect', reflect_type='odd')
    return np.asarray(gaussian_filter1d(padded, sigma, axis=0)[reach : reach + len(places)])


def cameras_along(
    shots: Sequence[Sequence[Body]], path: Vec3s, view: View, size_px: tuple[int, int]
) -> list[Camera]:
    """
    Return a camera for each instant, as near as the bodies of all instants allow.

    The cameras follow the path, shape (n, 3) [m], whose height does not matter; a fixed one stays.
    Raises ConfigError if nobody has a shape, or no room is left.
    """
    path = np.array(path, dtype=np.float64)
    path[:, 2] = 0.0
    if view.kind == FIXED:
        path[:] = 0.5 * (path.min(axis=0) + path.max(axis=0))
    backs = view.backs(len(path))
    axes = np.array([Camera(back, np.zeros(3), VIEW_ANGLE_DEG).axes() for back in backs])
    points, radii = [], []
    for bodies, place, axis in zip(shots, path, axes):
        for body in bodies:
            if body.character.capsules:
                starts, ends, reach, _ = body.capsules()
                points.append((np.concatenate((starts, ends)) - place) @ axis.T)
                radii.append(np.concatenate((reach, reach)))
    if not points:
        raise ConfigError('bodies: expected at least one with a shape, got none')
    across, up, distance = _fitted(
        np.concatenate(points), np.concatenate(radii), size_px, view.margins_px
    )
    cameras = []
    for place, axis, back in zip(path, axes, backs):
        target = place + across * axis[0] + up * axis[1]
        cameras.append(Camera(target + distance * back, target, VIEW_ANGLE_DEG))
    return cameras


def _fitted(
    points: Vec3s,
    radii: Floats,
    size_px: tuple[int, int],
    margins_px: tuple[float, float, float, float],
) -> tuple[float, float, float]:
    """
    Return how far to the right and up a camera aims, and its distance [m].

    Points are in the camera's axes. A ball at (x, z) is left of the right edge, whose slope is s,
    if x - aim + r sqrt(1 + s^2) <= s (distance + z), and so for each edge: two lines that aim
    and distance must be above, and two that they must be below.
    """
    width, height = size_px
    left, top, right, bottom = margins_px
    pixel = 2.0 * math.tan(0.5 * math.radians(VIEW_ANGLE_DEG)) / height
    edges = (
        (pixel * (left - 0.5 * width), pixel * (0.5 * width - right)),
        (pixel * (bottom - 0.5 * height), pixel * (0.5 * height - top)),
    )
    if any(high - low < 0.1 * pixel * min(width, height) for low, high in edges):
        raise ConfigError(f'size: expected room between the labels, got {width} x {height} pixels')
    lines, distance = [], 0.0
    for k, (low, high) in enumerate(edges):
        least = np.max(points[:, k] + radii * math.hypot(1.0, high) - high * points[:, 2])
        most = np.min(points[:, k] - radii * math.hypot(1.0, low) - low * points[:, 2])
        distance = max(distance, float((least - most) / (high - low)))
        lines.append((least, high, most, low))
    distance = max(distance, float(np.max(radii - points[:, 2])) + 0.1)
    across, up = (
        0.5 * float((least - high * distance) + (most - low * distance))
        for least, high, most, low in lines
    )
    return across, up, distance
