# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Peeking into serialised messages agrees with decoding them."""

from puppet_msgs.msg import Importance, PoseFrame, Posture, TrackerFrame
from puppet_ros.messages import raw_header
from puppet_ros.messages.flat_array import MessageError
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState


@pytest.mark.parametrize('kind', [TrackerFrame, PoseFrame, Posture, Importance])
@pytest.mark.parametrize('frame_id', ['', 'w', 'world', 'transmitter', 'abcdefgh'])
def test_index_and_stamp_are_those_of_the_message(kind: type, frame_id: str) -> None:
    msg = kind(frame_index=2**40 + 7)
    msg.header.frame_id = frame_id
    msg.header.stamp.sec, msg.header.stamp.nanosec = 1795219683, 987654321
    data = serialize_message(msg)
    assert raw_header.stamp_ns(data) == 1795219683987654321
    assert raw_header.frame_index(data) == 2**40 + 7


def test_joint_state_has_its_stamp_in_the_same_place() -> None:
    msg = JointState(name=['a'], position=[1.0])
    msg.header.stamp.sec = 12
    assert raw_header.stamp_ns(serialize_message(msg)) == 12 * 10**9


@pytest.mark.parametrize('data', [b'', b'\0', b'\0\1\0\0\0\0\0\0', b'\0\1' + bytes(14)])
def test_short_data_is_refused(data: bytes) -> None:
    with pytest.raises(MessageError, match='header: expected'):
        raw_header.stamp_ns(data)
        raw_header.frame_index(data)
