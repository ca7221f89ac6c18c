# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The editor's solver: constraints met by a hierarchy of displacement maps (LeeShin1999)."""

from puppet_edit.editor.constraints import (
    BELOW,
    Bodies,
    body_height,
    BodyPoint,
    Constraint,
    EditConfig,
    EditResult,
    FlatSurface,
    LookAt,
    MAX_WEIGHT,
    normals,
    ON,
    OnSurface,
    OrientationGoal,
    Plant,
    PointGoal,
    Relative,
    SIDES,
    SOLVERS,
    Surface,
)
from puppet_edit.editor.motion_edit import edit_motion, solve_points
