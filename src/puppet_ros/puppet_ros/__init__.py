# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The shared ROS edge: messages to arrays and back, node utilities, bags, the interface table."""
