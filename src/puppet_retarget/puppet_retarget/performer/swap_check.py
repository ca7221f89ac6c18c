# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which sensors have been exchanged: an assignment of sensors to segments that fits better.

Every two sensors get the residual of the best point fixed in both; sensors on neighbouring
segments have a small one, others do not, because what lies between them moved. Exchanging two
sensors is believed if it makes the residuals of the joints much smaller. Whole limbs worn on
the wrong side fit each other perfectly; they are told by the sides of the known pose.

"""

from collections.abc import Sequence
import itertools

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats
from puppet_core.errors import CalibrationError
from puppet_core.skeleton import SEGMENTS
from puppet_retarget.performer.joint_centres import plain_residual
from puppet_retarget.performer.motion_recording import Joint, MotionRecording, relative_poses
from puppet_retarget.performer.pose_calibration import MeanPose
from puppet_retarget.performer.sensor_layout import SensorLayout

FRAMES = 250  # of the recording, evenly; enough to tell centimetres from decimetres
CAP_M = 0.08  # residuals above it are all equally wrong
MIN_GAIN_M = 0.03  # summed over the joints, below which nothing is exchanged
MIN_GAIN_SHARE = 0.3
MAX_SWAPS = 3
FLEXION = {'forearm': 1.0, 'shank': -1.0}  # forward or backward
MIN_BENDING_M = 0.02  # of elbows and knees together, to tell where the performer faces


def swapped_sensors(
    recording: MotionRecording, joints: Sequence[Joint], n_sensors: int
) -> list[tuple[int, int]]:
    """Return the pairs of sensors whose exchange explains the motion, none if all is well."""
    costs = _pair_costs(recording, n_sensors)
    order = np.arange(n_sensors)
    swaps = []
    for _ in range(MAX_SWAPS):
        now = _cost(costs, joints, order)
        best, pair = now, (-1, -1)
        for i, j in itertools.combinations(range(n_sensors), 2):
            tried = order.copy()
            tried[[i, j]] = order[[j, i]]
            cost = _cost(costs, joints, tried)
            if cost < best:
                best, pair = cost, (i, j)
        if now - best < max(MIN_GAIN_M, MIN_GAIN_SHARE * now):
            break
        order[list(pair)] = order[list(pair)[::-1]]
        swaps.append(pair)
    return swaps


def swapped_sides(
    recording: MotionRecording, joints: Sequence[Joint], layout: SensorLayout, pose: MeanPose
) -> list[tuple[int, int]]:
    """
    Return the left-right pairs that stand on the wrong sides in the known pose.

    Where the performer faces is told by the knees, which bend backward on either side, and
    the elbows, which bend forward.

    """
    forward = np.zeros(2)
    for joint in joints:
        sign = FLEXION.get(SEGMENTS[joint.segment].split('_', 1)[-1], 0.0)
        if sign != 0.0:
            forward += sign * _bending(recording, joint, layout, pose)
    size = float(np.linalg.norm(forward))
    if size < MIN_BENDING_M:
        return []
    leftward = np.array([-forward[1], forward[0]]) / size
    return [
        (int(left), int(right))
        for left, right in layout.pairs
        if (pose.positions[left] - pose.positions[right])[:2] @ leftward < 0.0
    ]


def _bending(
    recording: MotionRecording, joint: Joint, layout: SensorLayout, pose: MeanPose
) -> Floats:
    """Return how far the child's sensor is from its place in the pose on average, in (2,) [m]."""
    relative = relative_poses(recording, joint.parent, joint.child, names=layout.sensors)
    q_parent = pose.rotations[joint.parent]
    moved = quaternion_batch.rotate(q_parent, np.mean(relative.positions, axis=0))
    moved -= pose.positions[joint.child] - pose.positions[joint.parent]
    return moved[:2]


def _pair_costs(recording: MotionRecording, n: int) -> Floats:
    costs = np.full((n, n), CAP_M)
    step = max(recording.n_frames // FRAMES, 1)
    for i, j in itertools.combinations(range(n), 2):
        try:
            relative = relative_poses(recording, i, j, step)
        except CalibrationError:
            continue
        costs[i, j] = costs[j, i] = min(plain_residual(relative), CAP_M)
    return costs


def _cost(costs: Floats, joints: Sequence[Joint], order: np.ndarray) -> float:
    return float(sum(costs[order[joint.parent], order[joint.child]] for joint in joints))
