# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The QoS of a bag's publishers, as text and back."""

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_replay.play import DEFAULT_DEPTH, profile_of  # noqa: E402,I100
from puppet_ros.bags import metadata_file_of, qos_text, TopicMetadata  # noqa: E402
from puppet_ros.node import qos  # noqa: E402

pytestmark = pytest.mark.ros


@pytest.mark.parametrize('profile', [qos.STREAM, qos.LATCHED, qos.JOINT_STATES])
def test_qos_survives_the_text(profile) -> None:
    assert profile_of(qos_text([profile])) == profile


def test_old_numbers_are_qos_too() -> None:
    text = '- {history: 3, depth: 0, reliability: 1, durability: 1}'
    found = profile_of(text)
    assert (found.durability, found.depth) == (qos.LATCHED.durability, DEFAULT_DEPTH)


@pytest.mark.parametrize(
    'text',
    ['2001-99-99', '[' * 9999, '- {depth: true}', '- 5', '%', '!!int ""', '"\\UFFFFFFFF"'],
    ids=['date', 'deep', 'truth', 'number', 'directive', 'tag', 'escape'],
)
def test_a_damaged_text_of_qos_gives_the_default(text: str) -> None:
    assert profile_of(text) == profile_of('')


@pytest.mark.parametrize('level', ['[{}]', '{{<<: [{}]}}'], ids=['lists', 'merge keys'])
def test_qos_with_nested_aliases_costs_nothing(level: str) -> None:
    """Nine levels of nine stand for 400 million values, and no writer of bags has any."""
    lines = ['- &a0 {depth: 7}']
    lines += [f'- &a{i} ' + level.format(', '.join([f'*a{i - 1}'] * 9)) for i in range(1, 10)]
    text = '\n'.join(lines)
    assert profile_of(text) == profile_of('')
    found = metadata_file_of([TopicMetadata('/a', 'a_msgs/msg/A', text, '', 1)], 0, 1, 'a.mcap')
    assert 'offered_qos_profiles: []' in found
