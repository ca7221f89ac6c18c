# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A bag to look at: bodies, importance and times are those that were recorded."""

from edit_samples import CHARACTERS, walk
import numpy as np
from puppet_core.body.character import load_character
from puppet_core.io import InputFileError
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')
pytest.importorskip('viser', reason='viser is not installed')

from puppet_core.clips.bvh import write_bvh  # noqa: E402,I100
from puppet_core.robots.description import urdf_text  # noqa: E402
from puppet_msgs.msg import Posture as PostureMsg  # noqa: E402
from puppet_retarget.importance.environment import load_environment  # noqa: E402
from puppet_retarget.importance.estimator import IMPORTANCE  # noqa: E402
from puppet_retarget.offline.whole_motion import retarget_motion, RetargetJob
from puppet_ros.bags import BagReader, BagWriter  # noqa: E402
from puppet_ros.messages.cdr import encoded  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_view import bag_motion
from puppet_view.bag_recording import read_recording  # noqa: E402
from puppet_view.browser import view_command  # noqa: E402
from puppet_view.browser.bag_page import RecordingPage  # noqa: E402
from puppet_view.browser.played_page import row_direction  # noqa: E402
from puppet_view.browser.stage import BrowserStage  # noqa: E402
from puppet_view.recording import frame_at  # noqa: E402
from std_msgs.msg import String  # noqa: E402

pytestmark = pytest.mark.ros


@pytest.fixture(scope='module')
def sample(tmp_path_factory):
    sally = load_character(CHARACTERS / 'sally.yaml')
    job = RetargetJob(sally, load_environment(CHARACTERS.parent / 'environments' / 'floor.yaml'))
    result = retarget_motion(walk(), job)
    path = tmp_path_factory.mktemp('bag') / 'walk.mcap'
    bag_motion.write_bag_motion(path, walk(), job, result)
    return path, sally, result


@pytest.fixture
def stage():
    opened = BrowserStage()
    yield opened
    opened.close()


def test_take_has_what_was_recorded(sample):
    path, sally, result = sample
    take = read_recording(path)
    performer, puppet = take.bodies
    assert performer.is_performer and not puppet.is_performer
    assert puppet.name == 'sally' and take.rate_hz == pytest.approx(30.0)
    np.testing.assert_allclose(performer.p_world, walk().world_segments()[1], atol=1e-9)
    np.testing.assert_allclose(puppet.p_world, result.p_world, atol=1e-9)
    same = np.abs(np.sum(puppet.q_world * result.q_world, axis=-1))
    np.testing.assert_allclose(same, 1.0, atol=1e-9)
    np.testing.assert_allclose(take.importance.environment, result.rows[..., IMPORTANCE])
    np.testing.assert_allclose(take.importance.times_s, np.arange(60) / 30.0, atol=1e-8)
    assert take.latency_ms is None  # it was written at once, not recorded live
    head = max(part.vertices[:, 2].max() for part in puppet.parts())
    assert head > max(part.vertices[:, 2].max() for part in performer.parts()) - 0.5
    assert sally.skeleton.leg_length > walk().skeleton.leg_length


def test_another_puppet_and_a_delay_are_found(sample, tmp_path):
    """What a second retarget node would have published, logged 5 ms after its stamp."""
    path = sample[0]
    frog = urdf_text(load_character(CHARACTERS / 'frog.yaml'))
    text, other = String(data=frog), tmp_path / 'more.mcap'
    with BagReader(path) as reader, BagWriter(other) as writer:
        writer.write(
            '/puppet2/robot_description', 'std_msgs/msg/String', 0, encoded(text), qos.LATCHED
        )
        for message in reader.messages(['/puppet/posture', '/joint_states', '/importance']):
            topic = message.topic.replace('/puppet/', '/puppet2/')
            profile = qos.JOINT_STATES if topic == '/joint_states' else qos.STREAM
            writer.write(topic, message.type, message.log_ns + 5_000_000, message.data, profile)
    take = read_recording(other)
    assert [body.name for body in take.bodies] == ['frog']
    assert take.latency_ms == pytest.approx((5.0, 5.0))


def test_bag_without_postures_is_refused(tmp_path):
    path = tmp_path / 'none.mcap'
    with BagWriter(path) as writer:
        writer.write(
            '/performer/posture', 'puppet_msgs/msg/Posture', 1, encoded(PostureMsg()), qos.STREAM
        )
    with pytest.raises(InputFileError, match='expected'):
        read_recording(path)


def test_time_moves_bodies_bars_and_colours(sample, stage):
    take = read_recording(sample[0])
    view = RecordingPage(stage, [take, take])
    assert len(view.bodies) == 4
    colours = []
    weights = take.importance.environment[:, 2]
    for frame in (int(np.argmin(weights)), int(np.argmax(weights))):
        view._events.put(('frame', frame))
        view.step(0.0)
        for body, track in zip(view.bodies, take.bodies * 2):
            np.testing.assert_allclose(body.places(), track.p_world[frame], atol=2e-4)
        assert f'{weights[frame]:.2f}' in view.bars.html
        colours.append([handle.color for _, handle in view.bodies[1].parts])
    assert colours[0] != colours[1]
    places = [body.world.position for body in view.bodies]
    gaps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    np.testing.assert_allclose(gaps, 1.5)
    view._events.put(('frame', 40))
    view._events.put(('step', -1))
    view._events.put(('play', None))
    view.step(0.5)
    assert view.playback.frame == 39 + 15 and view.playback.is_playing


def test_row_is_beside_the_way_and_seen_from_the_front():
    straight = np.array([[0.0, 0.0, 1.0], [0.1, 3.0, 1.0]])
    faces = {'+x': [1.0, 0.0, 0.0, 0.0], '-x': [0.0, 0.0, 0.0, 1.0]}
    row, front = row_direction(np.array(faces['+x']), straight)
    assert abs(row[1]) < 1e-9 and abs(row[0]) == pytest.approx(1.0)
    still = np.zeros((2, 3))
    for name, sign in (('+x', 1.0), ('-x', -1.0)):
        row, front = row_direction(np.array(faces[name]), still)
        np.testing.assert_allclose(front, [sign, 0.0, 0.0], atol=1e-9)
        np.testing.assert_allclose(np.cross(front, row), [0.0, 0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize(('time_s', 'row'), [(-1.0, 0), (0.0, 0), (0.19, 1), (0.2, 2), (9.0, 2)])
def test_row_of_a_time_is_the_last_before_it(time_s, row):
    assert frame_at(np.array([0.0, 0.1, 0.2]), time_s) == row


def test_clip_is_given_to_puppets(sample, tmp_path):
    write_bvh(walk(), tmp_path / 'walk.bvh')
    words = [str(tmp_path / 'walk.bvh'), '--as-is', '--characters', 'sally,blubby']
    takes = view_command.open_recordings(view_command.parser().parse_args(words))
    assert [body.name for body in takes[0].bodies] == ['walk', 'sally', 'blubby']
    assert len(takes[0].importance.times_s) == walk().n_frames
    # angles in the file have six digits
    np.testing.assert_allclose(takes[0].bodies[1].p_world, sample[2].p_world, atol=2e-3)
    again = view_command.parser().parse_args([str(sample[0]), '--characters', 'blubby'])
    (take,) = view_command.open_recordings(again)
    assert [body.name for body in take.bodies] == ['performer', 'sally', 'blubby']
