# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A small checkout for the tests of the set-up."""

from pathlib import Path

from puppet_setup.checkout import Checkout
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path):
    """Return a checkout with one message package, one Python package and puppet_bringup."""
    files = {
        'src/puppet_msgs/package.xml': '<package/>',
        'src/puppet_msgs/CMakeLists.txt': 'project(puppet_msgs)',
        'src/puppet_msgs/msg/Frame.msg': 'float64[] poses',
        'src/tf2_msgs/package.xml': '<package/>',
        'src/tf2_msgs/CMakeLists.txt': 'project(tf2_msgs)',
        'src/puppet_core/package.xml': '<package/>',
        'src/puppet_core/setup.py': 'setup()',
        'src/puppet_core/setup.cfg': '[install]',
        'src/puppet_core/puppet_core/__init__.py': '',
        'src/puppet_core/puppet_core/math/values.py': '@njit\ndef multiply(): pass',
        'src/puppet_core/puppet_core/errors.py': 'class PuppetError(Exception): pass',
        'src/puppet_bringup/package.xml': '<package/>',
        'src/puppet_bringup/setup.py': 'setup()',
        'src/puppet_bringup/puppet_bringup/__init__.py': '',
        'src/puppet_bringup/config/filter.yaml': 'a: 1',
        'src/puppet_bringup/launch/sim.launch.py': '',
        'tools/pins/runtime.txt': 'ros-rclpy==7.1.6\ntqdm==4.70.1\nsetuptools==79.0.1\n',
        'tools/pins/test.txt': 'ruff==0.17.5\n',
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Checkout(tmp_path, 'wheels')
