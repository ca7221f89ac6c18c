# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Importance message <-> rows, one per end-effector, the columns as in the message."""

from functools import partial
from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats
from puppet_msgs.msg import Importance
from puppet_ros.messages import flat_array
from puppet_ros.messages.cdr import Fields, StreamReader, StreamWriter

N_ROWS = 4  # hands and feet
ROW_WIDTH = 8  # Importance.COLUMN_*
N_SELF_ROWS = 8  # hands, feet, elbows, knees
SELF_ROW_WIDTH = Importance.SELF_COLUMN_CONTACTS + Importance.CONTACTS * Importance.CONTACT_WIDTH


class ImportanceRecord(NamedTuple):
    """How much the place of each end-effector matters, and where it should be."""

    stamp_ns: int  # stamp of the posture this belongs to [ns]
    frame_index: int  # index of that posture's frame
    rows: Floats  # shape (4, 8), columns Importance.COLUMN_*
    self_rows: Floats
    """Shape (8, SELF_ROW_WIDTH), columns Importance.SELF_COLUMN_*; zeros: nothing is near."""

    objects: tuple[str, ...]  # names of the environment's objects


def from_msg(msg: Importance) -> ImportanceRecord:
    """
    Return the arrays of one message; the rows are views on it.

    Raises MessageError if there are not 4 rows of 8, or some rows of the self-interaction but not
    all.
    """
    return ImportanceRecord(
        stamp_ns=flat_array.stamp_ns(msg.header.stamp),
        frame_index=msg.frame_index,
        rows=flat_array.float_rows('end_effectors', msg.end_effectors, N_ROWS, ROW_WIDTH),
        self_rows=_self_rows(msg),
        objects=tuple(msg.objects),
    )


def _fields(record: ImportanceRecord) -> tuple[int, Fields]:
    return record.stamp_ns, {
        'frame_index': record.frame_index,
        'end_effectors': record.rows,
        'objects': record.objects,
        'self_interaction': record.self_rows,
    }


def _self_rows(msg: Importance) -> Floats:
    """Return the rows of the self-interaction; those of a body far from itself if left out."""
    field = msg.self_interaction
    if len(field) == 0:
        return np.zeros((N_SELF_ROWS, SELF_ROW_WIDTH))
    return flat_array.float_rows('self_interaction', field, N_SELF_ROWS, SELF_ROW_WIDTH)


ImportanceWriter = partial(StreamWriter, Importance, fields=_fields)
ImportanceReader = partial(StreamReader[ImportanceRecord], Importance, from_msg)
