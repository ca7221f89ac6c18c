# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Commands and records of the Flock of Birds: what is sent arrives, and nothing else does.

The damage is lost and inserted bytes, runs of garbage and turned bits. The suite takes a share of
the fuzz; PUPPET_FUZZ_BYTES=10000000 takes all of it.
"""

import os

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from phased_bytes import ADDRESSES as LINE
from phased_bytes import records_of, smooth_poses
from puppet_core.math import quaternions
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.devices.decoding import CONFIRMATIONS, Reach
from puppet_driver.devices.flock_of_birds import FlockStream
from puppet_driver.emulator.flock_simulator import encode_records, encode_words
import pytest
from scipy.spatial.transform import Rotation

WORD_STEP = 4  # the lowest two bits of a word are not sent
words = st.integers(-8192, 8191).map(lambda n: n * WORD_STEP)


def pose_of(record: np.ndarray, range_in: int = 144, turn: float = 1.0) -> np.ndarray:
    """Return the pose of a record."""
    found = flock.FlockStream((), range_in, turn < 0.0).decode(record.tobytes())
    return np.full(7, np.nan) if found is None else np.array(found[1])


def counts(values: np.ndarray, full_scale: float) -> np.ndarray:
    """Return values as the nearest words that survive encoding."""
    quarters = np.rint(np.asarray(values) * (8192.0 / full_scale))
    return np.clip(quarters, -8192, 8191).astype(np.int64) * WORD_STEP


@given(st.integers(0, 0x7F), st.integers(0, 0x7F))
def test_words_are_those_of_the_manual(low, high):
    # ((lsb & 7F) << 1 | msb << 8) << 1 as signed 16 bit
    word = ((low << 1) | (high << 8)) << 1
    word -= 0x10000 if word >= 0x8000 else 0
    record = (
        bytes((0x80 | low, high, 0, 0, 0, 0)) + encode_words(np.array([32764, 0, 0, 0])).tobytes()
    )
    assert FlockStream((), 144).decode(record)[1][0] == pytest.approx(
        word * flock.full_scale_m(144) / 32768
    )


def test_device_yaw_to_the_right_is_a_negative_rep_103_yaw():
    half = np.sqrt(0.5)
    words = counts(np.array([0.0, 0.0, 0.0, half, 0.0, 0.0, half]), 1.0)
    pose = pose_of(encode_words(words))
    turned = quaternions.rotate(pose[3:], [1.0, 0.0, 0.0])
    np.testing.assert_allclose(turned, [0.0, -1.0, 0.0], atol=1e-3)


def test_positions_beyond_the_range_saturate():
    pose = np.array([99.0, 0.0, -99.0, 1.0, 0.0, 0.0, 0.0])
    back = pose_of(
        encode_records(flock.FORMAT_COMMANDS['position_quaternion'], pose[None], 36, None)[0], 36
    )
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
    assert flock.HEMISPHERE + flock.HEMISPHERES['upper'] == b'L\x0c\x01'


RANGE_IN = 144
SCALE_M = flock.full_scale_m(RANGE_IN) / flock.FULL_SCALE
STEP_M = 4.0 * SCALE_M
ADDRESSES = (2, 3, 4)
# records at the beginning of a run, until each sensor's path is known
SETTLING = CONFIRMATIONS * len(ADDRESSES)
FORMATS = flock.POSE_FORMATS
FUZZ_BYTES = int(os.environ.get('PUPPET_FUZZ_BYTES', '600000'))
components = st.floats(-1.0, 1.0)


def decode(record: np.ndarray, name: str, inverted: bool = False) -> np.ndarray | None:
    """Return the pose of a record, None if its orientation is none."""
    stream = FlockStream((), RANGE_IN, inverted, name)
    found = stream.decode(record.tobytes())
    return None if found is None else np.array(found[1])


def angle_between(p: np.ndarray, q: np.ndarray) -> float:
    """Return the angle of the rotation between two orientations [rad]."""
    return 2.0 * float(np.arccos(np.clip(abs(np.dot(p, q)), 0.0, 1.0)))


@settings(max_examples=60, deadline=None)
@given(place=st.tuples(*[components] * 3), q=st.tuples(*[components] * 4))
@pytest.mark.parametrize('name', FORMATS)
def test_every_format_comes_back_as_it_was_sent(name, place, q):
    norm = float(np.linalg.norm(q))
    if norm < 1e-3:
        return
    pose = np.concatenate((3.5 * np.array(place), np.array(q) / norm))
    record = encode_records(flock.FORMAT_COMMANDS[name], pose[None], RANGE_IN, None)[0]
    back = decode(record, name)
    assert len(record) == 2 * flock.RECORD_FORMATS[flock.FORMAT_COMMANDS[name]].n_words
    np.testing.assert_allclose(back[:3], pose[:3], atol=0.5001 * STEP_M)
    assert abs(np.linalg.norm(back[3:]) - 1.0) < 1e-12
    assert angle_between(back[3:], pose[3:]) < 2e-3


@pytest.mark.parametrize('name', FORMATS)
def test_orientations_are_those_that_scipy_finds(rng, name):
    for wanted in Rotation.random(50, random_state=7):
        q = np.roll(wanted.as_quat(), 1) * (1.0, *flock.REP103_SIGNS)
        values = {
            'position_angles': counts(wanted.as_euler('ZYX'), np.pi),
            'position_matrix': counts(wanted.as_matrix().T.ravel(), 1.0),
            'position_quaternion': counts(np.roll(wanted.as_quat(), 1), 1.0),
        }[name]
        assert (
            angle_between(
                decode(encode_words(np.concatenate((np.zeros(3, int), values))), name)[3:], q
            )
            < 2e-3
        )


@pytest.mark.parametrize('name', ['position_angles', 'position_matrix', 'position_quaternion'])
def test_inverse_rotations_are_turned_back(rng, name):
    q = quaternions.normalize(rng.normal(size=4))
    pose = np.concatenate((np.zeros(3), quaternions.conjugate(q)))
    record = encode_records(flock.FORMAT_COMMANDS[name], pose[None], RANGE_IN, None)[0]
    assert angle_between(decode(record, name, inverted=True)[3:], q) < 2e-3


def test_what_is_no_rotation_is_told():
    zeros = encode_words(np.zeros(12, dtype=np.int64))
    assert decode(zeros, 'position_matrix') is None
    assert decode(zeros, 'position_quaternion') is None
    mirrored = counts(np.diag([1.0, 1.0, -1.0]).ravel(), 1.0)
    assert decode(encode_words(np.concatenate(([0, 0, 0], mirrored))), 'position_matrix') is None
    steep = counts(np.array([0.0, 2.0, 0.0]), np.pi)
    assert decode(encode_words(np.concatenate(([0, 0, 0], steep))), 'position_angles') is None


def sent_records(name: str, n_ticks: int) -> tuple[np.ndarray, list[bytes]]:
    """Return a walk's poses (n_ticks, sensors, 7) and its records in the order they are sent."""
    poses = smooth_poses(np.random.default_rng(11), n_ticks, len(ADDRESSES))
    poses[..., :3] = np.clip(poses[..., :3], -3.5, 3.5)
    command = flock.FORMAT_COMMANDS[name]
    units = [encode_records(command, poses[:, i], RANGE_IN, a) for i, a in enumerate(ADDRESSES)]
    return poses, [unit[tick].tobytes() for tick in range(n_ticks) for unit in units]


def keys(ordinals: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Return one number for each record's sensor and position."""
    steps = np.rint(poses[:, :3] / STEP_M).astype(np.int64) + 8192
    return ((ordinals * 16384 + steps[:, 0]) * 16384 + steps[:, 1]) * 16384 + steps[:, 2]


def feed(stream: FlockStream, chunks: list[bytes]) -> tuple[np.ndarray, ...]:
    """Return chunk of the first byte, ordinal and pose of all records decoded from chunks."""
    records = [r for i, chunk in enumerate(chunks) for r in stream.feed(chunk, i)]
    records += stream.flush()
    return tuple(np.array(column) for column in zip(*((r[1], r[0], r[2]) for r in records)))


UNHURT, TURNED, SHIFTED = 0, 1, 2


def mutate(records: list[bytes], rng: np.random.Generator) -> tuple[list[bytes], np.ndarray]:
    """
    Damage some records, never two in a row.

    Returns
    -------
    damaged : list of bytes
        What is left of each record, with what has been inserted.
    harm : ndarray of int, shape (records,)
        Whether bits were turned, or bytes lost or gained.

    """
    kinds = rng.integers(0, 40, len(records))
    damaged, harm = [], np.zeros(len(records), dtype=np.int64)
    was_hit = True
    for i, (record, kind) in enumerate(zip(records, kinds)):
        place = int(rng.integers(len(record)))
        if was_hit or kind > 3:
            was_hit = False
        elif kind == 0:
            record = record[:place] + record[place + 1 :]
        elif kind == 1:
            record = record[:place] + rng.bytes(1) + record[place:]
        elif kind == 2:
            record = record + rng.bytes(int(rng.integers(1, 100)))
        else:
            bits = np.unpackbits(np.frombuffer(record, dtype=np.uint8))
            bits[rng.integers(0, len(bits), int(rng.integers(1, 4)))] ^= 1
            record = np.packbits(bits).tobytes()
        damaged.append(record)
        if record != records[i]:
            was_hit = True
            harm[i] = TURNED if kind == 3 else SHIFTED
    return damaged, harm


@pytest.mark.parametrize('name', ['position_quaternion', 'position_matrix'])
def test_fuzz_mutated_bytes_make_no_record_that_was_not_sent(name):
    rng = np.random.default_rng(22)
    record_bytes = 1 + 2 * flock.RECORD_FORMATS[flock.FORMAT_COMMANDS[name]].n_words
    poses, records = sent_records(name, FUZZ_BYTES // (record_bytes * len(ADDRESSES)))
    sent = keys(np.tile(np.arange(len(ADDRESSES)), len(poses)), poses.reshape(-1, 7))
    pieces, harm = mutate(records, rng)
    stream = FlockStream(ADDRESSES, RANGE_IN, record_format=name)
    indices, ordinals, found = feed(stream, pieces)
    np.testing.assert_array_equal(ordinals, indices % len(ADDRESSES))
    is_wrong = keys(ordinals, found) != sent[indices]
    # what bytes lost and gained do is told, turned bits are only where the sensor may be
    assert set(harm[indices[is_wrong]].tolist()) == {TURNED}
    truth = poses.reshape(-1, 7)[indices, :3]
    assert np.linalg.norm(found[:, :3] - truth, axis=1).max() < 1.1 * Reach().distance_m
    assert 0.02 < is_wrong.sum() / (harm == TURNED).sum() < 0.6
    # a damaged record, and one next to it whose end or beginning it hides; one that is believed
    # near the end of the sensor's reach may cost the next two
    n_shifted, n_turned = (harm == SHIFTED).sum(), (harm == TURNED).sum()
    assert len(found) >= len(records) - 2 * n_shifted - 3 * n_turned - 1 - SETTLING
    assert n_shifted > 100 and stream.counters.implausible_records > 10


LINE_TICKS = 40
RECORDS = records_of(smooth_poses(np.random.default_rng(5), LINE_TICKS, len(LINE)))
# records at the beginning of a run, until each sensor's path is known
LINE_SETTLING = CONFIRMATIONS * len(LINE)


def received(stream: FlockStream, chunks: list[bytes]) -> list[tuple]:
    """Return (address, pose) of all records decoded from some reads."""
    records = [record for chunk in chunks for record in stream.feed(chunk)] + stream.flush()
    return [(LINE[record.ordinal], record.pose) for record in records]


# the first tick again and again, so that all of the rest continue a path
SENT = set(received(FlockStream(LINE, RANGE_IN), [b''.join(3 * RECORDS[:5] + RECORDS)]))


def test_records_of_unknown_units_are_rejected():
    stream = FlockStream((2, 3), RANGE_IN)
    received_addresses = {r[0] for r in received(stream, [b''.join(RECORDS[:15])])}
    assert received_addresses == {2, 3}
    assert stream.counters.rejected_records == 9


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


def test_lines_with_one_unit_have_no_address_bytes():
    stream = FlockStream((), RANGE_IN)
    bare = [record[:14] for record in RECORDS[::5]]
    assert len(stream.feed(b''.join(bare))) >= len(bare) - 1 - CONFIRMATIONS
