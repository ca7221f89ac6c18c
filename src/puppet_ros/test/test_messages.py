# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The from_msg / to_msg pairs: round trips over the wire, layouts, wrong lengths."""

from array import array
from typing import Any

import numpy as np
from puppet_core import sensor_frames
from puppet_core.body.posture import Posture
from puppet_core.sensor_frames import FilteredFrame, SensorFrame, UNKNOWN
from puppet_msgs.msg import Importance, PoseFrame, TrackerFrame
from puppet_ros.messages import (
    from_pose_frame,
    from_tracker_frame,
    importance_msg,
    posture_msg,
    retarget_msg,
    RetargetStatusRecord,
    to_pose_frame,
    to_tracker_frame,
    TrackerFrameWriter,
)
from puppet_ros.messages.flat_array import MessageError
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Header

pytestmark = pytest.mark.ros

STAMP_NS = 1_790_000_000_123_456_789
SENSORS = ('pelvis', 'chest', 'left_hand')


def raw_frame(rng: np.random.Generator) -> SensorFrame:
    """Return three sensors, the last one missing."""
    positions, quaternions = rng.normal(size=(3, 3)), rng.normal(size=(3, 4))
    positions[2] = quaternions[2] = np.nan
    status = np.array([0, 0, 1], dtype=np.uint8)
    return SensorFrame(STAMP_NS, 7, SENSORS, positions, quaternions, rng.random(3), status)


def filtered_frame(rng: np.random.Generator) -> FilteredFrame:
    """Return three sensors with arbitrary numbers."""
    shapes = ((3, 3), (3, 4), (3, 3), (3, 3), (3, 6, 6))
    arrays = (rng.normal(size=shape) for shape in shapes)
    status = np.array([0, 2, 4], dtype=np.uint8)
    return FilteredFrame(STAMP_NS, 7, SENSORS, *arrays, status, rng.normal(size=(3, 6, 6)))


def filtered_frame_of_another(rng: np.random.Generator) -> FilteredFrame:
    """Return the same from a source that does not know how good its velocities are."""
    return filtered_frame(rng)._replace(twist_covariances=UNKNOWN)


def posture_record(rng: np.random.Generator) -> posture_msg.PostureRecord:
    """Return a posture with arbitrary numbers."""
    shapes = ((3,), (16, 4), (8, 3), (8, 3))
    posture = Posture(*(rng.normal(size=shape) for shape in shapes))
    status = rng.integers(0, 3, 16).astype(np.uint8)
    segments = rng.normal(size=(16, 3))
    return posture_msg.PostureRecord(STAMP_NS, 7, 'blubby', posture, segments, status, 0.8)


def importance_record(rng: np.random.Generator) -> importance_msg.ImportanceRecord:
    """Return a table with arbitrary numbers."""
    return importance_msg.ImportanceRecord(
        STAMP_NS,
        7,
        rng.normal(size=(4, 8)),
        rng.normal(size=(8, importance_msg.SELF_ROW_WIDTH)),
        ('floor', 'table'),
    )


def status_record(rng: np.random.Generator) -> RetargetStatusRecord:
    """Return a status with arbitrary numbers."""
    return RetargetStatusRecord(
        STAMP_NS,
        7,
        'importance_based',
        'sally',
        41.5,
        3,
        rng.normal(size=3),
        rng.random(4),
        rng.normal(size=4),
        rng.random(8),
        True,
        False,
        100,
        1,
    )


PAIRS = {
    'tracker_frame': (from_tracker_frame, to_tracker_frame, raw_frame),
    'pose_frame': (from_pose_frame, to_pose_frame, filtered_frame),
    'pose_frame_of_another': (from_pose_frame, to_pose_frame, filtered_frame_of_another),
    'posture': (posture_msg.from_msg, posture_msg.to_msg, posture_record),
    'importance': (importance_msg.from_msg, importance_msg.to_msg, importance_record),
    'retarget_status': (retarget_msg.from_msg, retarget_msg.to_msg, status_record),
}


def assert_same(got: Any, expected: Any) -> None:
    """Compare records field by field, nested ones too, NaN equal to NaN."""
    if isinstance(expected, Posture):
        for name in Posture.__slots__:
            assert_same(getattr(got, name), getattr(expected, name))
    elif isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(got, expected)
    elif hasattr(expected, '_fields'):
        for name in expected._fields:
            assert_same(getattr(got, name), getattr(expected, name))
    else:
        assert got == expected


@pytest.mark.parametrize('name', PAIRS)
def test_round_trip_over_the_wire_is_the_identity(name: str, rng: np.random.Generator) -> None:
    from_msg, to_msg, make = PAIRS[name]
    record = make(rng)
    msg = to_msg(record, Header(frame_id='here'))
    # the header given to to_msg is used as it is; the stamp comes from the writer otherwise
    msg.header.stamp.sec, msg.header.stamp.nanosec = divmod(STAMP_NS, 10**9)
    received = deserialize_message(serialize_message(msg), type(msg))
    assert received.header.frame_id == 'here'
    assert_same(from_msg(received), record)


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


@pytest.mark.parametrize('field', ['poses', 'ages_s', 'status'])
def test_wrong_length_in_a_tracker_frame_is_refused(field: str, rng: np.random.Generator) -> None:
    msg = to_tracker_frame(raw_frame(rng), Header())
    setattr(msg, field, array(getattr(msg, field).typecode, [1]))
    with pytest.raises(MessageError, match=f'{field}: expected'):
        from_tracker_frame(msg)


@pytest.mark.parametrize(
    'field', ['poses', 'twists', 'covariances', 'twist_covariances', 'status']
)
def test_wrong_length_in_a_pose_frame_is_refused(field: str, rng: np.random.Generator) -> None:
    msg = to_pose_frame(filtered_frame(rng), Header())
    setattr(msg, field, array(getattr(msg, field).typecode, [1]))
    with pytest.raises(MessageError, match=f'{field}: expected'):
        from_pose_frame(msg)


def test_frame_without_sensors_is_empty_not_an_error() -> None:
    assert from_tracker_frame(TrackerFrame()).positions.shape == (0, 3)
    assert from_pose_frame(PoseFrame()).covariances.shape == (0, 6, 6)


@pytest.mark.parametrize('field', ['root', 'rotations', 'segments', 'end_effectors', 'status'])
def test_wrong_length_in_a_posture_is_refused(field: str, rng: np.random.Generator) -> None:
    msg = posture_msg.to_msg(posture_record(rng), Header())
    setattr(msg, field, array(getattr(msg, field).typecode, [1]))
    with pytest.raises(MessageError, match=f'{field}: expected'):
        posture_msg.from_msg(msg)


def test_empty_importance_is_refused() -> None:
    with pytest.raises(MessageError, match='end_effectors: expected 4 x 8 numbers, got 0'):
        importance_msg.from_msg(Importance())


def test_importance_without_self_interaction_is_that_of_a_body_far_from_itself(
    rng: np.random.Generator,
) -> None:
    """Other publishers may leave the field out."""
    msg = importance_msg.to_msg(importance_record(rng), Header())
    msg.self_interaction = array('d')
    received = deserialize_message(serialize_message(msg), Importance)
    record = importance_msg.from_msg(received)
    assert record.self_rows.shape == (8, importance_msg.SELF_ROW_WIDTH)
    assert not record.self_rows.any()


@pytest.mark.parametrize('missing', [1, importance_msg.SELF_ROW_WIDTH])
def test_part_of_a_self_interaction_is_refused(rng: np.random.Generator, missing: int) -> None:
    msg = importance_msg.to_msg(importance_record(rng), Header())
    msg.self_interaction = msg.self_interaction[:-missing]
    with pytest.raises(MessageError, match='self_interaction: expected 8 x 197 numbers, got'):
        importance_msg.from_msg(msg)


def test_kernel_inputs_are_contiguous(rng: np.random.Generator) -> None:
    frame = from_tracker_frame(to_tracker_frame(raw_frame(rng), Header()))
    posture = posture_msg.from_msg(posture_msg.to_msg(posture_record(rng), Header())).posture
    table = importance_msg.from_msg(importance_msg.to_msg(importance_record(rng), Header()))
    inputs = [getattr(posture, name) for name in Posture.__slots__]
    for values in (frame.positions, frame.quaternions, table.rows, table.self_rows, *inputs):
        assert values.flags.c_contiguous and values.flags.writeable


def test_messages_of_a_writer_are_its_own(rng: np.random.Generator) -> None:
    writer = TrackerFrameWriter('transmitter')
    first = writer.fill(raw_frame(rng))
    again = raw_frame(rng)._replace(frame_index=8)
    second = writer.fill(again)
    assert second is not first and second.header.frame_id == 'transmitter'
    assert_same(from_tracker_frame(second), again)


def test_posture_row_0_equals_the_root(rng: np.random.Generator) -> None:
    msg = posture_msg.to_msg(posture_record(rng), Header())
    assert msg.root[3:] == msg.rotations[:4]


def test_status_values_are_those_of_the_messages() -> None:
    assert sensor_frames.SAMPLE_OK == TrackerFrame.STATUS_OK
    assert sensor_frames.SAMPLE_MISSING == TrackerFrame.STATUS_MISSING
    for name in ('OK', 'PREDICTED', 'REJECTED', 'REINITIALISED', 'LOST'):
        ours = getattr(sensor_frames, f'FILTER_{name}')
        assert ours == getattr(PoseFrame, f'STATUS_{name}')
