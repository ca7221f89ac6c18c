# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The timed path is the live path: it poses the puppet as the offline loop does."""

import gc

from benchmarks.quality.path_timing import LivePath, PathTimes, STAGES, time_path
from benchmarks.synthetic_recording import sensor_frames
from body_fixtures import floor_only
import numpy as np
from puppet_core.body.character import Character, load_character
from puppet_performer.sensor_layout import load_layout
from puppet_retarget.offline.whole_motion import retarget_motion, RetargetJob
import pytest
from scipy.spatial.transform import Rotation

TWIST_TOL_M = 1e-3  # a sensor's twist and the sole's differences differ within a frame
SPINE_TOL_M = 0.02  # the spine has no sensor: it stands halfway between pelvis and chest


@pytest.fixture
def layout(data_dir):
    """Return the usual fourteen sensors."""
    return load_layout(data_dir / 'layouts/default14.yaml')


@pytest.fixture
def job(data_dir):
    """Return a puppet on a floor."""
    blubby: Character = load_character(data_dir / 'characters/blubby.yaml')
    return RetargetJob(blubby, floor_only())


def test_figures_are_of_each_stage_and_their_sum():
    stages = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [5.0, 5.0, 5.0]])
    figures = PathTimes(stages).figures()
    assert list(figures) == [*STAGES, 'total']
    assert figures['posture'] == {'median': 3.0, 'p99': pytest.approx(4.96), 'max': 5.0}
    assert figures['total']['median'] == 6.0 and figures['total']['max'] == 15.0


def test_every_frame_is_timed_and_garbage_collected_after(steps, job, layout):
    times = time_path(steps, job, layout)
    assert times.stages_us.shape == (steps.n_frames, 3)
    assert np.all(times.stages_us > 0.0)
    assert gc.isenabled() and gc.get_freeze_count() == 0


def test_path_ends_where_the_offline_loop_ends(steps, job, layout):
    """Live and offline differ by conversion at most."""
    path = LivePath(steps, job, layout)
    path.play()
    offline = retarget_motion(steps, job).puppet
    end = offline.end_effectors[-1]
    assert np.allclose(path.solution.end_effectors, end, atol=SPINE_TOL_M)
    assert np.allclose(path.solution.end_effectors[2], end[2], atol=1e-6)  # the planted foot
    assert np.allclose(path.solution.end_effectors[3], end[3], atol=TWIST_TOL_M)


def test_sensors_move_with_the_velocities_they_report(steps, layout):
    """Independent of our quaternions: the turns are scipy's."""
    a, b = sensor_frames(steps, layout)[40:42]
    dt = (b.stamp_ns - a.stamp_ns) * 1e-9
    assert np.allclose(b.positions, a.positions + dt * b.linear_velocities, atol=1e-9)
    before, after = (Rotation.from_quat(frame.quaternions[:, [1, 2, 3, 0]]) for frame in (a, b))
    turned = Rotation.from_rotvec(dt * b.angular_velocities) * before
    assert np.max((turned * after.inv()).magnitude()) < 1e-6
