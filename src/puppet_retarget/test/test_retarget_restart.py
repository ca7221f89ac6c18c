# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A retarget node that is started again goes on from where the puppet was."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from test_retarget_node import make_rig, Rig  # noqa: E402,F401,I100

pytestmark = pytest.mark.ros


def let_go(rig: Rig) -> None:
    """Unlock the file of a node, as the system does with that of a process that was killed."""
    rig.node._last.close()


def test_the_first_frame_is_the_last_posture(make_rig, tmp_path: Path) -> None:  # noqa: F811
    """Though the first node never ended in order; a file of others is refused and replaced."""
    path = tmp_path / 'x.posture'
    first = make_rig(last_posture_file=str(path))
    for i in range(1, 4):
        first.feed(i)
    let_go(first)
    again = make_rig(last_posture_file=str(path))
    again.feed(60)
    last, now = first.joints.messages[-1], again.joints.messages[0]
    np.testing.assert_allclose(now.position, last.position, atol=1e-6)
    assert again.status.messages[0].easing
    let_go(again)
    path.write_bytes(b'not a posture')
    other = make_rig(last_posture_file=str(path))
    other.feed(60)
    assert not other.status.messages[0].easing
    assert path.read_bytes().startswith(b'puppet posture')
