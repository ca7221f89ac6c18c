# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of the suite as arrays and back: a reader, a writer and a record for each stream."""

from puppet_ros.messages import flat_array, importance_msg, marker_message, posture_msg, raw_header
from puppet_ros.messages.cdr import CdrLayout, decoded, encoded, Fields, StreamReader, StreamWriter
from puppet_ros.messages.flat_array import MessageError
from puppet_ros.messages.importance_msg import ImportanceReader, ImportanceRecord, ImportanceWriter
from puppet_ros.messages.joint_msg import angles_of, command_msg, JointStateWriter
from puppet_ros.messages.posture_msg import (
    posture_of,
    PostureReader,
    PostureRecord,
    PostureWriter,
    WORLD,
)
from puppet_ros.messages.raw_header import frame_index, renamed, stamp_ns
from puppet_ros.messages.sensor_msg import (
    from_pose_frame,
    from_tracker_frame,
    PoseFrameReader,
    PoseFrameWriter,
    TrackerFrameReader,
    TrackerFrameWriter,
)
from puppet_ros.messages.tf_message import TransformsWriter
