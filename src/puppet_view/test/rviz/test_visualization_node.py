# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The visualization node on topics: TF with the data's stamps, markers with lifetimes."""

from typing import Any

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core.io import ConfigError  # noqa: E402,I100
from puppet_retarget.importance import self_interaction  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402
from visualization_rig import Rig, TICK_NS  # noqa: E402

pytestmark = pytest.mark.ros


@pytest.fixture
def make_rig(ros_context, tmp_path):
    rigs: list[Rig] = []

    def make(**parameters: Any) -> Rig:
        rigs.append(Rig(ros_context, tmp_path, **parameters))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.close()


@pytest.mark.parametrize('body', ['performer', 'puppet'])
def test_tf_of_each_body_has_the_stamp_of_its_posture(make_rig, body):
    rig = make_rig()
    rig.watch()
    assert rig.feed_until(lambda: bool(rig.transforms), f'/{body}/posture')
    transforms = rig.transforms[0].transforms
    assert len(transforms) == 46
    assert transforms[0].child_frame_id == f'{body}/pelvis'
    stamps = {t.header.stamp.sec * 10**9 + t.header.stamp.nanosec for t in transforms}
    assert len(stamps) == 1
    assert stamps.pop() % TICK_NS == 0


def test_markers_have_lifetimes_and_show_what_matters(make_rig):
    rig = make_rig()
    rig.watch()
    groups = {'environment', 'goals', 'range_balls', 'labels', 'names'}
    assert rig.feed_until(lambda: {m.ns for m in rig.markers} == groups)
    assert all(m.lifetime.sec or m.lifetime.nanosec for m in rig.markers)
    goal = next(m for m in rig.markers if m.ns == 'goals')
    assert (goal.pose.position.x, goal.pose.position.y) == (1.0, 2.0)


def touch_the_belly(rig: Rig) -> None:
    for j, importance in ((0, 0.75), (5, 0.5), (6, 0.01)):
        row = rig.self_rows[j]
        row[self_interaction.SELF_IMPORTANCE] = row[self_interaction.SELF_PLACE] = importance
        contact = row[self_interaction.FIRST_CONTACT :]
        contact[self_interaction.SAMPLE] = self_interaction.N_SAMPLES
        contact[self_interaction.WEIGHT] = contact[self_interaction.SHARE] = 1.0
        contact[self_interaction.DISPLACEMENT] = 0.2


def test_balls_of_the_own_body_are_drawn_with_the_others(make_rig):
    """Eq. 5.6: of the sizes that importance leaves, for those that matter, with a lifetime."""
    rig = make_rig()
    rig.watch()
    touch_the_belly(rig)
    rig.besides = ('/performer/posture',)

    def balls() -> dict[int, Marker]:
        return {m.id: m for m in rig.markers if m.ns == 'range_balls'}

    assert rig.feed_until(lambda: {2, 4, 9} <= set(balls()))
    assert set(balls()) == {2, 4 + 0, 4 + 5}
    sizes = [balls()[j].scale.x for j in (4, 9)]
    np.testing.assert_allclose(sizes, [2.0 * 0.25 * 0.2, 2.0 * 0.5 * 0.2])
    assert balls()[4].lifetime.nanosec == balls()[2].lifetime.nanosec > 0
    stamp = balls()[4].header.stamp
    assert (stamp.sec * 10**9 + stamp.nanosec) % TICK_NS == 0


def test_balls_of_the_own_body_need_all_of_a_frame(make_rig):
    """Without the performer's posture nobody knows where the limbs were captured."""
    rig = make_rig()
    rig.watch()
    touch_the_belly(rig)
    assert rig.feed_until(lambda: sum(m.ns == 'goals' for m in rig.markers) > 3)
    assert {m.id for m in rig.markers if m.ns == 'range_balls'} == {2}


def test_range_balls_can_be_switched_off_while_running(make_rig):
    rig = make_rig()
    rig.watch()
    touch_the_belly(rig)
    rig.besides = ('/performer/posture',)
    results = rig.node.set_parameters([Parameter('show_range_balls', value=False)])
    assert results[0].successful
    assert rig.feed_until(lambda: sum(m.ns == 'goals' for m in rig.markers) > 3)
    assert not any(m.ns == 'range_balls' for m in rig.markers)


def test_nobody_watching_costs_no_messages(make_rig):
    rig = make_rig()
    for _ in range(50):
        rig.feed('/puppet/posture')
    rig.watch()
    assert not rig.transforms
    assert not rig.markers


def test_marker_rate_above_thirty_is_refused(make_rig):
    with pytest.raises(ConfigError, match='marker_rate_hz: expected 0.0 <= value <= 30.0'):
        make_rig(marker_rate_hz=31.0)


def test_character_that_does_not_exist_is_refused(make_rig):
    with pytest.raises(ConfigError, match='expected an existing file'):
        make_rig(character='/nowhere/x.yaml')
