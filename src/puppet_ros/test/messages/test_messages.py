# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Records of messages: read from bytes, round trips over the wire, layouts, wrong lengths."""

from array import array
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from puppet_core import sensor_frames
from puppet_core.body.posture import NO_PROPS, Posture, Props
from puppet_core.sensor_frames import FilteredFrame, SensorFrame, UNKNOWN
from puppet_msgs.msg import PoseFrame, TrackerFrame
from puppet_ros.messages import (
    from_pose_frame,
    from_tracker_frame,
    importance_msg,
    PoseFrameReader,
    PoseFrameWriter,
    posture_msg,
    TrackerFrameReader,
    TrackerFrameWriter,
)
from puppet_ros.messages.cdr import StreamReader, StreamWriter
from puppet_ros.messages.flat_array import MessageError
from puppet_ros.messages.joint_msg import JointStateWriter
from puppet_ros.messages.tf_message import TransformsWriter
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

STAMP_NS = 1_790_000_000_123_456_789
Draw = np.random.Generator


def _names(rng):
    return tuple('abc'[:i] + 'x' * int(rng.integers(1, 4)) for i in range(rng.integers(0, 4)))


def _raw(rng, names):
    n = len(names)
    poses = rng.normal(size=(n, 3)), rng.normal(size=(n, 4))
    status = rng.integers(0, 2, n).astype(np.uint8)
    return SensorFrame(STAMP_NS, int(rng.integers(99)), names, *poses, rng.random(n), status)


def _filtered(rng, names):
    n = len(names)
    arrays = (rng.normal(size=(n, *shape)) for shape in ((3,), (4,), (3,), (3,), (6, 6)))
    known = len(''.join(names)) % 2
    head, status = (STAMP_NS, int(rng.integers(99)), names), rng.integers(0, 5, n)
    twists = rng.normal(size=(n, 6, 6)) if known and n else UNKNOWN
    return FilteredFrame(*head, *arrays, status.astype(np.uint8), twists)


def _props(rng, names):
    n = len(names)
    return Props(names, rng.normal(size=(n, 3)), rng.normal(size=(n, 4))) if n else NO_PROPS


def _posture(rng, names):
    arrays = (rng.normal(size=shape) for shape in ((3,), (16, 4), (8, 3), (8, 3)))
    posture = Posture(*arrays, _props(rng, names))
    head, status = (STAMP_NS, int(rng.integers(99)), ''.join(names)), rng.integers(0, 3, 16)
    rest = rng.normal(size=(16, 3)), status.astype(np.uint8), float(rng.random())
    return posture_msg.PostureRecord(*head, posture, *rest, 'here')


def _importance(rng, names):
    rows, own = rng.normal(size=(8, 8)), np.zeros((8, importance_msg.SELF_ROW_WIDTH))
    rows[:4, 7] = rng.integers(-1, 9, 4)
    rows[4:, [1, 2, 7]] = 0.0, 0.0, -1.0
    rows[4:] = rows[4:].astype(np.float32)
    own[:, :2] = rng.normal(size=(8, 2))
    contacts = own[:, 2:].reshape(8, 32, 5)
    contacts[..., 0] = -1.0
    for j in np.flatnonzero(rng.random(8) < 0.5):
        n = int(rng.integers(1, 33))
        contacts[j, :n] = (rng.random((n, 5)) + 0.1).astype(np.float32)
        contacts[j, :n, 0] = rng.integers(0, 640, n)
    of_frame = STAMP_NS, int(rng.integers(99))
    moving = _props(rng, names[:1])
    record = importance_msg.ImportanceRecord(*of_frame, rows, own, names, 'here', moving)
    return record._replace(rests=_rests(rng, len(names)))


def _rests(rng, n_objects):
    rests = importance_msg.NO_RESTS.copy()
    n = int(rng.integers(0, 65)) if n_objects else 0
    rests[:n, 0], rests[:n, 1] = rng.integers(0, max(n_objects, 1), n), rng.integers(0, 16, n)
    rests[:n, 2], rests[:n, 3] = rng.random(n), rng.normal(size=n)
    return rests


class Case(NamedTuple):
    from_msg: Callable[[Any], Any]
    writer: Callable[[str], StreamWriter]
    reader: Callable[[], StreamReader[Any]]
    record: Callable[[Draw, tuple[str, ...]], Any]


CASES = {
    'raw': Case(from_tracker_frame, TrackerFrameWriter, TrackerFrameReader, _raw),
    'filtered': Case(from_pose_frame, PoseFrameWriter, PoseFrameReader, _filtered),
    'posture': Case(
        posture_msg.from_msg,
        lambda _: posture_msg.PostureWriter(),
        posture_msg.PostureReader,
        _posture,
    ),
    'importance': Case(
        importance_msg.from_msg,
        lambda _: importance_msg.ImportanceWriter(),
        importance_msg.ImportanceReader,
        _importance,
    ),
}
of_all = pytest.mark.parametrize('case', CASES.values(), ids=CASES)


def flat(record):
    if isinstance(record, Posture):
        return flat(tuple(getattr(record, name) for name in Posture.__slots__))
    if isinstance(record, tuple):
        return [value for part in record for value in flat(part)]
    return [record]


def message(case, rng, names, frame_id):
    record = case.record(rng, names)
    if hasattr(record, 'frame_id'):
        record = record._replace(frame_id=frame_id)
    msg = case.writer(frame_id).fill(record)
    msg.header.stamp.sec, msg.header.stamp.nanosec = int(rng.integers(99)), int(rng.integers(99))
    return msg


FIELDS = {
    'raw': ('positions', 'orientations', 'ages_s', 'status'),
    'filtered': ('linear_velocities', 'pose_covariances', 'twist_covariances', 'status'),
    'importance': (
        *('contact_samples', 'contact_weights', 'contact_displacements'),
        *('rest_segments', 'rest_importances', 'rest_gaps'),
    ),
}


def assert_same(got, expected):
    assert type(got) is type(expected)
    for one, other in zip(flat(got), flat(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def received(msg):
    msg.header.stamp.sec, msg.header.stamp.nanosec = divmod(STAMP_NS, 10**9)
    got = deserialize_message(serialize_message(msg), type(msg))
    assert got.header.frame_id == 'here'
    return got


@of_all
@pytest.mark.parametrize('names', [(), ('ab',), ('ab', 'c')])  # of two letters: UNKNOWN
def test_round_trip_over_the_wire_is_the_identity(case, names, rng):
    record = case.record(rng, names)
    assert_same(case.from_msg(received(case.writer('here').fill(record))), record)


@pytest.mark.parametrize(
    ('name', 'field'), [(name, field) for name, fields in FIELDS.items() for field in fields]
)
def test_wrong_length_is_refused_by_name(name, field, rng):
    case = CASES[name]
    msg = case.writer('').fill(case.record(rng, ('ab', 'c')))
    setattr(msg, field, array(getattr(msg, field).typecode, [1] * 300))
    with pytest.raises(MessageError, match=f'{field}: expected'):
        case.from_msg(msg)


def test_orientations_are_xyzw():
    msg = TrackerFrame(sensors=['a', 'b'], frame_index=3)
    msg.positions = array('d', [1, 2, 3, 4, 5, 6])
    msg.orientations = array('d', [0.1, 0.2, 0.3, 0.9, 0, 0, 0, 1])
    msg.ages_s, msg.status = array('d', [0.0, 0.001]), array('B', [0, 0])
    frame = from_tracker_frame(msg)
    np.testing.assert_array_equal(frame.positions, [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(frame.quaternions, [[0.9, 0.1, 0.2, 0.3], [1, 0, 0, 0]])
    assert frame.ages_s[1] == 0.001


def test_contacts_that_are_none_are_refused(rng):
    case = CASES['importance']
    msg = case.writer('').fill(case.record(rng, ()))
    for end, n, is_well in ((7, 32, True), (8, 1, False), (0, 33, False)):
        for name, width in importance_msg.CONTACT_FIELDS.items():
            setattr(msg, name, array(getattr(msg, name).typecode, [end] * (n * width)))
        with nullcontext() if is_well else pytest.raises(MessageError, match='contacts: expected'):
            assert (case.from_msg(msg).self_rows[7, 2::5] == 40 * end + end).all()


@pytest.mark.parametrize(
    ('n', 'segment', 'on', 'is_well'),
    [
        (64, 15, 1, True),
        (65, 15, 1, False),
        (1, 16, 1, False),
        (1, 15, 2, False),
        (1, 15, -1, False),
    ],
    ids=['most', 'too many', 'no segment', 'no object', 'negative'],
)
def test_rests_that_are_none_are_refused(n, segment, on, is_well, rng):
    """Solvers take segment and object as indices."""
    case = CASES['importance']
    msg = case.writer('').fill(case.record(rng, ('a', 'b')))
    columns = [on] * n, [segment] * n, [0.5] * n, [-0.125] * n
    for name, values in zip(importance_msg.REST_FIELDS, columns):
        setattr(msg, name, array(getattr(msg, name).typecode, values))
    with nullcontext() if is_well else pytest.raises(MessageError, match='rests: expected up to'):
        np.testing.assert_array_equal(case.from_msg(msg).rests[:n], np.transpose(columns))


def test_status_values_are_those_of_the_messages():
    assert sensor_frames.SAMPLE_OK == TrackerFrame.STATUS_OK
    assert sensor_frames.SAMPLE_MISSING == TrackerFrame.STATUS_MISSING
    for name in ('OK', 'PREDICTED', 'REJECTED', 'REINITIALISED', 'LOST'):
        ours = getattr(sensor_frames, f'FILTER_{name}')
        assert ours == getattr(PoseFrame, f'STATUS_{name}')


@of_all
def test_records_are_those_of_the_messages(case, rng):
    """Also where texts and lengths change from one message to the next."""
    reader = case.reader()
    for _ in range(20):
        names, frame_id = _names(rng), 'w' * int(rng.integers(5))
        for _ in range(3):
            msg = message(case, rng, names, frame_id)
            data = serialize_message(msg)
            expected = case.from_msg(msg)
            record = reader.read(data)
            assert type(record) is type(expected) and reader.frame_id == frame_id
            for got, wanted in zip(flat(record), flat(expected), strict=True):
                np.testing.assert_array_equal(got, wanted)
                if isinstance(wanted, np.ndarray):  # what kernels are compiled for
                    assert got.shape == wanted.shape and got.dtype == wanted.dtype
                    assert got.flags.c_contiguous and got.flags.aligned


@of_all
@pytest.mark.parametrize('cut', [3, 30, 10_000])
def test_bytes_that_are_cut_are_refused_and_do_no_harm(case, cut, rng):
    reader, msg = case.reader(), message(case, rng, ('a', 'b', 'c'), 'world')
    data = serialize_message(msg)
    for _ in range(2):
        assert reader.read(data).stamp_ns == case.from_msg(msg).stamp_ns
        with pytest.raises(MessageError):
            reader.read(data[: max(len(data) - cut, 0)])


@of_all
@pytest.mark.parametrize(('seconds', 'nanoseconds'), [(-1, 0), (0, 10**9)])
def test_a_stamp_that_is_no_time_is_refused(case, seconds, nanoseconds, rng):
    reader, msg = case.reader(), message(case, rng, ('a',), 'world')
    reader.read(serialize_message(msg))
    msg.header.stamp.sec, msg.header.stamp.nanosec = seconds, nanoseconds
    with pytest.raises(MessageError, match='stamp'):
        reader.read(serialize_message(msg))


def test_joint_state_carries_names_angles_and_stamp():
    writer = JointStateWriter(['a_z', 'a_y'], 'world')
    writer.fill(1, np.zeros(2))
    msg = writer.fill(STAMP_NS, np.array([0.5, -0.5]))
    msg = deserialize_message(serialize_message(msg), JointState)
    assert list(msg.name) == ['a_z', 'a_y'] and list(msg.position) == [0.5, -0.5]
    assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == divmod(STAMP_NS, 10**9)
    assert len(msg.velocity) == 0 and msg.header.frame_id == 'world'


def test_every_transform_has_stamp_frames_and_xyzw(rng):
    frames = [('world', 'puppet/pelvis'), ('puppet/pelvis', 'puppet/spine')]
    positions, quaternions = rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
    msg = TransformsWriter(frames).fill(STAMP_NS, positions, quaternions)
    msg = deserialize_message(serialize_message(msg), TFMessage)
    for item, names, p, q in zip(msg.transforms, frames, positions, quaternions):
        t, r = item.transform.translation, item.transform.rotation
        assert (item.header.frame_id, item.child_frame_id) == names
        assert (item.header.stamp.sec, item.header.stamp.nanosec) == divmod(STAMP_NS, 10**9)
        assert [t.x, t.y, t.z] == p.tolist()
        assert [r.w, r.x, r.y, r.z] == q.tolist()


def test_wrong_number_of_transforms_is_refused():
    with pytest.raises(ValueError, match='zip'):
        TransformsWriter([('a', 'b')]).fill(0, np.zeros((2, 3)), np.zeros((2, 4)))
