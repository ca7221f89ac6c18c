# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Records of data packets written and read apart from the product, for several tests."""

from typing import NamedTuple

import numpy as np
from puppet_driver.devices.birdnet import BUTTON_BYTES, BUTTONS_FLAG, HEAD_BYTES, LAYOUT


class Record(NamedTuple):
    """One unit's record."""

    address: int
    """On the bus, 1 to 127."""

    code: int
    """A key of FORMATS, or NO_DATA, THROUGH_DATA or BAD_SAMPLE."""

    words: tuple[int, ...] = ()
    """Signed 16-bit numbers."""

    buttons: int | None = None
    """Two bytes, None if they are not sent."""


def encode_record(record: Record) -> bytes:
    """Return a record's bytes."""
    has_buttons = record.buttons is not None
    head = bytes(
        (
            record.address | (BUTTONS_FLAG if has_buttons else 0),
            record.code << 4 | len(record.words),
        )
    )
    tail = record.buttons.to_bytes(BUTTON_BYTES, 'big') if record.buttons is not None else b''
    return head + np.asarray(record.words, dtype='>i2').tobytes() + tail


def decode_records(body: bytes) -> list[Record]:
    """Return the records of a data packet, all of it records."""
    records = []
    start = 0
    while start < len(body):
        code, n_words = (int(value) for value in LAYOUT[body[start + 1]])
        words_end = start + HEAD_BYTES + 2 * n_words
        has_buttons = bool(body[start] & BUTTONS_FLAG)
        end = words_end + BUTTON_BYTES * has_buttons
        words = np.frombuffer(body[start + HEAD_BYTES : words_end], dtype='>i2').tolist()
        buttons = int.from_bytes(body[words_end:end], 'big') if has_buttons else None
        records.append(Record(body[start] & ~BUTTONS_FLAG, code, tuple(words), buttons))
        start = end
    return records
