# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Bodies for the emulated performer: an average adult, or whoever a clip was captured from.

The adult repeats config/characters/performer.yaml, so that the emulator runs without any
installed configuration.

"""

import numpy as np
from puppet_core.character import Character, default_capsules
from puppet_core.posture import Motion
from puppet_core.skeleton import SEGMENT_INDEX, Skeleton

_ADULT_JOINTS_M = {
    'spine': (0.0, 0.0, 0.10), 'chest': (0.0, 0.0, 0.16), 'head': (0.0, 0.0, 0.27),
    'left_upper_arm': (0.0, 0.185, 0.19), 'left_forearm': (0.0, 0.326, 0.0),
    'left_hand': (0.0, 0.256, 0.0), 'left_thigh': (0.0, 0.090, -0.06),
    'left_shank': (0.0, 0.0, -0.429), 'left_foot': (0.0, 0.0, -0.431),
}  # fmt: skip
_ADULT_PALM_M, _ADULT_SOLE_M = (0.0, 0.080, -0.015), (0.055, 0.0, -0.068)
_MIRROR = np.array([1.0, -1.0, 1.0])


def default_body() -> Character:
    """Return an average adult."""
    offsets = np.zeros((len(SEGMENT_INDEX), 3))
    for name, offset in _ADULT_JOINTS_M.items():
        offsets[SEGMENT_INDEX[name]] = offset
        if name.startswith('left_'):
            offsets[SEGMENT_INDEX[name.replace('left_', 'right_')]] = offset * _MIRROR
    palm, sole = np.array(_ADULT_PALM_M), np.array(_ADULT_SOLE_M)
    skeleton = Skeleton(offsets, np.array([palm, palm * _MIRROR, sole, sole * _MIRROR]))
    return Character('performer', 'An average adult', skeleton, default_capsules(skeleton))


def clip_body(clip: Motion, name: str) -> Character:
    """Return the body of a clip's performer."""
    return Character(
        name, f'Performer of {name}', clip.skeleton, default_capsules(clip.skeleton)
    )
