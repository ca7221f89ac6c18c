# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The topics of the graph: which node makes which from which, and where a replay can enter."""

from collections.abc import Collection

from puppet_core.io import InputFileError
from puppet_ros import interface_table as graph
from puppet_ros.bags import BagReader

ENTRIES = (graph.RAW, graph.FILTERED, graph.POSTURE, graph.IMPORTANCE)
"""Topics at which recorded messages can enter, the first one first."""

# of the machinery of the graph that was recorded, not of its data
OF_THE_GRAPH = (graph.CLOCK, graph.PARAMETERS, '/rosout', '/parameter_events', '/diagnostics')


def entry_of(reader: BagReader, chosen: str = '') -> str:
    """Return where a bag enters, the chosen topic or the first; raise InputFileError if none."""
    there = [topic for topic in ENTRIES if reader.counts.get(topic)]
    entry = chosen or (there[0] if there else '')
    if entry not in there:
        found = ', '.join(there) or 'none of them'
        wanted = f'messages on {chosen}' if chosen else f'messages on one of {", ".join(ENTRIES)}'
        raise InputFileError(reader.path, wanted, found if not chosen else f'those on {found}')
    for topic in inputs_of(entry):
        if not reader.counts.get(topic):
            raise InputFileError(reader.path, f'messages on {topic}', 'none', field=entry)
        if reader.topics[topic] != graph.TYPES[topic]:
            raise InputFileError(
                reader.path, graph.TYPES[topic], reader.topics[topic], field=topic
            )
    return entry


def inputs_of(entry: str) -> tuple[str, ...]:
    """Return the recorded topics that a replay from this entry reads."""
    return (graph.POSTURE, graph.IMPORTANCE) if entry == graph.IMPORTANCE else (entry,)


def live_topics(entry: str) -> frozenset[str]:
    """Return the topics that the nodes behind an entry publish themselves."""
    behind = ('pose_filter', 'performer', 'importance', 'retarget')[ENTRIES.index(entry) :]
    nodes = {*behind, 'visualization', 'tracker_markers'}
    return frozenset(topic.name for topic in graph.TOPICS if nodes & {*topic.publishers})


def played_topics(topics: Collection[str], entry: str) -> list[str]:
    """Return the recorded topics that are played beside the live nodes, but for /tf."""
    kept_back = (live_topics(entry) - {graph.TF_STATIC}) | {*OF_THE_GRAPH, graph.TF}
    return [topic for topic in topics if topic not in kept_back]
