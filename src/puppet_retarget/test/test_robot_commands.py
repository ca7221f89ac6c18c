# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The retarget node commands a robot's controller: topics, joints, and when it is silent."""

import time

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from puppet_core import named_files
from puppet_core.body.character import save_character
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
from puppet_ros.messages.flat_array import write_stamp
from puppet_ros.node.spin import make_executor
from puppet_ros.testing import spin_until
import pytest
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from test_retarget_node import Rig
from test_robot_walk import HUMANOID

pytestmark = pytest.mark.ros

FRAMES = 100  # that a silent node is given
AT_RAD = 0.05  # of every joint of the robot


@pytest.fixture(scope='module')
def tin(tmp_path_factory):
    path = tmp_path_factory.mktemp('robot') / 'tin.yaml'
    character = character_from_urdf(HUMANOID, RobotMap()).character
    save_character(character, path)
    return path, character.robot


class Controller:
    """A robot's controller, whose joints stay where they are, and the node that commands it."""

    def __init__(self, context, postures, tin, kind, topic, values):
        self.robot, self.got, self.reports, self.fed = tin[1], [], [], 0
        self.rig = Rig(context, postures, **{'character': str(tin[0]), **values})
        other, self.executor = Node('other', context=context), make_executor(context)
        states = 'joint_state_broadcaster/joint_states'
        self.states = other.create_publisher(JointState, states, 10)
        other.create_subscription(kind, topic, self.got.append, 10)
        other.create_subscription(DiagnosticArray, '/diagnostics', self.on_report, 10)
        self.executor.add_node(self.rig.node)
        self.executor.add_node(other)

    def on_report(self, msg):
        values = {v.key: v.value for s in msg.status for v in s.values}
        self.reports.append(values.get('commands', ''))

    def feed(self, is_alive=True, age_s=0.0, status=0):
        """Give the node a frame of now, and where the robot is."""
        if is_alive:
            names = self.robot.published_names
            self.states.publish(JointState(name=names, position=[AT_RAD] * len(names)))
        self.fed += 1
        posture = self.rig.postures(self.fed % 500)
        write_stamp(time.time_ns() - round(age_s * 1e9), posture.header.stamp)
        posture.status = [status] * 16
        self.rig.give(self.rig.importance(posture), posture)

    def wait(self, condition, **frame):
        return spin_until(self.executor, condition, before=lambda: self.feed(**frame))

    def reported(self, text):
        return any(text in report for report in self.reports)


@pytest.fixture
def make(ros_context, postures, tin):
    made = []

    def controller(kind=Float64MultiArray, topic='forward_position_controller/commands', **values):
        values = {'command_type': 'positions', **values}
        made.append(Controller(ros_context, postures, tin, kind, topic, values))
        return made[-1]

    yield controller
    for one in made:
        one.executor.shutdown()


def test_positions_start_where_the_robot_is_and_become_the_puppets_in_urdf_order(make):
    one = make(command_start_rad_s=10.0, command_lead_rad=6.0)
    assert one.wait(lambda: one.got and one.reported('sent'))
    np.testing.assert_allclose(one.got[0].data, AT_RAD, atol=1e-12)
    wanted = one.rig.node._stage.model._solver._output.angles[one.robot.urdf_order]
    assert one.wait(lambda: np.abs(np.array(one.got[-1].data) - wanted).max() < 0.2)


def test_a_trajectory_is_one_point_of_chosen_joints_that_begins_at_once(make):
    kind = pytest.importorskip('trajectory_msgs.msg').JointTrajectory
    joints, topic = ['right_knee', 'left_elbow'], 'arm/trajectory'
    values = {'command_joints': joints, 'command_topic': topic, 'command_ahead_s': 0.05}
    one = make(kind, topic, command_type='trajectory', **values)
    assert one.wait(lambda: one.got)
    (point,), msg = one.got[0].points, one.got[0]
    assert list(msg.joint_names) == joints and list(point.positions) == [AT_RAD] * 2
    assert not point.velocities and point.time_from_start.nanosec == 50_000_000
    assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == (0, 0)


@pytest.mark.parametrize(
    ('frame', 'reason'),
    [
        ({'is_alive': False}, 'no joint states of the robot'),
        ({'age_s': 1.0}, 'the input is late'),
        ({'status': 2}, 'the performer is not measured'),
    ],
)
def test_the_deadman_says_why_it_is_silent(make, frame, reason):
    one = make()
    assert spin_until(one.executor, lambda: one.reported('not sent: no input'))
    said = lambda: one.reported(f'not sent: {reason}') and one.fed >= FRAMES  # noqa: E731
    assert one.wait(said, **frame)
    assert one.rig.node._stage.solved >= FRAMES and not one.got
    assert one.wait(lambda: one.got)  # and goes on


def test_commands_are_switched_while_running(make):
    one = make(command_type='none')
    assert one.wait(lambda: one.fed >= 10) and not one.got
    assert one.rig.change(command_type='positions').successful
    assert one.wait(lambda: one.got)
    refused = one.rig.change(character=str(named_files.character_file('blubby')))
    assert 'command_type: expected none for a character that is no robot' in refused.reason
    assert one.rig.change(command_type='none').successful
    assert one.wait(lambda: one.reports and one.reports[-1] == 'off')


@pytest.mark.parametrize(
    ('parameter', 'topic', 'reason'),
    [
        ('command_topic', 'bad topic!', 'expected a topic, got'),
        ('command_state_topic', '', 'expected a topic, got'),
        ('command_topic', '/puppet/posture', "got the suite's"),
        ('command_state_topic', 'joint_states', "got the suite's"),
    ],
)
def test_topics_that_are_none_or_the_suites_are_refused(make, parameter, topic, reason):
    refused = make().rig.change(**{parameter: topic})
    assert not refused.successful
    assert refused.reason.startswith(f'{parameter}: ') and reason in refused.reason
