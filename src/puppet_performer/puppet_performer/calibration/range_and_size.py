# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How far each joint moved and about which axes, and whether the recording's unit can be metres.

The relative rotations' spread about their mean has three principal axes. A ball joint must
have moved about two of them: one alone leaves its centre open along the axis. Elbows and
knees move about one axis mainly, their hinge, which also shows how their segments are rolled.
The body's size is the distances between sensors in the known pose over those on an ordinary
body; the floor's height does not matter, and the middle of all pairs hardly the pose.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import SEGMENTS, Skeleton
from puppet_core.clips import HIGH_STATURE_M, LEG_PER_STATURE, LOW_STATURE_M
from puppet_core.math import Floats, quaternions, Vec3s
from puppet_performer.calibration.calibration import Finding, UNIT
from puppet_performer.calibration.motion_recording import Joint, RelativePoses
from puppet_performer.calibration.robust_mean import robust_mean_rotation
from puppet_performer.sensor_layout import SensorLayout

FIRST_RANGE_DEG = 30.0  # what every joint must move through, from end to end
SECOND_RANGE_DEG = {'head': 30.0, 'upper_arm': 30.0, 'thigh': 15.0, 'hand': 15.0, 'foot': 10.0}
UNSURE_M = 0.006  # of a centre, beyond which a second axis is asked for
MAX_SD_M = 0.015  # of a centre, with which a calibration should not be used
TAILS = (0.005, 0.995)  # beyond are outliers
MEAN_SAMPLES = 300
PROMPTS = {
    'upper_arm': 'swing the arm forward and back, up and down, and roll it',
    'forearm': 'bend and stretch the elbow fully, and turn the palm up and down',
    'hand': 'bend the wrist up and down and to both sides',
    'thigh': 'raise the leg forward, backward and sideways',
    'shank': 'bend the knee fully, and turn the toes in and out while it is bent',
    'foot': 'point the toes and pull them up, and roll the foot to both sides',
    'head': 'nod, turn the head to both sides, and tip it',
    'chest': 'bow, turn the chest to both sides, and lean to both sides',
    'spine': 'bow, turn the chest to both sides, and lean to both sides',
}

MIN_APART_M = 0.15  # of two sensors on an ordinary body, to estimate a size from


class Range(NamedTuple):
    """What one joint was moved through."""

    extents_deg: Floats
    """From end to end about the three principal axes, falling, shape (3,) [deg]."""


def joint_range(relative: RelativePoses) -> Range:
    """Return the range of one joint's relative rotations."""
    turns = quaternions.from_matrix(relative.rotations)
    step = max(len(turns) // MEAN_SAMPLES, 1)
    mean = robust_mean_rotation(turns[::step], 0.5)
    # in the parent's axes, about the mean; a rotation vector is the angle about each axis
    vectors = quaternions.log(quaternions.multiply(turns, quaternions.conjugate(mean)))
    centred = vectors - np.median(vectors, axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    low, high = np.quantile(centred @ axes, TAILS, axis=0)
    return Range(np.sort(np.degrees(high - low))[::-1])


def range_complaint(joint: Joint, moved: Range, sd_m: float = math.inf) -> str:
    """
    Return what was too small and what to do about it; '' if nothing.

    Parameters
    ----------
    joint, moved : Joint and Range
        Which joint, and what it was moved through.
    sd_m : float
        How well its centre is determined; one axis is enough where that is well [m].

    """
    name = SEGMENTS[joint.segment]
    part = name.split('_', 1)[-1]
    first, second = moved.extents_deg[:2]
    if first < FIRST_RANGE_DEG:
        text = f'moved through {first:.0f} deg, expected {FIRST_RANGE_DEG:.0f}'
    elif sd_m > UNSURE_M and second < SECOND_RANGE_DEG.get(part, 0.0):
        text = (
            f'moved about one axis only ({second:.0f} deg about a second one, expected '
            f'{SECOND_RANGE_DEG[part]:.0f})'
        )
    elif math.isfinite(sd_m) and sd_m > MAX_SD_M:
        text = (
            f'its centre is unsure by {1e3 * sd_m:.0f} mm, expected at most '
            f'{1e3 * MAX_SD_M:.0f}; move it farther and longer'
        )
    else:
        return ''
    return f'{name}: {text}; {PROMPTS.get(part, "move it more")}'


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
    return [
        Finding(
            UNIT,
            (),
            (
                f'the performer would be about {stature:.3g} m tall, expected {LOW_STATURE_M:g} '
                f'.. {HIGH_STATURE_M:g} m; the positions must be in metres, '
                'check the unit of the source'
            ),
        )
    ]
