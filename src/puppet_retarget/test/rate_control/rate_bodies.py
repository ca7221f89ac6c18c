# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Trees with all kinds of joints, and postures of them."""

import numpy as np
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quats
from puppet_retarget.rate_control import RateConfig, RateController
from puppet_retarget.rate_control.tree import (
    BALL,
    BodyTree,
    FIXED,
    HINGE,
    HORIZONTAL,
    ORIENTATION,
    POSITION,
    Task,
    UNIVERSAL,
)

TOP, LEFT, RIGHT, FOOT = 3, 6, 9, 12
N = 13


def mixed_tree(rng: np.random.Generator) -> BodyTree:
    """Return a trunk with two arms and a leg, of joints of all kinds."""
    parents = [-1, 0, 1, 2, 3, 4, 5, 3, 7, 8, 0, 10, 11]
    kinds = [
        BALL,
        BALL,
        UNIVERSAL,
        BALL,
        BALL,
        HINGE,
        UNIVERSAL,
        BALL,
        UNIVERSAL,
        HINGE,
        BALL,
        HINGE,
        FIXED,
    ]
    axes = rng.normal(size=(N, 2, 3))
    axes /= np.linalg.norm(axes, axis=2, keepdims=True)
    offsets = rng.uniform(-0.3, 0.3, (N, 3))
    return BodyTree(tuple(f's{i}' for i in range(N)), parents, offsets, kinds, axes)


def mixed_tasks(rng: np.random.Generator) -> list[Task]:
    """Return tasks of both kinds, whole and along some axes only."""
    return [
        Task(LEFT, POSITION, rng.uniform(-0.2, 0.2, 3)),
        Task(RIGHT, POSITION, rng.uniform(-0.2, 0.2, 3), weight=0.7),
        Task(TOP, ORIENTATION),
        Task(0, POSITION, (0.1, 0.0, 0.0), HORIZONTAL),
        Task(FOOT, ORIENTATION, axes=np.eye(3)[1:2], weight=0.5),
        Task(FOOT, POSITION, axes=np.array([[0.6, 0.8, 0.0]])),
    ]


def possible_rotations(tree: BodyTree, rng: np.random.Generator, size: float) -> Quats:
    """Return joint rotations that a tree's joints can take, shape (n, 4)."""
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(tree.names), 1))
    for i in range(1, len(tree.names)):
        turns = size * rng.normal(size=3)
        first, second = (qb.exp(turns[k] * tree.axes[i, k]) for k in range(2))
        rotations[i] = {
            FIXED: rotations[i],
            HINGE: first,
            UNIVERSAL: qb.multiply(first, second),
            BALL: qb.exp(turns),
        }[int(tree.kinds[i])]
    return rotations


def mixed_controller(
    rng: np.random.Generator, base: int = 0, config: RateConfig = RateConfig()
) -> RateController:
    """Return a controller of the mixed tree in some posture, its tasks in turned frames."""
    tree = mixed_tree(rng)
    controller = RateController(tree, mixed_tasks(rng), config, base)
    controller.reset(
        rng.normal(size=3), qb.normalize(rng.normal(size=4)), possible_rotations(tree, rng, 0.5)
    )
    controller.inputs.frames[:6] = qb.normalize(rng.normal(size=(6, 4)))
    return controller


def numeric_pinv(jacobian: Floats, mobilities: Floats, damping: float) -> Floats:
    """Return W J^T (J W J^T + lambda^2 I)^-1 by singular values, shape (dofs, rows)."""
    root = np.sqrt(mobilities)
    u, s, vt = np.linalg.svd(jacobian * root, full_matrices=False)
    return root[:, None] * (vt.T * (s / (s**2 + damping**2))) @ u.T
