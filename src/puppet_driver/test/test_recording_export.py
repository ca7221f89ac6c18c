# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings written by the emulator: what is in them, seeds, other clips, what is refused."""

from pathlib import Path

import numpy as np
from puppet_core import named_files
from puppet_core.body import load_character
from puppet_core.clips.bvh import write_bvh
from puppet_core.procedural.motion_loop import clip_loop
from puppet_core.procedural.performer import procedural_motion
from puppet_driver.emulator import cli
from puppet_driver.emulator.performer import random_mounting
from puppet_driver.parameters import DEFAULT_SENSORS
import pytest

rosbags = pytest.importorskip('rosbags')
from rosbags.highlevel import AnyReader  # noqa: E402

RATE_HZ = 30.0
QUIET = ('--white-mm', '0', '--white-deg', '0', '--slow-mm', '0', '--slow-deg', '0')


@pytest.fixture(scope='module')
def clip(tmp_path_factory):
    body = load_character(named_files.character_file('performer'))
    motion = procedural_motion(body, RATE_HZ)
    path = tmp_path_factory.mktemp('clips') / 'short.bvh'
    part = type(motion).from_rotations(
        motion.skeleton, RATE_HZ, motion.root_positions[90:150], motion.rotations[90:150]
    )
    write_bvh(part, path)
    return path, part


def export(path, clip, *options):
    return cli.main(
        ['--export', str(path), '--clip', str(clip), '--rate-hz', str(RATE_HZ), *options]
    )


def read(path):
    """Return stamps [ns], messages of /tracker/raw, and the topics of a recording."""
    with AnyReader([Path(path)]) as reader:
        topics = {c.topic: c.msgtype for c in reader.connections}
        own = [c for c in reader.connections if c.topic == '/tracker/raw']
        rows = [
            (stamp, reader.deserialize(raw, c.msgtype)) for c, stamp, raw in reader.messages(own)
        ]
    return np.array([row[0] for row in rows]), [row[1] for row in rows], topics


def test_the_recording_has_what_the_sensors_see(tmp_path, clip, capsys):
    path, motion = clip
    assert export(tmp_path / 'a.mcap', path, *QUIET) == 0
    stamps, messages, topics = read(tmp_path / 'a.mcap')
    looped = clip_loop(motion, RATE_HZ, 2.0)
    assert len(messages) == looped.motion.n_frames
    assert f'{len(messages)} frames of 14 sensors' in capsys.readouterr().out
    assert topics == {
        '/tracker/raw': 'puppet_msgs/msg/TrackerFrame',
        '/tf_static': 'tf2_msgs/msg/TFMessage',
    }
    np.testing.assert_allclose(np.diff(stamps), 1e9 / RATE_HZ, atol=1.0)
    assert messages[0].sensors == list(DEFAULT_SENSORS)
    assert [m.frame_index for m in messages] == list(range(len(messages)))
    assert messages[5].header.frame_id == 'transmitter'
    assert messages[5].header.stamp.sec * 10**9 + messages[5].header.stamp.nanosec == stamps[5]
    # by hand: a sensor is where segment and mounting put it, seen from 1 m above the origin
    mounting = random_mounting(DEFAULT_SENSORS, motion.skeleton, 1)
    q_world, p_world = looped.motion.world_segments()
    positions = np.array([m.positions for m in messages]).reshape(-1, 14, 3)
    orientations = np.array([m.orientations for m in messages]).reshape(-1, 14, 4)
    from scipy.spatial.transform import Rotation

    for sensor, segment in enumerate(mounting.segments):
        turn = Rotation.from_quat(q_world[:, segment][:, [1, 2, 3, 0]])
        place = p_world[:, segment] + turn.apply(mounting.positions[sensor]) - [0.0, 0.0, 1.0]
        np.testing.assert_allclose(positions[:, sensor], place, atol=1e-9)
        own = Rotation.from_quat(mounting.rotations[sensor][[1, 2, 3, 0]])
        error = (turn * own).inv() * Rotation.from_quat(orientations[:, sensor])
        assert error.magnitude().max() < 1e-7


def test_the_same_seed_gives_the_same_bytes(tmp_path, clip):
    options = ('--seed', '7', '--drop-out', '0.1', '--outlier', '0.01')
    for name in ('a', 'b'):
        assert export(tmp_path / name / 'x.mcap', clip[0], *options) == 2  # no such folder
        (tmp_path / name).mkdir()
        assert export(tmp_path / name / 'x.mcap', clip[0], *options) == 0
    assert (tmp_path / 'a/x.mcap').read_bytes() == (tmp_path / 'b/x.mcap').read_bytes()
    assert export(tmp_path / 'c.mcap', clip[0], '--seed', '8', *options[2:]) == 0
    assert (tmp_path / 'c.mcap').read_bytes() != (tmp_path / 'a/x.mcap').read_bytes()


def test_drop_outs_are_marked(tmp_path, clip):
    assert export(tmp_path / 'a.mcap', clip[0], '--drop-out', '0.2', '--export-s', '3') == 0
    _, messages, _ = read(tmp_path / 'a.mcap')
    assert len(messages) == 90
    status = np.array([m.status for m in messages])
    poses = np.array([m.positions for m in messages]).reshape(90, 14, 3)
    assert 0.15 < status.mean() < 0.25
    np.testing.assert_array_equal(np.isnan(poses).all(axis=2), status == 1)
    assert np.isfinite(poses[status == 0]).all()
