# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What is played beside live nodes: nothing that they publish, and where the tracker stands."""

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_replay.topics import (  # noqa: E402,I100
    ENTRIES,
    live_topics,
    played_topics,
    TF,
    TF_STATIC,
    TYPES,
)

pytestmark = pytest.mark.ros


@pytest.mark.parametrize('entry', ENTRIES)
def test_the_place_of_the_tracker_is_played_and_what_is_live_is_not(entry: str) -> None:
    recorded = sorted({*TYPES, TF, TF_STATIC, '/clock', '/camera/image'})
    played = played_topics(recorded, entry)
    assert {TF_STATIC, entry, '/camera/image'} <= set(played)
    assert set(played) & (live_topics(entry) | {TF, '/clock'}) <= {TF_STATIC}
