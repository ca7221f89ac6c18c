# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""sensor_msgs/JointState <-> arrays of angles."""

from collections.abc import Sequence

import numpy as np
from puppet_core.math import Floats
from puppet_ros.messages.cdr import StreamWriter
from sensor_msgs.msg import JointState


def angles_of(msg: JointState, names: Sequence[str]) -> Floats | None:
    """Return the angles of exactly these joints in their order [rad]; None for other joints."""
    if tuple(msg.name) != tuple(names) or len(msg.position) != len(names):
        return None
    return np.frombuffer(msg.position, dtype=np.float64)


class JointStateWriter(StreamWriter):
    """
    Messages of a stamp [ns] and angles, shape (n,) [rad].

    Parameters
    ----------
    names : sequence of str
        Joint names in the order of the angles.
    frame_id : str
        The header's frame.

    """

    def __init__(self, names: Sequence[str], frame_id: str = '') -> None:
        joints = tuple(names)
        super().__init__(
            JointState,
            frame_id,
            lambda stamp_ns, angles: (stamp_ns, {'name': joints, 'position': angles}),
        )
