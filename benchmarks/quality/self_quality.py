# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Figures on contacts of a body with itself, performer against puppet, as a report has them.

A general end-effector of the performer touches the segment it is nearest to if that is nearer
than 2 cm and its own flesh, which is its depth in its own segment: next to nothing for palms and
soles, which are on the surface, and the limb's radius for elbows and knees. Depth of the puppet
is what `self_penetration_m` is for; errors take it as zero.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import LIMB_SEGMENTS, segment_distance, shape_arrays, ShapeArrays
from puppet_core.math import Floats, Quats, Vec3s
from puppet_retarget.offline import quality
from puppet_retarget.offline.self_contact import compared, MovingBody, self_distances_m

TOUCH_M = 0.02  # gap that counts as touching; clothes, markers and capsules err by as much
_LEFT_HAND, _RIGHT_HAND = 0, 1  # rows of the general end-effectors


class SelfContact(NamedTuple):
    """Touching pairs of a performer and a puppet, by frame."""

    # Which segment each general end-effector touches, shape (n, 8); -1 for none
    segments: NDArray[np.int64]
    # Difference of the distances of the touching pairs, shape (n, 8) [m]; NaN for none
    errors: Floats
    # Difference of the distances between both palms where the hands touch, shape (n,) [m]. NaN
    # where they do not.
    palm_errors: Floats


def self_penetration_m(
    shape: ShapeArrays, q_world: Quats, p_world: Vec3s, end_effectors: Vec3s
) -> Floats:
    """
    Return how deep general end-effectors are in segments that count.

    Arguments are those of `self_distances_m`.

    Returns
    -------
    depths : ndarray, shape (n, 8)
        Depth in the deepest single capsule, 0 outside [m].

    """
    distances = self_distances_m(shape, q_world, p_world, end_effectors)
    return np.maximum(-distances.min(axis=2), 0.0)


def self_contact(
    performer: MovingBody, puppet: MovingBody, world_scale: float = 1.0
) -> SelfContact:
    """
    Return the touching pairs of the performer, and how far off the puppet is at them.

    Parameters
    ----------
    performer, puppet : MovingBody
        Both over the same frames.
    world_scale : float
        Size of the puppet's world over the performer's.

    """
    nearest, gap, differences = compared(performer, puppet, world_scale)
    touching = gap < TOUCH_M + _flesh(performer)
    touching &= np.isfinite(differences)
    errors = np.where(touching, differences, np.nan)
    segments = np.where(touching, nearest, -1)
    hands = (segments[:, _LEFT_HAND] == LIMB_SEGMENTS[_RIGHT_HAND, 2]) | (
        segments[:, _RIGHT_HAND] == LIMB_SEGMENTS[_LEFT_HAND, 2]
    )
    spans = [_palm_distance(body.end_effectors) for body in (performer, puppet)]
    palm_errors = np.where(hands, np.abs(spans[1] - world_scale * spans[0]), np.nan)
    return SelfContact(segments, errors, palm_errors)


def self_contact_error_m(
    performer: MovingBody, puppet: MovingBody, world_scale: float = 1.0
) -> Floats:
    """Return the errors of `self_contact`, of palms too, shape (n, 9) [m]; NaN: no contact."""
    contact = self_contact(performer, puppet, world_scale)
    return np.column_stack((contact.errors, contact.palm_errors))


def _flesh(body: MovingBody) -> Floats:
    """Return the depths of general end-effectors in their own segments, shape (8,) [m]."""
    shape = shape_arrays(body.capsules)
    points = np.concatenate((body.skeleton.interaction_points, np.zeros((4, 3))))
    segments = np.concatenate((LIMB_SEGMENTS[:, 2], LIMB_SEGMENTS[:, 1]))
    depths = [-segment_distance(shape, int(s), p) for s, p in zip(segments, points)]
    return np.maximum(depths, 0.0)


def _palm_distance(end_effectors: Vec3s) -> Floats:
    """Return the distance between both palms, shape (n,) [m]."""
    between = end_effectors[:, _LEFT_HAND] - end_effectors[:, _RIGHT_HAND]
    return np.linalg.norm(between, axis=-1)


def deepest_mm(body: MovingBody) -> float:
    """Return how deep a general end-effector ever is in another part of its body [mm]."""
    shape = shape_arrays(body.capsules)
    depths = self_penetration_m(shape, body.q_world, body.p_world, body.end_effectors)
    return float(depths.max() * 1000.0)


def self_figures(performer: MovingBody, puppet: MovingBody, scale: float) -> dict[str, Any]:
    """
    Return the depth of both bodies in themselves and the errors of touching pairs.

    Parameters
    ----------
    performer, puppet : MovingBody
        Both over the same frames.
    scale : float
        Size of the puppet's world over the performer's.

    Returns
    -------
    figures : dict
        `self_penetration_mm_max` of the puppet, `performer_self_penetration_mm_max`, and
        `touching_error_mm` with p50, p99 and max, None if the performer touches nothing.

    """
    errors = self_contact_error_m(performer, puppet, scale)
    found = errors[np.isfinite(errors)]
    return {
        'self_penetration_mm_max': deepest_mm(puppet),
        'performer_self_penetration_mm_max': deepest_mm(performer),
        'touching_error_mm': quality.percentiles(found, 1000.0) if found.size else None,
    }
