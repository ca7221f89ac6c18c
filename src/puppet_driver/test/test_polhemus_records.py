# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Polhemus records: what the emulator writes the driver reads, in every form."""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from polhemus_bytes import MODELS, open_stream, records_of
from puppet_core.math import quaternions as quaternion_batch
from puppet_driver.devices import polhemus
from puppet_driver.devices.flock_of_birds import METRES_PER_INCH
from puppet_driver.devices.polhemus import decimal, Fastrak, Liberty
from puppet_driver.emulator.polhemus_simulator import encode_records, POWER_UP_ITEMS
import pytest

ANGLE_TOL = {True: 3e-4, False: 1e-6}  # of decimal and of binary numbers [rad]
POSITION_TOL_M = {True: 0.00501 * 0.01, False: 2e-7}  # a float32 of a few hundred centimetres
coordinates = st.floats(-2.5, 2.5)
quaternions = st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)


def decode(name, record):
    stream = open_stream(name)
    assert stream.record_pattern.fullmatch(record)
    found = stream.decode(record)
    return None if found is None else np.array(found[1])


@pytest.mark.parametrize('name', MODELS)
@settings(max_examples=60, deadline=None)
@given(position=st.tuples(coordinates, coordinates, coordinates), q=quaternions)
def test_every_format_survives_the_line(name, position, q):
    pose = np.concatenate((position, quaternion_batch.normalize(np.array(q))))
    _, record = records_of(name, np.array([[pose, pose]]))
    layout = MODELS[name].layout
    assert len(record) == len(layout.allowed)
    back = decode(name, record)
    np.testing.assert_allclose(back[:3], pose[:3], atol=POSITION_TOL_M[layout.is_ascii])
    turned = min(np.linalg.norm(back[3:] - pose[3:]), np.linalg.norm(back[3:] + pose[3:]))
    assert 4.0 * np.arcsin(0.5 * turned) < ANGLE_TOL[layout.is_ascii]


def test_a_fastrak_wakes_up_with_decimals_of_angles_in_inches():
    half = np.radians(15.0)
    # the nose up by 30 degrees is an elevation, of which REP-103's pitch is the reverse
    pose = np.array([[0.254, 0.0, -0.0508, np.cos(half), 0.0, -np.sin(half), 0.0]])
    layout = Fastrak.layout._replace(is_ascii=True)
    record = encode_records(layout, POWER_UP_ITEMS, 2, pose, METRES_PER_INCH)
    text = record.tobytes().replace(b'-0.00', b' 0.00')
    assert text == b'02   10.00   0.00   2.00   0.00  30.00   0.00\r\n'


def test_binary_record_of_the_manual():
    body = struct.pack('<7f', 100.0, 0.0, -50.0, 1.0, 0.0, 0.0, 0.0) + b'\r\n'
    record = b'LY' + bytes((2,)) + b'C ' + bytes(1) + struct.pack('<h', 30) + body
    np.testing.assert_allclose(decode('liberty', record), [1.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0])


@given(st.integers(-99999, 99999))
@pytest.mark.parametrize('form', ['{:7.2f}', '{:+7.2f}', '{:07.2f}', '{: =+7.2f}'])
def test_decimals_are_read_however_they_are_padded(form, hundredths):
    assert decimal(form.format(hundredths / 100).encode()) == hundredths / 100


@pytest.mark.parametrize('text', ['1 2.000', '--1.000', '-+1.000', '  .    ', '12.3 45'])
def test_what_is_no_decimal_is_refused(text):
    with pytest.raises(ValueError):
        decimal(text.encode())


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
    record = b'LY\x01C \x00' + struct.pack('<h7f', 30, *values) + b'\r\n'
    assert decode('liberty', record) is None


def test_commands_are_those_of_the_manual():
    assert polhemus.command(polhemus.ITEMS, 3, *polhemus.FASTRAK_ITEMS) == b'O3,2,11,1\r'
    assert polhemus.command(polhemus.ITEMS, '*', *polhemus.LIBERTY_ITEMS) == b'O*,2,7,1\r'
    assert (len(Fastrak.layout.allowed), len(Liberty.layout.allowed)) == (33, 38)
