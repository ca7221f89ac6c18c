# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Importance message <-> rows, one per end-effector, the columns as in the message."""

from typing import Any, NamedTuple

import numpy as np
from puppet_core.math import Floats
from puppet_msgs.msg import Importance
from puppet_ros.messages import flat_array
from puppet_ros.messages.kept_message import Arrays, BytesTarget, KeptMessage, Target
from puppet_ros.messages.raw_header import Head
from puppet_ros.messages.record_reader import Fields, RecordReader
from std_msgs.msg import Header

N_ROWS = 4  # hands and feet
ROW_WIDTH = 8  # Importance.COLUMN_*
N_SELF_ROWS = 8  # hands, feet, elbows, knees
SELF_ROW_WIDTH = Importance.SELF_COLUMN_CONTACTS + Importance.CONTACTS * Importance.CONTACT_WIDTH


class ImportanceRecord(NamedTuple):
    """How much the place of each end-effector matters, and where it should be."""

    stamp_ns: int
    """Stamp of the posture this belongs to [ns]."""

    frame_index: int
    """Index of that posture's frame."""

    rows: Floats
    """Shape (4, 8), columns Importance.COLUMN_*."""

    self_rows: Floats
    """Shape (8, SELF_ROW_WIDTH), columns Importance.SELF_COLUMN_*; zeros: nothing is near."""

    objects: tuple[str, ...]
    """Names of the environment's objects."""


def from_msg(msg: Importance) -> ImportanceRecord:
    """
    Return the arrays of one message; the rows are views on it.

    Raises
    ------
    MessageError : if there are not 4 rows of 8, or some rows of the self-interaction but not all.

    """
    return ImportanceRecord(
        stamp_ns=flat_array.stamp_ns(msg.header.stamp),
        frame_index=msg.frame_index,
        rows=flat_array.float_rows('end_effectors', msg.end_effectors, N_ROWS, ROW_WIDTH),
        self_rows=_self_rows(msg),
        objects=tuple(msg.objects),
    )


def to_msg(record: ImportanceRecord, header: Header) -> Importance:
    """Return a new message; the header is used as it is. Streams use ImportanceWriter."""
    msg = ImportanceWriter(record.objects, header.frame_id).fill(
        record.stamp_ns, record.frame_index, record.rows, record.self_rows
    )
    msg.header = header
    return msg


def _self_rows(msg: Importance) -> Floats:
    """Return the rows of the self-interaction; those of a body far from itself if left out."""
    field = msg.self_interaction
    if len(field) == 0:
        return np.zeros((N_SELF_ROWS, SELF_ROW_WIDTH))
    return flat_array.float_rows('self_interaction', field, N_SELF_ROWS, SELF_ROW_WIDTH)


class ImportanceWriter:
    """One kept message that `fill` and `data` rewrite: publish it before filling again."""

    def __init__(self, objects: tuple[str, ...], frame_id: str) -> None:
        msg = Importance(objects=list(objects))
        msg.header.frame_id = frame_id
        flat_array.keep_floats(msg, 'end_effectors', N_ROWS, ROW_WIDTH)
        flat_array.keep_floats(msg, 'self_interaction', N_SELF_ROWS, SELF_ROW_WIDTH)
        self._kept = KeptMessage(msg, _views)

    def fill(
        self, stamp_ns: int, frame_index: int, rows: Floats, self_rows: Floats | None = None
    ) -> Importance:
        """
        Return the kept message with these rows in it; the objects stay.

        Parameters
        ----------
        stamp_ns : int
            Stamp of the posture [ns].
        frame_index : int
            Index of its frame.
        rows : ndarray, shape (4, 8)
            Importance of hands and feet.
        self_rows : ndarray, shape (8, SELF_ROW_WIDTH), optional
            Self-interaction; by default nothing is near anything.

        """
        _put(self._kept.message(), stamp_ns, frame_index, rows, self_rows)
        return self._kept.msg

    def data(
        self, stamp_ns: int, frame_index: int, rows: Floats, self_rows: Floats | None = None
    ) -> bytes:
        """Return the bytes of that message."""
        target = self._kept.bytes()
        _put(target, stamp_ns, frame_index, rows, self_rows)
        return target.data()


class ImportanceReader(RecordReader[ImportanceRecord]):
    """Rows from the bytes of their messages."""

    kind = Importance

    def _first(self, msg: Importance) -> ImportanceRecord:
        return from_msg(msg)

    def _lay_out(self, fields: Fields, record: ImportanceRecord) -> tuple[Any, ...]:
        rows = fields.arrays['end_effectors'].reshape(N_ROWS, ROW_WIDTH)
        self_rows = fields.arrays['self_interaction']
        if not len(self_rows):
            self_rows = np.zeros(N_SELF_ROWS * SELF_ROW_WIDTH)
        self_rows = self_rows.reshape(N_SELF_ROWS, SELF_ROW_WIDTH)
        return rows, self_rows, record.objects

    def _record(self, head: Head, target: BytesTarget, parts: Any) -> ImportanceRecord:
        return ImportanceRecord(*head, *parts)


def _views(arrays: Arrays) -> tuple[Any, ...]:
    return (
        arrays['end_effectors'].reshape(N_ROWS, ROW_WIDTH),
        arrays['self_interaction'].reshape(N_SELF_ROWS, SELF_ROW_WIDTH),
    )


def _put(
    target: Target, stamp_ns: int, frame_index: int, rows: Floats, self_rows: Floats | None
) -> None:
    kept_rows, kept_self_rows = target.views
    target.put_head(stamp_ns, frame_index)
    kept_rows[:] = rows
    kept_self_rows[:] = 0.0 if self_rows is None else self_rows
