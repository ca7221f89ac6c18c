# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop inverse rate control of any articulated tree (ChoiKo2000)."""

from puppet_retarget.rate_control.controller import RateController
from puppet_retarget.rate_control.kinematics import hang_on, pose_tree
from puppet_retarget.rate_control.state import (
    AS_PRINTED,
    Inputs,
    RateArrays,
    RateConfig,
    State,
    TreeArrays,
    WISH_FIRST,
)
from puppet_retarget.rate_control.step import advance, begin
from puppet_retarget.rate_control.tree import (
    BASE_DOFS,
    BodyTree,
    HORIZONTAL,
    ORIENTATION,
    POSITION,
    Task,
)

__all__ = [
    'AS_PRINTED',
    'BASE_DOFS',
    'BodyTree',
    'HORIZONTAL',
    'Inputs',
    'ORIENTATION',
    'POSITION',
    'RateArrays',
    'RateConfig',
    'RateController',
    'State',
    'Task',
    'TreeArrays',
    'WISH_FIRST',
    'advance',
    'begin',
    'hang_on',
    'pose_tree',
]
