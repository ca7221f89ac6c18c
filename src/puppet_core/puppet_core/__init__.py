# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The ROS-free core: rotations, skeleton, kinematics, characters and motion clips."""
