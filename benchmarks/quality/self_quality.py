# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Figures on contacts of a body with itself, performer against puppet, as a report has them."""

from typing import Any

from benchmarks.quality.self_contact import MovingBody, self_contact_error_m, self_penetration_m
import numpy as np
from puppet_core.body import default_capsules, Motion, shape_arrays
from puppet_retarget.offline import quality, RetargetJob, RetargetResult


def performer_body(motion: Motion) -> MovingBody:
    """Return the captured body with a human shape of its own proportions."""
    q_world, p_world = motion.world_segments()
    shape = default_capsules(motion.skeleton)
    return MovingBody(motion.skeleton, shape, q_world, p_world, motion.end_effectors)


def puppet_body(job: RetargetJob, result: RetargetResult) -> MovingBody:
    """Return the puppet of a run with its own shape."""
    character = job.character
    return MovingBody(
        character.skeleton,
        character.capsules,
        result.q_world,
        result.p_world,
        result.puppet.end_effectors,
    )


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
        `self_contact_error_mm` with p50, p99 and max, None if the performer touches nothing.

    """
    errors = self_contact_error_m(performer, puppet, scale)
    found = errors[np.isfinite(errors)]
    return {
        'self_penetration_mm_max': deepest_mm(puppet),
        'performer_self_penetration_mm_max': deepest_mm(performer),
        'self_contact_error_mm': quality.percentiles(found, 1000.0) if found.size else None,
    }
