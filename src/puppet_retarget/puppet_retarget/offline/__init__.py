# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The live models run over whole clips, and the reports on their results."""

from puppet_retarget.offline import arguments, posture_measures, quality, self_contact, smoothness
from puppet_retarget.offline.arguments import (
    BAG_SUFFIXES,
    check_output,
    find_character,
    is_bag,
    listed,
    PERFORMER,
    PROCEDURAL_RATE_HZ,
    require_other_files,
)
from puppet_retarget.offline.motion_report import (
    copied_angles,
    limb_importances,
    number,
    report,
    report_text,
    table,
    write_report,
)
from puppet_retarget.offline.quality import MotionArrays, percentiles
from puppet_retarget.offline.sensitivity import nudged, sensitivities, sensitivity
from puppet_retarget.offline.whole_motion import (
    BVH,
    MOTION_SUFFIXES,
    performer_arrays,
    require_finite,
    retarget_motion,
    RetargetJob,
    RetargetResult,
)
