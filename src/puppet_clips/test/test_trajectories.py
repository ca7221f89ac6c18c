# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Robots' motions as files: read back as the programs read them that they are for."""

import pickle
from xml.etree import ElementTree as Xml

from batch_work import outputs
import numpy as np
from puppet_core.body import load_character, SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_core.robots import LinkKinematics
from puppet_ros.bags import BagReader
from puppet_ros.messages import decoded
import pytest
from sensor_msgs.msg import JointState
from urdf_walk import HUMANOID, link_poses

pytestmark = pytest.mark.ros
TEXT = HUMANOID.read_text()
JOINTS = [j.get('name') for j in Xml.fromstring(TEXT).findall('joint') if j.get('type') != 'fixed']


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('robot')


@pytest.fixture
def tin(run, folder):
    """Return the test's robot as a character file."""
    path = folder / 'tin.yaml'
    if not path.exists():
        assert run('character', 'new', path, '--from-urdf', HUMANOID).code == 0
    return path


@pytest.fixture
def file(run, walk_bvh, tin, folder):
    """Return a function that retargets the walk to a file of a suffix, once."""

    def make(suffix, character=tin):
        out = folder / f'{character}{suffix}'
        if not out.exists():
            done = run('retarget', walk_bvh, out, '--character', character)
            assert done.code == 0 and done.out.rstrip().endswith('120 Hz'), done.err
        return out

    return make


def test_npz_has_joints_in_the_urdfs_order_and_links_where_they_are(file):
    motion = np.load(file('.npz'))
    assert motion['joint_names'].tolist() == JOINTS
    assert motion['fps'].tolist() == [120.0]
    bodies, positions = motion['body_names'].tolist(), motion['joint_pos']
    assert positions.shape == motion['joint_vel'].shape == (120, len(JOINTS))
    np.testing.assert_allclose(
        motion['joint_vel'][1:-1], 60.0 * (positions[2:] - positions[:-2]), atol=1e-9
    )
    np.testing.assert_array_equal(motion['base_pos_w'], motion['body_pos_w'][:, 0])
    for i in (0, 70):
        base = np.eye(4)
        base[:3, :3] = qb.to_matrix(motion['base_quat_w'][i])
        base[:3, 3] = motion['base_pos_w'][i]
        poses = link_poses(TEXT, dict(zip(JOINTS, positions[i])), base)
        assert set(bodies) == set(poses)
        for k, name in enumerate(bodies):
            np.testing.assert_allclose(motion['body_pos_w'][i, k], poses[name][:3, 3], atol=1e-9)
            turn = qb.to_matrix(motion['body_quat_w'][i, k])
            np.testing.assert_allclose(turn, poses[name][:3, :3], atol=1e-9)
    p, q = motion['body_pos_w'], motion['body_quat_w']
    np.testing.assert_allclose(motion['body_lin_vel_w'][50], 60.0 * (p[51] - p[49]), atol=1e-9)
    step = qb.exp(motion['body_ang_vel_w'][50] / 60.0)
    np.testing.assert_allclose(
        qb.to_matrix(qb.multiply(step, q[49])), qb.to_matrix(q[51]), atol=1e-9
    )
    assert (np.sum(q[1:] * q[:-1], axis=-1) > 0.0).all()


def test_csv_is_read_as_csv_to_npz_reads_it(file):
    """HybridRobotics/whole_body_tracking, scripts/csv_to_npz.py, MotionLoader._load_motion."""
    motion, rows = np.load(file('.npz')), np.loadtxt(file('.csv'), delimiter=',')
    np.testing.assert_allclose(rows[:, :3], motion['base_pos_w'], atol=1e-7)
    np.testing.assert_allclose(rows[:, 3:7][:, [3, 0, 1, 2]], motion['base_quat_w'], atol=1e-7)
    np.testing.assert_allclose(rows[:, 7:], motion['joint_pos'], atol=1e-7)


def test_pkl_is_read_as_gmr_reads_it(file):
    """YanjieZe/GMR, general_motion_retargeting/data_loader.py, load_robot_motion."""
    motion = np.load(file('.npz'))
    with open(file('.pkl'), 'rb') as source:
        data = pickle.load(source)
    assert data['fps'] == 120.0 and data['link_body_list'] == motion['body_names'].tolist()
    np.testing.assert_array_equal(data['root_pos'], motion['base_pos_w'])
    np.testing.assert_array_equal(data['root_rot'][:, [3, 0, 1, 2]], motion['base_quat_w'])
    np.testing.assert_array_equal(data['dof_pos'], motion['joint_pos'])
    links = LinkKinematics(HUMANOID, TEXT, JOINTS)
    still = np.zeros((120, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (120, 1))
    local = links.world(*still, data['dof_pos'])[1]
    np.testing.assert_allclose(data['local_body_pos'], local, atol=1e-9)


def test_any_character_has_joints_and_links(file):
    motion = np.load(file('.npz', 'sally'))
    names = motion['body_names'].tolist()
    assert set(SEGMENTS) <= set(names) and motion['joint_pos'].shape == (120, 45)
    shank = (motion['body_pos_w'][:, names.index(f'left_{part}')] for part in ('shank', 'foot'))
    length = np.linalg.norm(np.subtract(*shank), axis=1)
    assert np.ptp(length) < 1e-9


def test_a_batch_for_a_robot_writes_npz_and_goes_on(run, library, tin, tmp_path, file):
    out = tmp_path / 'out'
    assert run('batch --workers 1', library, out, '--character', tin).code == 0
    made = outputs(out, '*.npz')
    assert set(made) == {f'{load_character(tin).name}/{name}.npz' for name in ('one', 'a/two')}
    assert file('.npz').read_bytes() in made.values()
    next(out.rglob('two.npz')).unlink()
    again = run('batch --workers 1', library, out, '--character', tin)
    assert '1 retargeted, 1 finished before' in again.out
    assert outputs(out, '*.npz') == made
    rows = ('--format', 'csv', '--glob', 'two.bvh')
    assert run('batch --workers 1', library, out, '--character', tin, *rows).code == 0
    assert len(list(out.rglob('two.csv'))) == 1


def test_a_bag_has_the_same_joint_states(file):
    motion = np.load(file('.npz'))
    with BagReader(file('.mcap')) as reader:
        found = [decoded(m.data, JointState) for m in reader.messages(['/joint_states'])]
    assert all(list(state.name) == JOINTS for state in found)
    positions = np.array([state.position for state in found])
    np.testing.assert_array_equal(positions, motion['joint_pos'])
    velocities = np.array([state.velocity for state in found])
    np.testing.assert_allclose(velocities[1:], 120.0 * np.diff(positions, axis=0), atol=1e-4)
    assert not velocities[0].any()
