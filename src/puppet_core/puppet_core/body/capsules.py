# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A body's shape as capsules fixed in its segments: distances, line crossings, default shape."""

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Any, NamedTuple

import numpy as np
from puppet_core.body.skeleton import LIMB_SEGMENTS, N_SEGMENTS, SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.math import Floats, Ints, kernel, read_only, Vec3, Vec3s
from puppet_core.math.values import dot, normalized, scale, sub, Vec3Like
from puppet_core.math.values import Vec3 as Value

_ROUNDING = 1.0 + 1e-12  # of squares that are compared for whether a root is worth taking
ON_CORE_M = 1e-12  # nearer to the core line than this, there is no direction from it

Colour = tuple[float, float, float] | None
_ZERO = np.zeros(3)

ADULT_LEG_M = 0.928  # hip to sole of the adult that the tables describe
ADULT_HIP_M, ADULT_SHOULDER_M = 0.09, 0.185  # its joints' distances from the middle
SKIN = (0.87, 0.67, 0.54)
SHADE = (0.84, 0.61, 0.48)
HAIR = (0.26, 0.18, 0.14)
DARK = (0.12, 0.10, 0.10)
SHOES = (0.16, 0.18, 0.22)

# level bars: fraction of the way to the next joint (of the pelvis: from the hips' level), half
# width, ahead, radius [m]
_BARS = {
    'pelvis': (
        (0.09, 0.072, 0.000, 0.098),
        (0.38, 0.070, -0.005, 0.102),
        (0.69, 0.058, 0.000, 0.100),
    ),
    'spine': (
        (0.00, 0.050, 0.000, 0.098),
        (0.31, 0.048, 0.003, 0.098),
        (0.62, 0.052, 0.003, 0.101),
        (0.93, 0.060, 0.000, 0.105),
    ),
    'chest': (
        (0.11, 0.066, 0.000, 0.109),
        (0.28, 0.074, 0.003, 0.111),
        (0.44, 0.086, 0.002, 0.102),
        (0.57, 0.110, -0.004, 0.083),
        (0.67, 0.140, -0.007, 0.062),
    ),
}
# limbs: from and to as fractions of the bone, radius, ahead at both ends [m]
_LIMBS = {
    'upper_arm': (
        (0.00, 0.09, 0.054, -0.003, 0.0),
        (0.09, 0.31, 0.0505, 0.0, 0.0),
        (0.18, 0.58, 0.0475, 0.0, 0.0),
        (0.31, 0.77, 0.044, 0.0, 0.0),
        (0.00, 1.0, 0.0405, 0.0, 0.0),
    ),
    'forearm': (
        (0.00, 0.16, 0.0395, 0.0, 0.0),
        (0.16, 0.39, 0.0415, 0.0, 0.0),
        (0.16, 0.55, 0.039, 0.0, 0.0),
        (0.16, 0.70, 0.0355, 0.0, 0.0),
        (0.16, 0.84, 0.032, 0.0, 0.0),
        (0.40, 1.0, 0.0285, 0.0, 0.0),
    ),
    'thigh': (
        (0.05, 0.23, 0.081, 0.002, 0.004),
        (0.12, 0.40, 0.076, 0.002, 0.005),
        (0.23, 0.54, 0.070, 0.002, 0.005),
        (0.23, 0.70, 0.064, 0.0, 0.004),
        (0.47, 1.0, 0.057, 0.0, 0.0),
    ),
    'shank': (
        (0.00, 0.23, 0.0535, 0.0, 0.0),
        (0.16, 0.35, 0.0565, -0.008, -0.010),
        (0.16, 0.46, 0.053, -0.006, -0.008),
        (0.23, 0.58, 0.047, -0.004, -0.006),
        (0.23, 0.70, 0.042, -0.003, -0.004),
        (0.46, 0.96, 0.037, -0.004, -0.004),
    ),
}
# head: start, end, radius [m], colour; y is mirrored where it is not zero
_HEAD = (
    ((-0.006, 0.0, -0.04), (0.004, 0.0, 0.06), 0.052, SKIN),
    ((0.0, 0.0, 0.13), (-0.01, 0.0, 0.14), 0.085, SKIN),
    ((0.018, 0.0, 0.12), (0.03, 0.0, 0.062), 0.062, SKIN),
    ((0.082, 0.0, 0.118), (0.096, 0.0, 0.094), 0.013, SHADE),
    ((0.0865, 0.004, 0.052), (0.08, 0.022, 0.06), 0.007, (0.70, 0.40, 0.36)),
    ((-0.004, 0.079, 0.118), (-0.004, 0.079, 0.092), 0.014, SHADE),
    ((0.073, 0.032, 0.12), (0.073, 0.032, 0.12), 0.011, DARK),
    ((-0.008, 0.0, 0.15), (-0.026, 0.0, 0.14), 0.085, HAIR),
    ((-0.04, 0.0, 0.12), (-0.034, 0.0, 0.08), 0.066, HAIR),
)
# left hand: palm, four fingers, thumb
_HAND = (
    ((0.014, 0.01, 0.0), (0.022, 0.085, 0.0), 0.020),
    ((-0.012, 0.01, 0.0), (-0.02, 0.085, 0.0), 0.020),
    ((0.029, 0.09, 0.0), (0.03, 0.152, -0.006), 0.0105),
    ((0.009, 0.09, 0.0), (0.009, 0.164, -0.006), 0.011),
    ((-0.011, 0.09, 0.0), (-0.011, 0.158, -0.006), 0.0105),
    ((-0.03, 0.085, 0.0), (-0.033, 0.136, -0.006), 0.0095),
    ((0.02, 0.03, -0.004), (0.056, 0.078, -0.012), 0.0125),
)
# left foot: heights count from the sole
_FOOT = (
    ((-0.032, 0.0, 0.029), (0.118, 0.016, 0.029), 0.029),
    ((-0.032, 0.0, 0.029), (0.112, -0.018, 0.029), 0.029),
    ((0.1, 0.006, 0.025), (0.166, 0.004, 0.025), 0.025),
    ((0.1, -0.014, 0.024), (0.15, -0.02, 0.024), 0.024),
    ((0.1, 0.016, 0.024), (0.146, 0.02, 0.024), 0.024),
    ((-0.006, 0.0, 0.066), (0.095, 0.0, 0.036), 0.034),
    ((-0.02, 0.0, 0.04), (-0.01, 0.0, 0.068), 0.033),
)


@dataclass(frozen=True, slots=True)
class Capsule:
    """All points within `radius` of the line from `start` to `end`, in a segment's frame."""

    segment: int  # Index into SEGMENTS
    start: Vec3  # One end of the core line, shape (3,) [m]
    end: Vec3  # The other end; equal to `start` for a ball [m]
    radius: float  # [m]
    # Red, green, blue in 0 .. 1; None for the body's own.
    colour: Colour = None

    def __post_init__(self) -> None:
        object.__setattr__(self, 'start', read_only(self.start))
        object.__setattr__(self, 'end', read_only(self.end))


# Signed distance from a segment (kernels).


class ShapeArrays(NamedTuple):
    """A body's capsules, sorted by segment, each in its segment's frame."""

    starts: Vec3s  # One end of each core line, shape (m, 3) [m]
    ends: Vec3s  # The other end, shape (m, 3) [m]
    radii: Floats  # Shape (m,) [m]
    first: Ints  # Capsules first[s] to first[s + 1] - 1 are segment s; shape (17,)
    centres: Vec3s  # Centre of a ball around each segment, shape (16, 3) [m]
    bounds: Floats  # That ball's radius, shape (16,) [m]; -inf for a segment without capsules


def shape_arrays(capsules: tuple[Capsule, ...]) -> ShapeArrays:
    """Return capsules in the form that kernels take, with a ball around each segment."""
    ordered = sorted(capsules, key=lambda c: c.segment)
    starts = np.array([c.start for c in ordered]).reshape(-1, 3)
    ends = np.array([c.end for c in ordered]).reshape(-1, 3)
    radii = np.array([c.radius for c in ordered], dtype=np.float64)
    counts = np.bincount([c.segment for c in ordered], minlength=N_SEGMENTS)
    first = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    centres, bounds = np.zeros((N_SEGMENTS, 3)), np.full(N_SEGMENTS, -np.inf)
    for segment in range(N_SEGMENTS):
        own = slice(first[segment], first[segment + 1])
        if not counts[segment]:
            continue
        tips = np.concatenate((starts[own], ends[own]))
        reach = np.concatenate((radii[own], radii[own]))
        low = (tips - reach[:, np.newaxis]).min(axis=0)
        high = (tips + reach[:, np.newaxis]).max(axis=0)
        centres[segment] = 0.5 * (low + high)
        # a ball is convex: it holds a capsule that has both end balls inside
        bounds[segment] = np.max(np.linalg.norm(tips - centres[segment], axis=1) + reach)
    return ShapeArrays(starts, ends, radii, first, centres, bounds)


@kernel
def _away_from_core(core: Value) -> Value:
    """Return a unit vector square to a core line; +X for a ball."""
    square = dot(core, core)
    if square <= ON_CORE_M * ON_CORE_M:
        return 1.0, 0.0, 0.0
    axis = (0.0, 0.0, 1.0) if abs(core[0]) > 0.8 * math.sqrt(square) else (1.0, 0.0, 0.0)
    return normalized(sub(axis, scale(core, dot(axis, core) / square)))


@kernel
def nearest_capsule_within(
    shape: ShapeArrays, segment: int, p: Vec3Like, limit: float
) -> tuple[float, int, Value]:
    """
    Return the signed distance of a point from a segment's capsules, the nearest and its normal.

    It is the least of the distances from the single capsules. Outside this is the distance from
    their union. Inside it is the depth in the deepest capsule, which is never more than the way
    out of the union: a bound from below. It changes by at most the way that the point moves.

    The outward unit normal is that of the nearest (deepest) capsule; the surface is at p -
    distance * normal. On a core line it is a fixed direction square to it. Only capsules nearer
    than `limit` [m] count; without any, as in a segment that has none, the limit, -1 and the
    normal +X come back. With a limit of zero it is the depth that is asked for, and what is
    outside costs little.
    """
    # numbers one by one: a sixth faster than with vectors as values
    best, nearest, nearest_rho, normal = limit, -1, 0.0, (1.0, 0.0, 0.0)
    for j in range(shape.first[segment], shape.first[segment + 1]):
        # from the nearest point of the core line
        bx = p[0] - shape.starts[j, 0]
        by = p[1] - shape.starts[j, 1]
        bz = p[2] - shape.starts[j, 2]
        ax = shape.ends[j, 0] - shape.starts[j, 0]
        ay = shape.ends[j, 1] - shape.starts[j, 1]
        az = shape.ends[j, 2] - shape.starts[j, 2]
        square = ax * ax + ay * ay + az * az
        if square > 0.0:
            along = min(max((ax * bx + ay * by + az * bz) / square, 0.0), 1.0)
            bx, by, bz = bx - along * ax, by - along * ay, bz - along * az
        square, reach = bx * bx + by * by + bz * bz, best + shape.radii[j]
        if reach < 0.0 or square > _ROUNDING * reach * reach:
            continue
        rho = math.sqrt(square)
        if rho - shape.radii[j] < best:
            best, nearest, nearest_rho = rho - shape.radii[j], j, rho
            normal = bx, by, bz
    if nearest_rho > ON_CORE_M:
        normal = scale(normal, 1.0 / nearest_rho)
    elif nearest >= 0:
        normal = _away_from_core(sub(shape.ends[nearest], shape.starts[nearest]))
    return best, nearest, normal


@kernel
def segment_distance(shape: ShapeArrays, segment: int, p: Vec3Like) -> float:
    """Return the signed distance alone; see `nearest_capsule_within`."""
    return nearest_capsule_within(shape, segment, p, math.inf)[0]


# Where straight lines enter and leave capsules, many at a time, in plain numpy.


def crossings(
    origins: Vec3s, directions: Vec3s, capsules: Sequence[Capsule]
) -> tuple[Floats, Floats]:
    """
    Return where straight lines enter and leave capsules, in one frame, shapes (n, m) [m].

    Signed lengths from the origins (n, 3) along the unit directions (n, 3), inf and -inf where a
    line misses the capsule; lines run both ways.
    """
    shape = (len(origins), len(capsules))
    enter, leave = np.full(shape, np.inf), np.full(shape, -np.inf)
    for j, capsule in enumerate(capsules):
        bone = capsule.end - capsule.start
        length = float(np.linalg.norm(bone))
        # a capsule is convex: its interval is from the first entry to the last exit of its parts
        radius, own = capsule.radius, origins - capsule.start
        parts = [_ball_interval(at, directions, radius) for at in (own, origins - capsule.end)]
        if length > 0.0:
            parts.append(_tube_interval(own, directions, bone / length, length, radius))
        for part_enter, part_leave in parts:
            hit = part_enter <= part_leave
            enter[hit, j] = np.minimum(enter[hit, j], part_enter[hit])
            leave[hit, j] = np.maximum(leave[hit, j], part_leave[hit])
    return enter, leave


def _ball_interval(offsets: Vec3s, directions: Vec3s, radius: float) -> tuple[Floats, Floats]:
    """Return entry and exit (n,) of lines for a ball at the origin; entry > exit: a miss."""
    along = np.einsum('nk,nk->n', offsets, directions)
    square = radius * radius - (np.einsum('nk,nk->n', offsets, offsets) - along * along)
    half = np.where(square >= 0.0, np.sqrt(np.maximum(square, 0.0)), -np.inf)
    return -along - half, -along + half


def _tube_interval(
    offsets: Vec3s, directions: Vec3s, bone: Vec3, length: float, radius: float
) -> tuple[Floats, Floats]:
    """Return entry and exit (n,) of lines for a tube from the origin along the unit bone."""
    height, climb = offsets @ bone, directions @ bone
    across = offsets - height[:, np.newaxis] * bone
    drift = directions - climb[:, np.newaxis] * bone
    a = np.einsum('nk,nk->n', drift, drift)
    b = np.einsum('nk,nk->n', across, drift)
    c = np.einsum('nk,nk->n', across, across) - radius * radius
    slanted = a > 1e-16
    safe = np.where(slanted, a, 1.0)
    square = b * b - safe * c
    half = np.where(square >= 0.0, np.sqrt(np.maximum(square, 0.0)), -np.inf)
    # a line along the tube is inside for good, or never
    always = np.where(c <= 0.0, np.inf, -np.inf)
    first = np.where(slanted, (-b - half) / safe, -always)
    last = np.where(slanted, (-b + half) / safe, always)
    level = np.abs(climb) < 1e-16
    steep = np.where(level, 1.0, climb)
    within = np.where((height >= 0.0) & (height <= length), np.inf, -np.inf)
    floor = np.where(level, -within, np.minimum(-height / steep, (length - height) / steep))
    roof = np.where(level, within, np.maximum(-height / steep, (length - height) / steep))
    return np.maximum(first, floor), np.minimum(last, roof)


# The default human shape.
#
# The tables are the shape of an adult of 1.75 m. Along a bone they are stretched to the
# skeleton's own length, across it and at head, hands and feet they scale with the legs.


def default_capsules(skeleton: Skeleton) -> tuple[Capsule, ...]:
    """Return a human body of the skeleton's proportions, with face, hands and shoes."""
    size = skeleton.leg_length / ADULT_LEG_M
    capsules = _torso(skeleton, size)
    for start, end, radius, colour in _HEAD:
        for side in (1.0, -1.0) if start[1] else (1.0,):
            solid = start, end, radius
            capsules.append(_sized(SEGMENT_INDEX['head'], solid, (size, side), colour))
    for index, segment in enumerate(SEGMENTS):
        side = -1.0 if segment.startswith('right_') else 1.0
        part = segment.split('_', 1)[-1]
        if part in _LIMBS:
            capsules += _limb(index, part, skeleton.offsets[index + 1], size)
        elif part in ('hand', 'foot'):
            capsules += _end(skeleton, index, part, side, size)
    return tuple(capsules)


def _torso(skeleton: Skeleton, size: float) -> list[Capsule]:
    offsets = skeleton.offsets
    shoulder, hip = np.abs(offsets[LIMB_SEGMENTS[[0, 2], 0], 1])
    widths = {'pelvis': hip / ADULT_HIP_M, 'spine': size, 'chest': shoulder / ADULT_SHOULDER_M}
    hips = offsets[LIMB_SEGMENTS[2:, 0]].mean(axis=0)
    capsules = []
    for segment, rows in _BARS.items():
        index = SEGMENT_INDEX[segment]
        base = hips if segment == 'pelvis' else np.zeros(3)
        for share, half, ahead, radius in rows:
            middle = base + share * (offsets[index + 1] - base) + [size * ahead, 0.0, 0.0]
            side = np.array([0.0, half * widths[segment], 0.0])
            capsules.append(Capsule(index, middle - side, middle + side, size * radius))
    # from the shoulders up to the neck
    neck = offsets[SEGMENT_INDEX['head']]
    for sign in (1.0, -1.0):
        low = 0.73 * neck + [0.0, sign * 0.62 * shoulder, 0.0]
        high = 0.91 * neck + [0.0, sign * 0.16 * shoulder, 0.0]
        capsules.append(Capsule(SEGMENT_INDEX['chest'], low, high, 0.043 * size))
    return capsules


def _limb(index: int, part: str, bone: Vec3, size: float) -> list[Capsule]:
    ahead = np.array([size, 0.0, 0.0])
    return [
        Capsule(index, low * bone + low_x * ahead, high * bone + high_x * ahead, size * radius)
        for low, high, radius, low_x, high_x in _LIMBS[part]
    ]


def _end(skeleton: Skeleton, index: int, part: str, side: float, size: float) -> list[Capsule]:
    """Return the capsules of a hand or foot; a foot stands on its interaction point."""
    is_foot = part == 'foot'
    limb = (0 if part == 'hand' else 2) + (side < 0.0)
    sole = np.array([0.0, 0.0, skeleton.interaction_points[limb, 2] if is_foot else 0.0])
    colour = SHOES if is_foot else SKIN
    rows = _FOOT if is_foot else _HAND
    return [_sized(index, solid, (size, side), colour, sole) for solid in rows]


def _sized(
    index: int, solid: Sequence[Any], size: tuple[float, float], colour: Colour, base: Vec3 = _ZERO
) -> Capsule:
    """Return a solid of the tables, (start, end, radius), at the body's size; side -1 mirrors."""
    factor, side = size
    start, end = (np.array(place) * [factor, side * factor, factor] + base for place in solid[:2])
    return Capsule(index, start, end, factor * solid[2], colour)
