# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A change of one thing is found, named as the worst, and compared for what it means."""

from array import array
import re

from bag_samples import edited as edited_bag
from graph_messages import a_skeleton, items_of, latched_items, moments, with_posture, write_items
import numpy as np
from puppet_core.body.continuous_euler import JOINT_NAMES
from puppet_core.body.skeleton import Skeleton
from puppet_msgs.msg import Importance, PoseFrame
from puppet_replay.compare import compare_bags, EXACT, Tolerances
from puppet_replay.plots import command as plot_command
from puppet_ros.messages import encoded
from puppet_ros.messages.importance_msg import REST_FIELDS
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.slow

N = 40
FRAMES = moments(N)
ORDER = np.random.default_rng(5).permutation(len(JOINT_NAMES))
IMPORTANCE_TYPE = 'puppet_msgs/msg/Importance'
CONTACT_FIELDS = ('end_effectors', 'segments', 'samples', 'weights', 'displacements')


def all_items(change=lambda moment: moment):
    return latched_items() + [item for m in FRAMES for item in items_of(change(m))]


def edited(topic, kind, edit):
    """Return all items, the messages of one topic changed in place."""

    def other(item):
        message = deserialize_message(item.data, kind)
        edit(message)
        return item._replace(data=serialize_message(message))

    return [other(item) if item.topic == topic else item for item in all_items()]


def longer(amount_mm):
    offsets = a_skeleton().offsets.copy()
    offsets[5, 1] += 1e-3 * amount_mm
    frames = moments(N, Skeleton(offsets, a_skeleton().interaction_points))
    return lambda moment: frames[moment.index]


def negated(moment):
    raw = moment.raw._replace(quaternions=-moment.raw.quaternions)
    posture = with_posture(moment, rotations=-moment.posture.posture.rotations)
    return posture._replace(raw=raw)


def late_sign(moment):
    """Negate a rotation from frame 15 on: the same, but the long way for who interpolates."""
    q = moment.posture.posture.rotations.copy()
    q[9] *= -1.0 if moment.index >= 15 else 1.0
    return with_posture(moment, rotations=q)


def without_number(moment):
    points = moment.posture.posture.end_effectors.copy()
    points[2, 1] = np.nan if moment.index == 12 else points[2, 1]
    return with_posture(moment, end_effectors=points)


def shifted(shift_ns):
    def change(m):
        posture, raw = (p._replace(stamp_ns=m.stamp_ns + shift_ns) for p in (m.posture, m.raw))
        return m._replace(stamp_ns=m.stamp_ns + shift_ns, posture=posture, raw=raw)

    return all_items(change)


def joints(by):
    """Turn a joint, and give all of them in another order."""

    def edit(msg):
        msg.position[JOINT_NAMES.index('left_shank_y')] += by
        msg.position = [msg.position[i] for i in ORDER]
        msg.name = [msg.name[i] for i in ORDER]

    return edited('/joint_states', JointState, edit)


def contacts(order, weights=None):
    def edit(msg):
        msg.contact_weights = weights or msg.contact_weights
        for name in CONTACT_FIELDS:
            values = getattr(msg, f'contact_{name}')
            rows = np.array(values).reshape(2, -1)[order]
            setattr(msg, f'contact_{name}', array(values.typecode, rows.ravel().tolist()))

    return edited('/importance', Importance, edit)


def rests(order, gaps=(0.1, 0.2)):
    def edit(msg):
        msg.rest_gaps = array('d', gaps)
        for name in ('segments', 'objects', 'importances', 'gaps'):
            values = getattr(msg, f'rest_{name}')
            setattr(msg, f'rest_{name}', array(values.typecode, [values[i] for i in order]))

    return edited('/importance', Importance, edit)


def covariance(place, value):
    def edit(msg):
        msg.pose_covariances[36 * 2 + place] = value

    return edited('/tracker/filtered', PoseFrame, edit)


def moved_frame(msg):
    msg.transforms[2].transform.translation.z += 0.25


def other_robot(msg):
    msg.data = '<robot name="blubby"/>'


@pytest.mark.parametrize(
    'items, names, component, frame, peak',
    [
        (all_items(), '', '', 0, 0.0),
        (all_items(negated), '', '', 0, 0.0),
        (all_items(late_sign), 'rotations_sign', 'right_hand', 15, 1.0),
        (all_items(longer(0.11)), 'skeleton ..', 'left_forearm y', 0, 0.11),
        (all_items(longer(-5.0)), 'skeleton ..', 'left_forearm y', 0, 5.0),
        # one NaN in one bag; the same in both is equal: goal errors without a goal
        (all_items(without_number), 'end_effector_positions', 'left_foot y', 12, np.inf),
        *((shifted(ns), 'stamp', '', 0, abs(ns) * 1e-6) for ns in (1, -(10**9), 36 * 10**11)),
        (edited('/tf', TFMessage, moved_frame), 'translation', 'world -> puppet/left_hand z', 0,
         250.0),
        (edited('/robot_description', String, other_robot), 'data',
         "'", 0, 1.0),
        (joints(0.0), '', '', 0, 0.0),
        (joints(0.01), 'position', 'left_shank_y', 0, 0.01),
        (contacts([1, 0]), '', '', 0, 0.0),
        (contacts([1, 0], [1.25, 2.0]), 'contact_weights', 'left_hand', 0, 0.2),
        (contacts([1]), 'contact_weights ..', 'left_hand', 0, 1.0),
        (contacts([]), 'contact_weights ..', 'left_hand', 0, 1.0),
        (rests([1, 0]), '', '', 0, 0.0),
        (rests([0, 1], [0.1, 0.25]), 'rest_gaps', 'right_thigh on floor', 0, 50.0),
        (rests([1]), 'rest_importances ..', 'pelvis on floor', 0, 0.5),
        # of 1e-3 m; a factor of 4 is ln 2 of the deviation, whatever its size
        (covariance(7, 4e-6), 'pose_covariances', 'left_hand y', 0, np.log(2.0)),
        (covariance(1, 5e-7), 'pose_correlations', 'left_hand x y', 0, 0.5),
    ],
)  # fmt: skip
def test_a_change_is_named_whichever_bag_has_it(tmp_path, items, names, component, frame, peak):
    a = write_items(tmp_path / 'a.mcap', all_items())
    b = write_items(tmp_path / 'b.mcap', items)
    preset = 'default' if names.endswith('..') else EXACT
    for paths in ((a, b), (b, a)):
        found = compare_bags(*paths, Tolerances(preset))
        wrong = {field.name for field in found.fields() if not field.within}
        assert wrong == set(names.split()) or names.endswith('..')
        assert {topic.counts for topic in found.topics} == {(N, N), (1, 1)}
        assert len(found.fields()) > 60 and not found.warnings
        assert found.within == (found.origin() == '') == (not names)
        worst = found.worst()
        assert worst.peak == pytest.approx(peak, rel=1e-6)
        if names:
            assert worst.name == names.split()[0] and component in worst.worst.component
            assert worst.first.frame_index == frame


def test_topics_that_one_bag_lacks_or_has_of_another_type(tmp_path):
    lacking = [item for item in all_items() if item.topic != '/importance']
    typed = [
        i._replace(msgtype='std_msgs/msg/Header') if i.topic == '/robot_description' else i
        for i in lacking
    ]
    paths = [write_items(tmp_path / f'{i}.mcap', x) for i, x in enumerate((all_items(), typed))]
    there, back = (compare_bags(*order, Tolerances()) for order in (paths, paths[::-1]))
    notes = [
        {f.topic: f.note for f in found.fields() if f.name == 'topic' and not f.within}
        for found in (there, back)
    ]
    string, header = 'std_msgs/msg/String', 'std_msgs/msg/Header'
    assert notes == [
        {'/importance': 'missing', '/robot_description': f'of type {string} and {header}'},
        {'/importance': 'extra', '/robot_description': f'of type {header} and {string}'},
    ]
    assert there.worst().name == back.worst().name == 'topic'


def test_an_importance_of_before_is_compared_but_refused_elsewhere(tmp_path, capsys):
    """It has no rests, which are the end of the message and of its definition."""

    def before(messages):
        for message in messages:
            if message.type == IMPORTANCE_TYPE:
                msg = deserialize_message(message.data, Importance)
                for name in REST_FIELDS:
                    setattr(msg, name, [])
                message = message._replace(data=encoded(msg)[: -4 * len(REST_FIELDS)])
            yield message

    def about(topic):
        text = topic.definition
        for name in REST_FIELDS:
            text = re.sub(rf'\n\S+ {name}\n', '\n', text)
        return topic._replace(definition=text, type_hash='')

    now = write_items(tmp_path / 'now.mcap', all_items())
    old = edited_bag(now, tmp_path / 'old.mcap', before, about)
    found = compare_bags(old, now, Tolerances(EXACT))
    wrong = {field.name for field in found.fields() if not field.within}
    assert wrong == {'rest_importances', 'rest_gaps'}
    assert plot_command.main([str(old), '--what', 'importance', str(tmp_path / 'a.png')]) == 2
    assert f'{IMPORTANCE_TYPE} as installed here, got that of an' in capsys.readouterr().err


def test_messages_in_any_order_find_each_other(tmp_path):
    items = all_items()
    order = np.random.default_rng(1).permutation(len(items))
    mixed = [items[i]._replace(log_ns=10**9 + k) for k, i in enumerate(order)]
    paths = write_items(tmp_path / 'a.mcap', items), write_items(tmp_path / 'b.mcap', mixed)
    found = compare_bags(*paths, Tolerances(EXACT))
    assert {field.name for field in found.fields() if not field.within} == {'order'}
    assert 'stamps go back 0 times in A' in found.worst().note


def test_only_rigid_bodies_have_a_skeleton(tmp_path):
    """A performer's joints come from measured positions: they are no measure of a body."""

    def measured(moment):
        noise = 1e-3 * np.random.default_rng(moment.index).normal(size=(16, 3))
        posture = moment.posture
        return moment._replace(posture=posture._replace(segments=posture.segments + noise))

    path = write_items(tmp_path / 'a.mcap', all_items(measured))
    names = {field.name for field in compare_bags(path, path, Tolerances()).fields()}
    assert 'segment_positions' in names and 'skeleton' not in names
