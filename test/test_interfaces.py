# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The messages as other machines see them."""

import json
import os
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif('AMENT_PREFIX_PATH' not in os.environ, reason='needs ROS 2'),
]

# Of the binary ROS 2 Jazzy: the same hash means that nodes of both hear each other.
TF_MESSAGE_HASH = 'RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087'
INTERFACES = (
    'msg/Importance',
    'msg/Posture',
    'msg/PoseFrame',
    'msg/RetargetStatus',
    'msg/TrackerFrame',
    'srv/Calibrate',
)


def description(package: str, interface: str) -> Path:
    """Return the installed file of an interface, without its suffix."""
    index = pytest.importorskip('ament_index_python.packages', reason='needs ROS 2')
    return Path(index.get_package_share_directory(package), interface)


def test_tf_message_has_the_hash_of_the_original():
    """Whether it is ours or the system's."""
    path = description('tf2_msgs', 'msg/TFMessage').with_suffix('.json')
    hashes = {
        row['type_name']: row['hash_string'] for row in json.loads(path.read_text())['type_hashes']
    }
    assert hashes['tf2_msgs/msg/TFMessage'] == TF_MESSAGE_HASH


@pytest.mark.parametrize('interface', INTERFACES)
def test_interface_is_installed_with_its_comments(interface):
    """`ros2 interface show` prints layouts and units from there."""
    path = description('puppet_msgs', interface)
    source = path.with_suffix(f'.{path.parent.name}')
    assert '# ' in source.read_text()
    assert path.with_suffix('.json').is_file()
