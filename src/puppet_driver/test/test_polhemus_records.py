# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Polhemus records: what the emulator writes the driver reads, in every form."""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from polhemus_bytes import open_stream, poses_of
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as quaternion_batch
from puppet_driver.devices import fastrak, liberty
from puppet_driver.devices.decoding import ANYWHERE
from puppet_driver.devices.flock_of_birds import METRES_PER_INCH
from puppet_driver.devices.polhemus import (
    decimal,
    fastrak_layout,
    liberty_layout,
    METRES_PER_CENTIMETRE,
    PolhemusStream,
    RecordLayout,
)
from puppet_driver.emulator.polhemus_simulator import encode_records, RecordExtras
import pytest

LINE_TOL_M = 2e-7  # a float32 of a few hundred centimetres
ANGLE_TOL = {'binary': 1e-6, 'ascii': 3e-4}  # [rad]
FORMATS = [
    *(
        ('fastrak', items, is_ascii)
        for items in (
            (2, 11, 1),
            (2, 4, 1),
            (2, 5, 6, 7),
            (11, 0, 2, 16, 1),
            (4, 2),
            (16, 2, 0, 11),
        )
        for is_ascii in (False, True)
    ),
    *(
        ('liberty', items, False)
        for items in ((2, 7, 1), (2, 7), (8, 9, 10, 2, 7), (7, 0, 2), (2, 4, 1))
    ),
    ('patriot', (2, 7, 1), False),
]

coordinates = st.floats(-2.5, 2.5)
quaternions = st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)


def layout_of(family: str, items: tuple[int, ...], is_ascii: bool) -> RecordLayout:
    """Return the layout of four stations, of two for a Patriot."""
    if family == 'fastrak':
        return fastrak_layout(4, items, is_ascii)
    return liberty_layout(4, items) if family == 'liberty' else liberty_layout(2, items, b'PA', 2)


def decode(
    layout: RecordLayout,
    record: bytes,
    metres: float = METRES_PER_CENTIMETRE,
    inverted: bool = False,
) -> np.ndarray | None:
    """Return the pose of a record, None if it cannot be one."""
    stream = PolhemusStream(layout, metres, ANYWHERE, inverted)
    assert stream.record_pattern.fullmatch(record)
    found = stream.decode(record)
    return None if found is None else np.array(found[1])


def angle_between(a: np.ndarray, b: np.ndarray) -> float:
    """Return the angle between two orientations, exact for small ones [rad]."""
    return 4.0 * float(np.arcsin(0.5 * min(np.linalg.norm(a - b), np.linalg.norm(a + b))))


@pytest.mark.parametrize('metres', [METRES_PER_CENTIMETRE, METRES_PER_INCH], ids=['cm', 'inch'])
@pytest.mark.parametrize('family, items, is_ascii', FORMATS)
@settings(max_examples=30, deadline=None)
@given(position=st.tuples(coordinates, coordinates, coordinates), q=quaternions)
def test_every_format_survives_the_line(family, items, is_ascii, metres, position, q):
    layout = layout_of(family, items, is_ascii)
    pose = np.concatenate((position, quaternion_batch.normalize(np.array(q))))
    record = encode_records(layout, 2, pose[None], metres, RecordExtras())[0]
    assert len(record) == layout.record_bytes
    back = decode(layout, record.tobytes(), metres)
    step = 0.00501 * metres if is_ascii else LINE_TOL_M
    np.testing.assert_allclose(back[:3], pose[:3], atol=step)
    assert angle_between(back[3:], pose[3:]) < ANGLE_TOL['ascii' if is_ascii else 'binary']


@pytest.mark.parametrize(
    'angles, axis, expected',
    [
        ('   0.00  30.00   0.00', (1.0, 0.0, 0.0), (0.75**0.5, 0.0, 0.5)),
        ('   0.00   0.00  30.00', (0.0, 1.0, 0.0), (0.0, 0.75**0.5, 0.5)),
    ],
    ids=['elevation_lifts_the_nose', 'roll_lifts_the_left'],
)
def test_angles_mean_what_the_manual_says(angles, axis, expected):
    # azimuth about Z, elevation about Y, roll about X of axes with Y right and Z down
    record = b'01    0.00   0.00   0.00' + angles.encode() + b'\r\n'
    pose = decode(fastrak_layout(1, (2, 4, 1), True), record)
    np.testing.assert_allclose(quaternion_batch.rotate(pose[3:], axis), expected, atol=1e-12)


def test_binary_record_of_the_manual():
    layout = liberty_layout(2, (2, 7))
    body = struct.pack('<7f', 100.0, 0.0, -50.0, 1.0, 0.0, 0.0, 0.0)
    record = b'LY' + bytes((2,)) + b'C ' + bytes(1) + struct.pack('<h', 28) + body
    assert len(record) == layout.record_bytes == 36
    np.testing.assert_allclose(decode(layout, record), [1.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0])


@given(st.integers(-99999, 99999))
@pytest.mark.parametrize('form', ['{:7.2f}', '{:+7.2f}', '{:07.2f}', '{: =+7.2f}'])
def test_decimals_are_read_however_they_are_padded(form, hundredths):
    text = form.format(hundredths / 100).encode()
    assert decimal(text) == hundredths / 100


@pytest.mark.parametrize('text', ['1 2.000', '--1.000', '-+1.000', '  .    ', '12.3 45'])
def test_what_is_no_decimal_is_refused(text):
    with pytest.raises(ValueError):
        decimal(text.encode())


@pytest.mark.parametrize(
    'items', [(), (2,), (11,), (2, 2, 11), (2, 4, 11), (2, 5, 6), (2, 6, 5, 7)]
)
def test_items_that_make_no_pose_are_refused(items):
    with pytest.raises(ConfigError, match='items: expected a position and one of'):
        fastrak_layout(1, items, True)


@pytest.mark.parametrize(
    'values',
    [
        (1001.0, 0, 0, 1, 0, 0, 0),
        (0, 0, 0, 1.01, 0, 0, 0),
        (0, 0, 0, 0, 0, 0, 0),
        (float('nan'), 0, 0, 1, 0, 0, 0),
        (0, 0, 0, float('inf'), 0, 0, 0),
    ],
)
def test_impossible_poses_are_refused(values):
    body = struct.pack('<7f', *values)
    record = b'LY\x01C \x00' + struct.pack('<h', 28) + body
    assert decode(liberty_layout(1, (2, 7)), record) is None


def test_a_mirrored_matrix_is_refused():
    text = '   0.00   0.00   0.00' + ' 1.0000 0.0000 0.0000 0.0000 1.0000 0.0000'
    for last, is_good in ((' 0.0000 0.0000 1.0000', True), (' 0.0000 0.0000-1.0000', False)):
        record = b'01 ' + (text + last).encode()
        assert (decode(fastrak_layout(1, (2, 5, 6, 7), True), record) is not None) == is_good


def test_status_stylus_time_and_frame_are_kept():
    layout = liberty_layout(4, (8, 9, 10, 2, 7))
    poses = poses_of(3)
    extras = RecordExtras(status=ord('b'), is_pressed=True, start_tick=60, rate_hz=120.0)
    data = encode_records(layout, 1, poses[:, 0], METRES_PER_CENTIMETRE, extras)
    stream = open_stream(layout)
    stream.feed(data.tobytes())
    stream.flush()
    assert stream.station(0) == ('b', True, 517, 62)
    assert stream.station(1) == ('', False, 0, 0)


def test_commands_are_those_of_the_manual():
    assert fastrak.command(fastrak.ITEMS, 3, 2, 11, 0) == b'O3,2,11,0\r'
    assert liberty.command(liberty.ITEMS, (2, 7, 1)) == b'O*,2,7,1\r'
