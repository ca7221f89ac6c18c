# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Motion-capture clips: BVH, ASF/AMC and C3D read into motions of our skeleton, BVH written."""

from puppet_core.clips import c3d
from puppet_core.clips.asf_amc import read_asf
from puppet_core.clips.bvh import bvh_text, write_bvh
from puppet_core.clips.clip_file import euler_to_quats, quats_to_continuous_euler
from puppet_core.clips.detect import HIGH_STATURE_M, LEG_PER_STATURE, LOW_STATURE_M
from puppet_core.clips.load import (
    load_clip,
    read_clip,
    read_clip_by_options,
    read_clip_file,
    SUFFIXES,
)
from puppet_core.clips.markers import load_marker_set
from puppet_core.clips.name_map import load_name_map
from puppet_core.clips.options import (
    add_reading_options,
    AUTO,
    clip_options,
    ClipOptions,
    DEFAULT_OPTIONS,
    skeleton_beside,
    unit_length_m,
    UP_AXES,
)
from puppet_core.clips.props_csv import props_of_joints, props_text, read_props
from puppet_core.clips.reading import read_text
from puppet_core.clips.skeleton_map import canonical_direction, canonical_hinge
