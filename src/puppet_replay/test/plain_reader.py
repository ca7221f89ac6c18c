# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of a bag by the mcap and rosbags libraries alone, to hold our own reading against."""

from pathlib import Path
from typing import Any, NamedTuple

from mcap.reader import make_reader
from rosbags.typesys import get_types_from_msg, get_typestore, Stores


class PlainMessage(NamedTuple):
    """A message with its times."""

    log_ns: int
    stamp_ns: int
    msg: Any


def plain_messages(path: Path, topic: str) -> list[PlainMessage]:
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
