# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The command calibrate --surface: touches on real topics become a file; what can go wrong."""

from contextlib import nullcontext

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_clips.calibrate import calibrate_live, surface_command  # noqa: E402
from puppet_clips.calibrate.surface_command import main  # noqa: E402
from puppet_core import named_files  # noqa: E402
from puppet_core.body.skeleton import SEGMENT_INDEX  # noqa: E402
from puppet_core.body.surface import N_SAMPLES, read_surface, save_surface, surface_samples  # noqa: E402
from puppet_core.math import quaternions  # noqa: E402,I100
from puppet_msgs.msg import Posture  # noqa: E402
from puppet_performer.surface import SurfaceRecorder  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from stream_rig import filtered_message, header, sensor_frame, Stream  # noqa: E402

PERFORMER = named_files.character_file('performer')
TIP = np.array([0.01, -0.02, 0.1])
FILE_TOL_M = 2e-6  # micrometres in the file
MAX_FRAMES = 20_000  # then the toucher falls silent, which ends the command
LIFT = np.array([0.0, 0.0, 0.05])
TICK_NS = 8_333_333  # 120 Hz
pytestmark = pytest.mark.ros


class Toucher(Stream):
    """A performer in motion, and somebody who touches what the command waits for."""

    def __init__(self, context, procedural, postures, character):
        super().__init__(context, (np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5, -0.5, 0.5])))
        self.sensor = 'stylus'
        self.recorder = None
        self.heard_index = self._index = 0
        self._at = (0, 0)
        self._lifted_at = None
        samples = surface_samples(character.skeleton, character.capsules)
        self.surface = samples + [0.0, 0.0, 0.004]
        self._q_world, self._p_world = procedural.world_segments()
        self._make_posture = postures
        self.postures = self.node.create_publisher(Posture, '/performer/posture', qos.STREAM)

    def publish(self):
        self._index += 1
        posture = self._make_posture(self._index % 500)
        posture.header = header(self._index * TICK_NS)
        self.frames.publish(self._frame(self._index, 700 + self._index % 500))
        if self.postures is not None:
            self.postures.publish(posture)
        return self._index < MAX_FRAMES

    def _hand(self, index):
        wanted = None if self.recorder is None else self.recorder.place
        if wanted is not None and wanted != self._at and self._lifted_at is None:
            self._lifted_at = index
        if self._lifted_at is not None and self.heard_index >= self._lifted_at:
            self._at, self._lifted_at = wanted or self._at, None
        # never at rest in the air, however late that is heard
        return self._at, LIFT * (1 + index % 2 if self._lifted_at is not None else 0)

    def _frame(self, index, instant):
        (segment, row), lift = self._hand(index)
        tip = (
            lift
            + self._p_world[instant, segment]
            + quaternions.rotate(self._q_world[instant, segment], self.surface[segment, row])
        )
        position, quaternion = self.place or (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
        inverse = quaternions.conjugate(quaternion)
        turn = quaternions.normalize(np.array([1.0, 0.2, index % 7, 0.3]))
        sensor = quaternions.rotate(inverse, tip - position) - quaternions.rotate(turn, TIP)
        return filtered_message(
            sensor_frame(index * TICK_NS, index, (self.sensor,), sensor[None], turn[None])
        )


@pytest.fixture
def toucher(ros_context, procedural, postures, adult_character, monkeypatch):
    who = Toucher(ros_context, procedural, postures, adult_character)

    class Watched(SurfaceRecorder):
        def __init__(self, *args):
            super().__init__(*args)
            who.recorder = self

        def step(self, stamp_ns, *args):
            touch = super().step(stamp_ns, *args)
            who.heard_index = stamp_ns // TICK_NS
            return touch

    monkeypatch.setattr(surface_command.surface, 'SurfaceRecorder', Watched)
    return who


@pytest.fixture
def calibrate(tmp_path):
    def run(*arguments):
        own = ['--performer', str(PERFORMER), '--output', str(tmp_path / 's.yaml')]
        return main(['--surface', *own, '--rest', '0.05', '--tip', *map(str, TIP), *arguments])

    return run


def test_touches_become_a_file_and_kept_segments_are_not_asked_for(
    toucher, calibrate, tmp_path, capfd
):
    save_surface(np.full((16, N_SAMPLES, 3), 0.1), tmp_path / 's.yaml', ('head',))
    with toucher:
        assert calibrate('--segments', 'head', 'left_hand', 'right_hand', '--mirror') == 0
    points = read_surface(tmp_path / 's.yaml')
    assert set(points) == {'head', 'left_hand', 'right_hand'}
    assert np.all(points['head'] == 0.1)
    wanted = toucher.surface[SEGMENT_INDEX['left_hand']]
    np.testing.assert_allclose(points['left_hand'], wanted, atol=FILE_TOL_M)
    text = capfd.readouterr().out
    assert '40/40 left_hand: ring 8 of 8' in text and 'head: ring' not in text


def test_a_sensor_that_is_not_there_is_named(toucher, calibrate, capfd):
    toucher.sensor = 'left_hand'
    with toucher:
        assert calibrate() == 2
    assert "--sensor: expected one of left_hand, got 'stylus'" in capfd.readouterr().err


@pytest.mark.parametrize(
    ('silent', 'text'),
    [('postures', 'is the performer calibrated'), ('place', '/tf_s'), ('', 'is the filter')],
)
def test_missing_stream_is_named(toucher, calibrate, capfd, monkeypatch, silent, text, tmp_path):
    monkeypatch.setattr(calibrate_live, 'SILENCE_LIMIT_S', 5.0)
    if silent:
        setattr(toucher, silent, None)
    with toucher if silent else nullcontext():
        assert calibrate() == 1
    assert text in capfd.readouterr().err and not (tmp_path / 's.yaml').exists()


def test_nothing_left_to_touch_is_reported(calibrate, tmp_path, capfd):
    save_surface(np.zeros((16, N_SAMPLES, 3)), tmp_path / 's.yaml')
    assert calibrate() == 0
    assert 'has them all' in capfd.readouterr().out


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        (['--segments', 'tail'], 'segments: expected some of pelvis'),
        (['--segments', 'right_hand', '--mirror'], '--mirror: expected a left limb'),
        (['--rest', '-1'], 'rest_s: expected 0.0 < value'),
        (['--tip', 'nan', '0', '0'], '--tip: expected finite'),
        (['--output', '/proc/none/s.yaml'], '--output: expected a writable folder'),
    ],
)
def test_bad_arguments_exit_2(calibrate, capfd, arguments, text):
    assert calibrate(*arguments) == 2
    assert text in capfd.readouterr().err


def test_a_file_of_another_kind_is_not_overwritten(calibrate, tmp_path, capfd):
    (tmp_path / 's.yaml').write_text('format: something-else/1\n')
    assert calibrate() == 2
    assert 'expected one of puppet-surface/1' in capfd.readouterr().err
    assert (tmp_path / 's.yaml').read_text() == 'format: something-else/1\n'
