# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Captured clips through virtual sensors and back: calibration, posture, joint positions."""

from dataclasses import replace

from benchmarks.synthetic_recording import measure, SyntheticRecording
from motion_samples import estimates, EXACT, LAYOUT
import numpy as np
from puppet_core.body import person
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.procedural.calibration_motion import range_of_motion
from puppet_performer.synthetic_recording import random_mounting
import pytest
from virtual_performer import make_virtual

pytestmark = pytest.mark.mocap
CLIPS = ('02_01', '02_03', '02_04', '02_10', '03_01', '01_14')
CLIPS += ('salsa_10', 'martial_04', 'indian_13')
MAX_RMS_M = 0.005
JOINT_TOL_M = 5e-4  # of joints whose place two sensors tell, and of the trunk's between them
POSE_TOL_M = 2e-4  # of a body whose left and right differ, taken as a mirror image in the T-pose
N_FRAMES = 60  # of each clip, evenly spaced


@pytest.fixture(scope='module', params=CLIPS)
def clip(request, captured):
    whole = captured(request.param)
    frames = np.linspace(0, whole.n_frames - 1, N_FRAMES).astype(int)
    return Motion.from_rotations(
        whole.skeleton, whole.rate_hz, whole.root_positions[frames], whole.rotations[frames]
    )


def with_spine_and_head(layout):
    more = ('spine', 'head')
    return replace(
        layout,
        name='all',
        sensors=layout.sensors + more,
        segments=np.append(layout.segments, [SEGMENT_INDEX[name] for name in more]),
        mountings=np.vstack([layout.mountings, [[-0.1, 0.0, 0.05], [0.0, 0.0, 0.15]]]),
    )


def errors_m(clip, layout, seed):
    """Return distances of joints and end-effectors by a T-pose, shape (frames, 24) [m]."""
    virtual = make_virtual(yaw=1.0, layout=layout, seed=seed)
    virtual.character = person('clip', clip.skeleton)
    virtual.place = np.array([0.3, -0.2, clip.skeleton.rest_root_height])
    estimator = virtual.estimator()
    poses = zip(clip.root_positions, clip.rotations)
    return _distances(clip, (estimator.step(virtual.frame(*pose)) for pose in poses))


def _distances(clip, estimates):
    found = [np.vstack((e.p_world, e.posture.end_effectors)) for e in estimates]
    true = np.concatenate((clip.world_segments()[1], clip.end_effectors), axis=1)
    return np.linalg.norm(np.array(found) - true, axis=2)


def test_a_sensor_on_every_segment_gives_the_clip_back(clip):
    errors = errors_m(clip, with_spine_and_head(LAYOUT), 3)
    # What is left is the T-pose of a body whose left and right differ by a millimetre.
    assert errors.max() < 1e-4


def test_fourteen_sensors_calibrated_by_a_pose_give_every_joint(clip):
    """Within 5 mm RMS, and much less; also above the spine that no sensor is on."""
    errors = errors_m(clip, LAYOUT, 4)
    assert errors.max() < POSE_TOL_M


def test_fourteen_sensors_calibrated_by_a_motion_give_every_joint(clip):
    """Within 5 mm RMS; soles, which stand on the floor in the T-pose, are off most."""
    calibration, mounting = _by_motion(clip.skeleton)
    poses = measure(clip, LAYOUT, mounting, EXACT, 0)
    errors = _distances(clip, estimates(calibration, poses, range(N_FRAMES)))
    assert np.sqrt(np.mean(errors**2)) < MAX_RMS_M
    assert errors[:, :16].max() < JOINT_TOL_M


def _by_motion(skeleton):
    motion, mounting = range_of_motion(skeleton, 15.0), random_mounting(LAYOUT, 5)
    ordinary = person('clip', skeleton)
    take = SyntheticRecording(
        skeleton, motion, mounting, measure(motion, LAYOUT, mounting, EXACT, 0), LAYOUT, ordinary
    )
    calibration = take.calibrate().calibration
    return calibration, mounting
