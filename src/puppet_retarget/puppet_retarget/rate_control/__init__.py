# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop inverse rate control of any articulated tree (ChoiKo2000)."""

from puppet_retarget.rate_control.controller import RateController
from puppet_retarget.rate_control.kinematics import change_base, pose_tree
from puppet_retarget.rate_control.state import (
    AS_PRINTED,
    Inputs,
    RateArrays,
    RateConfig,
    SECONDARY_ONLY,
    State,
    TASKS_ONLY,
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
