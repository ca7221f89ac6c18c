# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Read a recorded bag into numpy, without ROS: `pip install rosbags`.

    python bag_to_numpy.py BAG [TOPIC] [OUTPUT.npz]

BAG is a .mcap file or a folder of rosbag2. It prints the bag's topics, and the arrays that it
saves of one topic: a row a message. The types' definitions are those in the bag.
"""

from dataclasses import fields, is_dataclass
from pathlib import Path
import sys
from typing import Any

import numpy as np


def numbers(message: Any, prefix: str = '') -> dict[str, Any]:
    """Return the fields of a message that numpy holds, by their dotted names."""
    found: dict[str, Any] = {}
    for field in fields(message):
        value = getattr(message, field.name)
        if is_dataclass(value):
            found.update(numbers(value, f'{prefix}{field.name}.'))
        elif isinstance(value, bool | int | float | np.ndarray) and field.name[0].islower():
            found[prefix + field.name] = value
    return found


def main(bag: str, topic: str = '/joint_states', output: str = 'bag.npz') -> None:
    try:
        from rosbags.highlevel import AnyReader, AnyReaderError
        from rosbags.typesys import get_typestore, Stores
    except ImportError:
        sys.exit('rosbags: expected to be installed, got none; pip install rosbags')
    if not Path(bag).exists():
        sys.exit(f'{bag}: expected a bag, got a path that does not exist')
    try:
        usual = get_typestore(Stores.ROS2_JAZZY)  # of topics for which the bag has no definition
        with AnyReader([Path(bag)], default_typestore=usual) as reader:
            for connection in reader.connections:
                print(f'{connection.topic:24} {connection.msgtype} {connection.msgcount}')
            wanted = [c for c in reader.connections if c.topic == topic]
            if not any(c.msgcount for c in wanted):
                sys.exit(f'{topic}: expected a topic of the bag with messages, got none')
            rows = [
                {'log_ns': log_ns} | numbers(reader.deserialize(data, connection.msgtype))
                for connection, log_ns, data in reader.messages(wanted)
            ]
    except AnyReaderError as error:
        sys.exit(f'{bag}: expected a bag, got {error}')
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    same = {k: v for k, v in columns.items() if len({np.shape(x) for x in v}) == 1}
    arrays: dict[str, Any] = {name: np.array(values) for name, values in same.items()}
    np.savez(output, **arrays)
    for name, values in arrays.items():
        print(f'{name:24} {values.dtype!s:8} {values.shape}')


if __name__ == '__main__':
    if len(sys.argv) < 2:
        sys.exit('usage: python bag_to_numpy.py BAG [TOPIC] [OUTPUT.npz]')
    main(*sys.argv[1:4])
