# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes with a robot as the puppet: its own joints, description and frames on real topics."""

from pathlib import Path
import time
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core.body.character import load_character, save_character  # noqa: E402,I100
from puppet_core.body.continuous_euler import JOINT_NAMES  # noqa: E402
from puppet_core.robots.description import urdf_text  # noqa: E402
from puppet_core.robots.limbs import RobotMap  # noqa: E402
from puppet_core.robots.robot_character import character_from_urdf  # noqa: E402
from puppet_msgs.msg import Importance  # noqa: E402
from puppet_msgs.msg import Posture as PostureMsg  # noqa: E402
from puppet_retarget.importance.environment import load_environment  # noqa: E402
from puppet_retarget.importance.estimator import ImportanceConfig  # noqa: E402
from puppet_retarget.importance.importance_model import ImportanceModel  # noqa: E402
from puppet_retarget.importance.self_interaction import SelfInteractionConfig  # noqa: E402
from puppet_retarget.retarget_node import RetargetNode  # noqa: E402
from puppet_ros.messages import angles_of, posture_msg  # noqa: E402
from puppet_ros.messages.importance_msg import ImportanceRecord, ImportanceWriter  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_view.rviz.visualization_node import VisualizationNode  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

pytestmark = pytest.mark.ros

DEADLINE_S = 60.0
REPOSITORY = Path(__file__).resolve().parents[3]
HUMANOID = REPOSITORY / 'src' / 'puppet_core' / 'test' / 'humanoid.urdf'
FLOOR = REPOSITORY / 'config' / 'environments' / 'floor.yaml'
BLUBBY = REPOSITORY / 'config' / 'characters' / 'blubby.yaml'
SOLE_IN_LINK = np.array([0.04, 0.0, -0.07, 1.0])  # middle of the foot box's lower face, URDF [m]
TOPICS = {
    '/joint_states': (JointState, qos.JOINT_STATES),
    '/puppet/posture': (PostureMsg, qos.STREAM),
    '/tf': (TFMessage, qos.TRANSFORMS),
    '/tf_static': (TFMessage, qos.STATIC_TRANSFORMS),
    '/robot_description': (String, qos.LATCHED),
    '/puppet/robot_description': (String, qos.LATCHED),
}


@pytest.fixture(scope='module')
def tin_file(tmp_path_factory):
    path = tmp_path_factory.mktemp('robot') / 'tin.yaml'
    save_character(character_from_urdf(HUMANOID, RobotMap()).character, path)
    return path


class Rig:
    """Both nodes of a puppet, and somebody who feeds and watches them."""

    def __init__(self, context, postures, character):
        overrides = [
            Parameter('character', value=str(character)),
            Parameter('environment', value=str(FLOOR)),
        ]
        self.retarget = RetargetNode(context=context, parameter_overrides=overrides)
        self.shown = VisualizationNode(context=context, parameter_overrides=overrides)
        self.other = Node('other', context=context)
        self.executor = make_executor(context)
        for node in (self.retarget, self.shown, self.other):
            self.executor.add_node(node)
        self.got = {topic: [] for topic in TOPICS}
        for topic, (kind, profile) in TOPICS.items():
            self.other.create_subscription(kind, topic, self.got[topic].append, profile)
        self._captured = self.other.create_publisher(PostureMsg, '/performer/posture', qos.STREAM)
        self._weighed = self.other.create_publisher(Importance, '/importance', qos.STREAM)
        self._model = ImportanceModel(
            load_environment(FLOOR), ImportanceConfig(), SelfInteractionConfig()
        )
        self._writer = ImportanceWriter('world')
        self._postures, self._index = postures, 0

    def feed_until(self, condition):
        deadline = time.monotonic() + DEADLINE_S
        while not condition() and time.monotonic() < deadline:
            self._index += 1
            posture = self._postures(self._index)
            record = posture_msg.from_msg(posture)
            near = self._model.step(record.stamp_ns, record.posture, record.segments)
            self._captured.publish(posture)
            found = ImportanceRecord(record.stamp_ns, record.frame_index, *near, ('floor',))
            self._weighed.publish(self._writer.fill(found))
            for _ in range(8):
                self.executor.spin_once(timeout_sec=0.005)
        return condition()

    def transforms(self):
        return [
            m.transforms
            for m in self.got['/tf']
            if m.transforms[0].child_frame_id.startswith('puppet/')
        ][-1]

    def links(self):
        poses, transforms = {'world': np.eye(4)}, self.transforms()
        waiting = [*transforms, *self.got['/tf_static'][-1].transforms]
        while waiting:
            t = next(t for t in waiting if t.header.frame_id in poses)
            waiting.remove(t)
            p, q = t.transform.translation, t.transform.rotation
            pose = np.eye(4)
            pose[:3, :3] = Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix()
            pose[:3, 3] = p.x, p.y, p.z
            poses[t.child_frame_id] = poses[t.header.frame_id] @ pose
        stamp = transforms[0].header.stamp
        return stamp.sec * 10**9 + stamp.nanosec, poses

    def close(self):
        self.executor.shutdown()
        for node in (self.retarget, self.shown, self.other):
            node.destroy_node()


@pytest.fixture
def rig(ros_context, postures, tin_file):
    made = Rig(ros_context, postures, tin_file)
    yield made
    made.close()


def stamp_of(msg):
    return msg.header.stamp.sec * 10**9 + msg.header.stamp.nanosec


def test_a_robot_on_topics(rig, tin_file):
    """Joint states in its own names and limits, its URDF, the frames of its links."""
    tin = load_character(tin_file)
    got, robot = rig.got, tin.robot
    assert rig.feed_until(
        lambda: (
            all(got.values())
            and len(got['/joint_states']) >= 30
            and any(m.transforms[0].child_frame_id == 'puppet/pelvis' for m in got['/tf'])
        )
    )
    order = [j.get('name') for j in Xml.fromstring(robot.urdf) if j.get('name') in robot.names]
    for before, msg in zip(got['/joint_states'], got['/joint_states'][1:]):
        assert list(msg.name) == order
        angles = angles_of(msg, robot.names)
        assert np.all(robot.lower <= angles) and np.all(angles <= robot.upper)
        step_s = (stamp_of(msg) - stamp_of(before)) * 1e-9
        moved = np.subtract(msg.position, before.position) / step_s
        np.testing.assert_allclose(msg.velocity, moved, atol=1e-9)
    assert np.ptp([m.position for m in got['/joint_states']], axis=0).max() > 0.01
    assert [m.data for m in got['/robot_description']] == [HUMANOID.read_text()]
    assert [m.data for m in got['/puppet/robot_description']] == [urdf_text(tin)]

    stamp, poses = rig.links()
    frames = [(t.header.frame_id, t.child_frame_id) for t in rig.transforms()]
    fixed = [(t.header.frame_id, t.child_frame_id) for t in got['/tf_static'][-1].transforms]
    assert frames[0] == ('world', 'puppet/pelvis') and fixed[0] == ('puppet/pelvis', 'puppet/base')
    assert ('puppet/left_thigh', 'puppet/left_shank') in frames
    postures = {stamp_of(m): posture_msg.from_msg(m) for m in got['/puppet/posture']}
    soles = postures[stamp].posture.end_effectors[2:4]
    for side, sole in zip(('left', 'right'), soles):
        found = poses[f'puppet/{side}_foot'] @ SOLE_IN_LINK
        np.testing.assert_allclose(found[:3], sole, atol=1e-6)


def test_a_robot_gives_way_to_another_body(rig):
    """Names, descriptions and frames become those of the other character."""
    assert rig.feed_until(lambda: bool(rig.got['/joint_states'] and rig.got['/tf']))
    for node in (rig.retarget, rig.shown):
        changed = node.set_parameters([Parameter('character', value=str(BLUBBY))])[0]
        assert changed.successful
    rig.got['/tf'].clear()
    assert rig.feed_until(
        lambda: (
            len(rig.got['/joint_states'][-1].name) == len(JOINT_NAMES)
            and any(
                t.child_frame_id == 'puppet/left_shank_z'
                for m in rig.got['/tf']
                for t in m.transforms
            )
        )
    )
    blubby = urdf_text(load_character(BLUBBY))
    assert rig.feed_until(lambda: rig.got['/robot_description'][-1].data == blubby)
