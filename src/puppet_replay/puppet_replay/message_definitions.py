# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The definitions of a bag's messages: its own, or those of ROS 2 and of the suite."""

from puppet_replay.compare_layout import Definitions
from puppet_ros.bag_reader import BagReader
from rosbags.typesys import get_types_from_msg, get_typestore, Stores, TypesysError


def definitions_of(reader: BagReader) -> Definitions:
    """
    Return the definitions of all types of a bag that are known.

    What the bag says goes first: it may be older or newer than this suite.

    """
    known = dict(get_typestore(Stores.ROS2_JAZZY).fielddefs)
    for topic in reader.info.values():
        if topic.definition:
            try:
                known |= get_types_from_msg(topic.definition, topic.type)
            except (TypesysError, ValueError, KeyError) as err:
                reason = ' '.join(str(err).split())[:80]
                reader.warnings.append(f'definition of {topic.type}: {reason}')
    return known
