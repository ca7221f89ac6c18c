# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The performer node on topics: calibration by itself, by service, from a file; bad input."""

from pathlib import Path
import time

import numpy as np
import pytest
from virtual_performer import make_virtual, random_posture

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core import named_files  # noqa: E402
from puppet_core.body.character import save_character  # noqa: E402,I100
from puppet_core.body.skeleton import SEGMENT_INDEX  # noqa: E402
from puppet_core.io import CalibrationError  # noqa: E402
from puppet_core.math import quaternions  # noqa: E402
from puppet_core.sensor_frames import FILTER_LOST  # noqa: E402
from puppet_msgs.msg import PoseFrame, Posture  # noqa: E402
from puppet_msgs.srv import Calibrate  # noqa: E402
from puppet_performer.calibration.calibration import save_calibration  # noqa: E402
from puppet_performer.performer_node import PerformerNode  # noqa: E402
from puppet_performer.posture import PostureConfig  # noqa: E402
from puppet_ros.messages import PoseFrameWriter, posture_msg  # noqa: E402
from puppet_ros.messages.tf_message import TransformsWriter  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.testing import spin_until  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

DEADLINE_S = 60.0
LAYOUT = named_files.layout_file('default14')

pytestmark = pytest.mark.ros


class Rig:
    def __init__(self, context, virtual, character, **parameters):
        values = {'performer': str(character), 'layout': str(LAYOUT), **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.node = PerformerNode(context=context, parameter_overrides=overrides)
        self.virtual = virtual
        self.feeder = Node('feeder', context=context)
        self.executor = make_executor(context)
        for node in (self.node, self.feeder):
            self.executor.add_node(node)
        self.postures = []
        self.descriptions = []
        self._frames = self.feeder.create_publisher(PoseFrame, '/tracker/filtered', qos.STREAM)
        self._statics = self.feeder.create_publisher(
            TFMessage, '/tf_static', qos.STATIC_TRANSFORMS
        )
        self.feeder.create_subscription(
            Posture, '/performer/posture', self.postures.append, qos.STREAM
        )
        self.feeder.create_subscription(
            String,
            '/performer/robot_description',
            lambda msg: self.descriptions.append(msg.data),
            qos.LATCHED,
        )

    def announce_tracker(self, world='world'):
        writer = TransformsWriter([(world, 'transmitter')])
        position, quaternion = self.virtual.p_world_tracker, self.virtual.q_world_tracker
        self._statics.publish(writer.fill(0, position[None], quaternion[None]))

    def feed(self, pose=None, lost=()):
        frame = self.virtual.frame(*(self.virtual.t_pose() if pose is None else pose))
        for row in map(frame.sensors.index, lost):
            frame.positions[row] = frame.quaternions[row] = np.nan
            frame.status[row] = FILTER_LOST
        self._frames.publish(PoseFrameWriter('transmitter').fill(frame))
        for _ in range(4):  # one event each
            self.executor.spin_once(timeout_sec=0.001)
        return frame

    def feed_until(self, condition, pose=None, lost=()):
        deadline = time.monotonic() + DEADLINE_S
        while not condition() and time.monotonic() < deadline:
            self.feed(pose, lost)
        return condition()

    def spin_until(self, condition):
        return spin_until(self.executor, condition)

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.feeder.destroy_node()


@pytest.fixture
def make_rig(ros_context, virtual, tmp_path):
    save_character(virtual.character, tmp_path / 'random.yaml')
    rigs = []

    def make(**parameters):
        rigs.append(Rig(ros_context, virtual, tmp_path / 'random.yaml', **parameters))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.close()


def _calibrated(make_rig, world='world', **parameters):
    rig = make_rig(calibration_duration_s=0.2, world_frame=world, **parameters)
    rig.announce_tracker(world)
    assert rig.feed_until(lambda: len(rig.postures) > 0)
    return rig


def test_t_pose_then_motion_gives_the_true_posture(make_rig, rng):
    rig = _calibrated(make_rig, 'lab')
    pose = random_posture(rng, rig.virtual.place, 0.05)
    start = rig.virtual.frame_index
    assert rig.feed_until(lambda: rig.postures[-1].frame_index > start, pose)
    record = posture_msg.from_msg(rig.postures[-1])
    _, p, points = rig.virtual.truth(*pose)
    np.testing.assert_allclose(record.segments, p, atol=1e-9)
    np.testing.assert_allclose(record.posture.end_effectors, points, atol=1e-9)
    assert (record.body, record.frame_id) == ('random', 'lab')
    assert record.stamp_ns == record.frame_index * 8_333_333
    assert record.leg_length == pytest.approx(rig.virtual.character.skeleton.leg_length)


def test_lost_sensors_degrade_to_what_is_inferred_and_come_back_without_a_jump(make_rig, rng):
    """A still body that loses pelvis, an upper arm and a foot: nothing is faster than 4 m/s."""
    rig = _calibrated(make_rig)
    pose, arm = random_posture(rng, rig.virtual.place), SEGMENT_INDEX['left_upper_arm']
    assert rig.feed_until(_settled(rig, pose), pose)
    first = len(rig.postures) - 1
    lost = ('pelvis', 'left_upper_arm', 'right_foot')
    assert rig.feed_until(
        lambda: rig.postures[-1].status[arm] == Posture.STATUS_INFERRED, pose, lost
    )
    assert rig.feed_until(_settled(rig, pose), pose)
    records = [posture_msg.from_msg(msg) for msg in rig.postures[first:]]
    points = np.array([np.vstack((r.segments, r.posture.end_effectors)) for r in records])
    spans_s = np.diff([record.stamp_ns for record in records]) * 1e-9
    speeds = np.linalg.norm(np.diff(points, axis=0), axis=2).max(axis=1) / spans_s
    assert 0.01 < speeds.max() < 4.0
    assert {int(record.status[arm]) for record in records} == {
        Posture.STATUS_MEASURED,
        Posture.STATUS_STALE,
        Posture.STATUS_INFERRED,
    }


@pytest.mark.parametrize('weight', [0.0, 0.97])
def test_enhancement_is_what_the_estimator_does_and_off_by_default(make_rig, rng, weight):
    """On sensors that turned on their segments by 3 deg since; stamps are the frames' own."""
    rig = _calibrated(make_rig, **({'enhance_weight': weight} if weight else {}))
    configs = [PostureConfig(enhance_weight=w) for w in (weight, 0.0)]
    same, plain = (rig.virtual.estimator(config=config) for config in configs)
    turn = quaternions.exp(np.radians(3.0) * rng.normal(size=(len(rig.virtual.mount_q), 3)))
    rig.virtual.mount_q = quaternions.multiply(rig.virtual.mount_q, turn)
    pose = random_posture(rng, rig.virtual.place, 0.3)
    for _ in range(120):
        frame = rig.feed(pose)
        wanted, usual = (one.step(frame).p_world for one in (same, plain))
    assert rig.spin_until(lambda: rig.postures[-1].frame_index == frame.frame_index)
    record = posture_msg.from_msg(rig.postures[-1])
    assert record.stamp_ns == frame.stamp_ns
    np.testing.assert_allclose(record.segments, wanted, atol=1e-5)
    _, truth, _ = rig.virtual.truth(*pose)
    off, usually_off = (np.linalg.norm(p - truth) for p in (record.segments, usual))
    assert off < 0.7 * usually_off if weight else off == pytest.approx(usually_off, abs=1e-9)


def _settled(rig, pose):
    _, truth, _ = rig.virtual.truth(*pose)
    return lambda: np.allclose(posture_msg.from_msg(rig.postures[-1]).segments, truth, atol=1e-9)


def test_frame_of_tf_is_a_prop_where_it_was_last(make_rig):
    rig = _calibrated(make_rig, prop_frames='box, unknown')
    tf = rig.feeder.create_publisher(TFMessage, '/tf', qos.TRANSFORMS)
    writer, seen = TransformsWriter([('world', 'box')]), np.array([0.0, 0.6, 0.8, 0.0])
    for x in (1.0, 2.0):
        place = np.array([[x, -0.5, 0.25]])

        def is_there(place=place):
            tf.publish(writer.fill(1, place, seen[None]))
            props = posture_msg.from_msg(rig.postures[-1]).posture.props
            return np.array_equal(props.positions[0], place[0])

        assert rig.feed_until(is_there)
    props = posture_msg.from_msg(rig.postures[-1]).posture.props
    assert props.names == ('box', 'unknown') and np.isnan(props.positions[1]).all()
    np.testing.assert_allclose(props.orientations[0], seen, atol=1e-12)


def test_robot_description_is_latched(make_rig):
    rig = make_rig()
    assert rig.spin_until(lambda: bool(rig.descriptions))
    assert rig.descriptions[0].startswith('<?xml')


def _call(rig, kind='pose', duration_s=0.3):
    client = rig.feeder.create_client(Calibrate, '/performer/calibrate')
    assert rig.spin_until(client.service_is_ready)
    return client.call_async(Calibrate.Request(kind=kind, duration_s=duration_s))


@pytest.mark.parametrize('request_', [{}, {'kind': '', 'duration_s': 0.0}], ids=['short', 'empty'])
def test_service_calibrates_and_saves(make_rig, tmp_path, request_):
    """By pose, if the request says nothing."""
    path = str(tmp_path / 'new' / 'calibration.yaml')
    rig = _calibrated(make_rig, calibration_file=path)
    future = _call(rig, **request_)
    assert rig.feed_until(future.done)
    assert future.result().success
    assert future.result().file == path
    assert Path(path).read_text().startswith('format: puppet-calibration/1')


@pytest.mark.parametrize(
    ('kind', 'duration_s', 'message'),
    [
        ('dance', 1.0, 'kind: expected one of pose'),
        ('pose', -1.0, 'duration_s: expected'),
        ('pose', float('nan'), 'duration_s: expected'),
    ],
    ids=['kind', 'negative', 'nan'],
)
def test_service_refuses_bad_requests(make_rig, kind, duration_s, message):
    rig = _calibrated(make_rig)
    future = _call(rig, kind, duration_s)
    assert rig.spin_until(future.done)
    assert message in future.result().message


def test_service_says_when_no_frames_have_come(make_rig):
    rig = make_rig()
    future = _call(rig)
    assert rig.spin_until(future.done)
    assert 'tracker/filtered' in future.result().message


def test_saved_calibration_is_used_at_once(make_rig, tmp_path, virtual):
    save_calibration(virtual.calibrate(), tmp_path / 'c.yaml')
    rig = make_rig(calibration_file=str(tmp_path / 'c.yaml'))
    rig.announce_tracker()
    assert rig.feed_until(lambda: len(rig.postures) > 0)
    start = posture_msg.from_msg(rig.postures[0]).frame_index
    assert start - virtual.frame_index < 60


def test_foreign_calibration_file_is_refused_at_start(make_rig, tmp_path):
    save_calibration(make_virtual().calibrate(), tmp_path / 'c.yaml')
    with pytest.raises(CalibrationError, match='got one of performer'):
        make_rig(calibration_file=str(tmp_path / 'c.yaml'))


def test_garbage_is_dropped_and_the_node_goes_on(make_rig):
    rig = _calibrated(make_rig)
    bad = PoseFrame(sensors=['pelvis'], positions=[1.0, 2.0])
    bad.header.frame_id = 'transmitter'
    rig._frames.publish(bad)
    rig._frames.publish(PoseFrame())
    rig.postures.clear()
    assert rig.feed_until(lambda: len(rig.postures) > 3)
