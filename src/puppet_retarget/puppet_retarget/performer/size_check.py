# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether a recording's unit can be metres: the size of the body that the sensors are on.

By how far the sensors are apart in the known pose, over how far they would be on an ordinary
body; the floor's height does not matter, and the middle of all pairs not the pose much.

"""

import itertools

import numpy as np
from puppet_core.arrays import Vec3s
from puppet_core.clip_detect import HIGH_STATURE_M, LEG_PER_STATURE, LOW_STATURE_M
from puppet_core.skeleton import Skeleton
from puppet_retarget.performer.sensor_layout import SensorLayout
from puppet_retarget.performer.verdict import Finding, UNIT

MIN_APART_M = 0.15  # of two sensors on an ordinary body, to tell a size by


def stature_m(layout: SensorLayout, skeleton: Skeleton, positions: Vec3s) -> float:
    """
    Return a performer's stature by the places of the sensors (n, 3) in the known pose [m].

    Parameters
    ----------
    layout, skeleton : SensorLayout and Skeleton
        Where the sensors are on an ordinary body.
    positions : ndarray, shape (n, 3)
        In world [m].

    """
    rest = skeleton.rest_positions()[layout.segments] + layout.mountings
    shares = []
    for i, j in itertools.combinations(range(len(rest)), 2):
        wanted = float(np.linalg.norm(rest[i] - rest[j]))
        if wanted > MIN_APART_M:
            shares.append(float(np.linalg.norm(positions[i] - positions[j])) / wanted)
    share = float(np.median(shares)) if shares else 1.0
    legs = float(np.mean(skeleton.limb_lengths[2:].sum(axis=1)))
    return share * legs / LEG_PER_STATURE


def size_findings(layout: SensorLayout, skeleton: Skeleton, positions: Vec3s) -> list[Finding]:
    """Return that the recording's unit cannot be metres, if so."""
    stature = stature_m(layout, skeleton, positions)
    if LOW_STATURE_M <= stature <= HIGH_STATURE_M:
        return []
    return [Finding(UNIT, (), (
        f'the performer would be about {stature:.3g} m tall, expected {LOW_STATURE_M:g} .. '
        f'{HIGH_STATURE_M:g} m; the positions must be in metres, check the unit of the source'
    ))]  # fmt: skip
