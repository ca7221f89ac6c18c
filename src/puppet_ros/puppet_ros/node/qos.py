# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The QoS profiles of the suite's topics."""

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

# The sensor-data profile but deeper: 20 frames at 120 Hz outlast the scheduling gaps of a
# desktop, where the usual 5 would lose frames, and cost nothing while nobody lags.
STREAM_DEPTH = 20
STREAM = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=STREAM_DEPTH,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)


def _reliable(depth: int, durability: DurabilityPolicy = DurabilityPolicy.VOLATILE) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=durability,
    )


JOINT_STATES = _reliable(10)
COMMANDS = _reliable(1)  # a robot has no use for an older one
LATCHED = _reliable(1, DurabilityPolicy.TRANSIENT_LOCAL)
TRANSFORMS = _reliable(100)
# One message per broadcaster, and there may be many: tf2's listeners keep 100 too.
STATIC_TRANSFORMS = _reliable(100, DurabilityPolicy.TRANSIENT_LOCAL)
