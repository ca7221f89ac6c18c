# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""sensor_msgs/JointState and arrays of angles; to write, one kept message is refilled."""

from collections.abc import Sequence

import numpy as np
from puppet_core.math import Floats
from puppet_ros.messages import flat_array
from puppet_ros.messages.kept_message import KeptMessage, Target
from sensor_msgs.msg import JointState


def angles_of(msg: JointState, names: Sequence[str]) -> Floats | None:
    """Return the angles of exactly these joints in their order [rad]; None for other joints."""
    if tuple(msg.name) != tuple(names) or len(msg.position) != len(names):
        return None
    return np.frombuffer(msg.position, dtype=np.float64)


class JointStateWriter:
    """
    One kept message that `fill` and `data` rewrite: publish it before filling again.

    Parameters
    ----------
    names : sequence of str
        Joint names in the order of the angles.
    frame_id : str
        The header's frame.

    """

    def __init__(self, names: Sequence[str], frame_id: str = '') -> None:
        msg = JointState(name=list(names))
        msg.header.frame_id = frame_id
        flat_array.keep_floats(msg, 'position', len(names), 1)
        self._kept = KeptMessage(msg, lambda arrays: arrays['position'])

    def fill(self, stamp_ns: int, angles: Floats) -> JointState:
        """Return the kept message with these angles, shape (n,) [rad]."""
        _put(self._kept.message(), stamp_ns, angles)
        return self._kept.msg

    def data(self, stamp_ns: int, angles: Floats) -> bytes:
        """Return the bytes of that message."""
        target = self._kept.bytes()
        _put(target, stamp_ns, angles)
        return target.data()


def _put(target: Target, stamp_ns: int, angles: Floats) -> None:
    target.put_stamp(stamp_ns)
    target.views[:] = angles
