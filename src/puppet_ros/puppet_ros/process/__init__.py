# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Process-wide settings and facts: memory use, middleware settings, a free ROS domain."""

from puppet_ros.process.memory import memory_of
from puppet_ros.process.middleware import middleware_settings
from puppet_ros.process.private_domain import free_domain

__all__ = [
    'free_domain',
    'memory_of',
    'middleware_settings',
]
