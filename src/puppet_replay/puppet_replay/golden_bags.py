# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Goldens: small bags of what a replay came to, that later replays are held against."""

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

from puppet_core.io import InputFileError, PuppetError
from puppet_replay.compare import compare_bags, Comparison, EXACT, Tolerances
from puppet_ros.bags import BagReader, BagWriter

ALL: Mapping[str, int] = MappingProxyType({})
COMPRESSION = 'zstd'


def keep_topics(
    source: Path, target: Path, topics: Collection[str], every: Mapping[str, int] = ALL
) -> None:
    """Write topics of a bag, one of `every` so many messages; InputFileError without any."""
    with BagReader(source) as reader, BagWriter(target, COMPRESSION) as writer:
        absent = [topic for topic in topics if not reader.counts.get(topic)]
        if absent or not topics:
            known = ', '.join(topic for topic, count in reader.counts.items() if count)
            wanted = f'messages on {", ".join(absent) or "some topics"}'
            raise InputFileError(source, wanted, 'none', hint=f'there are {known}')
        counts = dict.fromkeys(topics, 0)
        for message in reader.messages(tuple(topics)):
            if counts[message.topic] % every.get(message.topic, 1) == 0:
                writer.write(message.topic, message.type, message.log_ns, message.data)
            counts[message.topic] += 1


def changes(golden: Path, result: Path) -> Comparison | None:
    """Return how a bag differs, with nothing allowed; None if it is not there or damaged."""
    if not golden.exists():
        return None
    try:
        return compare_bags(golden, result, Tolerances(EXACT))
    except PuppetError:
        with BagReader(result):  # an error about the other bag is none about the golden
            return None
