# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Commands and records of the Flock of Birds; what damage does is in test_record_streams.py."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from phased_bytes import ADDRESSES as LINE
from phased_bytes import records_of, smooth_poses
from puppet_core.math import quaternions
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.devices.decoding import CONFIRMATIONS
from puppet_driver.devices.flock_of_birds import FlockStream
from puppet_driver.emulator.flock_simulator import encode_records, encode_words
import pytest
from scipy.spatial.transform import Rotation

RANGE_IN = 144
SCALE_M = flock.full_scale_m(RANGE_IN) / 32768.0
QUATERNIONS = flock.POSE_FORMATS[0]
WORD_STEP = 4  # the lowest two bits of a word are not sent
components = st.floats(-1.0, 1.0)
every_format = pytest.mark.parametrize('name', flock.POSE_FORMATS)


def decode(record, name=QUATERNIONS, inverted=False, range_in=RANGE_IN):
    found = FlockStream((), range_in, inverted, name).decode(record.tobytes())
    return None if found is None else np.array(found[1])


def encode(pose, name=QUATERNIONS, range_in=RANGE_IN):
    return encode_records(flock.FORMAT_COMMANDS[name], pose[None], range_in, None)[0]


def record_of(values, full_scale=1.0):
    counts = np.clip(np.rint(np.ravel(values) * (8192.0 / full_scale)), -8192, 8191)
    return encode_words(np.concatenate((np.zeros(3, int), counts.astype(int) * WORD_STEP)))


def angle_between(p, q):
    """Return the angle of the rotation between two orientations [rad]."""
    return 2.0 * float(np.arccos(np.clip(abs(np.dot(p, q)), 0.0, 1.0)))


@given(st.integers(0, 0x7F), st.integers(0, 0x7F))
def test_words_are_those_of_the_manual(low, high):
    # ((lsb & 7F) << 1 | msb << 8) << 1 as signed 16 bit
    word = ((low << 1) | (high << 8)) << 1
    word -= 0x10000 if word >= 0x8000 else 0
    record = record_of(np.array([1.0, 0.0, 0.0, 0.0]))
    record[:2] = 0x80 | low, high
    assert decode(record)[0] == pytest.approx(word * SCALE_M)


def test_device_yaw_to_the_right_is_a_negative_rep_103_yaw():
    pose = decode(record_of(np.array([0.5, 0.0, 0.0, 0.5]) ** 0.5))
    turned = quaternions.rotate(pose[3:], [1.0, 0.0, 0.0])
    np.testing.assert_allclose(turned, [0.0, -1.0, 0.0], atol=1e-3)


def test_positions_beyond_the_range_saturate():
    back = decode(encode(np.array([99.0, 0.0, -99.0, 1.0, 0, 0, 0]), range_in=36), range_in=36)
    np.testing.assert_allclose(np.abs(back[[0, 2]]), flock.full_scale_m(36), rtol=2e-4)


PREFIXES = {1: b'\xf1', 15: b'\xff', 16: b'\xe0', 30: b'\xee', 31: b'\xa0\x1f', 126: b'\xa0~'}


@pytest.mark.parametrize('address, prefix', PREFIXES.items())
def test_units_are_addressed_by_prefix(address, prefix):
    assert flock.address_prefix(address) == prefix


def test_commands_are_those_of_the_manual():
    assert flock.examine(flock.FLOCK_STATUS) == b'O\x24'
    assert flock.change(flock.GROUP_MODE, [1]) == b'P\x23\x01'
    assert flock.change(flock.AUTO_CONFIGURE, [15]) == b'P\x32\x0f'
    assert flock.HEMISPHERE + flock.HEMISPHERES['upper'] == b'L\x0c\x01'


@settings(max_examples=60, deadline=None)
@given(
    place=st.tuples(*[components] * 3),
    q=st.tuples(*[components] * 4).filter(lambda q: np.linalg.norm(q) > 1e-3),
)
@every_format
def test_every_format_comes_back_as_it_was_sent(name, place, q):
    pose = np.concatenate((3.5 * np.array(place), np.array(q) / np.linalg.norm(q)))
    record = encode(pose, name)
    back = decode(record, name)
    assert len(record) == 2 * flock.RECORD_FORMATS[flock.FORMAT_COMMANDS[name]].n_words
    np.testing.assert_allclose(back[:3], pose[:3], atol=0.5001 * WORD_STEP * SCALE_M)
    assert abs(np.linalg.norm(back[3:]) - 1.0) < 1e-12
    assert angle_between(back[3:], pose[3:]) < 2e-3


@every_format
def test_orientations_are_those_that_scipy_finds(name):
    for wanted in Rotation.random(50, random_state=7):
        scalar_first = np.roll(wanted.as_quat(), 1)
        record = {
            'position_angles': record_of(wanted.as_euler('ZYX'), np.pi),
            'position_matrix': record_of(wanted.as_matrix().T),
            'position_quaternion': record_of(scalar_first),
        }[name]
        q = scalar_first * (1.0, 1.0, -1.0, -1.0)
        assert angle_between(decode(record, name)[3:], q) < 2e-3


@every_format
def test_inverse_rotations_are_turned_back(rng, name):
    q = quaternions.normalize(rng.normal(size=4))
    record = encode(np.concatenate((np.zeros(3), quaternions.conjugate(q))), name)
    assert angle_between(decode(record, name, inverted=True)[3:], q) < 2e-3


def test_record_without_a_rotation_has_no_pose():
    assert decode(record_of(np.zeros(9)), 'position_matrix') is None
    assert decode(record_of(np.zeros(4))) is None
    assert decode(record_of(np.diag([1.0, 1.0, -1.0])), 'position_matrix') is None
    assert decode(record_of(np.array([0.0, 2.0, 0.0]), np.pi), 'position_angles') is None


LINE_TICKS = 40
RECORDS = records_of(smooth_poses(np.random.default_rng(5), LINE_TICKS, len(LINE)))
# records at the beginning of a run, until each sensor's path is known
LINE_SETTLING = CONFIRMATIONS * len(LINE)


def received(stream, chunks):
    records = [record for chunk in chunks for record in stream.feed(chunk)] + stream.flush()
    return [(LINE[record.ordinal], record.pose) for record in records]


# the first tick again and again, so that all of the rest continue a path
SENT = set(received(FlockStream(LINE, RANGE_IN), [b''.join(3 * RECORDS[:5] + RECORDS)]))


def test_a_complete_record_is_not_held_back_at_the_end_of_a_read():
    # waiting for the next phasing bit would cost a whole tick on the last sensor
    stream = FlockStream(LINE, RANGE_IN)
    stream.feed(b''.join(RECORDS[:LINE_SETTLING]))
    stream.flush()
    assert len(stream.feed(b''.join(RECORDS[LINE_SETTLING : LINE_SETTLING + 5]))) == 5


def test_a_record_that_is_not_due_is_held_until_the_line_is_quiet():
    stream = FlockStream(LINE, RANGE_IN)
    received(stream, [b''.join(RECORDS[:15])])
    assert not stream.feed(RECORDS[17])
    assert stream.is_holding and len(stream.flush()) == 1 and not stream.is_holding


def test_two_records_astray_are_not_believed_even_if_they_agree():
    stream = FlockStream(LINE, RANGE_IN)
    received(stream, [b''.join(RECORDS[:15])])
    astray = bytearray(RECORDS[15])
    astray[2] ^= 0x40
    astray[3] ^= 0x20
    for tick in range(CONFIRMATIONS):
        data = bytes(astray) + b''.join(RECORDS[16 + 5 * tick : 20 + 5 * tick])
        assert {a for a, _ in received(stream, [data])} == set(LINE[1:])
    assert set(received(stream, [RECORDS[25]])) <= SENT
    assert stream.counters.implausible_records == CONFIRMATIONS
