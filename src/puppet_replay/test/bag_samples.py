# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bags for tests: changed ones, a short recording of the golden performance, another reader."""

from pathlib import Path
from typing import Any, NamedTuple

from mcap.reader import make_reader
from puppet_ros.bags import BagReader, BagWriter
from robustness.goldens import FOLDER, PERFORMANCE
from rosbags.typesys import get_types_from_msg, get_typestore, Stores


def messages_of(path, topics=None):
    with BagReader(path) as reader:
        return list(reader.messages(topics))


def edited(source, target, change=lambda messages: messages, about=lambda topic: topic):
    """Write a bag with other messages, or with other things said about its topics."""
    with BagReader(source) as reader, BagWriter(target) as writer:
        for name, info in reader.info.items():
            said = about(info)
            writer.add_topic(name, said.type, said.qos, said.definition, said.type_hash)
        for message in change(list(reader.messages())):
            writer.write(*message)
    return target


class PlainMessage(NamedTuple):
    log_ns: int
    stamp_ns: int
    msg: Any


def plain_messages(path, topic):
    store = get_typestore(Stores.ROS2_JAZZY)
    found = []
    with open(path, 'rb') as file:
        for schema, _, message in make_reader(file).iter_messages(topics=[topic]):
            if schema.name not in store.fielddefs:
                store.register(get_types_from_msg(schema.data.decode(), schema.name))
            msg = store.deserialize_cdr(message.data, schema.name)
            stamp = msg.header.stamp
            found.append(PlainMessage(message.log_time, stamp.sec * 10**9 + stamp.nanosec, msg))
    return found


GOLDENS = Path(__file__).resolve().parents[3] / FOLDER


def recorded(path, duration_s):
    """Write that much of the frames of the performance, whatever is left out between them."""
    with BagReader(GOLDENS / PERFORMANCE) as reader, BagWriter(path) as writer:
        count = 0
        for message in reader.messages():
            count += message.topic == '/tracker/raw'
            if count <= 60 * duration_s:
                writer.write(message.topic, message.type, message.log_ns, message.data)
    return path
