# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What a sensor's records say is wrong with it, remembered for a while (kernel layer).

An error counts when two records, one after another, say the same: a single one may be a turned
bit. It is kept until the sensor has sent records without it for KEPT_NS, so that one which
flickers is seen by who looks once a second, and one that has passed goes away by itself.

"""

from numba import njit
from puppet_core.arrays import Ints

KEPT_NS = 5_000_000_000

# columns of a table with a row for each sensor; codes are 0 for no error
SAID, ERROR, ERROR_NS, HEARD_NS = 0, 1, 2, 3
N_COLUMNS = 4


@njit(cache=True)
def hear(table: Ints, ordinal: int, first: int, code: int, stamp_ns: int) -> None:
    """Take in what a record says, its sensor's columns in `table` beginning at `first`."""
    if code != 0 and code == table[ordinal, first + SAID]:
        table[ordinal, first + ERROR] = code
        table[ordinal, first + ERROR_NS] = stamp_ns
    table[ordinal, first + SAID] = code
    table[ordinal, first + HEARD_NS] = stamp_ns


@njit(cache=True)
def standing_error(table: Ints, ordinal: int, first: int) -> int:
    """Return the error that counts, 0 for none."""
    quiet_ns = table[ordinal, first + HEARD_NS] - table[ordinal, first + ERROR_NS]
    return table[ordinal, first + ERROR] if quiet_ns < KEPT_NS else 0
