# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of robots."""

from puppet_core.robots import character_from_urdf, RobotMap
import pytest


@pytest.fixture
def made(tmp_path):
    def run(text, robot_map=None):
        path = tmp_path / 'robot.urdf'
        path.write_text(text)
        return character_from_urdf(path, robot_map or RobotMap())

    return run
