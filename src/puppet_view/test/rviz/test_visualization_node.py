# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The visualization node on topics: TF with the data's stamps, markers that live and go."""

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core import named_files  # noqa: E402,I100
from puppet_core.io import ConfigError  # noqa: E402,I100
from puppet_retarget.importance import self_interaction  # noqa: E402
from puppet_view.rviz.markers import NAMESPACES  # noqa: E402,I100
from rclpy.parameter import Parameter  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402
from visualization_rig import Rig, TICK_NS  # noqa: E402

pytestmark = pytest.mark.ros


@pytest.fixture
def make_rig(ros_context, tmp_path):
    rigs = []

    def make(**parameters):
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


def touch_the_belly(rig):
    for j, importance in ((0, 0.75), (5, 0.5), (6, 0.01)):
        row = rig.self_rows[j]
        row[self_interaction.SELF_IMPORTANCE] = importance
        contact = row[self_interaction.FIRST_CONTACT :]
        contact[self_interaction.SAMPLE] = self_interaction.N_SAMPLES
        contact[self_interaction.WEIGHT] = 1.0
        contact[self_interaction.DISPLACEMENT] = 0.2


def test_balls_of_the_own_body_are_drawn_with_the_others(make_rig):
    """Eq. 5.6: of the sizes that importance leaves, for those that matter, with a lifetime."""
    rig = make_rig(character=str(named_files.character_file('sally')))
    rig.watch()
    touch_the_belly(rig)
    rig.besides = ('/performer/posture',)

    def balls():
        return {m.id: m for m in rig.markers if m.ns == 'range_balls'}

    assert rig.feed_until(lambda: {2, 8, 13} <= set(balls()))
    assert set(balls()) == {2, 8 + 0, 8 + 5}
    sizes = [balls()[j].scale.x for j in (8, 13)]
    np.testing.assert_allclose(sizes, [2.0 * 0.25 * 0.2, 2.0 * 0.5 * 0.2])
    assert balls()[8].lifetime.nanosec == balls()[2].lifetime.nanosec > 0
    stamp = balls()[8].header.stamp
    assert (stamp.sec * 10**9 + stamp.nanosec) % TICK_NS == 0


def test_range_balls_can_be_switched_off_while_running(make_rig):
    rig = make_rig()
    rig.watch()
    touch_the_belly(rig)
    rig.besides = ('/performer/posture',)
    results = rig.node.set_parameters([Parameter('show_range_balls', value=False)])
    assert results[0].successful
    assert rig.feed_until(lambda: sum(m.ns == 'goals' for m in rig.markers) > 3)
    assert not any(m.ns == 'range_balls' for m in rig.markers)


@pytest.fixture
def pair(make_rig):
    """Return a rig with two puppets and all bodies in it."""
    sally = str(named_files.character_file('sally'))
    rig = make_rig(further_characters=sally, tf_prefix='robot1/')
    rig.watch()
    rig.watch_limbs()
    rig.besides = ('/performer/posture', '/puppet_2/posture')
    return rig


def test_every_puppet_is_drawn_in_a_world_of_its_own(pair):
    """Frames, limbs, goals and names of each, none of which overwrites another's."""
    worlds = {'robot1/puppet_world', 'robot1/puppet_2_world'}
    bodies = {f'robot1/{name}/pelvis' for name in ('performer', 'puppet', 'puppet_2')}

    def of(space):
        return [m for m in pair.markers if m.ns == space]

    assert pair.feed_until(
        lambda: (
            {m.transforms[0].child_frame_id for m in pair.transforms} == bodies
            and len({m.header.frame_id.split('/')[1] for m in pair.limbs}) == 2
            and len({m.header.frame_id for m in of('names')}) == 3
            and {m.header.frame_id for m in of('goals')} == worlds
            and bool(pair.fixed)
        )
    )
    for space in ('goals', 'labels', 'range_balls', 'environment', 'names'):
        frames = {(m.id, m.header.frame_id) for m in of(space)}
        assert len({identifier for identifier, _ in frames}) == len(frames), space
    assert len({m.id for m in of('environment')}) == 1  # one floor is enough


def test_puppets_stand_beside_the_performer_and_each_other(pair):
    def places():
        return {
            t.child_frame_id: t.transform.translation.x
            for message in pair.fixed[-1:]
            for t in message.transforms
        }

    assert pair.feed_until(lambda: bool(places()))
    assert places() == {'robot1/puppet_world': 2.0, 'robot1/puppet_2_world': 4.0}
    offset = Parameter('display_offset_m', value=[0.0, 0.0, 0.0])
    assert pair.node.set_parameters([offset])[0].successful
    assert pair.feed_until(lambda: set(places().values()) == {0.0})


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


def takes_away(rig):
    first = len(rig.messages), len(rig.limbs)

    def done():
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
    texts = {(m.ns, m.text) for m in rig.markers if m.type == Marker.TEXT_VIEW_FACING}
    assert {('labels', 'left foot'), ('labels', '0.60')} <= texts
    assert {space for space, _ in texts} == {'labels', 'names'}
    assert rig.node.set_parameters([Parameter('show_labels', value=False)])[0].successful
    rig.markers.clear()
    assert rig.feed_until(lambda: {'goals', 'environment'} <= {m.ns for m in rig.markers})
    assert not {'labels', 'names'} & {m.ns for m in rig.markers}


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
    sally = str(named_files.character_file('sally'))
    assert rig.node.set_parameters([Parameter('character', value=sally)])[0].successful
    assert rig.feed_until(gone)


def test_another_environment_is_drawn_in_place_of_the_one_before(rig, tmp_path):
    gone, path = takes_away(rig), tmp_path / 'desk.yaml'
    desk = '{name: desk, shape: box, size_m: [0.7, 0.6, 0.5]}'
    floor = '{name: floor, shape: plane}'
    path.write_text(f'format: puppet-environment/1\nobjects:\n- {floor}\n- {desk}\n')
    assert rig.node.set_parameters([Parameter('environment', value=str(path))])[0].successful
    assert rig.feed_until(gone)
    assert rig.feed_until(lambda: any(m.scale.x == 0.7 for m in rig.markers))


def test_node_that_goes_takes_all_away(rig):
    gone = takes_away(rig)
    rig.executor.remove_node(rig.node)
    rig.node.destroy_node()
    assert rig.feed_until(gone)
