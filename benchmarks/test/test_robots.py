# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet bench robots`: the test's robot on two steps, its soles by hand, refusals."""

from pathlib import Path
import sys

from benchmarks import robots
import numpy as np

HUMANOID = Path(robots.__file__).parents[1] / 'src/puppet_core/test/humanoid.urdf'


def test_a_robot_is_measured_and_another_is_refused(run, walk_bvh, tmp_path):
    other = tmp_path / 'other.urdf'
    other.write_text('<robot name="other"><link name="base"/></robot>')
    refused = run('robots', other, '--clips', walk_bvh)
    assert refused.code == 2 and 'expected a robot to measure' in refused.err
    assert 'other.urdf' in refused.err and not refused.out
    picture = tmp_path / 'robots.png'
    done = run('robots', HUMANOID, other, '--clips', walk_bvh, '--picture', picture)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    row = dict(zip(lines[5].split(' | '), lines[7].split(' | ')))
    assert 'arms 6 + 6, legs 6 + 6, trunk 3, head 2' in lines[2]
    assert 'refused' in lines[3] and 'two legs' in lines[3]
    assert row['over position, speed'] == '0, 0'
    assert float(row['> 10 mm, %']) == 0.0
    assert picture.stat().st_size > 10_000


def test_figures_are_of_the_soles_where_the_urdf_has_them():
    """The zero pose, sunk by 7 mm and pushed over the floor at 30 mm/s."""
    robot = robots.MeasuredRobot(HUMANOID)
    still = robot.still()
    _, places = robot.world(still)
    ankle = places[0, robot.links.links.index('left_foot'), 2]
    base = np.zeros((31, 3))
    base[:, 0], base[:, 2] = 0.001 * np.arange(31), -(ankle - 0.07) - 0.007
    q, angles = np.repeat(still.q_base, 31, axis=0), np.repeat(still.angles, 31, axis=0)
    motion = robots.Trajectory(30.0, base, q, angles, 0.1)
    planted = np.ones((31, 2), dtype=bool)
    planted[0] = False
    cells = dict(zip(robots.HEAD, robots.figures(robot, motion, planted, 0.0, None)))
    assert cells["slide (performer's), mm/s"] == '30 (0)'
    assert cells['deepest sole, mm'] == '7'
    assert (cells['> 5 mm, %'], cells['> 10 mm, %'], cells['jerk, rad/s³']) == (
        '100.0',
        '0.0',
        '0',
    )


def test_a_peer_that_is_not_there_is_named(run, walk_bvh, monkeypatch):
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    done = run('robots', 'no.urdf', '--clips', walk_bvh, '--peer', 'gmr')
    assert done.code == 2 and '--peer gmr: expected YanjieZe/GMR' in done.err
    assert run('robots', HUMANOID, '--clips', 'no.bvh').code == 2
