# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What records say is wrong with a sensor: when it counts, of whom, and when it has passed."""

from birdnet_bytes import ADDRESSES, N_SENSORS, new_stream, PACKETS
from hypothesis import given, settings
from hypothesis import strategies as st
from puppet_driver.devices.birdnet import decode_header, encode_packet, HEADER_BYTES
from puppet_driver.devices.decoding import KEPT_NS, SensorErrors

SECOND_NS = 10**9


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40))
def test_an_error_said_twice_stands_until_it_has_not_been_said_for_five_seconds(said):
    errors = SensorErrors(2)
    now_s, before, error, error_s = 0, 0, 0, 0
    for code, step_s in said:
        now_s += step_s
        errors.record(1, code, now_s * SECOND_NS)
        if code and code == before:
            error, error_s = code, now_s
        before = code
        expected = error if now_s - error_s < KEPT_NS // SECOND_NS else 0
        assert errors.standing(1) == expected
    assert errors.standing(0) == 0


def errors_after(error: int, unit: int, n_packets: int, *quiet_s: int) -> list[list[str]]:
    """Return what is said of the sensors after packets with an error, and after sound ones."""
    stream = new_stream()
    packets = iter(PACKETS)
    found = []
    for _ in range(n_packets):
        packet = next(packets)
        header = decode_header(packet)._replace(error=error, unit=unit)
        stream.feed(encode_packet(header, packet[HEADER_BYTES:]))
    found.append([stream.sensor_error(i) for i in range(N_SENSORS)])
    for time_s in quiet_s:
        stream.feed(next(packets), time_s * SECOND_NS)
        found.append([stream.sensor_error(i) for i in range(N_SENSORS)])
    return found


def test_an_error_of_a_motionstar_is_of_all_its_sensors_and_passes():
    text = 'error 4 (sequence number repeated)'
    assert errors_after(4, 0, 3, 4, 5) == [[text] * N_SENSORS] * 2 + [[''] * N_SENSORS]
    assert errors_after(4, 0, 1, 1) == [[''] * N_SENSORS] * 2


def test_an_error_of_a_unit_is_of_its_sensor():
    expected = [''] * N_SENSORS
    expected[2] = 'error 200 (not described in the manuals)'
    assert errors_after(200, ADDRESSES[2], 3) == [expected]
