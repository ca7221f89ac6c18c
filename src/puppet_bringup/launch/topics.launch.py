# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The whole graph behind another tracker's PoseStamped or PoseArray topics."""

from launch import LaunchDescription
from puppet_bringup.launch import describe


def generate_launch_description() -> LaunchDescription:
    """Return the arguments, and the processes of the table in the order of the data."""
    return describe('topics')
