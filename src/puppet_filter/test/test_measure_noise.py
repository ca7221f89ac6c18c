# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""measure_noise: recordings to a file, from real topics, and everything that can go wrong."""

import threading

from filter_samples import make_frame, tracker_message
import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_filter import measure_noise  # noqa: E402,I100
from puppet_filter.measure_noise import main, parser, Recording, report  # noqa: E402
from puppet_filter.sensor_noise import load_noise, save_noise  # noqa: E402
from puppet_msgs.msg import TrackerFrame  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from rclpy.node import Node  # noqa: E402

pytestmark = pytest.mark.ros


def recorded(rng, sway_m=0.0):
    recording = Recording()
    for k in range(300):
        positions = 5e-4 * rng.normal(size=(2, 3))
        positions[1, 0] += sway_m * np.sin(0.05 * k)
        recording.add(make_frame(k, positions))
    return recording


def options(path, *more):
    return parser().parse_args(['--output', str(path), *more])


def test_resting_sensors_are_written(rng, tmp_path):
    path = tmp_path / 'noise.yaml'
    assert report(recorded(rng), options(path), {}) == 0
    matrices = load_noise(path)
    assert list(matrices) == ['s0', 's1']
    assert np.sqrt(matrices['s0'][0, 0]) == pytest.approx(5e-4, rel=0.2)


def test_moved_sensor_is_left_out_and_said(rng, tmp_path, capfd):
    path = tmp_path / 'noise.yaml'
    recording = recorded(rng, sway_m=0.1)
    assert report(recording, options(path), {}) == 1
    assert list(load_noise(path)) == ['s0']
    assert 'warning: s1: spread of' in capfd.readouterr().err
    assert report(recording, options(path, '--force'), {}) == 0
    assert list(load_noise(path)) == ['s0', 's1']


def test_sensors_measured_before_are_kept(rng, tmp_path):
    path = tmp_path / 'noise.yaml'
    report(recorded(rng), options(path), {'other': 1e-6 * np.eye(6)})
    assert list(load_noise(path)) == ['other', 's0', 's1']


def test_other_sensors_start_the_recording_anew():
    recording = Recording()
    recording.add(make_frame(0, np.zeros((1, 3))))
    recording.add(make_frame(5, np.zeros((2, 3))))
    recording.add(make_frame(6, np.zeros((2, 3))))
    assert len(recording.frames) == 2
    assert recording.duration_s == pytest.approx(1 / 120, rel=1e-3)


def test_command_records_from_the_topic(ros_context, rng, tmp_path):
    publisher = Node('talker', context=ros_context).create_publisher(
        TrackerFrame, measure_noise.RAW_TOPIC, qos.STREAM
    )
    stop = threading.Event()

    def talk():
        k = 0
        while not stop.wait(0.002):
            frame = make_frame(k, 5e-4 * rng.normal(size=(1, 3)))
            publisher.publish(tracker_message(frame))
            k += 1

    thread = threading.Thread(target=talk)
    thread.start()
    try:
        path = tmp_path / 'noise.yaml'
        assert main(['--output', str(path), '--duration', '2']) == 0
    finally:
        stop.set()
        thread.join()
    assert np.sqrt(load_noise(path)['s0'][0, 0]) == pytest.approx(5e-4, rel=0.3)


def test_silence_is_an_error_that_asks_for_the_driver(ros_context, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(measure_noise, 'SILENCE_LIMIT_S', 0.3)
    assert main(['--output', str(tmp_path / 'n.yaml')]) == 1
    assert 'is the driver running' in capfd.readouterr().err
    assert not (tmp_path / 'n.yaml').exists()


def test_bad_arguments_exit_2(tmp_path, capfd):
    assert main(['--output', str(tmp_path / 'n.yaml'), '--duration', '-1']) == 2
    assert 'expected value > 0, got -1' in capfd.readouterr().err
    assert main([]) == 2


def test_output_that_is_no_noise_file_is_not_overwritten(tmp_path, capfd):
    path = tmp_path / 'n.yaml'
    path.write_text('format: something-else/1\n')
    assert main(['--output', str(path)]) == 2
    assert 'expected one of puppet-sensor-noise/1' in capfd.readouterr().err
    assert path.read_text() == 'format: something-else/1\n'


def test_old_file_survives_a_failed_run(rng, tmp_path):
    path = tmp_path / 'noise.yaml'
    save_noise({'s0': 1e-6 * np.eye(6)}, path)
    before = path.read_text()
    recording = recorded(rng, sway_m=0.1)
    recording.frames = [
        frame._replace(positions=frame.positions[:, ::-1] + 0.1 * np.sin(0.05 * k))
        for k, frame in enumerate(recording.frames)
    ]
    assert report(recording, options(path), load_noise(path)) == 1
    assert path.read_text() == before
