# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Ascension Flock of Birds, RS-232: commands, replies and records as bytes.

The facts of the protocol and nothing else: no port, no clock, no state. Both the driver and
the emulator use this module, so a fact is written once. Records are decoded by
`flock_records`.

"""

from collections.abc import Sequence
from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.math import Floats, Ints

METRES_PER_INCH = 0.0254
FULL_SCALE = 32768.0  # counts at the end of the range, and of the unit interval
RANGES_IN = (36, 72, 144)  # standard range twice, extended-range transmitter
PHASING_BIT = 0x80  # set in the first byte of a record and in no other
# Ascension X forward, Y right, Z down to REP-103 X forward, Y left, Z up: half a turn about X,
# which negates these components of vectors and of quaternions' vector parts alike.
REP103_SIGNS = (1.0, -1.0, -1.0)

POINT = b'\x42'
STREAM = b'\x40'
STREAM_STOP = b'\x3f'
RUN = b'\x46'
SLEEP = b'\x47'
FBB_RESET = b'\x2f'
XON = b'\x11'
XOFF = b'\x13'
HEMISPHERE = b'\x4c'
CHANGE_VALUE = b'\x50'
EXAMINE_VALUE = b'\x4f'
REPORT_RATES = {b'\x51': 1, b'\x52': 2, b'\x53': 8, b'\x54': 32}

STATUS, SOFTWARE_REVISION, CRYSTAL, POSITION_SCALE = 0, 1, 2, 3
FILTER_SWITCHES, ALPHA_MIN, RATE_COUNT, MEASUREMENT_RATE = 4, 5, 6, 7
DATA_READY, ERROR_CODE, VM_TABLE, ALPHA_MAX, MODEL = 8, 10, 12, 13, 15
EXPANDED_ERROR, ADDRESSING_MODE, ADDRESS, HEMISPHERE_VALUE = 16, 19, 21, 22
GROUP_MODE, FLOCK_STATUS, AUTO_CONFIGURE = 35, 36, 50
VALUE_BYTES = {
    STATUS: 2,
    SOFTWARE_REVISION: 2,
    CRYSTAL: 2,
    POSITION_SCALE: 2,
    FILTER_SWITCHES: 2,
    ALPHA_MIN: 14,
    RATE_COUNT: 2,
    MEASUREMENT_RATE: 2,
    DATA_READY: 1,
    ERROR_CODE: 1,
    VM_TABLE: 14,
    ALPHA_MAX: 14,
    MODEL: 10,
    EXPANDED_ERROR: 2,
    ADDRESSING_MODE: 1,
    ADDRESS: 1,
    HEMISPHERE_VALUE: 2,
    GROUP_MODE: 1,
    AUTO_CONFIGURE: 1,
}
UNITS_OF_ADDRESSING_MODE = {0: 14, 1: 30, 3: 126}
MAX_ADDRESS = 126

POSITION_QUATERNION = b'\x5d'

POSE_FORMATS = ('position_quaternion', 'position_angles', 'position_matrix')

HEMISPHERES = {
    'front': b'\x00\x00',
    'aft': b'\x00\x01',
    'upper': b'\x0c\x01',
    'lower': b'\x0c\x00',
    'left': b'\x06\x01',
    'right': b'\x06\x00',
}

STATUS_MASTER, STATUS_INITIALISED, STATUS_ERROR = 1 << 15, 1 << 14, 1 << 13
STATUS_FORMAT_SHIFT, STATUS_FORMAT_MASK = 1, 0xF
STATUS_RUNNING, STATUS_SLEEPING, STATUS_STREAMING = 1 << 12, 1 << 5, 1 << 0

UNIT_ACCESSIBLE, UNIT_RUNNING, UNIT_HAS_SENSOR, UNIT_EXTENDED_RANGE = 0x80, 0x40, 0x20, 0x10

ERROR_NAMES = {
    0: 'no error',
    1: 'memory (RAM)',
    2: 'memory or configuration',
    3: 'memory or configuration',
    4: 'memory or configuration',
    5: 'memory or configuration',
    6: 'illegal command',
    7: 'not the master',
    8: 'no units on the bus',
    9: 'unit not initialised',
    10: 'bus reception',
    11: 'RS-232 overrun or framing',
    12: 'bus reception',
    13: 'no reply on the bus',
    14: 'bad host command',
    15: 'run time',
    17: 'slave sends no data',
    18: 'baud rate',
    19: 'slave does not acknowledge',
    28: 'CRT synchronisation',
    29: 'transmitter off',
    30: 'extended-range transmitter absent',
    32: 'sensor saturated',
    33: 'slave configuration',
    34: 'watchdog',
    35: 'over-temperature',
}


class RecordFormat(NamedTuple):
    """One of the device's record layouts."""

    name: str
    """As the manual calls it."""

    status_code: int
    """Bits 4 to 1 of the status word."""

    n_words: int
    """Two bytes each."""


RECORD_FORMATS = {
    b'\x56': RecordFormat('POSITION', 1, 3),
    b'\x57': RecordFormat('ANGLES', 2, 3),
    b'\x58': RecordFormat('MATRIX', 3, 9),
    b'\x59': RecordFormat('POSITION/ANGLES', 4, 6),
    b'\x5a': RecordFormat('POSITION/MATRIX', 5, 12),
    b'\x5c': RecordFormat('QUATERNION', 7, 4),
    b'\x5d': RecordFormat('POSITION/QUATERNION', 8, 7),
}
FORMAT_COMMANDS = {f.name.lower().replace('/', '_'): c for c, f in RECORD_FORMATS.items()}
POSITION_QUATERNION_BYTES = 2 * RECORD_FORMATS[POSITION_QUATERNION].n_words


def error_text(code: int) -> str:
    """Return `error 29 (transmitter off)` for a code of EXAMINE 10."""
    return f'error {code} ({ERROR_NAMES.get(code, "not described in the manuals")})'


def address_prefix(address: int) -> bytes:
    """Return the bytes that direct the next command to the unit at a bus address."""
    if not 1 <= address <= MAX_ADDRESS:
        raise ValueError(f'address: expected 1 to {MAX_ADDRESS}, got {address}')
    if address < 16:
        return bytes((0xF0 + address,))
    if address < 31:
        return bytes((0xE0 + address - 16,))
    return bytes((0xA0, address))


def examine(number: int) -> bytes:
    """Return the command that asks for a value."""
    return EXAMINE_VALUE + bytes((number,))


def change(number: int, data: Sequence[int]) -> bytes:
    """Return the command that sets a value."""
    return CHANGE_VALUE + bytes((number, *data))


def set_hemisphere(name: str) -> bytes:
    """Return the command that chooses the side of the transmitter, a key of HEMISPHERES."""
    return HEMISPHERE + HEMISPHERES[name]


def little_endian(reply: bytes) -> int:
    """Return the number in a reply, least significant byte first."""
    return int.from_bytes(reply, 'little')


def format_problem(name: str) -> str:
    """Return why a format, a key of FORMAT_COMMANDS, does not make poses; '' if it does."""
    if name in POSE_FORMATS:
        return ''
    return 'which has no orientation' if name == 'position' else 'which has no position'


def full_scale_m(range_in: int) -> float:
    """Return the distance that FULL_SCALE counts stand for [m]."""
    return range_in * METRES_PER_INCH


def encode_words(words: Ints) -> np.ndarray:
    """
    Encode signed 16-bit words as phased bytes, the lowest two bits of each being lost.

    Parameters
    ----------
    words : ndarray, shape (..., k)
        One record per row, each word in [-32768, 32767].

    Returns
    -------
    data : ndarray of uint8, shape (..., 2 k)
        Low seven bits first; the phasing bit on the first byte of each row.

    """
    fourteen_bits = (words >> 2) & 0x3FFF
    data = np.empty((*words.shape[:-1], 2 * words.shape[-1]), dtype=np.uint8)
    data[..., 0::2] = fourteen_bits & 0x7F
    data[..., 1::2] = fourteen_bits >> 7
    data[..., 0] |= PHASING_BIT
    return data


def counts(values: Floats, full_scale: float) -> Ints:
    """Return values as the nearest words that survive encoding, saturated at full scale."""
    quarters = np.rint(np.asarray(values) * (FULL_SCALE / full_scale / 4.0))
    return np.clip(quarters, -8192, 8191).astype(np.int64) * 4


def encode_pose_words(poses: Floats, range_in: int) -> Ints:
    """
    Return the words of POSITION/QUATERNION records.

    Parameters
    ----------
    poses : ndarray, shape (..., 7)
        Position [m] and unit quaternion (w, x, y, z), in REP-103 axes of the transmitter.
    range_in : int
        Full scale of positions [inch].

    """
    words = np.empty(poses.shape, dtype=np.int64)
    words[..., :3] = counts(poses[..., :3] * REP103_SIGNS, full_scale_m(range_in))
    words[..., 3:4] = counts(poses[..., 3:4], 1.0)
    words[..., 4:] = counts(poses[..., 4:] * REP103_SIGNS, 1.0)
    return words


@njit(cache=True)
def decode_word(low: int, high: int) -> float:
    """Return the signed 16-bit word of two phased bytes, in counts."""
    word = ((low & 0x7F) << 2) | ((high & 0x7F) << 9)
    return float(word - 65536 if word >= 32768 else word)
