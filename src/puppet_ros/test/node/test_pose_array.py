# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""pose_array: bare poses of a frame, order of quaternions, missing sensors."""

import numpy as np
from puppet_core.sensor_frames import POSES_ALL, POSES_VALID, SensorFrame
from puppet_ros.node.streams import from_poses, pose_array, to_poses
import pytest

pytestmark = pytest.mark.ros

STAMP_NS = 1_790_000_000_123_456_789


@pytest.fixture
def frame() -> SensorFrame:
    rng = np.random.default_rng(1)
    positions, quaternions = rng.normal(size=(3, 3)), rng.normal(size=(3, 4))
    positions[1] = quaternions[1] = np.nan
    status = np.array([0, 1, 0], dtype=np.uint8)
    return SensorFrame(STAMP_NS, 7, ('a', 'b', 'c'), positions, quaternions, np.zeros(3), status)


def test_poses_are_read_as_they_were_written(frame: SensorFrame) -> None:
    positions, quaternions = from_poses(to_poses(frame.positions, frame.quaternions))
    np.testing.assert_array_equal(positions, frame.positions)
    np.testing.assert_array_equal(quaternions, frame.quaternions)
    assert positions.flags.c_contiguous and quaternions.flags.c_contiguous


def test_no_poses_are_empty_rows() -> None:
    positions, quaternions = from_poses([])
    assert positions.shape == (0, 3) and quaternions.shape == (0, 4)


def test_quaternion_w_is_last_in_the_message(frame: SensorFrame) -> None:
    pose = pose_array(frame, 'transmitter').poses[2]
    rotation = pose.orientation
    assert [rotation.w, rotation.x, rotation.y, rotation.z] == list(frame.quaternions[2])
    assert [pose.position.x, pose.position.y, pose.position.z] == list(frame.positions[2])


def test_missing_sensors_are_nan_or_left_out(frame: SensorFrame) -> None:
    whole, valid = (pose_array(frame, 'transmitter', mode) for mode in (POSES_ALL, POSES_VALID))
    assert len(whole.poses) == 3 and np.isnan(whole.poses[1].position.x)
    assert len(valid.poses) == 2 and valid.poses[1] == whole.poses[2]
    assert whole.header == valid.header and whole.header.frame_id == 'transmitter'
    assert whole.header.stamp.sec * 10**9 + whole.header.stamp.nanosec == STAMP_NS
