# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Importance message <-> rows, one per end-effector, the columns as in the message."""

from typing import NamedTuple

from puppet_core.arrays import Floats
from puppet_msgs.msg import Importance
from puppet_ros import flat_array
from std_msgs.msg import Header

N_ROWS = 4  # hands and feet
ROW_WIDTH = 8  # Importance.COLUMN_*


class ImportanceRecord(NamedTuple):
    """How much the place of each end-effector matters, and where it should be."""

    stamp_ns: int
    """Stamp of the posture this belongs to [ns]."""

    frame_index: int
    """Index of that posture's frame."""

    rows: Floats
    """Shape (4, 8), columns Importance.COLUMN_*."""

    objects: tuple[str, ...]
    """Names of the environment's objects."""


def from_msg(msg: Importance) -> ImportanceRecord:
    """
    Return the arrays of one message; the rows are a view on it.

    Raises
    ------
    MessageError : if there are not 4 rows of 8.

    """
    return ImportanceRecord(
        stamp_ns=flat_array.stamp_ns(msg.header.stamp),
        frame_index=msg.frame_index,
        rows=flat_array.float_rows('end_effectors', msg.end_effectors, N_ROWS, ROW_WIDTH),
        objects=tuple(msg.objects),
    )


def to_msg(record: ImportanceRecord, header: Header) -> Importance:
    """Return a new message; the header is used as it is. Streams use ImportanceWriter."""
    msg = ImportanceWriter(record.objects, header.frame_id).fill(
        record.stamp_ns, record.frame_index, record.rows
    )
    msg.header = header
    return msg


class ImportanceWriter:
    """One kept message that `fill` rewrites: publish it before filling again."""

    def __init__(self, objects: tuple[str, ...], frame_id: str) -> None:
        self._msg = Importance(objects=list(objects))
        self._msg.header.frame_id = frame_id
        self._rows = flat_array.keep_floats(self._msg, 'end_effectors', N_ROWS, ROW_WIDTH)

    def fill(self, stamp_ns: int, frame_index: int, rows: Floats) -> Importance:
        """Return the kept message with these rows, shape (4, 8), in it; the objects stay."""
        flat_array.write_stamp(stamp_ns, self._msg.header.stamp)
        self._msg.frame_index = frame_index
        self._rows[:] = rows
        return self._msg
