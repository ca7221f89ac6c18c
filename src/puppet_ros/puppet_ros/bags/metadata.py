# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The metadata.yaml of a rosbag2 folder, and the same text inside an MCAP file."""

from collections.abc import Mapping
import os
from pathlib import Path
from typing import Any, NamedTuple

from puppet_core.io import brief, InputFileError, load_plain_yaml, read_utf8
import yaml

FILE_NAME = 'metadata.yaml'
KEY = 'rosbag2_bagfile_information'
MCAP_NAME, MCAP_KEY = 'rosbag2', 'serialized_metadata'
VERSION = 9  # of rosbag2 in Jazzy
WRONG = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


class BagTopic(NamedTuple):
    """What a bag records about a topic; '' for what it does not."""

    name: str
    type: str  # noqa: A003  # as in puppet_msgs/msg/PoseFrame
    qos: str  # YAML of the profiles that its publishers offered
    type_hash: str  # as in RIHS01_e369
    count: int  # type: ignore[assignment]  # how many messages
    definition: str = ''  # text of the type and of all it stands on; not in a metadata.yaml


class BagMetadata(NamedTuple):
    files: tuple[str, ...]  # names of the files of messages, in order
    compression_mode: str  # '', 'file' or 'message'
    compression_format: str  # '' or 'zstd'
    topics: tuple[BagTopic, ...]  # all topics


def metadata_text(topics: list[BagTopic], start_ns: int, end_ns: int, file_name: str) -> str:
    """Return the metadata of a bag of one MCAP file as YAML; '' names none."""
    return yaml.safe_dump(_tree(topics, start_ns, end_ns, file_name), sort_keys=False)


def metadata_file_of(topics: list[BagTopic], start_ns: int, end_ns: int, file_name: str) -> str:
    return yaml.safe_dump({KEY: _tree(topics, start_ns, end_ns, file_name)}, sort_keys=False)


def read_metadata(path: Path) -> BagMetadata:
    """Return what is in a metadata.yaml; raise InputFileError if it is none that can be read."""
    try:
        tree = load_plain_yaml(read_utf8(path))
    except (yaml.YAMLError, RecursionError) as err:
        mark = getattr(err, 'problem_mark', None)
        problem = getattr(err, 'problem', None) or ' '.join(str(err).split())
        raise InputFileError(path, 'valid YAML', problem, mark.line + 1 if mark else None) from err
    body = tree.get(KEY) if isinstance(tree, dict) else None
    if not isinstance(body, dict):
        raise InputFileError(path, f'{KEY}: ..', brief(tree))
    try:
        found, version = _read(body), int(body['version'])
    except WRONG as err:
        raise InputFileError(path, 'the keys of rosbag2', f'{type(err).__name__} {err}') from err
    if version > VERSION:
        raise InputFileError(path, f'a version up to {VERSION}', str(version), field='version')
    if len(set(found.files)) != len(found.files):
        twice = next(name for name in found.files if found.files.count(name) > 1)
        raise InputFileError(path, 'each file once', f'{twice} twice', field='relative_file_paths')
    mode, form = found.compression_mode, found.compression_format
    if mode not in ('', 'file', 'message'):
        raise InputFileError(path, 'file, message or none', mode, field='compression_mode')
    if mode and form != 'zstd':
        raise InputFileError(path, 'zstd', form, field='compression_format')
    return found


def _tree(topics: list[BagTopic], start_ns: int, end_ns: int, file_name: str) -> dict[str, Any]:
    total = sum(topic.count for topic in topics)
    start = {'nanoseconds_since_epoch': start_ns if total else 0}
    duration = {'nanoseconds': end_ns - start_ns if total else 0}
    about = {'starting_time': dict(start), 'duration': dict(duration), 'message_count': total}
    return {
        'version': VERSION,
        'storage_identifier': 'mcap',
        'duration': duration,
        'starting_time': start,
        'message_count': total,
        'topics_with_message_count': [_row(topic) for topic in topics],
        'compression_format': '',
        'compression_mode': '',
        'relative_file_paths': [file_name] if file_name else [],
        'files': [{'path': file_name, **about}] if file_name else [],
        'custom_data': None,
        'ros_distro': os.environ.get('ROS_DISTRO', ''),
    }


def _row(topic: BagTopic) -> dict[str, Any]:
    try:  # the text may be that of another bag
        profiles = load_plain_yaml(topic.qos) if topic.qos else []
    except (yaml.YAMLError, RecursionError):
        profiles = []
    about = {
        'name': topic.name,
        'type': topic.type,
        'serialization_format': 'cdr',
        'offered_qos_profiles': profiles,
        'type_description_hash': topic.type_hash,
    }
    return {'topic_metadata': about, 'message_count': topic.count}


def _read(body: Mapping[str, Any]) -> BagMetadata:
    mode = _text(body, 'compression_mode', '').lower()
    _text(body, 'storage_identifier')
    return BagMetadata(
        # before rosbag2's version 4 the paths began with the folder's name
        tuple(Path(name).name for name in body['relative_file_paths']),
        '' if mode == 'none' else mode,
        _text(body, 'compression_format', '').lower(),
        tuple(_topic(row) for row in body['topics_with_message_count']),
    )


def _topic(row: Mapping[str, Any]) -> BagTopic:
    topic = row['topic_metadata']
    qos = topic.get('offered_qos_profiles') or ''
    qos = qos if isinstance(qos, str) else yaml.safe_dump(qos, sort_keys=False)
    type_hash, count = _text(topic, 'type_description_hash', ''), int(row['message_count'])
    return BagTopic(_text(topic, 'name'), _text(topic, 'type'), qos, type_hash, count)


def _text(body: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """Return a text; the default, where there is one, if it is absent or null."""
    value = body[key] if default is None else body.get(key) or default
    if not isinstance(value, str):
        raise ValueError(f'{key}: expected a text, got {brief(value)}')
    return value
