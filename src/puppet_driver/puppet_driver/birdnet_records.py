# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The records in a MotionStar's data packets, as bytes: one per unit, one after another.

A record is its unit's address, a byte that tells format and number of words, the words, and
two bytes of buttons if the address has its highest bit set. The formats are the Flock of
Birds', but the words are whole 16-bit numbers, high byte first. The driver decodes them in
birdnet_kernels.

"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_driver.errors import ProtocolError
from puppet_driver.flock_of_birds import RECORD_FORMATS

FULL_SCALE = 32767.0  # counts at the end of the range, of the unit interval and of half a turn
BUTTONS_FLAG = 0x80  # in the address
NO_DATA, THROUGH_DATA, BAD_SAMPLE = 0, 14, 15
POSITION_ANGLES, POSITION_MATRIX, POSITION_QUATERNION = 4, 5, 8
FORMATS = {known.status_code: known for known in RECORD_FORMATS.values()}
WORD_COUNTS = frozenset(known.n_words for known in FORMATS.values())
HEAD_BYTES, BUTTON_BYTES = 2, 2
INVALID = -1


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


def setup_byte(code: int) -> int:
    """Return the byte that asks a unit for a format: words above, code below."""
    return FORMATS[code].n_words << 4 | code if code in FORMATS else code


def record_bytes(code: int) -> int:
    """Return the length of a record of a format without buttons."""
    return HEAD_BYTES + 2 * FORMATS[code].n_words


def layout_table() -> Ints:
    """
    Return what each format byte of a record means.

    Sources put the code into the upper or the lower half; no byte that has a meaning in one
    order has another in the other, so both are understood.

    Returns
    -------
    layout : ndarray, shape (256, 2)
        Code and number of words; INVALID twice where a byte means nothing.

    """
    layout = np.full((256, 2), INVALID, dtype=np.int64)
    meanings = {(known.status_code, known.n_words) for known in FORMATS.values()}
    meanings |= {(c, n) for c in (THROUGH_DATA, BAD_SAMPLE) for n in (0, *WORD_COUNTS)}
    meanings.add((NO_DATA, 0))
    for code, n_words in meanings:
        layout[code << 4 | n_words] = layout[n_words << 4 | code] = code, n_words
    return layout


LAYOUT = layout_table()


def encode_record(record: Record) -> bytes:
    """Return a record's bytes."""
    has_buttons = record.buttons is not None
    head = bytes((
        record.address | (BUTTONS_FLAG if has_buttons else 0),
        record.code << 4 | len(record.words),
    ))  # fmt: skip
    tail = record.buttons.to_bytes(BUTTON_BYTES, 'big') if record.buttons is not None else b''
    return head + words_to_bytes(record.words) + tail


def words_to_bytes(words: Sequence[int] | Ints) -> bytes:
    """Return signed 16-bit numbers, high byte first."""
    return np.asarray(words, dtype='>i2').tobytes()


def decode_records(body: bytes) -> list[Record]:
    """
    Return the records of a data packet.

    Raises
    ------
    ProtocolError : if the bytes are no sequence of records.

    """
    records = []
    start = 0
    while start < len(body):
        if start + HEAD_BYTES > len(body):
            raise ProtocolError(f'expected a record of 2 or more bytes at byte {start}, got 1')
        code, n_words = (int(value) for value in LAYOUT[body[start + 1]])
        if code == INVALID:
            raise ProtocolError(
                f'expected a format at byte {start + 1} of the data, got {body[start + 1]:02X}'
            )
        words_end = start + HEAD_BYTES + 2 * n_words
        has_buttons = bool(body[start] & BUTTONS_FLAG)
        end = words_end + BUTTON_BYTES * has_buttons
        if end > len(body):
            raise ProtocolError(
                f'expected {end - start} bytes of a record at byte {start}, '
                f'got {len(body) - start}'
            )
        words = np.frombuffer(body[start + HEAD_BYTES: words_end], dtype='>i2').tolist()
        buttons = int.from_bytes(body[words_end:end], 'big') if has_buttons else None
        records.append(Record(body[start] & ~BUTTONS_FLAG, code, tuple(words), buttons))
        start = end
    return records


def counts(values: Floats, full_scale: float) -> Ints:
    """Return values as the nearest words, saturated at full scale."""
    words = np.rint(np.asarray(values) * (FULL_SCALE / full_scale))
    return np.clip(words, -FULL_SCALE, FULL_SCALE).astype(np.int64)
