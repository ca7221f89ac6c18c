# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bags changed for tests."""

from collections.abc import Callable, Iterable
from pathlib import Path

from puppet_ros.bags import BagMessage, BagReader, BagTopic, BagWriter


def messages_of(path: Path, topics: Iterable[str] | None = None) -> list[BagMessage]:
    with BagReader(path) as reader:
        return list(reader.messages(topics))


def edited(
    source: Path,
    target: Path,
    change: Callable[[list[BagMessage]], list[BagMessage]] = lambda messages: messages,
    about: Callable[[BagTopic], BagTopic] = lambda topic: topic,
) -> Path:
    """Write a bag with other messages, or with other things said about its topics."""
    with BagReader(source) as reader, BagWriter(target) as writer:
        for name, info in reader.info.items():
            said = about(info)
            writer.add_topic(name, said.type, said.qos, said.definition, said.type_hash)
        for message in change(list(reader.messages())):
            writer.write(*message)
    return target
