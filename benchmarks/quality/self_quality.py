# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Figures on contacts of a body with itself, performer against puppet, as a report has them."""

from typing import Any

import numpy as np
from puppet_core.body import shape_arrays
from puppet_retarget.offline import quality
from puppet_retarget.offline.self_contact import (
    MovingBody,
    self_contact_error_m,
    self_penetration_m,
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
        `touching_error_mm` with p50, p99 and max, None if the performer touches nothing.

    """
    errors = self_contact_error_m(performer, puppet, scale)
    found = errors[np.isfinite(errors)]
    return {
        'self_penetration_mm_max': deepest_mm(puppet),
        'performer_self_penetration_mm_max': deepest_mm(performer),
        'touching_error_mm': quality.percentiles(found, 1000.0) if found.size else None,
    }
