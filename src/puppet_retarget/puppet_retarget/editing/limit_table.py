# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Joint limits as the editor's kernels want them."""

from collections.abc import Sequence

import numpy as np
from puppet_core import quaternion_batch as qb
from puppet_core.arrays import Floats
from puppet_core.joint_limits import JointLimit, segment_axis, swing_axes
from puppet_core.skeleton import N_SEGMENTS, Skeleton
from puppet_retarget.editing.pose_arrays import (
    CENTRE,
    FIRST,
    HAS,
    N_LIMIT,
    SWING_SECOND,
    SWINGS,
    TWIST_AXIS,
    TWISTS,
)


def limit_table(limits: Sequence[JointLimit], skeleton: Skeleton) -> Floats:
    """Return the limits of all joints, shape (16, N_LIMIT)."""
    table = np.zeros((N_SEGMENTS, N_LIMIT))
    for limit in limits:
        row = table[limit.segment]
        axis = segment_axis(skeleton, limit.segment)
        first, second = swing_axes(axis)
        row[HAS] = 1.0
        row[TWIST_AXIS:TWIST_AXIS + 3] = axis
        row[FIRST:FIRST + 3], row[SWING_SECOND:SWING_SECOND + 3] = first, second
        row[CENTRE:CENTRE + 4] = qb.conjugate(limit.centre)
        row[SWINGS:SWINGS + 2], row[TWISTS:TWISTS + 2] = limit.swing, limit.twist
    return table
