# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes of messages against the middleware's own, stream writers against both, rows of fields."""

from array import array

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
import numpy as np
from puppet_core.sensor_frames import SensorFrame
from puppet_msgs.msg import Importance, PoseFrame, Posture, RetargetStatus, TrackerFrame
from puppet_ros.messages import flat_array, raw_header
from puppet_ros.messages.cdr import decoded, encoded
from puppet_ros.messages.flat_array import MessageError
from puppet_ros.messages.sensor_msg import TrackerFrameWriter
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

KINDS = (TrackerFrame, PoseFrame, Posture, Importance, RetargetStatus, JointState)
by_kind = pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.__name__)


def filled(kind, rng):
    msg = kind()
    for name, form in kind.get_fields_and_field_types().items():
        value = getattr(msg, name)
        if form == 'sequence<double>':
            setattr(msg, name, array('d', rng.normal(size=rng.integers(0, 6))))
        elif form == 'sequence<float>':
            setattr(msg, name, array('f', range(rng.integers(0, 6))))
        elif form == 'sequence<uint8>':
            setattr(msg, name, array('B', bytes(range(rng.integers(0, 6)))))
        elif form == 'sequence<string>':
            setattr(msg, name, ['x' * int(n) for n in rng.integers(0, 5, 3)])
        elif '[' in form:
            value[:] = rng.integers(0, 9, len(value))
        elif form in ('double', 'string'):
            setattr(msg, name, float(rng.normal()) if form == 'double' else 'ab')
    msg.header.stamp.sec, msg.header.frame_id = int(rng.integers(9)), 'w' * int(rng.integers(5))
    return msg


@by_kind
def test_bytes_are_the_message_for_the_middleware(kind, rng):
    for _ in range(20):
        msg = filled(kind, rng)
        assert deserialize_message(encoded(msg), kind) == msg


def test_bytes_of_a_stream_are_those_of_its_messages(rng):
    """Also where texts and lengths change from one message to the next."""
    writer = TrackerFrameWriter('world')
    for n in (0, 2, 2, 2, 3, 3, 0):
        names = tuple('x' * int(length) for length in rng.integers(1, 3, n))
        head = int(rng.integers(1 << 60)), int(rng.integers(99)), names
        poses = rng.normal(size=(n, 3)), rng.normal(size=(n, 4))
        frame = SensorFrame(*head, *poses, rng.random(n), rng.integers(0, 2, n).astype(np.uint8))
        assert writer.data(frame) == encoded(writer.fill(frame))


def test_lists_of_messages_are_written_plainly():
    msg = TFMessage(transforms=[TransformStamped(child_frame_id=name) for name in ('a', 'bcd')])
    msg.transforms[1].transform.rotation.w = 0.5
    assert deserialize_message(encoded(msg), TFMessage) == msg


def test_bytes_of_something_else_are_refused(rng):
    data = bytearray(serialize_message(filled(TrackerFrame, rng)))
    for end in range(0, len(data) - 8, 3):
        with pytest.raises(MessageError, match='TrackerFrame: expected its bytes'):
            decoded(bytes(data[:end]), TrackerFrame)


@pytest.mark.parametrize('kind', [TrackerFrame, PoseFrame, Posture, Importance])
@pytest.mark.parametrize('frame_id', ['', 'w', 'world', 'transmitter', 'abcdefgh'])
def test_index_and_stamp_are_those_of_the_message(kind, frame_id):
    msg = kind(frame_index=2**40 + 7)
    msg.header.frame_id = frame_id
    msg.header.stamp.sec, msg.header.stamp.nanosec = 1795219683, 987654321
    data = serialize_message(msg)
    assert raw_header.stamp_ns(data) == 1795219683987654321
    assert raw_header.frame_index(data) == 2**40 + 7


@pytest.mark.parametrize('data', [b'', b'\0', b'\0\1\0\0\0\0\0\0', b'\0\1' + bytes(14)])
def test_short_data_is_refused(data):
    with pytest.raises(MessageError, match='header: expected'):
        raw_header.stamp_ns(data)
        raw_header.frame_index(data)


@pytest.mark.parametrize('ns', [0, 999_999_999, 1_000_000_000, 1_790_000_000_123_456_789])
def test_stamp_round_trip_is_exact(ns):
    stamp = Time()
    flat_array.write_stamp(ns, stamp)
    assert flat_array.stamp_ns(stamp) == ns
