# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""tf2_msgs/TFMessage with many transforms, kept and refilled."""

from collections.abc import Sequence

from geometry_msgs.msg import TransformStamped
from puppet_core.math import Quats, Vec3s
from puppet_ros.messages import flat_array
from tf2_msgs.msg import TFMessage


class TransformsWriter:
    """One kept message of (parent, child) frames that `fill` rewrites: publish before that."""

    def __init__(self, frames: Sequence[tuple[str, str]]) -> None:
        self._msg = TFMessage()
        self._stamp = TransformStamped().header.stamp
        for parent, child in frames:
            transform = TransformStamped(child_frame_id=child)
            transform.header.frame_id = parent
            # one stamp shared by all headers, so that it is written once a frame
            transform.header.stamp = self._stamp
            self._msg.transforms.append(transform)
        self._parts = [
            (t.transform.translation, t.transform.rotation) for t in self._msg.transforms
        ]

    def fill(self, stamp_ns: int, positions: Vec3s, quaternions: Quats) -> TFMessage:
        """Return the kept message with positions (n, 3) [m] and quaternions (n, 4)."""
        flat_array.write_stamp(stamp_ns, self._stamp)
        rows = zip(self._parts, positions.tolist(), quaternions.tolist(), strict=True)
        for (translation, rotation), (px, py, pz), (w, x, y, z) in rows:
            translation.x, translation.y, translation.z = px, py, pz
            rotation.x, rotation.y, rotation.z, rotation.w = x, y, z, w
        return self._msg
