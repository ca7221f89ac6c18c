# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A change of one thing is found, named as the worst, and compared for what it means."""

from array import array
from functools import partial

from graph_messages import (
    a_skeleton,
    items_of,
    latched_items,
    moments,
    with_posture,
    write_bag,
    write_items,
)
import numpy as np
from puppet_core.body.skeleton import Skeleton
from puppet_core.math.quaternions import exp, multiply
from puppet_msgs.msg import Importance, PoseFrame
from puppet_replay.compare import compare_bags
from puppet_replay.compare.tolerances import EXACT, Tolerances
import pytest
from rclpy.serialization import deserialize_message, serialize_message

pytestmark = pytest.mark.slow

N = 40
FRAMES = moments(N)


@pytest.fixture(scope='module')
def before(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp('bags') / 'a.mcap', FRAMES)


@pytest.fixture
def after(before, tmp_path):
    def compared(change=None, preset='default', **kind):
        frames = kind.get('frames', FRAMES)
        items = kind.get('items')
        path = tmp_path / 'b.mcap'
        other = write_bag(path, frames, change) if items is None else write_items(path, items)
        return compare_bags(before, other, Tolerances(preset))

    return compared


def worst_name(comparison):
    worst = comparison.worst()
    assert worst is not None and not worst.within and not comparison.within
    return worst.topic, worst.name


def wrong(comparison):
    return {(f.topic, f.name): f for f in comparison.fields() if not f.within}


def all_items(change=lambda item: item):
    items = latched_items() + [item for moment in FRAMES for item in items_of(moment)]
    return [new for new in map(change, items) if new is not None]


def test_a_bag_equals_itself_exactly(after):
    found = after(preset=EXACT)
    assert found.within and found.origin() == '' and not found.warnings
    assert len(found.topics) == 8
    assert all(field.peak == 0.0 for field in found.fields())
    assert {topic.counts for topic in found.topics} == {(N, N), (1, 1)}
    assert len(found.fields()) > 60


@pytest.mark.parametrize('amount_mm', [0.11, 5.0, -5.0])
def test_an_offset_in_a_character_is_named(after, amount_mm):
    body = a_skeleton()
    offsets = body.offsets.copy()
    offsets[5, 1] += 1e-3 * amount_mm
    found = after(frames=moments(N, Skeleton(offsets, body.interaction_points)))
    assert worst_name(found) == ('/puppet/posture', 'skeleton')
    worst = found.worst()
    assert worst.worst.component == 'left_forearm y'
    assert worst.peak == pytest.approx(abs(amount_mm), rel=1e-6)
    assert worst.first.frame_index == 0


def test_negated_quaternions_are_the_same_rotations(after):
    def negated(moment):
        raw = moment.raw._replace(quaternions=-moment.raw.quaternions)
        posture = with_posture(moment, rotations=-moment.posture.posture.rotations)
        return posture._replace(raw=raw)

    assert after(negated, preset=EXACT).within


def test_a_sign_that_changes_on_the_way_is_named_as_such(after):
    """The rotation is the same; a program that interpolates would go the long way round."""

    def negated(moment):
        q = moment.posture.posture.rotations.copy()
        q[9] *= -1.0 if moment.index >= 15 else 1.0
        return with_posture(moment, rotations=q)

    found = after(negated, preset=EXACT)
    assert set(wrong(found)) == {('/puppet/posture', 'rotations_sign')}
    first = found.worst().first
    assert (first.frame_index, first.component) == (15, 'right_hand')


def test_missing_and_extra_topics_are_differences(before, after, tmp_path):
    found = after(items=all_items(lambda i: None if i.topic == '/importance' else i))
    assert worst_name(found) == ('/importance', 'topic')
    assert found.worst().note == 'missing'
    back = compare_bags(tmp_path / 'b.mcap', before, Tolerances())
    assert (worst_name(back), back.worst().note) == (('/importance', 'topic'), 'extra')


@pytest.mark.parametrize('shift_ns', [1, 1_000_000, -900_000_000, 3_600_000_000_000])
def test_shifted_stamps_are_a_difference_of_the_stamps(after, shift_ns):
    def shifted(moment):
        stamp_ns = moment.stamp_ns + shift_ns
        return moment._replace(
            stamp_ns=stamp_ns,
            posture=moment.posture._replace(stamp_ns=stamp_ns),
            raw=moment.raw._replace(stamp_ns=stamp_ns),
        )

    found = after(shifted, preset=EXACT)
    assert {field for _, field in wrong(found)} == {'stamp'}
    assert found.worst().peak == pytest.approx(abs(shift_ns) * 1e-6)


def test_no_number_is_worse_than_any_number(after):
    """One NaN in one bag; the same in both is equal (goal errors without a goal are)."""

    def broken(moment):
        points = moment.posture.posture.end_effectors.copy() + 1e-3
        if moment.index == 12:
            points[2, 1] = np.nan
        return with_posture(moment, end_effectors=points)

    found = after(broken)
    assert worst_name(found) == ('/puppet/posture', 'end_effector_positions')
    worst = found.worst()
    assert worst.peak == np.inf and worst.worst.component == 'left_foot y'
    assert worst.worst.frame_index == 12
    assert ('/retarget/status', 'goal_errors') not in wrong(found)


def test_joints_are_compared_by_name(after):
    from puppet_core.body.continuous_euler import JOINT_NAMES
    from puppet_ros.messages.joint_msg import JointStateWriter
    from rclpy.serialization import serialize_message

    order = np.random.default_rng(5).permutation(len(JOINT_NAMES))
    writer = JointStateWriter([JOINT_NAMES[i] for i in order])
    turned = JOINT_NAMES.index('left_shank_y')

    def shuffled(item, by):
        if item.topic != '/joint_states':
            return item
        angles = FRAMES[round((item.log_ns - FRAMES[0].stamp_ns) * 120e-9)].angles.copy()
        angles[turned] += by
        return item._replace(data=serialize_message(writer.fill(item.log_ns, angles[order])))

    assert after(items=all_items(partial(shuffled, by=0.0)), preset=EXACT).within
    found = after(items=all_items(partial(shuffled, by=0.01)))
    assert set(wrong(found)) == {('/joint_states', 'position')}
    assert found.worst().worst.component == 'left_shank_y'
    assert found.worst().peak == pytest.approx(0.01)


def test_transforms_are_compared_by_frames(after):
    def turned(moment):
        q = moment.raw.quaternions.copy()
        q[2] = multiply(q[2], exp(np.array([0.0, 0.0, 0.01])))
        return moment._replace(raw=moment.raw._replace(quaternions=q))

    found = wrong(after(turned))
    assert found['/tf', 'rotation'].worst.component == 'world -> puppet/left_hand'
    assert found['/tf', 'rotation'].peak == pytest.approx(np.degrees(0.01))
    assert found['/tracker/raw', 'orientations'].worst.component == 'left_hand'


def test_texts_and_types_are_compared(after):
    from rclpy.serialization import serialize_message
    from std_msgs.msg import String

    other = serialize_message(String(data='<robot name="blubby"/>'))
    swapped = all_items(lambda i: i._replace(data=other) if i.topic == '/robot_description' else i)
    assert worst_name(after(items=swapped)) == ('/robot_description', 'data')
    header = 'std_msgs/msg/Header'
    typed = all_items(
        lambda i: i._replace(msgtype=header) if i.topic == '/robot_description' else i
    )
    found = after(items=typed)
    assert worst_name(found) == ('/robot_description', 'topic')
    assert 'std_msgs/msg/Header' in found.worst().note


def test_messages_in_any_order_find_each_other(after):
    items = all_items()
    order = np.random.default_rng(1).permutation(len(items))
    shuffled = [items[i]._replace(log_ns=10**9 + k) for k, i in enumerate(order)]
    found = after(items=shuffled, preset=EXACT)
    assert {field for _, field in wrong(found)} == {'order'}
    assert 'stamps go back 0 times in A' in found.worst().note


CONTACTS = ('end_effectors', 'segments', 'samples', 'weights', 'displacements', 'shares')


def importance_with(order, **changes):
    """Return the messages with the contacts in an order, and fields of them changed."""
    items = []
    for item in (item for moment in FRAMES for item in items_of(moment)):
        if item.topic == '/importance':
            msg = deserialize_message(item.data, Importance)
            for name in CONTACTS:
                values = getattr(msg, f'contact_{name}')
                rows = np.array(changes.get(name, values)).reshape(2, -1)[order]
                setattr(msg, f'contact_{name}', array(values.typecode, rows.ravel().tolist()))
            items.append(item._replace(data=serialize_message(msg)))
    return items


def differing(folder, a, b):
    paths = write_items(folder / 'a.mcap', a), write_items(folder / 'b.mcap', b)
    found = compare_bags(*paths, Tolerances(EXACT))
    return {field.name: field for field in found.fields() if not field.within}


def test_contacts_may_stand_in_any_place(tmp_path):
    before = importance_with([0, 1])
    assert not differing(tmp_path, before, importance_with([1, 0]))
    found = differing(tmp_path, before, importance_with([1, 0], weights=[1.25, 2.0]))
    assert set(found) == {'contact_weights'}
    assert found['contact_weights'].worst.component == 'left_hand'
    assert found['contact_weights'].peak == pytest.approx(0.25 / 1.25)


def test_a_contact_of_one_bag_alone_is_a_difference(tmp_path):
    found = differing(tmp_path, importance_with([0]), importance_with([0, 1]))
    assert {'contact_samples', 'contact_weights'} <= set(found)
    found = differing(tmp_path, importance_with([]), importance_with([0]))
    assert {'contact_samples', 'contact_weights'} <= set(found)


def test_covariances_are_compared_as_standard_deviations(tmp_path):
    """A factor of 4 on one axis is ln 2 of its deviation, whatever its size."""
    a, b = [], []
    for item in (item for moment in FRAMES for item in items_of(moment)):
        if item.topic == '/tracker/filtered':
            msg = deserialize_message(item.data, PoseFrame)
            msg.pose_covariances[36 * 2 + 7] *= 4.0
            a.append(item)
            b.append(item._replace(data=serialize_message(msg)))
    found = differing(tmp_path, a, b)
    assert set(found) == {'pose_covariances'}
    assert found['pose_covariances'].worst.component == 'left_hand y'
    assert found['pose_covariances'].peak == pytest.approx(np.log(2.0))


def test_only_rigid_bodies_have_a_skeleton(tmp_path):
    """A performer's joints come from measured positions: they are no measure of a body."""

    def measured(moment):
        noise = 1e-3 * np.random.default_rng(moment.index).normal(size=(16, 3))
        posture = moment.posture
        return moment._replace(posture=posture._replace(segments=posture.segments + noise))

    items = [item for moment in FRAMES for item in items_of(measured(moment))]
    path = write_items(tmp_path / 'a.mcap', items)
    names = {field.name for field in compare_bags(path, path, Tolerances()).fields()}
    assert 'segment_positions' in names and 'skeleton' not in names
