# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of the suite as arrays and back: a reader, a writer and a record for each stream."""

from puppet_ros.messages import (
    flat_array,
    importance_msg,
    marker_message,
    pose_frame,
    posture_msg,
    raw_header,
    tracker_frame,
)
from puppet_ros.messages.cdr import CdrLayout, decoded, encoded, StreamReader, StreamWriter
from puppet_ros.messages.flat_array import MessageError
from puppet_ros.messages.importance_msg import ImportanceReader, ImportanceRecord, ImportanceWriter
from puppet_ros.messages.joint_state import angles_of, JointStateWriter
from puppet_ros.messages.pose_frame import PoseFrameReader, PoseFrameWriter
from puppet_ros.messages.posture_msg import (
    posture_of,
    PostureReader,
    PostureRecord,
    PostureWriter,
    WORLD,
)
from puppet_ros.messages.raw_header import frame_index, renamed, stamp_ns
from puppet_ros.messages.retarget_status import RetargetStatusRecord, RetargetStatusWriter
from puppet_ros.messages.tf_message import TransformsWriter
from puppet_ros.messages.tracker_frame import TrackerFrameReader, TrackerFrameWriter

__all__ = [
    'CdrLayout',
    'ImportanceReader',
    'ImportanceRecord',
    'ImportanceWriter',
    'JointStateWriter',
    'MessageError',
    'PoseFrameReader',
    'PoseFrameWriter',
    'PostureReader',
    'PostureRecord',
    'PostureWriter',
    'RetargetStatusRecord',
    'RetargetStatusWriter',
    'StreamReader',
    'StreamWriter',
    'TrackerFrameReader',
    'TrackerFrameWriter',
    'TransformsWriter',
    'WORLD',
    'angles_of',
    'decoded',
    'encoded',
    'flat_array',
    'frame_index',
    'importance_msg',
    'marker_message',
    'pose_frame',
    'posture_msg',
    'posture_of',
    'raw_header',
    'renamed',
    'stamp_ns',
    'tracker_frame',
]
