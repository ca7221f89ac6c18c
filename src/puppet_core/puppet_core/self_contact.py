# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which parts of a body can touch which: general end-effectors and segments (Shin2002 4.2).

A limb's own three segments never count: an elbow is always near its own upper arm (SPEC 5.6).
Everything else does.

"""

import numpy as np
from numpy.typing import NDArray
from puppet_core.arrays import read_only
from puppet_core.skeleton import GENERAL_END_EFFECTORS, LIMB_SEGMENTS, N_SEGMENTS


def _considered() -> NDArray[np.bool_]:
    table = np.ones((len(GENERAL_END_EFFECTORS), N_SEGMENTS), dtype=bool)
    for general in range(len(GENERAL_END_EFFECTORS)):
        # hands and feet come first, then elbows and knees, both in the order of the limbs
        table[general, LIMB_SEGMENTS[general % len(LIMB_SEGMENTS)]] = False
    return read_only(table, np.bool_)


CONSIDERED: NDArray[np.bool_] = _considered()
"""Whether a segment counts for a general end-effector, shape (8, 16)."""
