# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A performer animated by formulas, for demonstrations and tests that have no captured clip."""

from puppet_core.procedural.calibration_motion import range_of_motion
from puppet_core.procedural.carry import carry_motion
from puppet_core.procedural.curve import bump, eased, two_bone_rotations, unit
from puppet_core.procedural.motion_loop import (
    clip_loop,
    heading,
    LoopedMotion,
    rest_rotations,
    sample,
    smooth_step,
)
from puppet_core.procedural.performer import (
    add_arm,
    ADULT_ARM_LENGTH_M,
    ADULT_LEG_LENGTH_M,
    chests_of,
    ELBOW,
    Gesture,
    hand_rotations,
    HANGING,
    hanging_arm,
    LEG_STRETCH,
    make_body,
    Palm,
    placed_arm,
    Plan,
    procedural_motion,
    RAISE_ARMS_S,
    Step,
    TOE_M,
    walking_arm,
)
from puppet_core.procedural.scripts import SCRIPTS, SHOW
