# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Messages and records: round trips over the wire, layouts, wrong lengths."""

from array import array
from typing import Any

import numpy as np
from puppet_core import sensor_frames
from puppet_msgs.msg import PoseFrame, TrackerFrame
from puppet_ros.messages import (
    from_pose_frame,
    from_tracker_frame,
    posture_msg,
    RetargetStatusRecord,
    RetargetStatusWriter,
    TrackerFrameWriter,
)
from puppet_ros.messages.flat_array import MessageError
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Header
from test_stream_reader import Case, CASES, flat, of_all, STAMP_NS

pytestmark = pytest.mark.ros

FIELDS = {
    'raw': ('poses', 'ages_s', 'status'),
    'filtered': ('poses', 'twists', 'covariances', 'twist_covariances', 'status'),
    'posture': ('root', 'rotations', 'segments', 'end_effectors', 'status'),
    'importance': ('end_effectors', 'self_interaction'),
}


def assert_same(got: Any, expected: Any) -> None:
    assert type(got) is type(expected)
    for one, other in zip(flat(got), flat(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def received(msg: Any) -> Any:
    msg.header.stamp.sec, msg.header.stamp.nanosec = divmod(STAMP_NS, 10**9)
    got = deserialize_message(serialize_message(msg), type(msg))
    assert got.header.frame_id == 'here'
    return got


@of_all
@pytest.mark.parametrize('names', [(), ('ab',), ('ab', 'c')])  # of two letters: UNKNOWN
def test_round_trip_over_the_wire_is_the_identity(case: Case, names: tuple[str, ...], rng) -> None:
    record = case.record(rng, names)
    assert_same(case.from_msg(received(case.to_msg(record, Header(frame_id='here')))), record)


def test_round_trip_of_a_status_is_the_identity(rng: np.random.Generator) -> None:
    parts = rng.normal(size=3), rng.random(4), rng.normal(size=4), rng.random(8)
    record = RetargetStatusRecord(
        STAMP_NS, 7, 'importance_based', 'sally', 41.5, 3, *parts, True, False, 100, 1
    )
    msg = received(RetargetStatusWriter('here').fill(record))
    for name, value in list(record._asdict().items())[1:]:
        np.testing.assert_array_equal(getattr(msg, name), value)


@pytest.mark.parametrize(
    ('name', 'field'), [(name, field) for name, fields in FIELDS.items() for field in fields]
)
def test_wrong_length_is_refused_by_name(name: str, field: str, rng) -> None:
    case = CASES[name]
    msg = case.to_msg(case.record(rng, ('ab', 'c')), Header())
    setattr(msg, field, array(getattr(msg, field).typecode, [1]))
    with pytest.raises(MessageError, match=f'{field}: expected'):
        case.from_msg(msg)


def test_tracker_frame_layout_is_xyz_then_xyzw() -> None:
    msg = TrackerFrame(sensors=['a', 'b'], frame_index=3)
    msg.poses = array('d', [1, 2, 3, 0.1, 0.2, 0.3, 0.9, 4, 5, 6, 0, 0, 0, 1])
    msg.ages_s, msg.status = array('d', [0.0, 0.001]), array('B', [0, 0])
    frame = from_tracker_frame(msg)
    np.testing.assert_array_equal(frame.positions, [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(frame.quaternions, [[0.9, 0.1, 0.2, 0.3], [1, 0, 0, 0]])
    assert frame.ages_s[1] == 0.001


def test_pose_frame_layout_is_linear_then_angular() -> None:
    msg = PoseFrame(sensors=['a'])
    msg.poses = array('d', [1, 2, 3, 0, 0, 0, 1])
    msg.twists, msg.covariances = array('d', range(6)), array('d', range(36))
    msg.status = array('B', [1])
    frame = from_pose_frame(msg)
    np.testing.assert_array_equal(frame.linear_velocities, [[0, 1, 2]])
    np.testing.assert_array_equal(frame.angular_velocities, [[3, 4, 5]])
    assert frame.covariances[0, 1, 2] == 8.0


def test_frame_without_sensors_is_empty_not_an_error() -> None:
    assert from_tracker_frame(TrackerFrame()).positions.shape == (0, 3)
    assert from_pose_frame(PoseFrame()).covariances.shape == (0, 6, 6)


def test_messages_of_a_writer_are_its_own(rng: np.random.Generator) -> None:
    writer = TrackerFrameWriter('transmitter')
    first = writer.fill(CASES['raw'].record(rng, ('a', 'b')))
    again = CASES['raw'].record(rng, ('a', 'b'))
    second = writer.fill(again)
    assert second is not first and second.header.frame_id == 'transmitter'
    assert_same(from_tracker_frame(second), again)


def test_posture_row_0_equals_the_root(rng: np.random.Generator) -> None:
    msg = posture_msg.to_msg(CASES['posture'].record(rng, ()), Header())
    assert msg.root[3:] == msg.rotations[:4]


def test_status_values_are_those_of_the_messages() -> None:
    assert sensor_frames.SAMPLE_OK == TrackerFrame.STATUS_OK
    assert sensor_frames.SAMPLE_MISSING == TrackerFrame.STATUS_MISSING
    for name in ('OK', 'PREDICTED', 'REJECTED', 'REINITIALISED', 'LOST'):
        ours = getattr(sensor_frames, f'FILTER_{name}')
        assert ours == getattr(PoseFrame, f'STATUS_{name}')
