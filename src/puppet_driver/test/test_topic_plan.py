# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""topic_plan: what the words of the parameter mean, and which mean nothing."""

from puppet_core.io import ConfigError
from puppet_driver.pose_topics import plan_topics, TopicPlan
import pytest

SENSORS = ('pelvis', 'head')


@pytest.mark.parametrize(
    ('entries', 'plans'),
    [
        (['/a', '/b'], [TopicPlan('/a', False, {0: 0}), TopicPlan('/b', False, {0: 1})]),
        (
            ['/vrpn/{sensor}/pose'],
            [
                TopicPlan('/vrpn/pelvis/pose', False, {0: 0}),
                TopicPlan('/vrpn/head/pose', False, {0: 1}),
            ],
        ),
        (['/poses[*]'], [TopicPlan('/poses', True, {0: 0, 1: 1})]),
        (['/poses[7]', '/poses[2]'], [TopicPlan('/poses', True, {7: 0, 2: 1})]),
        (
            ['/poses[0]', '/head'],
            [TopicPlan('/poses', True, {0: 0}), TopicPlan('/head', False, {0: 1})],
        ),
    ],
)
def test_entries_name_topic_and_pose_of_each_sensor(
    entries: list[str], plans: list[TopicPlan]
) -> None:
    assert list(plan_topics(SENSORS, entries)) == plans


@pytest.mark.parametrize(
    ('entries', 'text'),
    [
        (['/a'], 'topics: expected one for each of the 2 sensors'),
        (['/a', '/a'], 'got /a for pelvis and head'),
        (['/a[1]', '/a[1]'], r'got /a\[1\] for pelvis and head'),
        (['/a[1]', '/a'], 'expected /a with an index or without, got both'),
        (['/a[x]', '/b'], 'expected TOPIC or TOPIC'),
        (['/a[*]', '/b'], 'expected TOPIC or TOPIC'),
        (['', '/b'], 'expected TOPIC or TOPIC'),
    ],
)
def test_entry_that_means_nothing_is_named(entries: list[str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        plan_topics(SENSORS, entries)
