# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fields are where ROS's own deserialization finds them."""

from geometry_msgs.msg import Point, Pose, PoseArray, Quaternion
import graph_messages
import numpy as np
from puppet_replay.compare_layout import Layout, layout_of, LayoutCache, LayoutError
from puppet_ros.bags import class_of, definition_of
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.typesys import get_types_from_msg
from std_msgs.msg import Header, String
from visualization_msgs.msg import Marker, MarkerArray

ITEMS = [item for moment in graph_messages.moments(3) for item in graph_messages.items_of(moment)]
BY_TOPIC = {item.topic: item for item in ITEMS}


def definitions(type_name: str) -> dict:
    """Return the definitions that a type needs."""
    return dict(get_types_from_msg(definition_of(type_name), type_name))


def layout(type_name: str, data: bytes) -> Layout:
    """Return the layout of one message."""
    return layout_of(definitions(type_name), type_name, data)


def value(found: Layout, data: bytes, name: str) -> np.ndarray:
    """Return a field of one message."""
    matrix = np.frombuffer(data, np.uint8)[None]
    return found.numbers(matrix, found.fields()[name])[0]


@pytest.mark.parametrize('topic', BY_TOPIC)
def test_numbers_and_texts_are_those_that_ros_reads(topic: str) -> None:
    """Every plain field of our messages, against rclpy."""
    item = BY_TOPIC[topic]
    message = deserialize_message(item.data, class_of(item.msgtype))
    found = layout(item.msgtype, item.data)
    row = np.frombuffer(item.data, np.uint8)
    checked = 0
    for name, parts in found.fields().items():
        if '[' in name or name == 'header.stamp':
            continue
        expected = message
        for part in name.split('.'):
            expected = getattr(expected, part)
        if parts[0].kind == 'string':
            texts = [found.text(row, part) for part in parts]
            assert texts == ([expected] if isinstance(expected, str) else list(expected))
        else:
            read = value(found, item.data, name).reshape(-1)
            assert np.array_equal(read, np.atleast_1d(expected), equal_nan=True)
        checked += 1
    assert checked >= 2 or topic == '/tf'


def test_lists_of_messages_have_a_part_for_each() -> None:
    """Poses of a list are read as rows."""
    poses = [
        Pose(position=Point(x=float(i)), orientation=Quaternion(w=1.0, z=0.1 * i))
        for i in range(3)
    ]
    data = serialize_message(PoseArray(header=Header(frame_id='abc'), poses=poses))
    found = layout('geometry_msgs/msg/PoseArray', data)
    assert np.array_equal(value(found, data, 'poses[].position')[:, 0], [0.0, 1.0, 2.0])
    turns = value(found, data, 'poses[].orientation')
    assert np.array_equal(turns, [[0.0, 0.0, 0.1 * i, 1.0] for i in range(3)])


def test_empty_lists_and_nested_messages_keep_the_alignment() -> None:
    """A message with many kinds of members, most of them empty, is read to its last byte."""
    marker = Marker(ns='a', id=7, text='hello', scale=graph_messages.a_vector(1.0, 2.0, 3.0))
    data = serialize_message(MarkerArray(markers=[marker, marker]))
    found = layout('visualization_msgs/msg/MarkerArray', data)
    ends = [part.offset + part.size for part in found.parts]
    assert len(data) - max(ends) < 8
    assert np.array_equal(value(found, data, 'markers[].scale'), [[1.0, 2.0, 3.0]] * 2)


def test_messages_are_grouped_by_layout_and_texts() -> None:
    """Other lengths and other texts are other groups; each message is in one."""
    texts = ['ab', 'cd', 'ab', 'abc', 'cd']
    messages = [serialize_message(String(data=text)) for text in texts]
    cache = LayoutCache(definitions('std_msgs/msg/String'), 'std_msgs/msg/String')
    groups = cache.groups(messages)
    assert sorted(tuple(group.places) for group in groups) == [(0, 2), (1, 4), (3,)]


def test_big_endian_is_read() -> None:
    """The encapsulation header says the order of the bytes."""
    data = b'\0\0\0\0' + (3).to_bytes(4, 'big') + b'ab\0'
    found = layout('std_msgs/msg/String', data)
    assert found.text(np.frombuffer(data, np.uint8), found.parts[0]) == 'ab'


@pytest.mark.parametrize('topic', BY_TOPIC)
def test_cut_and_damaged_messages_are_refused_or_read(topic: str) -> None:
    """Never another error, never a loop without end."""
    item = BY_TOPIC[topic]
    known = definitions(item.msgtype)
    rng = np.random.default_rng(3)
    for cut in rng.integers(0, len(item.data) - 8, 40):
        with pytest.raises(LayoutError):
            layout_of(known, item.msgtype, item.data[:cut])
    for place in rng.integers(4, min(len(item.data), 400), 40):
        damaged = bytearray(item.data)
        damaged[place] ^= int(rng.integers(1, 256))
        try:
            layout_of(known, item.msgtype, bytes(damaged))
        except LayoutError as err:
            assert str(err)


def test_unknown_types_are_bytes() -> None:
    """Nothing is known of them, but that they are equal."""
    found = layout_of({}, 'lab_msgs/msg/Force', b'\0\1\0\0abcd')
    assert [part.name for part in found.parts] == ['bytes']
