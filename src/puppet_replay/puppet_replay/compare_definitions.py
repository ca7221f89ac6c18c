# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The definitions of a bag's messages: its own, else the installed ones, else ROS 2's."""

from typing import Any

from puppet_core.errors import ConfigError
from puppet_replay.compare_layout import Definitions
from puppet_ros.bags import BagReader, definition_of
from rosbags.typesys import get_types_from_msg, get_typestore, Stores, TypesysError


def definitions_of(reader: BagReader) -> Definitions:
    """
    Return the definitions of all types of a bag that are known.

    What the bag says goes first: it may be older or newer than this suite. Of a type without
    any definition the messages are compared as bytes, and the bag's warnings say so.

    """
    known: dict[str, Any] = dict(get_typestore(Stores.ROS2_JAZZY).fielddefs)
    for topic in {info.type: info for info in reader.info.values()}.values():
        try:
            text = topic.definition or definition_of(topic.type)
            known |= get_types_from_msg(text, topic.type)
        except ConfigError:
            if topic.type not in known:
                reader.warnings.append(f'{topic.type}: no definition; compared as bytes')
        except (TypesysError, ValueError, KeyError) as err:
            reason = ' '.join(str(err).split())[:80]
            known.pop(topic.type, None)
            reader.warnings.append(f'{topic.type}: {reason}; compared as bytes')
    return known
