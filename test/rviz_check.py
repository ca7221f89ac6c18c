# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a configuration file of RViz names that is not there: displays, keys, topics, frames."""

from collections.abc import Iterator, Mapping
import re
from typing import Any, NamedTuple

ANY_NAME = object()  # keys below are names of somebody else's: links, frames, namespaces
TOPIC = {'Depth', 'Durability Policy', 'History Policy', 'Reliability Policy', 'Value'}
EVERY = {'Class', 'Enabled', 'Name', 'Value'}
XYZ = {'X', 'Y', 'Z'}
FIXED_FRAME = '<Fixed Frame>'
POLICIES = {
    'Durability Policy': ('Volatile', 'Transient Local', 'System Default'),
    'Reliability Policy': ('Reliable', 'Best Effort', 'System Default'),
    'History Policy': ('Keep Last', 'Keep All', 'System Default'),
}

# Properties of the displays of rviz_common and rviz_default_plugins, Jazzy; a dictionary where
# they have properties of their own.
DISPLAYS: dict[str, dict[str, Any]] = {
    'rviz_common/Group': {'Displays': ANY_NAME},
    'rviz_default_plugins/Grid': {
        'Alpha': None,
        'Cell Size': None,
        'Color': None,
        'Line Style': {'Line Width', 'Value'},
        'Normal Cell Count': None,
        'Offset': XYZ,
        'Plane': None,
        'Plane Cell Count': None,
        'Reference Frame': None,
    },
    'rviz_default_plugins/MarkerArray': {'Namespaces': ANY_NAME, 'Topic': TOPIC},
    'rviz_default_plugins/PoseArray': {
        'Alpha': None,
        'Arrow Length': None,
        'Axes Length': None,
        'Axes Radius': None,
        'Color': None,
        'Head Length': None,
        'Head Radius': None,
        'Shaft Length': None,
        'Shaft Radius': None,
        'Shape': None,
        'Topic': TOPIC | {'Filter size'},
    },
    'rviz_default_plugins/RobotModel': {
        'Alpha': None,
        'Collision Enabled': None,
        'Description File': None,
        'Description Source': None,
        'Description Topic': TOPIC,
        'Links': {
            'All Links Enabled',
            'Expand Joint Details',
            'Expand Link Details',
            'Expand Tree',
            'Link Tree Style',
        },
        'Mass Properties': {'Inertia', 'Mass'},
        'TF Prefix': None,
        'Update Interval': None,
        'Visual Enabled': None,
    },
    'rviz_default_plugins/TF': {
        'Filter (blacklist)': None,
        'Filter (whitelist)': None,
        'Frame Timeout': None,
        'Frames': ANY_NAME,
        'Marker Scale': None,
        'Show Arrows': None,
        'Show Axes': None,
        'Show Names': None,
        'Tree': ANY_NAME,
        'Update Interval': None,
    },
}
TYPES = {
    'rviz_default_plugins/MarkerArray': 'visualization_msgs/msg/MarkerArray',
    'rviz_default_plugins/PoseArray': 'geometry_msgs/msg/PoseArray',
    'rviz_default_plugins/RobotModel': 'std_msgs/msg/String',
}
PANELS = {'rviz_common/Displays', 'rviz_common/Views', 'rviz_common/Time'}
TOOLS = {
    f'rviz_default_plugins/{name}'
    for name in ('Interact', 'MoveCamera', 'Select', 'FocusCamera', 'Measure')
}
VIEWS = {
    'rviz_default_plugins/Orbit': EVERY - {'Enabled'}
    | {
        'Distance',
        'Focal Point',
        'Focal Shape Fixed Size',
        'Focal Shape Size',
        'Near Clip Distance',
        'Pitch',
        'Target Frame',
        'Yaw',
    }
}


class Offer(NamedTuple):
    """A topic as it is published."""

    kind: str
    is_reliable: bool
    is_latched: bool


class Graph(NamedTuple):
    """What there is to show."""

    topics: Mapping[str, Offer]
    frames: frozenset[str]
    namespaces: Mapping[str, frozenset[str]]


def displays(config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all displays, groups after their members."""
    waiting = list(config['Visualization Manager']['Displays'])
    for display in waiting:
        waiting += display.get('Displays', [])
    yield from reversed(waiting)


def shown_frames(display: Mapping[str, Any], frames: frozenset[str]) -> set[str]:
    """Return the frames that a TF display shows."""
    keep, drop = display['Filter (whitelist)'], display['Filter (blacklist)']
    return {
        f for f in frames if (not keep or re.search(keep, f)) and not (drop and re.search(drop, f))
    }


def complaints(config: Mapping[str, Any], graph: Graph) -> list[str]:
    """Return one line for everything that is named and not there."""
    manager = config['Visualization Manager']
    found = [f'panel {p["Class"]}' for p in config['Panels'] if p['Class'] not in PANELS]
    found += [f'tool {t["Class"]}' for t in manager['Tools'] if t['Class'] not in TOOLS]
    views = [manager['Views']['Current'], *manager['Views']['Saved']]
    for view in views:
        allowed = VIEWS.get(view['Class'])
        if allowed is None:
            found.append(f'view {view["Class"]}')
        else:
            found += [f'view: {key}' for key in set(view) - allowed]
    named = [('Fixed Frame', manager['Global Options']['Fixed Frame'])]
    named += [('Target Frame', view['Target Frame']) for view in views]
    for display in displays(config):
        found += [f'{display["Name"]}: {text}' for text in _display(display, graph)]
        named.append((display['Name'], display.get('Reference Frame', FIXED_FRAME)))
    known = graph.frames | {FIXED_FRAME}
    found += [f'{where}: frame {frame}' for where, frame in named if frame not in known]
    opened = [
        path
        for panel in config['Panels']
        for path in panel.get('Property Tree Widget', {}).get('Expanded', [])
    ]
    tops = {display['Name'] for display in manager['Displays']} | {'Global Options'}
    found += [f'expanded {path}' for path in opened if path.strip('/').rstrip('1') not in tops]
    return found


def _display(display: Mapping[str, Any], graph: Graph) -> Iterator[str]:
    kind = display['Class']
    if kind not in DISPLAYS:
        yield f'class {kind}'
        return
    table = DISPLAYS[kind]
    wanted = set(table) | EVERY - ({'Value'} if 'Displays' in table else set())
    for key in set(display) ^ wanted:
        yield f'key {key}'
    for key, inner in table.items():
        if isinstance(inner, set) and set(display.get(key, ())) != inner:
            yield f'key {key}: {sorted(set(display.get(key, ())) ^ inner)}'
    if display.get('Value', display['Enabled']) != display['Enabled']:
        yield 'Value and Enabled differ'
    for key in ('Topic', 'Description Topic'):
        if key in display:
            yield from _topic(kind, display[key], graph)
    if 'Namespaces' in display:
        spaces = graph.namespaces.get(display['Topic']['Value'], frozenset())
        yield from (f'namespace {name}' for name in set(display['Namespaces']) ^ spaces)
    prefix = display.get('TF Prefix')
    if prefix is not None and f'{prefix}/pelvis' not in graph.frames:
        yield f'frame {prefix}/pelvis'
    if kind.endswith('/TF') and not shown_frames(display, graph.frames):
        yield 'frame: no one passes the filters'
    if kind.endswith('/TF') and set(display['Frames']) - {'All Enabled'} - graph.frames:
        yield 'frame: not there'


def _topic(kind: str, topic: Mapping[str, Any], graph: Graph) -> Iterator[str]:
    for key, allowed in POLICIES.items():
        if topic.get(key) not in allowed:
            yield f'{key} {topic.get(key)}'
    offer = graph.topics.get(topic['Value'])
    if offer is None:
        yield f'topic {topic["Value"]}'
        return
    if offer.kind != TYPES[kind]:
        yield f'topic {topic["Value"]} is of type {offer.kind}'
    if topic['Reliability Policy'] == 'Reliable' and not offer.is_reliable:
        yield f'topic {topic["Value"]} is best effort'
    if (topic['Durability Policy'] == 'Transient Local') != offer.is_latched:
        yield f'topic {topic["Value"]}: latched is {offer.is_latched}'
