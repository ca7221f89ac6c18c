# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The importance node: one message for one, tuning while running, bad input counted."""

from array import array
import os
import time

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core import named_files  # noqa: E402
from puppet_core.body.posture import Motion  # noqa: E402
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX  # noqa: E402
from puppet_core.body.surface import N_SAMPLES, save_surface  # noqa: E402,I100
from puppet_core.io import (  # noqa: E402
    ConfigError,
    InputFileError,  # noqa: E402
)
from puppet_core.math import quaternions  # noqa: E402
from puppet_msgs.msg import Importance, Posture  # noqa: E402
from puppet_retarget.importance import rests, self_interaction  # noqa: E402
from puppet_retarget.importance.environment import load_environment  # noqa: E402
from puppet_retarget.importance.estimator import IMPORTANCE, OBJECT, RADIUS  # noqa: E402
from puppet_retarget.importance_node import ImportanceNode, INPUT_TOPIC, OUTPUT_TOPIC  # noqa: E402
from puppet_retarget.offline.whole_motion import retarget_motion, RetargetJob  # noqa: E402
from puppet_retarget.solvers import make_solver, SolverConfig  # noqa: E402
from puppet_ros.messages import importance_msg, PostureRecord, PostureWriter  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from recorder import of_posture  # noqa: E402

pytestmark = pytest.mark.ros

DEADLINE_S = 60.0
FLOOR_OBJECT = '{name: floor, shape: plane}'
CONE = 'format: puppet-environment/1\nobjects:\n- {name: a, shape: cone}\n'
FLOOR = named_files.environment_file('floor')


class Recorder:
    """Stands in for a publisher; keeps a copy of what the node refills."""

    def __init__(self):
        self.records = []

    def publish(self, record, frame_id=''):
        copies = {name: getattr(record, name).copy() for name in ('rows', 'self_rows', 'rests')}
        self.records.append(record._replace(**copies))


@pytest.fixture
def make_node(ros_context):
    nodes = []

    def make(**parameters):
        values = {'environment': str(FLOOR), **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        nodes.append(ImportanceNode(context=ros_context, parameter_overrides=overrides))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()


def heard(node, *messages):
    node._publisher = Recorder()
    for msg in messages:
        node._on_posture(of_posture(msg))
    return node._publisher.records


def test_each_posture_gives_one_importance_with_its_stamp(make_node, postures):
    records = heard(make_node(), *(postures(i) for i in range(1, 6)))
    assert [r.frame_index for r in records] == [1, 2, 3, 4, 5]
    assert [r.stamp_ns for r in records] == [i * 8_333_333 for i in range(1, 6)]
    assert records[0].objects == ('floor',)
    assert records[0].rows[2:, IMPORTANCE].max() > 0.99


def test_columns_of_the_self_interaction_are_those_of_its_estimator():
    rows, own = np.zeros((4, 8)), np.zeros((8, self_interaction.SELF_ROW))
    own[1, self_interaction.SELF_IMPORTANCE] = 0.25
    own[1, self_interaction.SELF_DISTANCE] = -0.5
    own[1, self_interaction.FIRST_CONTACT :][: self_interaction.CONTACT_WIDTH] = range(81, 86)
    record = importance_msg.ImportanceRecord(0, 0, rows, own, (), 'lab')
    msg = importance_msg.ImportanceWriter().fill(record)
    hand = Importance.RIGHT_HAND
    assert (msg.self_importance[hand], msg.self_distance[hand]) == (0.25, -0.5)
    parts = self_interaction.WEIGHT, self_interaction.DISPLACEMENT
    contact = msg.contact_weights[0], msg.contact_displacements[0]
    assert contact == tuple(81 + part for part in parts)
    read = importance_msg.from_msg(msg)
    assert read.frame_id == 'lab'
    used = self_interaction.FIRST_CONTACT + self_interaction.CONTACT_WIDTH
    np.testing.assert_array_equal(read.self_rows[1, :used], own[1, :used])
    assert importance_msg.MAX_CONTACTS == self_interaction.MAX_CONTACTS
    assert self_interaction.N_SAMPLES == N_SAMPLES == 40  # the message's text says so too


def test_columns_of_rests_are_those_of_their_estimator():
    ours = importance_msg.REST_FIELDS.index
    columns = rests.REST_OBJECT, rests.REST_SEGMENT, rests.REST_IMPORTANCE, rests.REST_GAP
    names = 'objects', 'segments', 'importances', 'gaps'
    assert tuple(ours(f'rest_{name}') for name in names) == columns
    np.testing.assert_array_equal(importance_msg.NO_RESTS, rests.no_rests())


def test_who_sits_on_the_floor_rests_on_it(make_node, postures):
    """And nothing does while he walks."""
    low = postures(2)
    down = low.segment_positions[2] - 0.12
    low.root_position[2] -= down
    for field in (low.segment_positions, low.end_effector_positions):
        field[2::3] = array('d', np.asarray(field[2::3]) - down)
    walks, sits = heard(make_node(), postures(1), low)
    assert walks.rests[0, rests.REST_OBJECT] == -1.0
    used = sits.rests[sits.rests[:, rests.REST_OBJECT] >= 0.0]
    pelvis = used[used[:, rests.REST_SEGMENT] == SEGMENT_INDEX['pelvis']]
    assert len(pelvis) == 1 and pelvis[0, rests.REST_IMPORTANCE] > 0.9
    msg = importance_msg.ImportanceWriter().fill(sits)
    assert list(msg.rest_segments) == used[:, rests.REST_SEGMENT].tolist()
    assert set(msg.rest_objects) == {msg.objects.index('floor')}
    np.testing.assert_array_equal(importance_msg.from_msg(msg).rests[: len(used)], used)


def test_who_lies_is_solved_from_messages_as_offline(make_node, performer, tall_character):
    """By the whole body, whose trunk, head and limbs rest on the floor."""
    heights = 0.25 + 0.15 * np.cos(np.linspace(0.0, np.pi, 20))
    roots, rotations = np.zeros((20, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (20, 16, 1))
    roots[:, 2], rotations[:, 0] = heights, quaternions.exp(np.array([0.0, -1.5, 0.0]))
    motion = Motion.from_rotations(performer.skeleton, 100.0, roots, rotations)
    floor, leg = load_environment(FLOOR), motion.skeleton.leg_length
    job = RetargetJob(tall_character, floor, solver='whole_body')
    offline = retarget_motion(motion, job).puppet
    segments, postures = motion.world_segments()[1], PostureWriter()
    messages = [
        postures.fill(PostureRecord(i * 10**7, i, '', motion.posture(i), p, np.zeros(16), leg))
        for i, p in enumerate(segments)
    ]
    solver = make_solver('whole_body', tall_character, floor, leg, SolverConfig())
    reader, writer = importance_msg.ImportanceReader(), importance_msg.ImportanceWriter()
    for i, record in enumerate(heard(make_node(), *messages)):
        near = reader.read(writer.data(record))
        hips = segments[i, LIMB_SEGMENTS[2:, 0]].mean(axis=0)
        given = roots[i], hips, rotations[i], near.rows, 0.01 if i else np.inf, near.self_rows
        out = solver.solve(*given, rests=near.rests)
        np.testing.assert_allclose(out.root_position, offline.root_positions[i], atol=1e-9)
        np.testing.assert_allclose(out.rotations, offline.rotations[i], atol=1e-9)
    assert near.rests[0, rests.REST_IMPORTANCE] > 0.9
    without = make_solver('whole_body', tall_character, floor, leg, SolverConfig()).solve(*given)
    assert abs(without.root_position - offline.root_positions[-1]).max() > 0.01


def test_measured_surface_is_taken(make_node, postures, tmp_path):
    path = tmp_path / 'mine.yaml'
    points = np.full((16, 40, 3), 0.25)
    save_surface(points, path, ['chest'])
    node = make_node(surface_file=str(path))
    heard(node, postures(1))
    samples = node._stage.model._self_estimator._arrays.body.samples
    chest = SEGMENT_INDEX['chest']
    assert np.all(samples[chest] == 0.25)
    assert not np.any(np.all(np.delete(samples, chest, axis=0) == 0.25, axis=1))


def test_unusable_posture_is_counted_and_dropped(make_node, postures):
    node, bad = make_node(), postures(2)
    bad.end_effector_positions[4] = float('nan')
    records = heard(node, postures(1), bad, postures(3))
    assert [r.frame_index for r in records] == [1, 3]
    assert node._diagnostics.total_drops == 1
    assert np.isfinite(records[1].rows).all()
    assert np.isfinite(records[1].self_rows).all()


def test_tuning_changes_while_running(make_node, postures):
    node = make_node()
    result = node.set_parameters([Parameter('influence_distance_m', value=0.9)])[0]
    assert result.successful
    assert heard(node, postures(1))[0].rows[2, RADIUS] == pytest.approx(0.9)


def test_environment_changes_while_running(make_node, postures, tmp_path):
    """What stands in both goes on, what is new begins without importance."""
    path = tmp_path / 'desk.yaml'
    desk = '{name: desk, shape: box, position_m: [0, 0, 1], size_m: [4, 4, 0.1]}'
    path.write_text(f'format: puppet-environment/1\nobjects:\n  - {desk}\n  - {FLOOR_OBJECT}\n')
    node = make_node()
    before = heard(node, *(postures(i) for i in range(1, 6)))
    assert node.set_parameters([Parameter('environment', value=str(path))])[0].successful
    after = heard(node, *(postures(i) for i in range(6, 60)))
    assert after[0].objects == ('desk', 'floor') and after[0].rows[2, OBJECT] == 1
    assert after[0].rows[2, IMPORTANCE] == pytest.approx(before[-1].rows[2, IMPORTANCE], abs=1e-3)
    hand = np.array([record.rows[0, IMPORTANCE] for record in (before[-1], *after)])
    assert hand[0] < 0.01 and hand[-1] > 0.5
    assert np.abs(np.diff(hand)).max() < 0.25 * hand[-1]


def test_environment_that_is_set_again_is_read_again(make_node, postures, tmp_path):
    path, node = tmp_path / 'x.yaml', None
    for k, distance in enumerate((0.3, 0.9)):
        floor = FLOOR_OBJECT.replace('}', f', influence_distance_m: {distance}}}')
        path.write_text(f'format: puppet-environment/1\nobjects:\n  - {floor}\n')
        os.utime(path, (k, k))
        node = node or make_node(environment=str(path))
        assert node.set_parameters([Parameter('environment', value=str(path))])[0].successful
        assert heard(node, postures(1 + k))[0].rows[2, RADIUS] == pytest.approx(distance)
    path.write_text(CONE)
    os.utime(path, (9, 9))
    result = node.set_parameters([Parameter('environment', value=str(path))])[0]
    assert not result.successful and 'x.yaml:3: ' in result.reason
    assert heard(node, postures(3))[0].rows[2, RADIUS] == pytest.approx(0.9)


def test_single_pairs_have_a_distance_of_their_own(make_node, postures):
    node = make_node(influence_distances_m='floor.left_foot=0.25')
    rows = heard(node, postures(1))[0].rows
    np.testing.assert_allclose(rows[2:4, RADIUS], (0.25, 0.6))
    both = [
        Parameter('influence_distances_m', value='floor.right_foot=0.1'),
        Parameter('influence_distance_m', value=0.5),
    ]
    assert node.set_parameters_atomically(both).successful
    np.testing.assert_allclose(heard(node, postures(2))[0].rows[2:4, RADIUS], (0.5, 0.1))
    result = node.set_parameters([Parameter('influence_distances_m', value='desk.head=1')])[0]
    assert not result.successful
    assert result.reason == "influence_distances_m: expected one of floor, got 'desk'"


@pytest.mark.parametrize(
    ('name', 'text', 'expected'),
    [
        ('environment', CONE, 'x.yaml:3: .*shape: expected one of plane'),
        ('environment', None, 'environment: expected an existing file'),
        ('surface_file', 'format: puppet-surface/1\npoints_m: {chest: [[1, 2]]}\n', 'x.yaml:2: '),
        ('surface_file', 'format: puppet-environment/1\n', 'x.yaml:1: '),
        ('surface_file', None, 'x.yaml: expected a readable file'),
    ],
    ids=['bad shape', 'no environment', 'bad points', 'other format', 'no surface'],
)
def test_broken_or_missing_file_is_refused_at_start(make_node, tmp_path, name, text, expected):
    path = tmp_path / 'x.yaml'
    if text is not None:
        path.write_text(text)
    with pytest.raises((ConfigError, InputFileError), match=expected):
        make_node(**{name: str(path)})


def test_posture_on_the_topic_comes_out_as_importance(make_node, postures, ros_context):
    """The wiring."""
    node, other, got = make_node(), Node('other', context=ros_context), []
    other.create_subscription(Importance, OUTPUT_TOPIC, got.append, qos.STREAM)
    publisher = other.create_publisher(Posture, INPUT_TOPIC, qos.STREAM)
    executor = make_executor(ros_context)
    executor.add_node(node)
    executor.add_node(other)
    deadline, index = time.monotonic() + DEADLINE_S, 0
    while not got and time.monotonic() < deadline:
        index += 1
        publisher.publish(postures(index % 500))
        executor.spin_once(timeout_sec=0.01)
    executor.shutdown()
    other.destroy_node()
    assert got and got[0].objects == ['floor']
