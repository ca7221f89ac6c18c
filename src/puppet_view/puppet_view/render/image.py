# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of bodies on the floor z = 0, without a display: rays by embree, light in numpy."""

from collections.abc import Sequence
import math

import numpy as np
from numpy.typing import NDArray
from puppet_core.drawing import Picture
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Ints, Vec3
from puppet_view.render.camera import Camera
from puppet_view.render.scene import Body, joined, SceneObject, Singles, Surface

MAX_SIDE_PX = 8192
SAMPLES = 3
GAMMA = 2.2  # screen values to linear light
EDGE_CONTRAST = 0.06  # sum of differences between neighbours' colours that makes an edge [-]
MAX_RAYS = 1 << 18  # traced at a time, which bounds the memory

GRIDS = (
    (0.5, 0.010, 0.30),  # step [m], width of a line [m], darkness
    (0.1, 0.004, 0.14),  # the fine grid, against which a sliding foot is seen
)
LIGHT_DIRECTION = (0.38, 0.42, 0.82)  # towards the sun; turned with the camera
SUN = (1.02, 0.97, 0.88)  # linear light
SKY = (0.40, 0.44, 0.50)  # from straight above
BOUNCE = (0.20, 0.19, 0.175)  # from the floor
FLOOR_COLOUR = (0.60, 0.605, 0.61)
HORIZON = (0.80, 0.82, 0.84)
ZENITH = (0.52, 0.60, 0.70)
FADE_START_M, FADE_END_M = 5.0, 16.0  # distance from the picture's centre: floor to horizon
SUN_SPREAD = 0.045  # tangent of half the sun's apparent size: how soft shadows are [-]
SUN_RAYS = 8  # towards the sun, times the samples along a pixel's side
OCCLUSION_REACH = 7.0  # radii from a capsule at which it no longer hides any sky [-]
OFFSET_M = 2e-3  # from a surface to where a ray towards the sun begins
_GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))

NOTHING, FLOOR, OBJECT = 0, 1, 2
Kinds = NDArray[np.int8]
Mask = NDArray[np.bool_]


def render_scene(
    bodies: Sequence[Body],
    camera: Camera,
    size_px: tuple[int, int] = (1600, 900),
    objects: Sequence[SceneObject] = (),
    samples: int = SAMPLES,
    lit_for: Camera | None = None,
) -> Picture:
    """
    Return a picture of bodies and objects on the floor; ConfigError without its libraries.

    `samples` are rays along each side of a pixel on an edge. The light comes over the left
    shoulder of `lit_for`, by default of the camera.
    """
    width, height = size_px
    _check_libraries()
    light = light_direction(camera if lit_for is None else lit_for)
    tracer = Tracer(joined(bodies, objects), camera, size_px, light, SUN_RAYS * samples)
    columns, rows = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    image, kinds = tracer.trace(columns.ravel(), rows.ravel())
    image, kinds = image.reshape(height, width, 3), kinds.reshape(height, width)
    if samples > 1:
        _refine(image, find_edges(image, kinds), samples, tracer)
    return to_screen(image)


def _check_libraries() -> None:
    try:
        import embreex  # noqa: F401
        import trimesh  # noqa: F401
    except ImportError as err:
        raise ConfigError(
            f'pictures: expected the packages trimesh and embreex, got no {err.name}; '
            'pip install trimesh embreex'
        ) from err


def to_screen(image: Singles) -> Picture:
    return np.rint(255.0 * np.clip(image, 0.0, 1.0) ** (1.0 / GAMMA)).astype(np.uint8)


def light_direction(camera: Camera) -> Vec3:
    """Return the unit direction to the sun, over the viewer's left shoulder, shape (3,)."""
    right, _, ahead = camera.axes() * (1.0, 1.0, 0.0)
    right, ahead = right / np.linalg.norm(right), ahead / np.linalg.norm(ahead)
    across, back, up = LIGHT_DIRECTION
    light = -across * right - back * ahead + up * np.array([0.0, 0.0, 1.0])
    return np.asarray(light / np.linalg.norm(light))


def find_edges(image: Singles, kinds: Kinds) -> Mask:
    """Return where neighbours differ: a body's outline, or colours within it."""
    edges = np.zeros(kinds.shape, dtype=bool)
    solid = kinds == OBJECT
    for axis in (0, 1):
        one, other = (slice(None), slice(-1)), (slice(None), slice(1, None))
        if axis == 0:
            one, other = one[::-1], other[::-1]
        step = np.abs(image[one] - image[other]).sum(axis=-1)
        # the floor's lines and shadows are smooth of themselves
        differ = (solid[one] != solid[other]) | (solid[one] & (step > EDGE_CONTRAST))
        edges[one] |= differ
        edges[other] |= differ
    return edges


def _refine(image: Singles, edges: Mask, samples: int, tracer: 'Tracer') -> None:
    """Trace pixels on edges anew, samples x samples rays each."""
    rows, columns = np.nonzero(edges)
    shares = (np.arange(samples) + 0.5) / samples
    x, y = (grid.ravel() for grid in np.meshgrid(shares, shares))
    light, _ = tracer.trace((columns[:, None] + x).ravel(), (rows[:, None] + y).ravel())
    # bright spots are cut before averaging, or their edges stay jagged
    image[edges] = np.minimum(light, 1.0).reshape(len(rows), samples**2, 3).mean(axis=1)


class Tracer:
    """Rays of one picture, and the light that they bring back."""

    def __init__(
        self,
        surface: Surface | None,
        camera: Camera,
        size_px: tuple[int, int],
        light: Vec3,
        sun_rays: int,
    ) -> None:
        """Prepare a scene; `light` is the unit direction to the sun, of `sun_rays` samples."""
        self._camera, self._size = camera, size_px
        self._axes, self._pixel = camera.axes(), camera.pixel_size(size_px[1])
        self._light = light.astype(np.float32)
        self._suns = _sun_directions(light, sun_rays)
        self._surface = surface
        if surface is None:
            return
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene

        self._colours = (np.clip(surface.colours, 0.0, 1.0) ** GAMMA).astype(np.float32)
        self._embree = EmbreeScene()
        TriangleMesh(self._embree, surface.vertices, surface.faces)
        # across and along the light: what is outside an item's box is not in its shadow
        self._beam = np.linalg.svd(light[None])[2][[1, 2, 0]].astype(np.float32)
        self._beam[2] = self._light
        seen = surface.vertices @ self._beam.T
        self._lows = np.minimum.reduceat(seen, surface.firsts)
        self._highs = np.maximum.reduceat(seen, surface.firsts)

    def trace(self, columns: Floats, rows: Floats) -> tuple[Singles, Kinds]:
        """Return the light, shape (n, 3), and the kind of what is seen through points [px]."""
        light = np.empty((len(columns), 3), dtype=np.float32)
        kinds = np.empty(len(columns), dtype=np.int8)
        for first in range(0, len(columns), MAX_RAYS):
            part = slice(first, first + MAX_RAYS)
            x = self._pixel * (columns[part] - 0.5 * self._size[0])
            y = self._pixel * (0.5 * self._size[1] - rows[part])
            rays = np.column_stack((x, y, np.ones(len(x)))) @ self._axes
            rays /= np.linalg.norm(rays, axis=1)[:, None]
            light[part], kinds[part] = self._seen(rays.astype(np.float32))
        return light, kinds

    def _seen(self, rays: Singles) -> tuple[Singles, Kinds]:
        eye = self._camera.position
        light = np.outer(np.clip(1.6 * rays[:, 2], 0.0, 1.0), np.subtract(ZENITH, HORIZON))
        light = (light + HORIZON).astype(np.float32)
        kinds = np.zeros(len(rays), dtype=np.int8)
        reach = np.full(len(rays), np.inf, dtype=np.float32)
        if eye[2] > 0.0:
            down = rays[:, 2] < 0.0
            reach[down] = -eye[2] / rays[down, 2]
            kinds[down] = FLOOR
        if self._surface is not None:
            starts = np.tile(eye.astype(np.float32), (len(rays), 1))
            hits = self._embree.run(starts, rays, output=1)
            met = np.flatnonzero((hits['primID'] >= 0) & (hits['tfar'] < reach))
            kinds[met] = OBJECT
            if len(met):
                places = eye.astype(np.float32) + hits['tfar'][met, None] * rays[met]
                corners = hits['u'][met], hits['v'][met], hits['primID'][met]
                light[met] = self._object_light(places, rays[met], *corners)
        floor = np.flatnonzero(kinds == FLOOR)
        if len(floor):
            light[floor] = self._floor_light(reach[floor], rays[floor])
        return light, kinds

    def _object_light(
        self, places: Singles, rays: Singles, u: Singles, v: Singles, faces: NDArray[np.int32]
    ) -> Singles:
        assert self._surface is not None
        corners = self._surface.normals[faces]
        u, v = u[:, None], v[:, None]
        mean = (1.0 - u - v) * corners[:, 0] + u * corners[:, 1] + v * corners[:, 2]
        lengths = np.maximum(np.linalg.norm(mean, axis=1), 1e-9)
        normals: Singles = (mean / lengths[:, None]).astype(np.float32)
        cosine = np.maximum(normals @ self._light, 0.0)
        direct = np.zeros(len(places), dtype=np.float32)
        lit = np.flatnonzero(cosine > 0.0)
        direct[lit] = self._sun(places[lit] + np.float32(OFFSET_M) * normals[lit])
        sky = self._open_sky(places, normals, self._surface.owner[faces])
        up = (0.5 + 0.5 * normals[:, 2])[:, None]
        # a highlight half way between light and eye, and a faint rim against the background
        facing = np.maximum(-np.einsum('nk,nk->n', normals, rays), 0.0)
        between = self._light - rays
        half = np.einsum('nk,nk->n', normals, between) / np.linalg.norm(between, axis=1)
        shine = 0.20 * np.maximum(half, 0.0) ** 40 * direct + 0.10 * (1.0 - facing) ** 4
        around = sky[:, None] * (up * np.array(SKY) + (1.0 - up) * np.array(BOUNCE))
        light = self._colours[faces] * (np.outer(cosine * direct, SUN) + around)
        return np.asarray(light + (shine * (0.3 + 0.7 * sky))[:, None], dtype=np.float32)

    def _floor_light(self, reach: Singles, rays: Singles) -> Singles:
        eye, centre = self._camera.position, self._camera.target
        places = (eye[:2] + reach[:, None] * rays[:, :2]).astype(np.float32)
        away = np.hypot(places[:, 0] - centre[0], places[:, 1] - centre[1])
        fade = np.clip((away - FADE_START_M) / (FADE_END_M - FADE_START_M), 0.0, 1.0)
        light = np.tile(np.array(HORIZON, dtype=np.float32), (len(rays), 1))
        near = np.flatnonzero(fade < 1.0)
        places = np.column_stack((places[near], np.zeros(len(near), dtype=np.float32)))
        normals = np.broadcast_to(np.array([0.0, 0.0, 1.0], dtype=np.float32), places.shape)
        grey = floor_shade(places[:, :2], rays[near], reach[near] * self._pixel)
        direct = self._light[2] * self._sun(places)
        sky = self._open_sky(places, normals, np.full(len(near), -1))
        lit = (
            grey[:, None]
            * np.array(FLOOR_COLOUR, dtype=np.float32)
            * (np.outer(direct, SUN) + np.outer(sky, SKY))
        )
        light[near] = lit + fade[near, None] * (np.array(HORIZON) - lit)
        return light

    def _sun(self, places: Singles) -> Singles:
        """Return the fraction of the sun that is seen from places, shape (n,)."""
        share = np.ones(len(places), dtype=np.float32)
        if self._surface is None:
            return share
        x, y, z = np.ascontiguousarray((places @ self._beam.T).T)
        maybe = np.zeros(len(places), dtype=bool)
        for low, high in zip(self._lows, self._highs):
            margin = SUN_SPREAD * (high[2] - z) + 0.01
            inside = (x > low[0] - margin) & (x < high[0] + margin) & (margin > 0.0)
            maybe |= inside & (y > low[1] - margin) & (y < high[1] + margin)
        chosen = np.flatnonzero(maybe)
        if not len(chosen):
            return share
        starts, clear = np.ascontiguousarray(places[chosen]), np.zeros(len(chosen))
        rays = np.empty_like(starts)
        for sun in self._suns:
            rays[:] = sun
            clear += self._embree.run(starts, rays, query='OCCLUDED') < 0
        share[chosen] = clear / len(self._suns)
        return share

    def _open_sky(self, places: Singles, normals: Singles, owners: Ints) -> Singles:
        """Return the fraction of the sky that the bounds of bodies leave open, shape (n,)."""
        share = np.ones(len(places), dtype=np.float32)
        if self._surface is None:
            return share
        x, y, z = np.ascontiguousarray(places.T)
        for i, (start, end, radius) in enumerate(zip(*self._surface.bounds)):
            far = OCCLUSION_REACH * radius
            low, high = np.minimum(start, end) - far, np.maximum(start, end) + far
            near = (x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1]) & (z > low[2])
            near = np.flatnonzero(near & (z < high[2]) & (owners != i))
            core = (end - start).astype(np.float32)
            away = places[near] - start.astype(np.float32)
            along = np.clip(away @ core / max(float(core @ core), 1e-12), 0.0, 1.0)
            away -= along[:, None] * core
            square = np.einsum('nk,nk->n', away, away) + 1e-12
            cosine = np.maximum(-np.einsum('nk,nk->n', away, normals[near]), 0.0) / np.sqrt(square)
            fade = np.maximum(1.0 - square / far**2, 0.0)
            # the nearest ball of the capsule fills (r / d)^2 cos of the sky over the normal
            share[near] *= 1.0 - 0.75 * cosine * np.minimum(radius**2 / square, 1.0) * fade**2
        return share


def floor_shade(places: Singles, rays: Singles, width: Singles) -> Singles:
    """
    Return the floor's brightness at places (n, 2) [m], its grids averaged over footprints.

    It is seen along unit directions from the eye (n, 3), a pixel having a width (n,) [m].
    """
    # the footprint, `width` across, is longer along the ray's own direction over the floor
    slope = 1.0 / np.maximum(-rays[:, 2], 1e-3)
    level = np.abs(rays[:, :2]) / (np.hypot(rays[:, 0], rays[:, 1]) + 1e-9)[:, None]
    widths = width[:, None] * (1.0 + level * (slope - 1.0)[:, None])
    shade = np.ones(len(places), dtype=np.float32)
    for step, line, darkness in GRIDS:
        apart = np.abs(places - step * np.round(places / step))
        low = np.maximum(apart - 0.5 * widths, -0.5 * line)
        high = np.minimum(apart + 0.5 * widths, 0.5 * line)
        cover = np.where(widths > step, line / step, np.maximum(high - low, 0.0) / widths)
        shade *= 1.0 - darkness * (1.0 - np.prod(1.0 - cover, axis=1))
    return shade


def _sun_directions(light: Vec3, count: int) -> Singles:
    """Return directions evenly over the sun's disc, on a sunflower spiral, shape (count, 3)."""
    out = SUN_SPREAD * np.sqrt((np.arange(count) + 0.5) / count)
    angle = _GOLDEN_ANGLE * np.arange(count)
    disc = np.linalg.svd(light[None])[2][1:]
    rays = light + np.column_stack((out * np.cos(angle), out * np.sin(angle))) @ disc
    return np.asarray(rays / np.linalg.norm(rays, axis=1)[:, None], dtype=np.float32)
