# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip retarget with bags in and out: the same puppet as through clip files."""

import pytest

pytest.importorskip('puppet_msgs', reason='needs the built messages')

import numpy as np  # noqa: E402,I100
from puppet_core.body.continuous_euler import JOINT_NAMES  # noqa: E402
from puppet_core.clips.load import load_clip  # noqa: E402
from puppet_core.clips.options import ClipOptions  # noqa: E402
from puppet_msgs.msg import Posture  # noqa: E402
from puppet_ros.bags import BagReader, BagWriter  # noqa: E402
from puppet_ros.messages import posture_msg  # noqa: E402
from puppet_ros.messages.raw_header import stamp_ns  # noqa: E402
from puppet_view import bag_motion  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

pytestmark = pytest.mark.ros

FILE_TOL_M = 1e-6  # what a BVH file's decimals lose over a chain of joints
ANGLE_TOL_RAD = 1e-6  # of a motion that was taken apart and put together again
STREAMS = ('/performer/posture', '/importance', '/joint_states', '/puppet/posture')
LATCHED = ('/robot_description', '/puppet/robot_description')
OTHER_CLOCK_NS = 1_700_000_000_123_456_789
AS_WRITTEN = ClipOptions(correct=False)


def messages(path, topic):
    with BagReader(path) as reader:
        return list(reader.messages([topic]))


def stamps(path, topic):
    return [stamp_ns(message.data) for message in messages(path, topic)]


def angles(path):
    """Return the joints of every message, shape (n, joints) [rad]."""
    states = [deserialize_message(m.data, JointState) for m in messages(path, '/joint_states')]
    assert all(tuple(state.name) == JOINT_NAMES for state in states)
    return np.array([state.position for state in states])


def root_positions(path):
    """Return where the puppet was in every message, shape (n, 3) [m]."""
    records = [
        posture_msg.from_msg(deserialize_message(m.data, Posture))
        for m in messages(path, '/puppet/posture')
    ]
    return np.array([record.posture.root_position.copy() for record in records])


def shifted(source, target, change):
    with BagWriter(target) as writer:
        for i, message in enumerate(messages(source, '/performer/posture')):
            posture = deserialize_message(message.data, Posture)
            stamp = change(i, posture)
            if stamp is not None:
                posture.header.stamp.sec, posture.header.stamp.nanosec = divmod(stamp, 10**9)
                writer.write(message.topic, message.type, stamp, serialize_message(posture))
    return target


@pytest.fixture
def bag(run, walk_bvh, tmp_path):
    path = tmp_path / 'walk.mcap'
    done = run('retarget', walk_bvh, path, '--character', 'sally')
    assert done.code == 0, done.err
    assert done.out.startswith(f'{path}: 120 frames of sally by whole_body')
    return path


def test_clip_becomes_the_topics_of_the_live_graph(bag, walk):
    with BagReader(bag) as reader:
        assert set(reader.topics) == {*STREAMS, *LATCHED}
        assert {topic: reader.counts[topic] for topic in STREAMS} == dict.fromkeys(STREAMS, 120)
        assert all(reader.counts[topic] == 1 for topic in LATCHED)
        assert all(
            reader.info[topic].definition and reader.info[topic].type_hash
            for topic in reader.topics
        )
    expected = [bag_motion.START_NS + round(i * 1e9 / walk.rate_hz) for i in range(120)]
    for topic in STREAMS:
        assert stamps(bag, topic) == [m.log_ns for m in messages(bag, topic)] == expected


def test_bag_to_clip_equals_clip_to_clip(run, walk_bvh, bag, tmp_path):
    outs = tmp_path / 'from_clip.bvh', tmp_path / 'from_bag.bvh'
    for source, out in zip((walk_bvh, bag), outs):
        done = run('retarget', source, out, '--character', 'blubby')
        assert done.code == 0, done.err
    one, other = (load_clip(out, options=AS_WRITTEN) for out in outs)
    assert abs(one.rate_hz - other.rate_hz) < 1e-4
    apart = np.abs(one.world_segments()[1] - other.world_segments()[1])
    assert apart.shape[0] == 120 and np.max(apart) < 2.0 * FILE_TOL_M


def test_bag_to_bag_equals_clip_to_bag_at_the_recorded_stamps(run, bag, tmp_path):
    source = shifted(bag, tmp_path / 'in.mcap', lambda i, p: OTHER_CLOCK_NS + i * 8_333_333)
    out = tmp_path / 'out.mcap'
    assert run('retarget', source, out, '--character', 'sally').code == 0
    np.testing.assert_allclose(angles(out), angles(bag), rtol=0.0, atol=ANGLE_TOL_RAD)
    for topic in STREAMS:
        assert stamps(out, topic) == [OTHER_CLOCK_NS + i * 8_333_333 for i in range(120)]
    assert messages(out, '/robot_description')[0].log_ns == OTHER_CLOCK_NS


@pytest.mark.parametrize('lost', [(), (40, 41, 70)], ids=['jitter', 'lost'])
def test_stamps_become_those_of_the_rate(run, bag, tmp_path, lost):
    """What is left keeps its stamps; the puppet is where it would have been, to a millimetre."""
    before = stamps(bag, '/performer/posture')
    # half a millisecond to and fro, as by a busy serial line
    jitter_ns = [0 if lost else 500_000 * (0 < i < 119 and i % 2) for i in range(120)]
    source = shifted(
        bag, tmp_path / 'in.mcap', lambda i, p: None if i in lost else before[i] + jitter_ns[i]
    )
    out = tmp_path / 'out.mcap'
    assert run('retarget', source, out, '--character', 'sally').code == 0
    after = stamps(out, '/puppet/posture')
    assert len(after) == 120 and np.max(np.abs(np.subtract(after, before))) <= 1
    if lost:
        assert set(after) >= {s for i, s in enumerate(before) if i not in lost}
        roots = [root_positions(path) for path in (bag, out)]
        assert np.max(np.abs(roots[0] - roots[1])) < 1e-3


@pytest.mark.parametrize('name', ['sensors.mcap', 'one.mcap', 'gap.mcap', 'cut.mcap', 'no.mcap'])
def test_bag_that_is_no_motion_is_refused(run, bag, tmp_path, name):
    path = tmp_path / name
    message = 'postures on /performer/posture, got none; ./puppet replay makes them'
    if name == 'sensors.mcap':
        with BagWriter(path) as writer:
            state = messages(bag, '/joint_states')[0]
            writer.write(state.topic, state.type, 1, state.data)
    elif name == 'one.mcap':
        shifted(bag, path, lambda i, p: 1 if i == 0 else None)
        message = '/performer/posture: expected at least two postures, got 1'
    elif name == 'gap.mcap':
        shifted(bag, path, lambda i, p: (i + 1) * 10**7 + (i > 60) * 10**12)
        message = 'expected postures at a rate, got a gap of 1000.0 s'
    elif name == 'cut.mcap':
        path.write_bytes(bag.read_bytes()[:100])
        message = 'cut.mcap: expected '
    else:
        message = 'no.mcap: expected a bag, got a path that does not exist'
    done = run('retarget', path, tmp_path / 'out.bvh')
    assert done.code == 2 and message in done.err, done.err
    assert not (tmp_path / 'out.bvh').exists()
