# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""No difference of a message hides: every number and text is changed once, one at a time."""

from pathlib import Path
import re

from geometry_msgs.msg import TransformStamped
from graph_messages import items_of, latched_items, moments, write_items
import numpy as np
from puppet_msgs.msg import PoseFrame
from puppet_replay.compare import command, compare_bags
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


def test_static_frames_that_are_only_announced_are_missing(tmp_path):
    edge = TransformStamped(child_frame_id='transmitter')
    a = bag(tmp_path / 'a.mcap', '/tf_static', STATIC, [TFMessage(transforms=[edge])])
    b = bag(tmp_path / 'b.mcap', '/tf_static', STATIC, [])
    there, back = both_ways(a, b)
    assert not there.within and there.worst().note == '1 missing, 0 extra'
    assert not back.within and back.worst().note == '0 missing, 1 extra'


def test_static_frames_may_be_said_at_another_time(tmp_path):
    def said(path, *seconds):
        edges = [TransformStamped(child_frame_id=f'frame_{i}') for i in range(len(seconds))]
        for edge, second in zip(edges, seconds):
            edge.header.stamp.sec = second
        return bag(path, '/tf_static', STATIC, [TFMessage(transforms=edges)])

    there, back = both_ways(said(tmp_path / 'a.mcap', 1, 2), said(tmp_path / 'b.mcap', 5, 9))
    assert there.within and back.within


def test_messages_without_a_header_are_placed_by_their_log_time(tmp_path):
    a = bag(tmp_path / 'a.mcap', '/x', STRING, [String(data='a') for _ in range(4)])
    b = bag(tmp_path / 'b.mcap', '/x', STRING, [String(data='ab'[i == 2]) for i in range(4)])
    found = compare_bags(a, b, Tolerances())
    worst = found.worst()
    assert worst.worst.stamp_ns == EPOCH_NS + 2 * 10**9 and worst.worst.frame_index == 2
    assert found.start_ns == EPOCH_NS
    assert found.topics[0].rates_hz == (1.0, 1.0)


def test_messages_of_one_stamp_are_joined_in_their_order(tmp_path):
    """Of each stamp two; the last of the first stamp is missing."""
    messages = [JointState(position=[float(i)]) for i in range(20)]
    for i, message in enumerate(messages):
        message.header.stamp.sec = i // 2
    kind = 'sensor_msgs/msg/JointState'
    a = bag(tmp_path / 'a.mcap', '/j', kind, messages[::-1])
    b = bag(tmp_path / 'b.mcap', '/j', kind, [*messages[:0:-1]])
    found = compare_bags(a, b, Tolerances(EXACT))
    assert [(f.name, f.note) for f in found.fields() if not f.within] == [
        ('messages', '1 missing, 0 extra')
    ]
    assert found.worst().worst.stamp_ns == 0 and found.topics[0].counts == (20, 19)


def test_texts_that_are_no_utf8_are_compared(tmp_path):
    a, b = (
        bag(tmp_path / f'{byte}.mcap', '/x', STRING, [bytes([0, 1, 0, 0, 2, 0, 0, 0, byte, 0])])
        for byte in (0xFE, 0xFF)
    )
    assert all(not found.within for found in both_ways(a, b))
    assert all(found.within for found in both_ways(a, a))


def test_rows_of_one_name_are_each_compared(tmp_path):
    def joints(path, names, values):
        return bag(
            path,
            '/j',
            'sensor_msgs/msg/JointState',
            [JointState(name=list(names), position=values)],
        )

    a = joints(tmp_path / 'a.mcap', 'aab', [0.1, 0.2, 0.3])
    same = joints(tmp_path / 'b.mcap', 'aba', [0.1, 0.3, 0.2])
    other = joints(tmp_path / 'c.mcap', 'aba', [0.9, 0.3, 0.2])
    assert all(found.within for found in both_ways(a, same))
    assert all(not found.within for found in both_ways(a, other))


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


@pytest.mark.parametrize('option', ['--json', '--junit', '--html', '--plots'])
def test_a_report_never_replaces_a_bag(option, tmp_path, capsys):
    a = write_items(tmp_path / 'a.mcap', ITEMS[:1])
    b = write_items(tmp_path / 'b.mcap', ITEMS[:1])
    before = b.read_bytes()
    assert command.main([str(a), str(b), option, str(b)]) == 2
    assert 'expected' in capsys.readouterr().err and b.read_bytes() == before
    same = str(tmp_path / 'r.out')
    assert command.main([str(a), str(b), '--json', same, '--html', same]) == 2
    assert not Path(same).exists()
