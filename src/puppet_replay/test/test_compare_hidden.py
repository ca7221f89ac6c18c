# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""No difference of a message hides: every number and text is changed once, one at a time."""

from contextlib import nullcontext
import re

from geometry_msgs.msg import TransformStamped
from graph_messages import items_of, latched_items, moments, write_items
import numpy as np
from puppet_msgs.msg import PoseFrame
from puppet_replay.compare import compare_bags
from puppet_replay.compare.tolerances import EXACT, Tolerances
from puppet_ros.bags import BagWriter, class_of
from puppet_ros.messages import MessageError
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from tf2_msgs.msg import TFMessage

N = 2
EPOCH_NS = 1_700_000_000_000_000_000
ITEMS = latched_items() + [item for moment in moments(N) for item in items_of(moment)]
STRING, STATIC = 'std_msgs/msg/String', 'tf2_msgs/msg/TFMessage'
OF_THE_RUN = {'solve_time_us', 'frames_solved', 'frames_dropped'}


def places_in(message, before=()):
    for name in message.get_fields_and_field_types():
        value = getattr(message, name)
        if hasattr(value, 'get_fields_and_field_types'):
            yield from places_in(value, (*before, name))
        elif isinstance(value, str) or not hasattr(value, '__len__'):
            yield (*before, name)
        else:
            for i in sorted({0, len(value) - 1} & set(range(len(value)))):
                if hasattr(value[i], 'get_fields_and_field_types'):
                    yield from places_in(value[i], (*before, name, i))
                else:
                    yield (*before, name, i)


def changed(data, kind, place):
    message = deserialize_message(data, kind)
    owner = message
    for key in place[:-1]:
        owner = owner[key] if isinstance(key, int) else getattr(owner, key)
    last = place[-1]
    value = owner[last] if isinstance(last, int) else getattr(owner, last)
    if isinstance(value, str):
        other = value + 'x'
    elif isinstance(value, (bool, np.bool_)):
        other = not value
    elif isinstance(value, (int, np.integer)):
        other = type(value)(int(value) + 1)
    else:
        other = 0.37 + (0.0 if np.isnan(value) else value)
    if isinstance(last, int):
        owner[last] = other
    else:
        setattr(owner, last, other)
    return serialize_message(message)


def both_ways(a, b):
    return compare_bags(a, b, Tolerances(EXACT)), compare_bags(b, a, Tolerances(EXACT))


def found_in(comparison):
    return sorted((f.name, f.peak, f.n_beyond) for f in comparison.fields() if not f.within)


@pytest.mark.slow
@pytest.mark.parametrize('topic', list(dict.fromkeys(item.topic for item in ITEMS)))
def test_every_number_and_text_is_compared_both_ways_alike(topic, tmp_path):
    *before, item = (item for item in ITEMS if item.topic == topic)
    kind = class_of(item.msgtype)
    a = write_items(tmp_path / 'a.mcap', [*before, item])
    places = list(places_in(deserialize_message(item.data, kind)))
    assert places
    for place in places:
        data = changed(item.data, kind, place)
        if data == item.data or OF_THE_RUN & set(place):
            continue
        b = write_items(tmp_path / 'b.mcap', [*before, item._replace(data=data)])
        there, back = both_ways(a, b)
        assert not there.within and not back.within, place
        assert found_in(there) == found_in(back), place


def bag(path, topic, kind, messages):
    with BagWriter(path) as writer:
        writer.add_topic(topic, kind)
        for i, message in enumerate(messages):
            data = message if isinstance(message, bytes) else serialize_message(message)
            writer.write(topic, kind, EPOCH_NS + i * 10**9, data)
    return path


def tf(*frames):
    """Return a message of transforms, each of (name, stamp in s, x in m)."""
    message = TFMessage(transforms=[TransformStamped() for _ in frames])
    for edge, (name, second, x) in zip(message.transforms, frames):
        edge.child_frame_id, edge.header.stamp.sec, edge.transform.translation.x = name, second, x
    return message


def joints(names, *values, second=0):
    message = JointState(name=list(names), position=values)
    message.header.stamp.sec = second
    return message


def raw_text(byte):
    return bytes([0, 1, 0, 0, 2, 0, 0, 0, byte, 0])


JOINTS, TF_STATIC, TF = (
    ('/j', 'sensor_msgs/msg/JointState'),
    ('/tf_static', STATIC),
    ('/tf', STATIC),
)
ONE, TWO = tf(('a', 1, 0.1), ('b', 1, 0.2)), tf(('b', 5, 0.2), ('a', 9, 0.1))
NO_TEXT = serialize_message(ONE).replace(b'a\0', b'\xfe\0')
PAIRS = [joints('a', i, second=i // 2) for i in range(20)]  # two of each stamp


@pytest.mark.parametrize(
    'topic, kind, a, b, name, note',
    [
        (*TF_STATIC, [ONE], [], 'messages', '1 missing, 0 extra'),
        (*TF_STATIC, [ONE], [TWO], '', ''),  # said at another time
        (*TF_STATIC, [tf(('a', 1, 7.0)), tf(('b', 2, 0.2)), tf(('a', 3, 0.1))], [ONE], '', ''),
        (*TF_STATIC, [ONE, tf(('a', 3, 0.3))], [ONE], 'translation', ''),
        (*TF_STATIC, [ONE], [tf(('a', 1, 0.1))], 'frames', ''),
        (*TF_STATIC, [NO_TEXT], [NO_TEXT], '', ''),
        (*TF_STATIC, [NO_TEXT], [NO_TEXT.replace(b'\xfe', b'\xff')], 'bytes', ''),
        # transforms of one stamp are joined by their frames
        (*TF, [tf(('a', 1, 0.1)), tf(('b', 1, 0.2))], [tf(('b', 1, 0.2)), tf(('a', 1, 0.1))],
         '', ''),
        (*TF, [tf(('a', 1, 0.1))], [tf(('b', 1, 0.1))], 'frames', ''),
        (*TF, [tf(('a', k, 0.1)) for k in (1, 2)], [tf(('a', k, 0.1)) for k in (5, 6)],
         'stamp', ''),
        (*JOINTS, [joints('aab', 0.1, 0.2, 0.3)], [joints('aba', 0.1, 0.3, 0.2)], '', ''),
        (*JOINTS, [joints('aab', 0.1, 0.2, 0.3)], [joints('aba', 0.9, 0.3, 0.2)], 'position', ''),
        (*JOINTS, PAIRS, PAIRS[1:], 'position', ''),  # in the order of their arrival
        (*JOINTS, PAIRS, [*PAIRS[:1], *PAIRS[2:]], 'messages', '1 missing, 0 extra'),
        ('/x', STRING, [raw_text(0xFE)], [raw_text(0xFE)], '', ''),
        ('/x', STRING, [raw_text(0xFE)], [raw_text(0xFF)], 'bytes', ''),  # neither is UTF-8
        ('/x', STRING, [String(data='a')] * 4, [String(data='ab'[i == 2]) for i in range(4)],
         'data', ''),
    ],
)  # fmt: skip
def test_messages_are_joined_and_differ_in(tmp_path, topic, kind, a, b, name, note):
    there, back = both_ways(
        *(bag(tmp_path / f'{i}.mcap', topic, kind, m) for i, m in enumerate((a, b)))
    )
    assert there.within == back.within == (not name)
    if name:
        wrong = {f.name: f for f in there.fields() if not f.within}
        assert name in wrong and {f.name for f in back.fields() if not f.within} == set(wrong)
        assert wrong[name].note == note
    if name == 'data':  # without a header placed by its log time
        worst = there.worst().worst
        assert (worst.stamp_ns, worst.frame_index) == (EPOCH_NS + 2 * 10**9, 2)
        assert there.start_ns == EPOCH_NS and there.topics[0].rates_hz == (1.0, 1.0)


@pytest.mark.parametrize('topic, seconds', [('/tf_static', ()), ('/j', (9, 0, 7)), ('/x', (5,))])
def test_progress_counts_and_times_are_of_all_messages(tmp_path, topic, seconds):
    """Of static ones, of those without a counterpart, and of those without a stamp."""
    kind = STATIC if topic == '/tf_static' else JOINTS[1]
    a = [joints('a', 0.1, second=second) for second in seconds] or [ONE, ONE]
    b = [joints('a', 0.2, second=100 + 10 * k * k) for k in range(4)] if seconds else [TWO]
    paths = [bag(tmp_path / f'{i}.mcap', topic, kind, m) for i, m in enumerate((a, b))]
    read = []
    found = compare_bags(*paths, Tolerances(), show=lambda n: nullcontext(read.append))
    assert sum(read) == len(a) + len(b)
    assert found.start_ns == (min(filter(None, seconds)) * 10**9 if seconds else EPOCH_NS)
    assert all(f.n_beyond <= f.n for f in found.fields())


@pytest.mark.parametrize(
    ('topic', 'kind', 'message'),
    [
        ('/x', 'std_msgs/msg/Header', Header(frame_id='world')),
        ('/x', 'std_msgs/msg/String', String(data='a')),
        ('/tf', 'tf2_msgs/msg/TFMessage', TFMessage(transforms=[TransformStamped()])),
        ('/tf_static', 'tf2_msgs/msg/TFMessage', TFMessage(transforms=[TransformStamped()])),
        ('/frames', 'puppet_msgs/msg/PoseFrame', PoseFrame()),
    ],
)
@pytest.mark.parametrize('keep', [0, 13, 25])
def test_a_message_that_cannot_be_read_is_named(topic, kind, message, keep, tmp_path):
    whole = serialize_message(message)
    a = bag(tmp_path / 'a.mcap', topic, kind, [whole] * 9)
    short = whole[: min(keep, len(whole) - 2)]
    b = bag(tmp_path / 'b.mcap', topic, kind, [whole] * 5 + [short] + [whole] * 3)
    named = rf'b\.mcap: {topic}: message 5, stamp \d+\.\d{{9}}: '
    if topic in ('/tf', '/frames') and keep < 20:  # without a stamp it belongs to no other
        try:
            assert not compare_bags(a, b, Tolerances()).within
        except MessageError as err:
            assert re.search(named, str(err))
        return
    with pytest.raises(MessageError, match=named):
        compare_bags(a, b, Tolerances())
