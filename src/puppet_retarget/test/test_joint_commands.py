# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Commands to a robot: the deadman, the way from where it is, and how far they lead it."""

from types import SimpleNamespace

import numpy as np
from puppet_core.io import ConfigError
from puppet_retarget.joint_commands import JointCommands, NEAR_RAD, STALE_S
from puppet_retarget.parameters import CommandConfig
import pytest

TICK_S = 0.01
CONFIG = CommandConfig(type='positions', joints=('b', 'a'), start_rad_s=0.5, lead_rad=0.4)
HERE = np.array([0.2, -0.3])  # of b and a
TOL = 1e-9


class Robot:
    """A robot that is where it was told to be, unless it is held, and its commands."""

    def __init__(self, config=CONFIG):
        robot = SimpleNamespace(published_names=('a', 'b', 'c'), urdf_order=(2, 0, 1))
        robot.names = ('a', 'b')  # c is held; b turns without end
        robot.lower, robot.upper = np.array([-3.0, -np.inf]), np.array([3.0, np.inf])
        self.commands = JointCommands(robot, config)
        self.measured, self.now_s, self.is_held = HERE.copy(), 5.0, False

    def follow(self, angles, is_alive=True, is_measured=True, age_s=0.0):
        """Return the next command for angles of a, b and c."""
        self.now_s += TICK_S
        if is_alive:
            states = np.append(self.measured, 9.0)
            self.commands.take_states(('b', 'a', 'z'), states, self.now_s)
        command = self.commands.step(np.array(angles), is_measured, age_s, self.now_s)
        if command is not None and not self.is_held:
            self.measured = command.copy()
        return command

    def run(self, angles, ticks, **kwargs):
        return np.array([self.follow(angles, **kwargs) for _ in range(ticks)])


def test_first_command_is_where_the_robot_is_and_the_way_is_slow_and_between(rng):
    robot = Robot()
    puppet = np.cumsum(rng.normal(0.0, 0.01, (600, 3)), axis=0) + [1.0, -0.5, 0.0]
    sent = np.array([robot.follow(angles) for angles in puppet])
    wanted = puppet[:, [1, 0]]
    np.testing.assert_allclose(sent[0], HERE, atol=TOL)
    np.testing.assert_allclose(sent[-100:], wanted[-100:], atol=TOL)
    steps, own = np.abs(np.diff(sent, axis=0)), np.abs(np.diff(wanted, axis=0))
    assert (steps <= own + CONFIG.start_rad_s * TICK_S + TOL).all()
    assert steps.max() > 0.3 * CONFIG.start_rad_s * TICK_S
    assert (np.minimum(HERE, wanted) - TOL <= sent).all()
    assert (sent <= np.maximum(HERE, wanted) + TOL).all()


@pytest.mark.parametrize(
    ('what', 'reason'),
    [
        ({'is_alive': False}, 'no joint states of the robot on'),
        ({'age_s': 0.3}, 'the input is late'),
        ({'age_s': -0.3}, 'the input is late'),
        ({'age_s': float('nan')}, 'the input is late'),
        ({'is_measured': False}, 'the performer is not measured'),
    ],
)
def test_deadman_and_how_commands_go_on(what, reason):
    """From what was sent last; what comes in the pause is not caught up with in one step."""
    robot, lasting = Robot(), round(STALE_S / TICK_S) + 2
    last = robot.run([0.0, 0.3, 0.0], 400)[-1]
    paused = [robot.follow([0.4, 0.3, 0.0], **what) for _ in range(lasting)]
    assert paused[-1] is None
    assert robot.commands.report(robot.now_s).startswith(f'not sent: {reason}')
    last = robot.measured
    robot.now_s += 10.0
    sent = robot.run([-0.5, 0.3, 0.0], 400)
    np.testing.assert_allclose(sent[0], last, atol=TOL)
    assert np.abs(np.diff(sent, axis=0)).max() <= CONFIG.start_rad_s * TICK_S + TOL
    np.testing.assert_allclose(sent[-1], [0.3, -0.5], atol=TOL)
    assert robot.commands.report(robot.now_s) == 'sent'


def test_a_robot_that_was_moved_in_a_pause_is_met_where_it_is():
    robot = Robot()
    robot.run([0.0, 0.3, 0.0], 400)
    robot.measured, robot.now_s = robot.measured + [1.0, 0.02], robot.now_s + 10.0
    first = robot.follow([0.0, 0.3, 0.0])
    np.testing.assert_allclose(first, [1.3 - NEAR_RAD, 0.0], atol=TOL)


def test_a_robot_that_is_held_is_waited_for():
    robot = Robot()
    robot.run([0.0, 0.3, 0.0], 400)
    robot.is_held = True
    sent = robot.run([-2.0, 0.3, 0.0], 600)
    assert np.abs(sent - robot.measured).max() <= CONFIG.lead_rad + TOL
    assert 'lags behind' in robot.commands.report(robot.now_s)
    robot.is_held = False
    after = np.vstack((sent[-1:], robot.run([-2.0, 0.3, 0.0], 600)))
    assert np.abs(np.diff(after, axis=0)).max() <= CONFIG.start_rad_s * TICK_S + TOL
    np.testing.assert_allclose(after[-1], [0.3, -2.0], atol=TOL)


def test_a_joint_without_limits_takes_the_shorter_way_round():
    robot, ahead = Robot(), [-0.3, -3.0, 0.0]
    robot.measured = np.array([3.0, -0.3])
    sent = robot.run(ahead, 400)[:, 0]
    assert sent.min() >= 3.0 - TOL and sent[-1] == pytest.approx(2.0 * np.pi - 3.0)
    robot.measured[0] -= 2.0 * np.pi  # as encoders do
    assert robot.follow(ahead)[0] == pytest.approx(sent[-1])


def test_joint_states_may_come_in_several_messages():
    robot = Robot()
    for name, place in (('b', 0.2), ('z', 9.0), ('a', -0.3)):
        robot.commands.take_states((name,), [place], robot.now_s)
    np.testing.assert_allclose(robot.follow([0.0, 0.3, 0.0], is_alive=False), HERE, atol=TOL)
    robot.now_s += STALE_S
    robot.commands.take_states(('b',), [0.2], robot.now_s)
    assert robot.follow([0.0, 0.3, 0.0], is_alive=False) is None
    assert robot.commands.report(robot.now_s) == 'not sent: the robot has no joint state of a'


def test_joints_that_are_commanded():
    assert Robot(CommandConfig(type='trajectory')).commands.joints == ('c', 'a', 'b')
    for joints in (('a', 'nose'), ('a', 'a')):
        with pytest.raises(ConfigError, match="command_joints: expected .*; got '"):
            Robot(CommandConfig(type='positions', joints=joints))
    lacks = Robot(CommandConfig(type='positions', joints=('a', 'c')))
    assert lacks.follow([0.0, 0.0, 0.0]) is None
    assert 'no joint state of c' in lacks.commands.report(lacks.now_s)
    with pytest.raises(ConfigError, match='expected none for a character that is no robot'):
        JointCommands(None, CommandConfig(type='positions'))
