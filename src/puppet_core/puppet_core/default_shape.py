# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A human shape for any skeleton that comes without one, such as a clip's performer.

The tables are the shape of an adult of 1.75 m. Along a bone they are stretched to the
skeleton's own length, across it and at head, hands and feet they scale with the legs.

"""

import numpy as np
from puppet_core.arrays import Vec3
from puppet_core.capsule import Capsule
from puppet_core.skeleton import SEGMENT_INDEX, SEGMENTS, Skeleton

Colour = tuple[float, float, float] | None

ADULT_LEG_M = 0.928  # hip to sole of the adult that the tables describe
ADULT_HIP_M, ADULT_SHOULDER_M = 0.09, 0.185  # its joints' distances from the middle
SKIN = (0.87, 0.67, 0.54)
SHADE = (0.84, 0.61, 0.48)
HAIR = (0.26, 0.18, 0.14)
DARK = (0.12, 0.10, 0.10)
SHOES = (0.16, 0.18, 0.22)

# level bars: share of the way to the next joint (of the pelvis: from the hips' level), half
# width, ahead, radius [m]
_BARS = {
    'pelvis': (
        (0.09, 0.072, 0.000, 0.098), (0.38, 0.070, -0.005, 0.102), (0.69, 0.058, 0.000, 0.100),
    ),
    'spine': (
        (0.00, 0.050, 0.000, 0.098), (0.31, 0.048, 0.003, 0.098), (0.62, 0.052, 0.003, 0.101),
        (0.93, 0.060, 0.000, 0.105),
    ),
    'chest': (
        (0.11, 0.066, 0.000, 0.109), (0.28, 0.074, 0.003, 0.111), (0.44, 0.086, 0.002, 0.102),
        (0.57, 0.110, -0.004, 0.083), (0.67, 0.140, -0.007, 0.062),
    ),
}  # fmt: skip
# limbs: from and to as shares of the bone, radius, ahead at both ends [m]
_LIMBS = {
    'upper_arm': (
        (0.00, 0.09, 0.054, -0.003, 0.0), (0.09, 0.31, 0.0505, 0.0, 0.0),
        (0.18, 0.58, 0.0475, 0.0, 0.0), (0.31, 0.77, 0.044, 0.0, 0.0),
        (0.00, 1.0, 0.0405, 0.0, 0.0),
    ),
    'forearm': (
        (0.00, 0.16, 0.0395, 0.0, 0.0), (0.16, 0.39, 0.0415, 0.0, 0.0),
        (0.16, 0.55, 0.039, 0.0, 0.0), (0.16, 0.70, 0.0355, 0.0, 0.0),
        (0.16, 0.84, 0.032, 0.0, 0.0), (0.40, 1.0, 0.0285, 0.0, 0.0),
    ),
    'thigh': (
        (0.05, 0.23, 0.081, 0.002, 0.004), (0.12, 0.40, 0.076, 0.002, 0.005),
        (0.23, 0.54, 0.070, 0.002, 0.005), (0.23, 0.70, 0.064, 0.0, 0.004),
        (0.47, 1.0, 0.057, 0.0, 0.0),
    ),
    'shank': (
        (0.00, 0.23, 0.0535, 0.0, 0.0), (0.16, 0.35, 0.0565, -0.008, -0.010),
        (0.16, 0.46, 0.053, -0.006, -0.008), (0.23, 0.58, 0.047, -0.004, -0.006),
        (0.23, 0.70, 0.042, -0.003, -0.004), (0.46, 0.96, 0.037, -0.004, -0.004),
    ),
}  # fmt: skip
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


def default_capsules(skeleton: Skeleton) -> tuple[Capsule, ...]:
    """Return a human body of the skeleton's proportions, with face, hands and shoes."""
    size = skeleton.leg_length / ADULT_LEG_M
    capsules = _torso(skeleton, size)
    for start, end, radius, colour in _HEAD:
        for side in (1.0, -1.0) if start[1] else (1.0,):
            scale = np.array([size, side * size, size])
            capsules.append(Capsule(SEGMENT_INDEX['head'], np.array(start) * scale,
                                    np.array(end) * scale, size * radius, colour))
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
    hip, shoulder = (
        abs(float(offsets[SEGMENT_INDEX[name], 1])) for name in ('left_thigh', 'left_upper_arm')
    )
    widths = {
        'pelvis': hip / ADULT_HIP_M, 'spine': size, 'chest': shoulder / ADULT_SHOULDER_M
    }  # fmt: skip
    hips = offsets[[SEGMENT_INDEX['left_thigh'], SEGMENT_INDEX['right_thigh']]].mean(axis=0)
    capsules = []
    for segment, rows in _BARS.items():
        index = SEGMENT_INDEX[segment]
        base = hips if segment == 'pelvis' else np.zeros(3)
        for share, half, ahead, radius in rows:
            middle = base + share * (offsets[index + 1] - base) + [size * ahead, 0.0, 0.0]
            half_width = np.array([0.0, half * widths[segment], 0.0])
            capsules.append(
                Capsule(index, middle - half_width, middle + half_width, size * radius)
            )
    # from the shoulders up to the neck
    neck = offsets[SEGMENT_INDEX['head']]
    for side in (1.0, -1.0):
        low = 0.73 * neck + [0.0, side * 0.62 * shoulder, 0.0]
        high = 0.91 * neck + [0.0, side * 0.16 * shoulder, 0.0]
        capsules.append(Capsule(SEGMENT_INDEX['chest'], low, high, 0.043 * size))
    return capsules


def _limb(index: int, part: str, bone: Vec3, size: float) -> list[Capsule]:
    ahead = np.array([size, 0.0, 0.0])
    return [
        Capsule(index, low * bone + low_x * ahead, high * bone + high_x * ahead, size * radius)
        for low, high, radius, low_x, high_x in _LIMBS[part]
    ]


def _end(
    skeleton: Skeleton, index: int, part: str, side: float, size: float
) -> list[Capsule]:
    """Return the capsules of a hand or foot; a foot stands on its interaction point."""
    is_foot = part == 'foot'
    limb = (0 if part == 'hand' else 2) + (side < 0.0)
    sole = np.array([0.0, 0.0, skeleton.interaction_points[limb, 2] if is_foot else 0.0])
    scale = np.array([size, side * size, size])
    colour = SHOES if is_foot else SKIN
    return [
        Capsule(index, np.array(start) * scale + sole, np.array(end) * scale + sole,
                size * radius, colour)
        for start, end, radius in (_FOOT if is_foot else _HAND)
    ]
