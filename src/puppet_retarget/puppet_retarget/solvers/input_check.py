# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Whether numbers that came over a topic can be solved at all (kernel layer, SPEC 6)."""

from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.kernel import kernel
from puppet_core.posture_check import is_posture, MAX_COORDINATE_M
from puppet_core.skeleton import N_SEGMENTS
from puppet_retarget.importance.contact_rows import (
    CONTACT_WIDTH,
    DISPLACEMENT,
    FIRST_CONTACT,
    MAX_CONTACTS,
    N_SAMPLES,
    SAMPLE,
    SELF_DEPTH,
    SELF_IMPORTANCE,
    SELF_PLACE,
    SHARE,
    WEIGHT,
)
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE, RADIUS

MAX_RADIUS_M = 1e4
MAX_BODY_M = 100.0  # of what is on one body; the tallest puppet is far smaller
MAX_WEIGHT = 1e12  # of a contact [-]; its sums stay finite
_LAST_SAMPLE = N_SEGMENTS * N_SAMPLES - 1


@kernel
def is_usable(
    root: Vec3, segments: Vec3s, rotations: Quats, rows: Floats, self_rows: Floats
) -> bool:
    """
    Return whether a posture and its importance are finite, unit and in range.

    Parameters
    ----------
    root : ndarray, shape (3,)
        Pelvis in world [m].
    segments : ndarray, shape (16, 3)
        Joints in world [m].
    rotations : ndarray, shape (16, 4)
        Joint rotations.
    rows : ndarray, shape (4, 8)
        Importance rows.
    self_rows : ndarray, shape (8, SELF_ROW)
        Rows of the self-interaction.

    """
    if not is_posture(root, segments, rotations):
        return False
    # every comparison is false for NaN
    for i in range(len(rows)):
        if not 0.0 <= rows[i, IMPORTANCE] <= 1.0 or not 0.0 <= rows[i, RADIUS] <= MAX_RADIUS_M:
            return False
        for k in range(GOAL, GOAL + 3):
            if not abs(rows[i, k]) <= MAX_COORDINATE_M:
                return False
    for j in range(len(self_rows)):
        if not _is_self_row(self_rows[j]):
            return False
    return True


@kernel
def _is_self_row(row: Floats) -> bool:
    """Return whether what solvers use of a row of the self-interaction is in range."""
    if not 0.0 <= row[SELF_IMPORTANCE] <= 1.0 or not 0.0 <= row[SELF_PLACE] <= 1.0:
        return False
    if not 0.0 <= row[SELF_DEPTH] <= MAX_BODY_M:
        return False
    for i in range(MAX_CONTACTS):
        start = FIRST_CONTACT + i * CONTACT_WIDTH
        sample = row[start + SAMPLE]
        if sample == -1.0:
            continue
        # solvers take the sample as an index
        if not 0.0 <= sample <= _LAST_SAMPLE or sample != int(sample):
            return False
        if not 0.0 <= row[start + WEIGHT] <= MAX_WEIGHT:
            return False
        if not 0.0 <= row[start + SHARE] <= 1.0:
            return False
        for k in range(DISPLACEMENT, DISPLACEMENT + 3):
            if not abs(row[start + k]) <= MAX_BODY_M:
                return False
    return True
