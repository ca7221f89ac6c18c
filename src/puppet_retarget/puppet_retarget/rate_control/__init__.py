# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop inverse rate control of any articulated tree (ChoiKo2000)."""

from puppet_retarget.rate_control.controller import AS_PRINTED, RateConfig, RateController
from puppet_retarget.rate_control.kinematics import hang_on, pose_tree
from puppet_retarget.rate_control.state import (
    ASTRAY,
    ERROR,
    Inputs,
    RateArrays,
    State,
    STEPS,
    TreeArrays,
)
from puppet_retarget.rate_control.step import advance, begin, WISH_FIRST
from puppet_retarget.rate_control.tree import (
    BASE_DOFS,
    BodyTree,
    HORIZONTAL,
    ORIENTATION,
    POSITION,
    Task,
)

__all__ = [
    'ASTRAY',
    'AS_PRINTED',
    'BASE_DOFS',
    'BodyTree',
    'ERROR',
    'HORIZONTAL',
    'Inputs',
    'ORIENTATION',
    'POSITION',
    'RateArrays',
    'RateConfig',
    'RateController',
    'STEPS',
    'State',
    'Task',
    'TreeArrays',
    'WISH_FIRST',
    'advance',
    'begin',
    'hang_on',
    'pose_tree',
]
