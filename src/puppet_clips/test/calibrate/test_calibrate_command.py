# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The command calibrate: from a clip, from bags, live; exit codes; re-zeroing."""

import threading

from motion_samples import EXACT, LAYOUT, make_recording, REAL
import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')
rosbag2 = pytest.importorskip('rosbags.rosbag2', reason='needs rosbags')

from benchmarks.synthetic_recording import exchanged  # noqa: E402
from puppet_clips.calibrate import calibrate_command, calibrate_live, surface_command  # noqa: E402
from puppet_clips.calibrate.calibrate_command import main  # noqa: E402
from puppet_core import named_files  # noqa: E402
from puppet_core.body.character import load_character  # noqa: E402,I100
from puppet_core.sensor_frames import SensorFrame  # noqa: E402
from puppet_performer.calibration.calibration import load_calibration  # noqa: E402
from puppet_ros.bags import definition_of, type_hash_of  # noqa: E402
from puppet_ros.messages import TrackerFrameWriter  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from rosbags.typesys import get_typestore, Stores  # noqa: E402
from stream_rig import filtered_message, place_message, sensor_frame, Stream  # noqa: E402

RATE_HZ = 30.0
PERIOD_NS = 33_333_333
PLACE, NO_TURN = np.array([0.4, -0.3, 1.0]), np.array([1.0, 0.0, 0.0, 0.0])
OWN = ('--performer', str(named_files.character_file('performer')))
OWN += ('--layout', str(named_files.layout_file('default14')))
pytestmark = pytest.mark.ros


def _message(take, index, raw, at=-1):
    """Return a frame of a recording, published as that of another index."""
    poses, at = take.recording, index if at < 0 else at
    pose = poses.positions[index] - PLACE, poses.rotations[index]
    frame = sensor_frame((at + 1) * PERIOD_NS, at, LAYOUT.sensors, *pose)
    if not raw:
        return filtered_message(frame)
    times = np.zeros(len(frame.sensors))
    measured = (frame.positions, frame.quaternions, times, frame.status)
    sampled = SensorFrame(frame.stamp_ns, at, frame.sensors, *measured)
    return TrackerFrameWriter('transmitter').fill(sampled)


def _write_bag(path, take, raw, storage, statics=True):
    kind = 'puppet_msgs/msg/TrackerFrame' if raw else 'puppet_msgs/msg/PoseFrame'
    store = get_typestore(Stores.ROS2_JAZZY)
    with rosbag2.Writer(path, version=9, storage_plugin=storage) as writer:
        name = '/tracker/raw' if raw else '/tracker/filtered'
        about = {'msgdef': definition_of(kind), 'rihs01': type_hash_of(kind)}
        topic = writer.add_connection(name, kind, **about)
        if statics:
            place = writer.add_connection('/tf_static', 'tf2_msgs/msg/TFMessage', typestore=store)
            writer.write(place, 0, serialize_message(place_message(PLACE, NO_TURN)))
        for index in range(take.recording.n_frames):
            data = serialize_message(_message(take, index, raw))
            writer.write(topic, (index + 1) * PERIOD_NS, data)


@pytest.fixture(scope='module')
def exact():
    return make_recording(11, EXACT, RATE_HZ)


@pytest.fixture
def output(tmp_path):
    return tmp_path / 'calibration.yaml'


@pytest.mark.parametrize(
    ('raw', 'storage'),
    [(False, rosbag2.StoragePlugin.MCAP), (True, rosbag2.StoragePlugin.SQLITE3)],
    ids=['filtered-mcap', 'raw-sqlite'],
)
def test_bag_becomes_a_calibration(tmp_path, output, exact, raw, storage, capsys):
    _write_bag(tmp_path / 'bag', exact, raw, storage)
    assert main(['--from', 'bag', str(tmp_path / 'bag'), '--output', str(output), *OWN]) == 0
    calibration = load_calibration(output)
    assert np.max(exact.centre_errors(calibration)) < 1e-6
    assert calibration.date and calibration.evaluation is not None
    assert 'good to use' in capsys.readouterr().out


def test_bag_without_transform_needs_the_trackers_place(tmp_path, output, exact, capsys):
    _write_bag(tmp_path / 'bag', exact, False, rosbag2.StoragePlugin.MCAP, statics=False)
    arguments = ['--from', 'bag', str(tmp_path / 'bag'), '--output', str(output), *OWN]
    assert main(arguments) == 2
    assert '--transmitter-m' in capsys.readouterr().err
    assert main([*arguments, '--transmitter-m', *map(str, PLACE)]) == 0


def test_exchanged_sensors_are_reported_with_exit_code_1_and_nothing_is_written(
    tmp_path, output, capsys
):
    take = make_recording(12, REAL, RATE_HZ)
    swapped = exchanged(take.recording, LAYOUT, 'left_hand', 'right_hand')
    take = take._replace(recording=swapped)
    _write_bag(tmp_path / 'bag', take, False, rosbag2.StoragePlugin.MCAP)
    assert main(['--from', 'bag', str(tmp_path / 'bag'), '--output', str(output), *OWN]) == 1
    text = capsys.readouterr().out
    assert 'swapped: left_hand and right_hand' in text
    assert 'should not be used' in text
    assert not output.exists()


def test_clip_is_calibrated_and_rezeroing_changes_one_sensor_only(tmp_path, output, capsys):
    own = tmp_path / 'own.yaml'
    arguments = ['--from', 'clip', '--output', str(output), *OWN]
    assert main([*arguments, '--write-character', str(own)]) == 0
    assert 'limb segments by at most 0.0 mm' in capsys.readouterr().out
    true = load_character(named_files.character_file('performer')).skeleton
    found = load_character(own).skeleton
    np.testing.assert_allclose(found.limb_lengths, true.limb_lengths, atol=1e-5)
    before, again = load_calibration(output), [*arguments, '--rezero', 'left_hand']
    # other sensors have moved, too, when all are put on anew: the pose does not fit
    assert main([*again, '--seed', '2']) == 1
    assert main(again) == 0
    assert 'left_hand: moved by 0 mm' in capsys.readouterr().out
    after = load_calibration(output)
    others = [i for i, name in enumerate(before.sensors) if name != 'left_hand']
    np.testing.assert_allclose(after.rotations[others], before.rotations[others], atol=1e-15)


@pytest.mark.mocap
def test_acclaim_clips_are_read_as_by_the_other_commands(mocap_dir, capsys):
    folder = mocap_dir / 'cmu_asfamc'
    clip = ['--from', 'clip', str(folder / '02_01.amc'), *OWN]
    assert main(clip) in (0, 1)  # a walk is no range of motion
    first = capsys.readouterr()
    assert 'off the truth' in first.out and '02_01.amc: ' in first.err
    assert main([*clip, '--asf', str(folder / '02.asf'), '--unit', '0.0254']) in (0, 1)
    assert main([*clip, '--asf', str(folder / 'none.asf')]) == 2


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--from', 'clip', '--seed', '-1'], '--seed: expected 0 or more, got -1'),
        (['--from', 'bag'], 'expected the path of a bag'),
        (
            ['--from', 'bag', '/no_such_bag'],
            '/no_such_bag: expected a bag, got a path that does not exist',
        ),
        (['--from', 'clip', '--rezero', 'left_hand'], '--rezero: expected --output'),
        (['--from', 'clip', '--output', '/dev/null/c.yaml'], '--output'),
    ],
)
def test_bad_input_is_refused_with_exit_code_2(arguments, message, capsys):
    assert main([*OWN, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_examples_are_accepted(capsys):
    for module in (calibrate_command, surface_command):
        for line in module.EXAMPLE.splitlines():
            module.parser().parse_args(line.split('calibrate ', 1)[1].split())
    with pytest.raises(SystemExit):
        main(['--surface', '--help'])
    assert '--tip' in capsys.readouterr().out


class Publisher(Stream):
    """A performer who does what the prompts ask for, as fast as it is listened to."""

    def __init__(self, context, take):
        super().__init__(context, (PLACE, NO_TURN))
        self._take = take
        self._index, self._count = 0, 1
        self.moving = threading.Event()
        self.heard = 0

    def publish(self):
        """Publish the next frame once the last one was heard, however slow the machine."""
        if self.heard >= self._count:
            self._count += 1
            self._index = self._index + 1 if self.moving.is_set() else 0
        last = self._take.recording.n_frames - 1
        self.frames.publish(_message(self._take, min(self._index, last), False, self._count))
        return True


@pytest.fixture
def publisher(ros_context, monkeypatch, exact):
    monkeypatch.setattr(calibrate_live, 'COUNTDOWN_S', 1)
    who, say = Publisher(ros_context, exact), calibrate_live._say

    def heard(text):
        if text == calibrate_live.MOTION_PROMPT:
            who.moving.set()
        say(text)

    class Watched(calibrate_live.StreamRecorder):
        def add(self, frame, *place):
            super().add(frame, *place)
            who.heard = frame.frame_index

    monkeypatch.setattr(calibrate_live, 'StreamRecorder', Watched)
    monkeypatch.setattr(calibrate_live, '_say', heard)
    yield who


def test_live_calibration_is_guided_to_its_end(publisher, output, exact, capfd):
    with publisher:
        assert main(['--from', 'live', '--output', str(output), *OWN]) == 0
    assert np.max(exact.centre_errors(load_calibration(output))) < 0.002
    said = capfd.readouterr().err
    assert 'stand in the T-pose' in said and '12 of 12 joints' in said


def test_silence_is_a_failure_with_what_to_do(ros_context, monkeypatch, capfd):
    monkeypatch.setattr(calibrate_live, 'COUNTDOWN_S', 0)
    monkeypatch.setattr(calibrate_live, 'SILENCE_LIMIT_S', 0.2)
    assert main(['--from', 'live', *OWN]) == 1
    said = capfd.readouterr().err
    assert 'is the filter running' in said and 'T-pose' not in said  # nobody has stood still
