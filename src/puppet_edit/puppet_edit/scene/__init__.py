# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What constraints are derived from: feet, surfaces, transitions, doorways, other bodies."""

from puppet_edit.scene.doorway import Doorway, doorway_at, doorway_constraints, stooping
from puppet_edit.scene.foot_plants import (
    Adaptation,
    detect_contacts,
    firm_poses,
    foot_constraints,
    for_body,
    on_terrain,
)
from puppet_edit.scene.surfaces import FUNCTIONS, read_height_field, rough
from puppet_edit.scene.transition import (
    ALIGNMENTS,
    cut,
    FADE_S,
    find_windows,
    join,
    seam_constraints,
    Transition,
    Window,
)
