# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Corrects captured motion by measured end-effectors, at keyframes or frame by frame."""

from puppet_edit.enhancement.enhancer import (
    end_effector_errors,
    enhance,
    enhance_online,
    enhance_report,
    joint_angles_between,
    rate_config,
    rms,
    SOFT_WEIGHT,
)
from puppet_edit.enhancement.keyframes import choose_keyframes, given_keyframes, MOST_S
from puppet_edit.enhancement.motion_curves import CHANNEL_KINDS, EnhanceConfig, ROOT_CHOICES
from puppet_edit.enhancement.targets import (
    end_effector_row,
    Meeting,
    read_targets,
    resampled,
    SUFFIXES,
    TargetFile,
    Targets,
)
