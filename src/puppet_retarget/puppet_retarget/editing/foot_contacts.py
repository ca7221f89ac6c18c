# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
When heels and toes of a motion stand: heel strikes, toe offs and the plants between them.

A heel or toe is in contact while it is near the ground and slow, by the definition of
`puppet_core.foot_slide`. Each contact must also be near and slow by half of that somewhere,
last a little, and may be interrupted for an instant: so noise neither makes nor breaks one.

"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quats, read_only, Vec3s
from puppet_core.foot_slide import planted_soles
from puppet_core.posture import Motion
from puppet_core.procedural_feet import TOE_M
from puppet_core.procedural_plan import ADULT_LEG_LENGTH_M
from puppet_core.skeleton import LIMB_SEGMENTS, Skeleton
from puppet_retarget.editing.constraints import Surface
from puppet_retarget.editing.surfaces import FLOOR
from scipy.ndimage import gaussian_filter1d, minimum_filter1d

HEEL, TOE = 0, 1
MIN_CONTACT_S = 0.1  # a shorter one is none
MAX_GAP_S = 0.07  # a shorter interruption is none
SMOOTHING_S = 0.02  # of positions before speeds are taken
LEVEL_QUANTILE = 0.25  # of the heights of a point that stands: its own level
MAX_LEVEL_M = 0.08  # a point that stands higher than this above the ground stands on something
UNKNOWN_GROUND_S = 0.7  # to both sides: the lowest place of a foot in this time is the ground

Bools = NDArray[np.bool_]


class FootPlant(NamedTuple):
    """A time in which a foot stands with heel, toe or both."""

    foot: int
    """0 left, 1 right."""

    first: int
    """Frame of the strike, of the heel as a rule."""

    last: int
    """Last frame before the foot is off, the toe as a rule."""

    flat_first: int
    """First frame with heel and toe in contact; `first` if there is none."""

    flat_last: int
    """Last frame with both; `last` if there is none."""

    @property
    def frames(self) -> range:
        """All frames of the plant."""
        return range(self.first, self.last + 1)


@dataclass(frozen=True, slots=True)
class FootContacts:
    """Which points of the feet stand in which frames."""

    flags: Bools
    """Foot left, right; point heel, toe; shape (n, 2, 2)."""

    points: Vec3s
    """Where the points are in world, shape (n, 2, 2, 3) [m]."""

    def __post_init__(self) -> None:
        object.__setattr__(self, 'flags', read_only(self.flags, np.bool_))
        object.__setattr__(self, 'points', read_only(self.points))

    @property
    def planted(self) -> Bools:
        """Whether any point of a foot stands, shape (n, 2)."""
        return np.asarray(self.flags.any(axis=2))

    def contacts(self, foot: int, point: int) -> list[tuple[int, int]]:
        """Return first and last frame of each contact of a heel or toe."""
        return [(a, b - 1) for a, b in stretches(self.flags[:, foot, point])]

    def heel_strikes(self, foot: int) -> list[int]:
        """Return the frames in which a heel comes down; not a contact that the clip opens."""
        return [first for first, _ in self.contacts(foot, HEEL) if first > 1]

    def toe_offs(self, foot: int) -> list[int]:
        """Return the first frames without the toe; not of a contact that the clip ends."""
        n = len(self.flags)
        return [last + 1 for _, last in self.contacts(foot, TOE) if last < n - 1]

    def plants(self) -> list[FootPlant]:
        """Return all plants in order of their beginning."""
        found = []
        for foot in range(2):
            both = np.asarray(self.flags[:, foot].all(axis=1))
            for first, end in stretches(self.planted[:, foot]):
                flat = np.flatnonzero(both[first:end])
                inner = (first, end - 1) if not len(flat) else (first + flat[0], first + flat[-1])
                found.append(FootPlant(foot, first, end - 1, int(inner[0]), int(inner[1])))
        return sorted(found, key=lambda plant: (plant.first, plant.foot))


def foot_points(skeleton: Skeleton) -> Vec3s:
    """Return heel and toe of both feet in the feet's frames, shape (2, 2, 3) [m]."""
    reach = TOE_M * skeleton.leg_length / ADULT_LEG_LENGTH_M
    ahead = np.array([[-reach, 0.0, 0.0], [reach, 0.0, 0.0]])
    return np.asarray(skeleton.interaction_points[2:, None] + ahead)


def world_foot_points(skeleton: Skeleton, q_world: Quats, p_world: Vec3s) -> Vec3s:
    """Return heels and toes of segments in world, shape (n, 2, 2, 3) [m]."""
    feet = LIMB_SEGMENTS[2:, 2]
    turned = quaternion_batch.rotate(q_world[:, feet, None], foot_points(skeleton))
    return np.asarray(p_world[:, feet, None] + turned)


def detect_contacts(motion: Motion, ground: Surface | None = FLOOR) -> FootContacts:
    """
    Return when heels and toes stand.

    Parameters
    ----------
    motion : Motion
        At 20 Hz or more, else swings are missed.
    ground : Surface, optional
        What the feet stand on; None if it is not known: then it is where the feet are
        lowest around each time.

    """
    points = world_foot_points(motion.skeleton, *motion.world_segments())
    n = len(points)
    flat = points.reshape(n, 4, 3)
    smooth = gaussian_filter1d(flat, max(SMOOTHING_S * motion.rate_hz, 1e-3), axis=0,
                               mode='nearest')  # fmt: skip
    above = _above_ground(smooth, motion.rate_hz, ground)
    near = np.concatenate((smooth[..., :2], above[..., None]), axis=-1)
    loose = _slow_and_near(near, motion.rate_hz)
    # half of the height and half of the speed
    core = _slow_and_near(near * (1.0, 1.0, 2.0), motion.rate_hz, 2.0)
    flags = np.stack(
        [_mended(loose[:, k], core[:, k], motion.rate_hz) for k in range(4)], axis=1
    )
    return FootContacts(flags.reshape(n, 2, 2), points)


def stretches(inside: Bools) -> list[tuple[int, int]]:
    """Return first frame and end of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], inside, [False])).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _slow_and_near(near: Vec3s, rate_hz: float, stricter: float = 1.0) -> Bools:
    """Return `planted_soles`, its first frame as the second one, with a stricter speed."""
    planted = planted_soles(near * (stricter, stricter, 1.0), rate_hz)
    if len(planted) > 1:
        planted[0] = planted[1]
    return planted


def _above_ground(points: Vec3s, rate_hz: float, ground: Surface | None) -> Floats:
    """Return heights of points (n, 4, 3) over the ground, less their own standing level [m]."""
    if ground is None:
        window = 2 * round(UNKNOWN_GROUND_S * rate_hz) + 1
        lowest = minimum_filter1d(points[..., 2], window, axis=0, mode='nearest')
        return np.asarray(points[..., 2] - lowest)
    above = points[..., 2] - ground.height(points[..., 0], points[..., 1])
    for k in range(above.shape[1]):
        # a sole that a file says too high or too low, or a shoe's heel, stands all the same
        lifted = np.stack((points[:, k, 0], points[:, k, 1], above[:, k] - above[:, k].min()), -1)
        standing = _slow_and_near(lifted[:, None], rate_hz, 2.0)[:, 0]
        if standing.any():
            level = float(np.quantile(above[standing, k], LEVEL_QUANTILE))
            above[:, k] -= np.clip(level, -MAX_LEVEL_M, MAX_LEVEL_M)
    return above


def _mended(loose: Bools, core: Bools, rate_hz: float) -> Bools:
    """Return contacts without short gaps and without short or doubtful ones."""
    joined = loose.copy()
    for first, end in stretches(~loose):
        if 0 < first and end < len(loose) and end - first <= MAX_GAP_S * rate_hz:
            joined[first:end] = True
    for first, end in stretches(joined):
        at_edge = first == 0 or end == len(loose)
        if not core[first:end].any() or (end - first < MIN_CONTACT_S * rate_hz and not at_edge):
            joined[first:end] = False
    return joined
