# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of the whole graph as the nodes publish them, of a body that moves smoothly."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from puppet_core.body.continuous_euler import ContinuousEuler, JOINT_NAMES
from puppet_core.body.kinematics import end_effector_positions, forward_kinematics
from puppet_core.body.posture import Posture
from puppet_core.body.skeleton import Skeleton
from puppet_core.math.quaternions import exp
from puppet_core.sensor_frames import FilteredFrame, SensorFrame
from puppet_msgs.msg import RetargetStatus
from puppet_ros.bags import BagWriter
from puppet_ros.messages import importance_msg, PoseFrameWriter, PostureWriter, TrackerFrameWriter
from puppet_ros.messages.flat_array import write_stamp
from puppet_ros.messages.joint_msg import JointStateWriter
from puppet_ros.messages.posture_msg import PostureRecord
from puppet_ros.messages.tf_message import TransformsWriter
from rclpy.serialization import serialize_message
from std_msgs.msg import String

RATE_HZ, START_NS = 120.0, 1_000_000_000
SENSORS = ('pelvis', 'chest', 'left_hand', 'right_hand')
FRAMES = tuple(('world', f'puppet/{name}') for name in ('pelvis', 'chest', 'left_hand'))


class Item(NamedTuple):
    topic: str
    msgtype: str
    log_ns: int
    data: bytes


class Moment(NamedTuple):
    """One frame's numbers, to be changed before they become messages."""

    index: int
    stamp_ns: int
    posture: PostureRecord
    raw: SensorFrame
    rows: np.ndarray
    self_rows: np.ndarray
    angles: np.ndarray
    goal_errors: np.ndarray


Change = Callable[[Moment], Moment | None]


def a_skeleton():
    offsets = np.zeros((16, 3))
    offsets[1:3, 2] = 0.2
    offsets[3, 2] = 0.3
    offsets[[4, 7]] = [[0.0, 0.2, 0.2], [0.0, -0.2, 0.2]]
    offsets[[5, 6, 8, 9], 1] = [0.3, 0.25, -0.3, -0.25]
    offsets[[10, 13]] = [[0.0, 0.1, 0.0], [0.0, -0.1, 0.0]]
    offsets[[11, 12, 14, 15], 2] = [-0.4, -0.4, -0.4, -0.4]
    points = np.array([[0, 0.08, 0], [0, -0.08, 0], [0.05, 0, -0.08], [0.05, 0, -0.08]])
    return Skeleton(offsets, points)


def moments(n, skeleton=None, rate_hz=RATE_HZ):
    """Return n frames; the same ones every time."""
    skeleton = skeleton or a_skeleton()
    rng = np.random.default_rng(7)
    slow, phase = rng.uniform(1.0, 3.0, (16, 3)), rng.uniform(0.0, 6.0, (16, 3))
    split = ContinuousEuler()
    frames = []
    for i in range(n):
        stamp_ns = START_NS + round(i * 1e9 / rate_hz)
        rotations = exp(0.4 * np.sin(slow * ((stamp_ns - START_NS) * 1e-9) + phase))
        angles = split.step(rotations).copy()
        frames.append(_moment(i, stamp_ns, skeleton, slow[0, 0], rotations, angles))
    return frames


def _moment(i, stamp_ns, skeleton, slow, *turns):
    rotations, angles = turns
    t = (stamp_ns - START_NS) * 1e-9
    root = np.array([0.5 * t, 0.1 * np.sin(t), 1.0])
    q_world, p_world, points = np.empty((16, 4)), np.empty((16, 3)), np.empty((8, 3))
    forward_kinematics(skeleton.offsets.copy(), root, rotations, q_world, p_world)
    end_effector_positions(skeleton.interaction_points.copy(), q_world, p_world, points)
    body = Posture(root, rotations, points, np.full((8, 3), np.sin(t)))
    rest = p_world, np.zeros(16, np.uint8), 0.88
    posture = PostureRecord(stamp_ns, i, 'sally', body, *rest)
    poses = p_world[:4].copy(), q_world[:4].copy()
    raw = SensorFrame(stamp_ns, i, SENSORS, *poses, np.zeros(4), np.zeros(4, np.uint8))
    rows = np.zeros((4, 8))
    rows[:, 0] = 0.5 + 0.5 * np.sin(slow * t + np.arange(4))
    rows[:, 4:7] = points[:4]
    self_rows = np.zeros((8, importance_msg.SELF_ROW_WIDTH))
    self_rows[0, 2 : 2 + 10] = [81.0, 1.0, 0.1, 0.2, 0.3, 120.0, 2.0, 0.1, 0.1, 0.1]
    return Moment(i, stamp_ns, posture, raw, rows, self_rows, angles, np.full(4, np.nan))


def items_of(moment):
    raw = TrackerFrameWriter('world').fill(moment.raw)
    filtered = PoseFrameWriter('world').fill(_filtered(moment.raw))
    angles = JointStateWriter(JOINT_NAMES).fill(moment.stamp_ns, moment.angles)
    transforms = TransformsWriter(FRAMES).fill(
        moment.stamp_ns, moment.posture.segments[[0, 2, 6]], moment.raw.quaternions[:3]
    )
    rests = importance_msg.NO_RESTS.copy()
    rests[:2] = [0.0, 0.0, 0.5, 0.1], [0.0, 13.0, 0.25, 0.2]
    importance = importance_msg.ImportanceWriter().fill(
        importance_msg.ImportanceRecord(
            *(moment.stamp_ns, moment.index, moment.rows, moment.self_rows, ('floor',)),
            rests=rests,
        )
    )
    for topic, kind, message in (
        ('/tracker/raw', 'puppet_msgs/msg/TrackerFrame', raw),
        ('/tracker/filtered', 'puppet_msgs/msg/PoseFrame', filtered),
        ('/importance', 'puppet_msgs/msg/Importance', importance),
        ('/puppet/posture', 'puppet_msgs/msg/Posture', PostureWriter().fill(moment.posture)),
        ('/retarget/status', 'puppet_msgs/msg/RetargetStatus', _status(moment)),
        ('/joint_states', 'sensor_msgs/msg/JointState', angles),
        ('/tf', 'tf2_msgs/msg/TFMessage', transforms),
    ):
        yield Item(topic, kind, moment.stamp_ns, serialize_message(message))


def latched_items():
    text = serialize_message(String(data='<robot name="sally"/>'))
    return [Item('/robot_description', 'std_msgs/msg/String', START_NS, text)]


def write_bag(path, frames, change=None):
    """Write the messages of frames, each changed first, or left out for None."""
    changed = (moment if change is None else change(moment) for moment in frames)
    items = [item for moment in changed if moment is not None for item in items_of(moment)]
    return write_items(path, latched_items() + items)


def write_items(path, items):
    with BagWriter(path) as writer:
        for item in items:
            writer.write(item.topic, item.msgtype, item.log_ns, item.data)
    return path


def with_posture(moment, **changes):
    posture = moment.posture.posture
    return moment._replace(posture=moment.posture._replace(posture=replace(posture, **changes)))


def _filtered(raw):
    n = len(raw.sensors)
    covariances = np.tile(np.eye(6) * 1e-6, (n, 1, 1))
    still = np.zeros((n, 3))
    return FilteredFrame(*raw[:5], still, still, covariances, np.zeros(n, np.uint8), covariances)


def _status(moment):
    stamp_ns, i, errors = moment.stamp_ns, moment.index, moment.goal_errors
    msg = RetargetStatus(
        frame_index=i,
        solver='importance_based',
        character='sally',
        solve_time_us=30.0,
        goal_errors=errors,
        penetrations=np.full(4, -0.1),
        reachable=True,
        frames_solved=i + 1,
    )
    msg.header.frame_id = 'world'
    write_stamp(stamp_ns, msg.header.stamp)
    return msg
