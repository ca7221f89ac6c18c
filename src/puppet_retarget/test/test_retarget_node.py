# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The retarget node: joined inputs to joint states, changes while running, bad input."""

import time

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core import named_files  # noqa: E402
from puppet_core.body import load_character, Motion, SEGMENT_INDEX  # noqa: E402
from puppet_core.body.continuous_euler import JOINT_NAMES  # noqa: E402
from puppet_core.math import quaternions  # noqa: E402
from puppet_msgs.msg import Importance, RetargetStatus  # noqa: E402
from puppet_msgs.msg import Posture as PostureMsg  # noqa: E402
from puppet_retarget import retarget_node  # noqa: E402
from puppet_retarget.importance.environment import load_environment  # noqa: E402
from puppet_retarget.importance.estimator import ImportanceConfig  # noqa: E402
from puppet_retarget.importance.importance_model import ImportanceModel  # noqa: E402
from puppet_retarget.importance.self_interaction import SelfInteractionConfig  # noqa: E402
from puppet_retarget.importance_node import ImportanceNode  # noqa: E402
from puppet_retarget.offline.whole_motion import retarget_motion, RetargetJob  # noqa: E402
from puppet_retarget.solvers import HEAD  # noqa: E402
from puppet_ros.messages import posture_msg  # noqa: E402
from puppet_ros.messages.importance_msg import ImportanceRecord, ImportanceWriter  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.testing import spin_until  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from recorder import of_importance, of_posture, Recorder  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402

pytestmark = pytest.mark.ros

DEADLINE_S = 60.0
FLOOR = named_files.environment_file('floor')
TICK_NS = 8_333_333


class Rig:
    """A node whose publishers are recorded, and an importance for each posture."""

    def __init__(self, context, postures, **parameters):
        values = {
            'environment': str(FLOOR),
            'character': str(named_files.character_file('blubby')),
            **parameters,
        }
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.node = retarget_node.RetargetNode(context=context, parameter_overrides=overrides)
        self.postures = postures
        self.objects = ('floor',)
        self.model = ImportanceModel(
            load_environment(FLOOR), ImportanceConfig(), SelfInteractionConfig()
        )
        self.writer = ImportanceWriter()
        stage = self.node._stage
        self.joints = Recorder(JointState, stage.joints_data)
        self.puppet = Recorder(PostureMsg, stage.posture_data)
        self.status = Recorder(RetargetStatus, stage.status_data)

    def record(self):
        self.node._joints, self.node._puppet = self.joints, self.puppet
        self.node._status = self.status

    def importance(self, posture):
        record = posture_msg.from_msg(posture)
        near = self.model.step(record.stamp_ns, record.posture, record.segments)
        msg = self.writer.fill(
            ImportanceRecord(
                *(record.stamp_ns, record.frame_index, *near[:2], self.objects), rests=near.rests
            )
        )
        return deserialize_message(serialize_message(msg), Importance)

    def feed(self, index):
        posture = self.postures(index)
        posture.header.frame_id = 'lab'
        self.give(self.importance(posture), posture)

    def give(self, importance, posture):
        self.node._on_importance(of_importance(importance))
        self.node._on_posture(of_posture(posture))

    def change(self, **values):
        return self.node.set_parameters([Parameter(k, value=v) for k, v in values.items()])[0]


@pytest.fixture
def make_rig(ros_context, postures):
    rigs = []

    def make(**parameters):
        rigs.append(Rig(ros_context, postures, **parameters))
        rigs[-1].record()
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.node.destroy_node()


def test_joined_inputs_give_all_outputs_with_their_stamp(make_rig):
    rig = make_rig()
    for i in range(1, 4):
        rig.feed(i)
    joints, puppet, status = rig.joints.messages, rig.puppet.messages, rig.status.messages
    assert [len(messages) for messages in (joints, puppet, status)] == [3, 3, 3]
    stamps = {(m[2].header.stamp.sec, m[2].header.stamp.nanosec) for m in (joints, puppet, status)}
    assert stamps == {(0, 3 * TICK_NS)}
    assert list(joints[0].name) == list(JOINT_NAMES)
    assert np.isfinite(joints[2].position).all()
    assert puppet[2].body == 'blubby' and puppet[2].frame_index == 3
    assert puppet[2].header.frame_id == status[2].header.frame_id == 'lab'
    assert (status[2].solver, status[2].frames_solved) == ('whole_body', 3)
    assert status[2].reachable and not status[2].easing and min(status[2].self_penetrations) >= 0.0


def test_puppet_message_is_forward_kinematics_of_its_angles(make_rig, short_character):
    rig = make_rig()
    rig.feed(1)
    record = posture_msg.from_msg(rig.puppet.messages[0])
    posture = record.posture
    from puppet_core.body.posture import world_segments

    _, p = world_segments(
        short_character.skeleton, posture.root_position[None], posture.rotations[None]
    )
    np.testing.assert_allclose(record.segments, p[0], atol=1e-9)
    assert record.leg_length == pytest.approx(short_character.skeleton.leg_length)


def test_unusable_posture_is_counted_and_the_puppet_goes_on(make_rig):
    """Not propagated, and no jump after."""
    rig = make_rig()
    for i in range(1, 5):
        rig.feed(i)
    bad = rig.postures(5)
    importance = rig.importance(bad)
    bad.rotations[17] = float('nan')
    rig.give(importance, bad)
    for i in range(6, 10):
        rig.feed(i)
    angles = np.array([m.position for m in rig.joints.messages])
    assert len(angles) == 8 and np.isfinite(angles).all()
    assert np.abs(np.diff(angles, axis=0)).max() < 0.3
    assert rig.status.messages[-1].frames_dropped == 1


def test_rests_are_on_the_objects_of_this_node(make_rig, monkeypatch, tmp_path):
    """Whatever the environment of the importance: objects go by their names."""
    path, given = tmp_path / 'two.yaml', []
    stool = '{name: stool, shape: box, position_m: [3.0, 0.0, 0.2], size_m: [0.4, 0.4, 0.4]}'
    path.write_text(FLOOR.read_text().replace('objects:\n', f'objects:\n  - {stool}\n'))
    rig = make_rig(environment=str(path))
    rig.feed(1)
    solver = rig.node._stage.model._solver
    solve = solver.solve
    monkeypatch.setattr(solver, 'solve', lambda *words: given.append(words[-1]) or solve(*words))
    posture = rig.postures(2)
    msg = rig.importance(posture)
    msg.objects = ['ladder', 'floor']
    msg.rest_objects, msg.rest_segments = [0, 1], [3, 2]
    msg.rest_importances, msg.rest_gaps = [0.5, 0.25], [0.1, 0.2]
    rig.give(msg, posture)
    assert given[0][:2].tolist() == [[1.0, 2.0, 0.25, 0.2], [-1.0, 0.0, 0.0, 0.0]]


def test_diagnostics_and_status_count_whips(make_rig):
    rig = make_rig()
    rig.feed(1)
    rig.node._stage.model.whips = 3
    rig.feed(2)
    assert rig.node._diagnostics._values['whips'] == '3'
    assert [m.whips for m in rig.status.messages] == [0, 3]


def test_other_character_is_taken_while_running(make_rig):
    rig = make_rig()
    rig.feed(1)
    assert rig.change(character=str(named_files.character_file('sally'))).successful
    rig.feed(2)
    assert rig.status.messages[-1].character == 'sally'
    assert rig.status.messages[-1].easing
    assert rig.puppet.messages[-1].body == 'sally'
    angles = np.array([m.position for m in rig.joints.messages])
    np.testing.assert_allclose(angles[1], angles[0], atol=1e-6)


def test_other_solver_and_tuning_are_taken_while_running(make_rig):
    rig = make_rig()
    rig.feed(1)
    assert rig.change(solver='joint_angles').successful
    assert rig.change(posture_weight=0.1, max_iterations=5).successful
    rig.feed(2)
    assert rig.status.messages[-1].solver == 'joint_angles'


def test_errata_of_the_thesis_are_chosen_while_running(make_rig):
    """An empty list has no type by itself; parameter files cannot have one."""
    rig = make_rig(solver='importance_based', errata=['none'])
    rig.feed(1)
    for errata in (['turn_axis', 'no_mean'], [], ['all']):
        assert rig.change(errata=errata).successful, errata
        rig.feed(2)
        assert rig.status.messages[-1].solver == 'importance_based'
    assert 'errata: expected one of all, none, own_height' in rig.change(errata=['x']).reason


def test_other_environment_is_taken_while_running(make_rig, tmp_path):
    """Importance is of objects by their names, whichever node has the new ones first."""
    path = tmp_path / 'desk.yaml'
    desk = '{name: desk, shape: box, position_m: [3, 0, 0.5], size_m: [1, 1, 1]}'
    path.write_text(f'format: puppet-environment/1\nobjects:\n  - {desk}\n')
    rig = make_rig()
    rig.feed(1)
    assert rig.change(environment=str(path)).successful
    rig.feed(2)
    angles = np.array([m.position for m in rig.joints.messages])
    np.testing.assert_allclose(angles[1], angles[0], atol=1e-6)
    assert rig.status.messages[-1].easing
    assert rig.node._stage.unknown == ('floor',)
    assert rig.change(environment=str(FLOOR)).successful
    rig.feed(3)
    assert rig.node._stage.unknown == ()


@pytest.mark.parametrize(
    ('values', 'text'),
    [
        ({'solver': 'ik'}, 'solver: expected one of whole_body'),
        ({'rate_k1': 2.0}, 'rate_k1: expected 0.0 < value <= 1.9, got 2.0'),
        ({'character': '/nowhere/x.yaml'}, "character: expected an existing file, got '/nowhere"),
        ({'character': str(FLOOR)}, f'character: {FLOOR}:'),
        ({'environment': 'x'}, 'environment'),
    ],
    ids=['solver', 'range', 'no file', 'other file', 'no environment'],
)
def test_refused_change_is_named_and_changes_nothing(make_rig, values, text):
    rig = make_rig()
    rig.feed(1)
    result = rig.change(**values)
    assert not result.successful
    assert text in result.reason
    rig.feed(2)
    assert rig.status.messages[-1].character == 'blubby'
    assert not rig.status.messages[-1].easing


def test_the_first_frame_is_the_last_posture(make_rig, tmp_path):
    """Though the first node never ended in order; a file of others is refused and replaced."""
    path = tmp_path / 'x.posture'
    first = make_rig(last_posture_file=str(path))
    for i in range(1, 4):
        first.feed(i)
    first.node._last.close()  # as the system does with a process that was killed
    again = make_rig(last_posture_file=str(path))
    again.feed(60)
    last, now = first.joints.messages[-1], again.joints.messages[0]
    np.testing.assert_allclose(now.position, last.position, atol=1e-6)
    assert again.status.messages[0].easing
    again.node._last.close()
    path.write_bytes(b'not a posture')
    other = make_rig(last_posture_file=str(path))
    other.feed(60)
    assert not other.status.messages[0].easing
    assert path.read_bytes().startswith(b'puppet posture')


def test_a_live_gaze_and_seat_are_those_of_a_clip(ros_context, performer, tmp_path):
    """Through both nodes: the performer's head goes there, and the puppet's comes back."""
    path, swing = tmp_path / 'ball.yaml', np.sin(np.linspace(0.0, 2.0 * np.pi, 40))
    ball = '{name: ball, shape: sphere, radius_m: 0.1, position_m: [1.5, 0.4, 1.3], gaze_deg: 40, '
    ball += 'puppet: {position_m: [1.2, 0.8, 0.8]}}\n'
    stool = '{name: stool, shape: box, position_m: [-0.2, 0.0, 0.35], size_m: [0.4, 0.4, 0.7], '
    stool += 'influence_distance_m: {hips: 0.3}, puppet: {position_m: [-0.2, 0.0, 0.2]}}\n'
    path.write_text(f'{FLOOR.read_text()}  - {ball}  - {stool}')
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(swing), 16, 1))
    for segment, turn in ((SEGMENT_INDEX['spine'], [0.2, 0.3, 0.1]), (HEAD, [0.0, 0.3, 0.9])):
        rotations[:, segment] = quaternions.exp(np.outer(swing, turn))
    roots = np.tile([0.0, 0.0, performer.skeleton.rest_root_height], (len(swing), 1))
    motion = Motion.from_rotations(performer.skeleton, 100.0, roots, rotations)
    blubby = load_character(named_files.character_file('blubby'))
    offline, unturned = (
        retarget_motion(motion, RetargetJob(blubby, load_environment(world)))
        for world in (path, FLOOR)
    )
    turned = np.linalg.norm(offline.q_world[:, HEAD] - unturned.q_world[:, HEAD], axis=1)
    assert np.ptp(turned) > 0.1  # as the look comes and goes
    assert np.abs(offline.p_world[:, 0] - unturned.p_world[:, 0]).max() > 0.03  # and nearly sits

    values, other = [Parameter('environment', value=str(path))], Node('other', context=ros_context)
    importance = ImportanceNode(context=ros_context, parameter_overrides=values)
    retarget = Rig(ros_context, None, environment=str(path)).node
    nodes = retarget, importance, other
    executor, got, segments = make_executor(ros_context), [], motion.world_segments()[1]
    for node in nodes:
        executor.add_node(node)
    other.create_subscription(PostureMsg, retarget_node.PUPPET_TOPIC, got.append, qos.STREAM)
    captured = other.create_publisher(PostureMsg, retarget_node.POSTURE_TOPIC, qos.STREAM)
    sent = captured, importance._publisher._publisher, retarget._puppet._publisher
    links = (2, 1, 1)
    assert spin_until(executor, lambda: links == tuple(p.get_subscription_count() for p in sent))
    for i in range(motion.n_frames):
        whose = 'performer', motion.posture(i), segments[i], retarget_node.MEASURED
        record = posture_msg.PostureRecord(i * 10_000_000, i, *whose, motion.skeleton.leg_length)
        captured.publish(posture_msg.PostureWriter().fill(record))
        assert spin_until(executor, lambda: len(got) > i)
    executor.shutdown()
    for node in nodes:
        node.destroy_node()
    live = [posture_msg.from_msg(msg).posture for msg in got]
    expected = offline.puppet
    np.testing.assert_allclose([p.rotations for p in live], expected.rotations, atol=1e-9)
    np.testing.assert_allclose([p.root_position for p in live], expected.root_positions, atol=1e-9)


def test_topics_are_wired(ros_context, postures):
    rig, other = Rig(ros_context, postures), Node('other', context=ros_context)
    got = {}
    for kind, topic, profile in (
        (JointState, retarget_node.JOINT_STATES_TOPIC, qos.JOINT_STATES),
        (PostureMsg, retarget_node.PUPPET_TOPIC, qos.STREAM),
        (RetargetStatus, retarget_node.STATUS_TOPIC, qos.STREAM),
        (String, retarget_node.DESCRIPTION_TOPIC, qos.LATCHED),
    ):
        got[topic] = []
        other.create_subscription(kind, topic, got[topic].append, profile)
    captured = other.create_publisher(PostureMsg, retarget_node.POSTURE_TOPIC, qos.STREAM)
    weighed = other.create_publisher(Importance, retarget_node.IMPORTANCE_TOPIC, qos.STREAM)
    executor = make_executor(ros_context)
    executor.add_node(rig.node)
    executor.add_node(other)
    deadline, index = time.monotonic() + DEADLINE_S, 0
    while not all(got.values()) and time.monotonic() < deadline:
        index += 1
        posture = postures(index % 500)
        captured.publish(posture)
        weighed.publish(rig.importance(posture))
        for _ in range(4):
            executor.spin_once(timeout_sec=0.005)
    executor.shutdown()
    other.destroy_node()
    rig.node.destroy_node()
    assert all(got.values())
    assert got[retarget_node.DESCRIPTION_TOPIC][0].data.startswith('<?xml')
