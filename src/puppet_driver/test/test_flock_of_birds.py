# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Commands and records of the Flock of Birds as bytes."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from puppet_core.math import quaternions
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.emulator.flock_simulator import counts, encode_words, record_words
import pytest

WORD_STEP = 4  # the lowest two bits of a word are not sent
words = st.integers(-8192, 8191).map(lambda n: n * WORD_STEP)


def decode(record: np.ndarray, range_in: int = 144, turn: float = 1.0) -> np.ndarray:
    """Return the pose of a record."""
    found = flock.FlockStream((), range_in, turn < 0.0).decode(record.tobytes())
    return np.full(7, np.nan) if found is None else np.array(found[1])


@given(word=words)
def test_words_survive_encoding(word):
    low, high = encode_words(np.array([word]))
    assert flock.decode_word(int(low), int(high)) == word


def test_documented_word_layout():
    # TRACKERS.md: ((lsb & 7F) << 1 | msb << 8) << 1 as signed 16 bit
    low, high = 0x80 | 0x55, 0x2A
    by_formula = np.int16(np.uint16((((low & 0x7F) << 1) | (high << 8)) << 1))
    assert flock.decode_word(low, high) == by_formula


def test_device_axes_are_turned_to_rep_103():
    # device: X forward, Y right, Z down; 1000 counts to the right, 2000 down
    word_values = np.array([0, 1000, 2000, 32764, 0, 0, 0])
    pose = decode(encode_words(word_values))
    scale = flock.full_scale_m(144) / flock.FULL_SCALE
    np.testing.assert_allclose(pose[:3], [0.0, -1000 * scale, -2000 * scale])


def test_device_yaw_to_the_right_is_a_negative_rep_103_yaw():
    half = np.sqrt(0.5)
    words = counts(np.array([0.0, 0.0, 0.0, half, 0.0, 0.0, half]), 1.0)
    pose = decode(encode_words(words))
    turned = quaternions.rotate(pose[3:], [1.0, 0.0, 0.0])
    np.testing.assert_allclose(turned, [0.0, -1.0, 0.0], atol=1e-3)


def test_positions_beyond_the_range_saturate():
    pose = np.array([99.0, 0.0, -99.0, 1.0, 0.0, 0.0, 0.0])
    back = decode(encode_words(record_words(flock.POSITION_QUATERNION, pose, 36)), 36)
    np.testing.assert_allclose(np.abs(back[[0, 2]]), flock.full_scale_m(36), rtol=2e-4)


@pytest.mark.parametrize(
    'address, prefix',
    [
        (1, b'\xf1'),
        (15, b'\xff'),
        (16, b'\xe0'),
        (30, b'\xee'),
        (31, b'\xa0\x1f'),
        (126, b'\xa0~'),
    ],
)
def test_units_are_addressed_by_prefix(address, prefix):
    assert flock.address_prefix(address) == prefix


def test_commands_are_those_of_the_manual():
    assert flock.examine(flock.FLOCK_STATUS) == b'O\x24'
    assert flock.change(flock.GROUP_MODE, [1]) == b'P\x23\x01'
    assert flock.change(flock.AUTO_CONFIGURE, [15]) == b'P\x32\x0f'
    assert flock.set_hemisphere('upper') == b'L\x0c\x01'


def test_record_sizes_are_those_of_the_manual():
    sizes = {f.name: 2 * f.n_words for f in flock.RECORD_FORMATS.values()}
    assert sizes == {
        'POSITION': 6,
        'ANGLES': 6,
        'MATRIX': 18,
        'POSITION/ANGLES': 12,
        'POSITION/MATRIX': 24,
        'QUATERNION': 8,
        'POSITION/QUATERNION': 14,
    }
