# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Markers of the visualization node: limbs coloured, labels, all taken away on a reset."""

from collections.abc import Callable

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_view.rviz.markers import NAMESPACES  # noqa: E402,I100
from rclpy.parameter import Parameter  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402
from visualization_rig import CONFIG, Rig  # noqa: E402

pytestmark = pytest.mark.ros

LEFT_LEG = {'puppet/left_thigh', 'puppet/left_shank', 'puppet/left_foot'}


@pytest.fixture
def rig(ros_context, tmp_path):
    made = Rig(ros_context, tmp_path)
    made.watch()
    made.watch_limbs()
    made.besides = ('/performer/posture',)
    assert made.feed_until(
        lambda: (
            {'goals', 'environment', 'names'} <= {m.ns for m in made.markers} and bool(made.limbs)
        )
    )
    yield made
    made.close()


def takes_away(rig: Rig) -> Callable[[], bool]:
    first = len(rig.messages), len(rig.limbs)

    def done() -> bool:
        drawn = [m for msg in rig.messages[first[0] :] for m in msg.markers]
        return all(
            any(m.action == Marker.DELETEALL and not m.ns for m in markers)
            for markers in (drawn, rig.limbs[first[1] :])
        )

    return done


def test_only_known_groups_are_drawn(rig):
    assert {m.ns for m in rig.markers} <= set(NAMESPACES)
    assert {m.ns for m in rig.limbs if m.action == Marker.ADD} == {'left_leg'}


def test_limb_that_matters_is_coloured_in_the_frames_of_its_links(rig):
    limbs = [m for m in rig.limbs if m.action == Marker.ADD]
    assert {m.header.frame_id for m in limbs} == LEFT_LEG
    # locked to the frame and stamp zero: the latest transform, so nothing is extrapolated
    assert all(m.frame_locked and m.header.stamp.sec == m.header.stamp.nanosec == 0 for m in limbs)
    assert all(m.lifetime.sec or m.lifetime.nanosec for m in limbs)
    calm = [m.color.r for m in limbs if m.header.frame_id == 'puppet/left_foot']
    rig.importance, rig.limbs = 1.0, []
    # the first message may still be of the frame before
    assert rig.feed_until(
        lambda: any(
            m.color.r > max(calm) for m in rig.limbs if m.header.frame_id == 'puppet/left_foot'
        )
    )


def test_labels_face_the_viewer_and_may_be_switched_off(rig):
    texts = {m.ns: m.text for m in rig.markers if m.type == Marker.TEXT_VIEW_FACING}
    assert set(texts) == {'labels', 'names'} and texts['labels'] == 'left foot 0.60'
    assert rig.node.set_parameters([Parameter('show_labels', value=False)])[0].successful
    rig.markers.clear()
    assert rig.feed_until(lambda: {'goals', 'environment'} <= {m.ns for m in rig.markers})
    assert not {'labels', 'names'} & {m.ns for m in rig.markers}


def test_other_parameters_take_nothing_away(rig):
    gone = takes_away(rig)
    assert rig.node.set_parameters([Parameter('marker_rate_hz', value=25.0)])[0].successful
    rig.markers.clear()
    assert rig.feed_until(lambda: 'goals' in {m.ns for m in rig.markers})
    assert not gone()


def test_time_that_jumps_back_takes_all_away_and_goes_on(rig):
    assert rig.feed_until(lambda: rig.frame_index > 80)
    gone = takes_away(rig)
    rig.frame_index = 0
    assert rig.feed_until(gone)
    rig.markers.clear()
    rig.limbs.clear()
    assert rig.feed_until(lambda: {'goals', 'environment'} <= {m.ns for m in rig.markers})
    assert rig.feed_until(lambda: any(m.action == Marker.ADD for m in rig.limbs))


def test_another_puppet_takes_all_away(rig):
    gone = takes_away(rig)
    sally = str(CONFIG / 'characters' / 'sally.yaml')
    assert rig.node.set_parameters([Parameter('character', value=sally)])[0].successful
    assert rig.feed_until(gone)


def test_node_that_goes_takes_all_away(rig):
    gone = takes_away(rig)
    rig.executor.remove_node(rig.node)
    rig.node.destroy_node()
    assert rig.feed_until(gone)
