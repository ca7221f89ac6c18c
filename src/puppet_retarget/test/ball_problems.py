# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Random and degenerate problems of the nearest point among balls, many at a time."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.math.arrays import Floats, Vec3s

MAX_BALLS = 8


class Problems(NamedTuple):
    """Problems, one a row; what they lack in balls is filled up with infinite ones."""

    p: Vec3s  # (m, 3)
    centres: Vec3s  # (m, 8, 3)
    radii: Floats  # (m, 8)
    outside: NDArray[np.bool_]  # (m, 8)
    slacks: Floats  # (m, 8)

    def pick(self, which: NDArray) -> 'Problems':
        """Return some of the rows."""
        return Problems(*(np.ascontiguousarray(field[which]) for field in self))


def unit(vectors: Vec3s) -> Vec3s:
    """Return unit vectors."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


KINDS = (
    'random',
    'meeting',
    'meeting in a point',
    'equal centres',
    'collinear centres',
    'coplanar centres',
    'nested',
    'nested and tangent',
    'tangent',
    'shell',
    'shell without width',
    'no radius',
    'nearly no radius',
    'nearly unimportant',
    'on an axis',
    'at a centre',
    'on a surface',
    'twins',
)


def draw(kind: str, count: int, rng: np.random.Generator, share_outside: float) -> Problems:
    """Return problems of a kind; its name says what is special about them."""
    outside = rng.random((count, MAX_BALLS)) < share_outside
    c = rng.normal(size=(count, MAX_BALLS, 3)) * rng.choice([0.05, 0.3, 1.0], (count, 1, 1))
    r = rng.uniform(0.05, 1.8, (count, MAX_BALLS))
    p = rng.normal(size=(count, 3)) * rng.choice([0.1, 0.5, 1.5, 5.0], (count, 1))
    noise = rng.choice([0.0, 1e-16, 1e-12, 1e-9, 1e-6], (count, 1, 1)) * rng.normal(size=c.shape)
    if kind.startswith('meeting'):
        away = rng.uniform(0.5, 1.0, r.shape) if kind == 'meeting' else np.ones(r.shape)
        away = np.where(outside, 1.0 / away, away) * r
        c = rng.normal(size=(count, 1, 3)) + unit(rng.normal(size=c.shape)) * away[..., None]
    elif kind == 'equal centres':
        c = c[:, :1] + noise
    elif kind == 'collinear centres':
        c = c[:, :1] + rng.normal(size=(count, MAX_BALLS, 1)) * c[:, -1:] + noise
    elif kind == 'coplanar centres':
        c[..., 2] = 0.0
        p[:, 2] *= rng.integers(0, 2, count)
    elif kind.startswith('nested'):
        apart = np.linalg.norm(c[:, 1] - c[:, 0], axis=1)
        r[:, 0] = apart + r[:, 1] * (1.0 if kind == 'nested and tangent' else 1.2)
    elif kind == 'tangent':
        apart = np.linalg.norm(c[:, 1] - c[:, 0], axis=1)
        r[:, 0] = apart * rng.uniform(0.1, 0.9, count)
        r[:, 1] = apart - r[:, 0]
    elif kind.startswith('shell'):
        for i in (0, 2):
            c[:, i + 1], outside[:, i], outside[:, i + 1] = c[:, i], False, share_outside > 0.0
            width = 0.0 if kind == 'shell without width' else rng.uniform(0.0, 0.5, count)
            r[:, i + 1] = r[:, i] - width
    elif kind.endswith('no radius'):
        which = rng.random(r.shape) < 0.4
        small = 10.0 ** rng.uniform(-15.0, -3.0, r.shape)
        r = np.where(which, small if kind.startswith('nearly') else 0.0, r)
    elif kind == 'nearly unimportant':
        r[:, 1] = 10.0 ** rng.uniform(1.0, 6.0, count)
    elif kind == 'on an axis':
        p = c[:, 0] + (c[:, 1] - c[:, 0]) * rng.normal(size=(count, 1))
    elif kind == 'at a centre':
        p = c[:, 0] + noise[:, 0]
    elif kind == 'on a surface':
        p = c[:, 0] + r[:, :1] * unit(p)
    elif kind == 'twins':
        c[:, 1], r[:, 1] = c[:, 0] + noise[:, 0], r[:, 0] + noise[:, 0, 0]
    n = rng.integers(1, MAX_BALLS + 1, (count, 1))
    none = np.arange(MAX_BALLS) >= n
    r, outside = np.where(none, np.inf, np.maximum(r, 0.0)), outside & ~none
    return Problems(p, c, r, outside, 1.0 / rng.uniform(0.1, 1.0, r.shape) ** 2)


SPHERE_KINDS = (
    *KINDS,
    'through a point',
    'ball in the very centre',
    'from the centre',
    'circles',
    'great circles',
    'just touching',
    'a point left',
    'next to the centre',
)


def draw_on_sphere(
    kind: str, count: int, rng: np.random.Generator
) -> tuple[Problems, Vec3s, Floats]:
    """Return problems and the centres and radii of the spheres."""
    problems = draw(kind if kind in KINDS else 'random', count, rng, 0.4)
    p, c, r, outside, _ = problems
    radius = rng.choice([0.05, 0.3, 1.0, 1.5], count)
    anchor = c[:, 0] if kind in KINDS else np.zeros((count, 3))
    toward = unit(rng.normal(size=(count, 3)))
    # mostly so that the first ball's surface cuts the sphere
    away = np.minimum(r[:, 0], 5.0) + radius * rng.uniform(-1.0, 1.0, count)
    centre = anchor + toward * np.abs(away)[:, None]
    if kind.startswith('meeting') or kind in ('tangent', 'coplanar centres'):
        centre[:, 2] *= 0.0 if kind == 'coplanar centres' else 1.0
        radius = np.maximum(np.linalg.norm(centre - p, axis=1), 0.05)
        if kind == 'tangent':  # the sphere passes through where the balls touch
            centre = c[:, 0] + unit(c[:, 1] - c[:, 0]) * r[:, :1] + toward * radius[:, None]
    elif kind == 'through a point':
        point = centre + unit(rng.normal(size=(count, 3))) * radius[:, None]
        r[:] = np.where(np.isinf(r), r, np.linalg.norm(point[:, None] - c, axis=2))
    elif kind == 'ball in the very centre':
        c[:, 0] = centre
        r[:, 0] = radius * rng.choice([0.5, 1.0, 1.5], count)
    elif kind == 'from the centre':
        p[:] = centre
    elif kind == 'next to the centre':
        away = radius[:, None] * 10.0 ** rng.uniform(-4.0, -1.0, r.shape)
        c[:] = centre[:, None] + unit(rng.normal(size=c.shape)) * away[..., None]
        along = np.linalg.norm(c - centre[:, None], axis=2) * rng.uniform(-1.0, 1.0, r.shape)
        r[:] = np.where(np.isinf(r), r, radius[:, None] + along)
    elif kind == 'circles':  # each pair of balls is a shell without width
        c[:, 1::2], r[:, 1::2] = c[:, ::2], r[:, ::2]
        outside[:, ::2], outside[:, 1::2] = False, np.isfinite(r[:, 1::2])
    elif kind == 'great circles':
        apart = np.linalg.norm(c - centre[:, None], axis=2)
        r[:] = np.where(np.isinf(r), r, np.sqrt(apart**2 + radius[:, None] ** 2))
    elif kind == 'just touching':
        apart = np.linalg.norm(c[:, 0] - centre, axis=1)
        r[:, 0] = np.abs(apart + np.where(outside[:, 0], radius, -radius))
    elif kind == 'a point left':  # two circles touch
        turn = unit(rng.normal(size=(count, 3)))
        side = unit(np.cross(turn, rng.normal(size=(count, 3))))
        point = centre + radius[:, None] * turn
        for i, sign in ((0, 1.0), (1, -1.0)):
            angle = rng.uniform(0.05, 1.4, (count, 1))
            at = np.cos(angle) * turn + sign * np.sin(angle) * side
            c[:, i] = centre + radius[:, None] * rng.uniform(0.5, 2.0, (count, 1)) * at
            r[:, i], outside[:, i] = np.linalg.norm(point - c[:, i], axis=1), False
    return problems, np.ascontiguousarray(centre), radius
