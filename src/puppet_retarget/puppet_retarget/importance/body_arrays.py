# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The shape of a body as the kernels of self-interaction need it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from puppet_core.arrays import Floats
from puppet_core.body_shape_kernels import shape_arrays, ShapeArrays
from puppet_core.body_surface import N_RINGS, N_ROUND, surface_samples
from puppet_core.capsule import Capsule
from puppet_core.default_shape import default_capsules
from puppet_core.kernel import kernel
from puppet_core.skeleton import Skeleton

MIN_SPACING_M = 0.04  # the shapes of two hands differ by as much as their points lie apart
CAPSULE_BLOCK = 128  # arrays of capsules are filled up to a multiple, or each body compiles anew


class BodyArrays(NamedTuple):
    """Sample points and solid shape of one body."""

    samples: Floats  # (16, 3, 40) in the segments' frames [m]
    spacings: Floats  # (16,) how far apart a segment's points lie [m]
    shape: ShapeArrays


def body_arrays(
    skeleton: Skeleton, capsules: Sequence[Capsule] = (), samples: Floats | None = None
) -> BodyArrays:
    """
    Return the arrays of a body.

    Parameters
    ----------
    skeleton : Skeleton
        Its lengths.
    capsules : sequence of Capsule
        Its shape; a person's by default.
    samples : ndarray, shape (16, 40, 3), optional
        Measured points of its surface [m]; cast from the capsules by default.

    """
    capsules = tuple(capsules) or default_capsules(skeleton)
    if samples is None:
        samples = surface_samples(skeleton, capsules)
    return BodyArrays(
        np.ascontiguousarray(samples.transpose(0, 2, 1)),
        sample_spacings(samples),
        _filled_up(shape_arrays(capsules)),
    )


@kernel
def body_of(record: Any) -> BodyArrays:
    """Return the body of a packed record, for kernels."""
    shape = record.shape
    return BodyArrays(
        record.samples[:], record.spacings[:],
        ShapeArrays(
            shape.starts[:], shape.ends[:], shape.radii[:], shape.first[:], shape.centres[:],
            shape.bounds[:],
        ),
    )  # fmt: skip


def _filled_up(shape: ShapeArrays) -> ShapeArrays:
    """Return a shape with capsules that belong to no segment behind its own."""
    missing = -len(shape.radii) % CAPSULE_BLOCK or (0 if len(shape.radii) else CAPSULE_BLOCK)
    return shape._replace(
        starts=np.concatenate((shape.starts, np.zeros((missing, 3)))),
        ends=np.concatenate((shape.ends, np.zeros((missing, 3)))),
        radii=np.concatenate((shape.radii, np.zeros(missing))),
    )


def sample_spacings(samples: Floats) -> Floats:
    """Return the mean distance of neighbours round and along each segment's rings, (16,) [m]."""
    rings = samples.reshape(len(samples), N_RINGS, N_ROUND, 3)
    around = np.linalg.norm(rings - np.roll(rings, 1, axis=2), axis=-1).mean(axis=(1, 2))
    along = np.linalg.norm(np.diff(rings, axis=1), axis=-1).mean(axis=(1, 2))
    return np.maximum(np.maximum(around, along), MIN_SPACING_M)
