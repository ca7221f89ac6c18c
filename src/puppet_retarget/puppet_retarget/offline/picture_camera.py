# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The camera of a picture: where world points appear, and a view that shows all bodies."""

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np
from puppet_core.arrays import check_array, Floats, read_only, Vec3, Vec3s
from puppet_core.errors import ConfigError
from puppet_retarget.offline.picture_body import Body

VIEW_ANGLE_DEG = 24.0  # small is far away and flat


@dataclass(frozen=True, slots=True)
class Camera:
    """A pinhole camera, its up direction as near to world's Z as its aim allows."""

    position: Vec3
    """In world, shape (3,) [m]."""

    target: Vec3
    """The point in the picture's middle, shape (3,) [m]."""

    view_angle_deg: float = 30.0
    """Between the picture's upper and lower edge."""

    def __post_init__(self) -> None:
        for name in ('position', 'target'):
            values = check_array(name, getattr(self, name), (3,))
            object.__setattr__(self, name, read_only(values))
        ahead = self.target - self.position
        if math.hypot(ahead[0], ahead[1]) < 1e-6 * np.linalg.norm(ahead) + 1e-12:
            raise ConfigError('camera: expected a target beside the position, got one above it')
        if not 0.1 <= self.view_angle_deg <= 150.0:
            raise ConfigError(
                f'view_angle_deg: expected 0.1 <= value <= 150, got {self.view_angle_deg}'
            )

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
        """
        Return where world points appear.

        Parameters
        ----------
        points : ndarray, shape (n, 3)
            In world [m].
        size_px : tuple of int
            Width and height of the picture.

        Returns
        -------
        pixels : ndarray, shape (n, 2)
            Column and row, from the upper left corner; NaN behind the camera.

        """
        x, y, depth = self.axes() @ (np.atleast_2d(points) - self.position).T
        depth = np.where(depth > 1e-6, depth, np.nan)
        scale = 1.0 / (depth * self.pixel_size(size_px[1]))
        return np.stack((0.5 * size_px[0] + scale * x, 0.5 * size_px[1] - scale * y), axis=1)


def camera_around(
    bodies: Sequence[Body],
    size_px: tuple[int, int],
    azimuth_deg: float = 35.0,
    elevation_deg: float = 12.0,
    view_angle_deg: float = VIEW_ANGLE_DEG,
    margin: float = 0.12,
) -> Camera:
    """
    Return a camera that shows all bodies as large as they fit.

    Parameters
    ----------
    bodies : sequence of Body
        At least one.
    size_px : tuple of int
        Width and height of the picture.
    azimuth_deg : float
        Where the viewer stands: 0 in front of a body that faces +X, 90 on its left.
    elevation_deg : float
        How far above the level of the bodies' middle.
    view_angle_deg : float
        Between the picture's upper and lower edge; small is far away and flat.
    margin : float
        Share of the picture left free on each side.

    Raises
    ------
    ConfigError : if there is no body with a shape.

    """
    parts = [body.capsules() for body in bodies if body.character.capsules]
    if not parts:
        raise ConfigError('bodies: expected one with a shape, got none')
    centres = np.concatenate([np.concatenate((p[0], p[1])) for p in parts])
    radii = np.concatenate([np.concatenate((p[2], p[2])) for p in parts])
    low = np.min(centres - radii[:, None], axis=0)
    high = np.max(centres + radii[:, None], axis=0)
    middle = 0.5 * (low + high)
    azimuth, elevation = math.radians(azimuth_deg), math.radians(elevation_deg)
    back = np.array(
        [
            math.cos(elevation) * math.cos(azimuth),
            math.cos(elevation) * math.sin(azimuth),
            math.sin(elevation),
        ]
    )
    axes = Camera(middle + back, middle, view_angle_deg).axes()
    x, y, z = axes @ (centres - middle).T
    upright = math.tan(0.5 * math.radians(view_angle_deg)) * (1.0 - 2.0 * margin)
    distance = 0.0
    for across, slope in ((x, upright * size_px[0] / size_px[1]), (y, upright)):
        # each ball must lie inside both of the picture's side planes
        reach = np.abs(across) + radii * math.hypot(1.0, slope)
        distance = max(distance, float(np.max(reach / slope - z)))
    return Camera(middle + distance * back, middle, view_angle_deg)
