# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bags of rosbag2 (MCAP, SQLite), read and written without ROS by mcap and rosbags."""

from puppet_ros.bags.metadata import BagTopic, metadata_file_of, read_metadata
from puppet_ros.bags.reader import bag_files, BagMessage, BagReader
from puppet_ros.bags.types import class_of, definition_of, require_same_types, type_hash_of
from puppet_ros.bags.writer import BagWriter, COMPRESSIONS, qos_text, SUFFIX
