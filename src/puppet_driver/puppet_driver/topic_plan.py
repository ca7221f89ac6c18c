# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which pose of which topic is which sensor, from the words of a parameter.

`/vrpn_mocap/pelvis/pose` is a PoseStamped topic of one sensor; `/poses[3]` is pose 3 of a
PoseArray topic. One entry may stand for all sensors: `/vrpn_mocap/{sensor}/pose`, `/poses[*]`.

"""

from collections.abc import Sequence
from dataclasses import dataclass
import re

from puppet_core.errors import ConfigError

SENSOR_FIELD = '{sensor}'
_ENTRY = re.compile(r'([^\[\]{}]+)(?:\[(\d+|\*)\])?')


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """One topic and the sensors in it."""

    topic: str
    """Name."""

    is_array: bool
    """Whether it carries PoseArray; else PoseStamped."""

    rows: dict[int, int]
    """Frame row by index in the message; index 0 for a PoseStamped."""


def plan_topics(sensors: Sequence[str], entries: Sequence[str]) -> tuple[TopicPlan, ...]:
    """
    Return what each topic brings.

    Raises
    ------
    ConfigError : naming the entry that cannot be meant so.

    """
    words = _one_for_each(sensors, entries)
    found: dict[str, TopicPlan] = {}
    for row, word in enumerate(words):
        match = _ENTRY.fullmatch(word)
        if match is None or match[2] == '*':
            raise ConfigError(f'topics: expected TOPIC or TOPIC[INDEX], got {word!r}')
        topic, is_array, index = match[1], match[2] is not None, int(match[2] or 0)
        plan = found.setdefault(topic, TopicPlan(topic, is_array, {}))
        if plan.is_array != is_array:
            raise ConfigError(f'topics: expected {topic} with an index or without, got both')
        if index in plan.rows:
            other = sensors[plan.rows[index]]
            raise ConfigError(
                f'topics: expected another source for each sensor, got {word} for {other} and '
                f'{sensors[row]}'
            )
        plan.rows[index] = row
    return tuple(found.values())


def _one_for_each(sensors: Sequence[str], entries: Sequence[str]) -> list[str]:
    if len(entries) == 1 and SENSOR_FIELD in entries[0]:
        return [entries[0].replace(SENSOR_FIELD, sensor) for sensor in sensors]
    if len(entries) == 1 and entries[0].endswith('[*]'):
        return [f'{entries[0][:-3]}[{row}]' for row in range(len(sensors))]
    if len(entries) != len(sensors):
        raise ConfigError(
            f'topics: expected one for each of the {len(sensors)} sensors, or one with '
            f'{SENSOR_FIELD} or [*] in it, got {len(entries)}'
        )
    return list(entries)
