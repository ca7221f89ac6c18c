# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Another body takes the stream, as of a second tracker, and gives it back: the puppet goes there.

From filter to puppet, frame by frame; no way is too far and no turn too large to be eased.
"""

import numpy as np
from puppet_core.math import quaternions
from puppet_msgs.msg import Posture, TrackerFrame
from puppet_replay.pipeline import Pipeline, read_settings
from puppet_ros.interface_table import POSTURE, PUPPET, RAW
from puppet_ros.messages import raw_header
from puppet_ros.messages.cdr import decoded, encoded
import pytest
from robustness.soak.frames import read_frames

pytestmark = pytest.mark.ros

RATE_HZ = 120.0
BEGIN, LASTS, GAP = 240, 60, 31  # frames; the stream is silent before it is given back
MAX_ROOT_M_S, MAX_JOINT_RAD_S = 5.0, 60.0  # of the performance and the easing
EASED_M = 0.01
LEAP_M = 0.375  # less is eased by the performer
N_SETTLING = 240  # the longest way takes so many frames


def _elsewhere(data, way_m, yaw):
    msg = decoded(data, TrackerFrame)
    positions = np.array(msg.positions).reshape(-1, 3)
    turn = np.array([np.cos(0.5 * yaw), 0.0, 0.0, np.sin(0.5 * yaw)])
    centre = positions.mean(axis=0)
    positions = centre + quaternions.rotate(turn, positions - centre) + [way_m, 0.0, 0.0]
    wxyz = np.array(msg.orientations).reshape(-1, 4)[:, [3, 0, 1, 2]]
    turned = quaternions.multiply(turn, np.ascontiguousarray(wxyz))[:, [1, 2, 3, 0]]
    msg.positions, msg.orientations = positions.ravel().tolist(), turned.ravel().tolist()
    return encoded(msg)


def _played(bag, way_m, yaw):
    """Return roots of performer and puppet, (n, 3) [m], and the puppet's joints, (n, 16, 4)."""
    frames, static = read_frames(bag)
    still = frames[BEGIN + LASTS]
    other = _elsewhere(frames[BEGIN], way_m, yaw)
    taken = [*frames[:BEGIN], *[other] * LASTS, *[b''] * GAP, *[still] * N_SETTLING]
    pipeline = Pipeline(read_settings())
    for data in static:
        pipeline.transform(data)
    first_ns, rows = raw_header.stamp_ns(frames[0]), []
    for number, data in enumerate(taken):
        if data:
            stamp_ns = first_ns + round(1e9 * number / RATE_HZ)
            data = bytes(raw_header.renamed(bytearray(data), stamp_ns, number))
            outputs = {output.topic: output.data for output in pipeline.step(RAW, data)}
            if PUPPET in outputs:
                rows.append([decoded(outputs[topic], Posture) for topic in (POSTURE, PUPPET)])
    return (
        *(np.array([row[i].root_position for row in rows]) for i in (0, 1)),
        np.array([row[1].rotations for row in rows]).reshape(len(rows), -1, 4),
    )


@pytest.mark.parametrize(
    'way_m, yaw', [(0.2, 0.0), (0.5, 0.0), (0.0, 1.5), (0.4, -2.5), (2.0, 0.0), (-3.0, 3.0)]
)
def test_the_puppet_goes_there_and_back(sensors_bag, way_m, yaw):
    performer, puppet, joints = _played(sensors_bag, way_m, yaw)
    ways = np.linalg.norm(np.diff(puppet, axis=0), axis=1)
    turns = quaternions.log(quaternions.multiply(quaternions.conjugate(joints[:-1]), joints[1:]))
    assert ways.max() * RATE_HZ < MAX_ROOT_M_S
    assert np.linalg.norm(turns, axis=-1).max() * RATE_HZ < MAX_JOINT_RAD_S
    # the performer is where he is seen, at once if that is far; in the end the puppet is there too
    leap_m = np.linalg.norm(np.diff(performer, axis=0), axis=1).max()
    assert leap_m > 0.5 * abs(way_m) or abs(way_m) < LEAP_M
    scale = np.linalg.norm(puppet[0, :2]) / np.linalg.norm(performer[0, :2])
    np.testing.assert_allclose(puppet[-1, :2], scale * performer[-1, :2], atol=EASED_M)
    assert ways[-10:].max() < 1e-3
