# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet bench robots`: the test's robot on two steps, its soles by hand, refusals."""

from io import BytesIO
from pathlib import Path
import sys

from benchmarks import robots
from body_fixtures import floor_only
import numpy as np
from puppet_retarget.offline import report, retarget_motion, RetargetJob
from puppet_retarget.offline.self_contact import performer_body

HUMANOID = Path(robots.__file__).parents[1] / 'src/puppet_core/test/humanoid.urdf'


def measured_job():
    robot = robots.MeasuredRobot(HUMANOID)
    return robot, RetargetJob(robot.character, floor_only())


def trajectory(robot, motion, result):
    data = np.load(BytesIO(result.file_data(robot.character, motion.rate_hz, '.npz')))
    base = data['base_pos_w'], data['base_quat_w']
    return robots.Trajectory(motion.rate_hz, *base, data['joint_pos'], 0.0)


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
    body = dict(zip(lines[9].strip('| ').split(' | '), lines[11].strip('| ').split(' | ')))
    assert list(body) == ['robot', 'clip', *robots.BODY_HEAD]
    assert (body['flips'], body['whips'], body['snaps'], body['pops']) == ('0', '0', '0', '0')
    assert float(body['> 10 mm, %']) == 0.0


def test_segments_of_the_links_are_those_of_the_posture(steps):
    """So a trajectory of whoever is measured as a puppet's posture is."""
    robot, job = measured_job()
    result = retarget_motion(steps, job)
    motion = trajectory(robot, steps, result)
    q, p = robot.segments(robot.world(motion))
    np.testing.assert_allclose(p, result.p_world, atol=1e-9)
    local = robots.joint_rotations(q)
    for found, expected in ((q, result.q_world), (local, result.puppet.rotations)):
        np.testing.assert_allclose(np.abs(np.sum(found * expected, axis=-1)), 1.0, atol=1e-9)
    performer = performer_body(steps)
    free = robots.free_limbs_of(robot, performer, steps, result)
    cells = dict(
        zip(robots.BODY_HEAD, robots.body_figures(robot, motion, performer, steps, free, None))
    )
    figures = report(steps, job, result)
    for name in ('flips', 'whips', 'snaps', 'pops'):
        assert cells[name] == str(figures[name])
    worst = figures['segment_direction_deg']['worst']
    assert cells['free segments, deg: median / worst'].endswith(f'/ {worst:.1f}')
    assert cells['deepest in itself, mm (which)'] == '–'


def test_what_a_robot_does_that_its_performer_does_not_is_counted(steps):
    """A shoulder that jumps by a radian there and back, and hands in the floor."""
    robot, job = measured_job()
    result = retarget_motion(steps, job)
    motion, performer = trajectory(robot, steps, result), performer_body(steps)
    joint = robot.names.index(robot.robot.names[robot.robot.joints_of(4)[0]])
    angles = motion.angles.copy()
    angles[60, joint] += 1.0
    sunk = motion.base - [0.0, 0.0, 0.05]
    free = robots.free_limbs_of(robot, performer, steps, result)
    touch = [{} for _ in angles]
    touch[3] = {(1, 2): 0.012, (1, 3): 0.007}
    before, after = (
        dict(
            zip(robots.BODY_HEAD, robots.body_figures(robot, made, performer, steps, free, touch))
        )
        for made in (motion, motion._replace(angles=angles, base=sunk))
    )
    assert int(after['whips']) == int(before['whips']) + 2
    assert int(after['pops']) > int(before['pops'])
    assert (before['> 10 mm, %'], after['> 10 mm, %']) == ('0.0', '100.0')
    assert 'foot' in after['deepest link, mm (which)']
    assert 45 < int(after['deepest link, mm (which)'].split()[0]) < 60
    links = robot.links.links
    assert after['deepest in itself, mm (which)'] == f'12 ({links[1]}, {links[2]})'


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
