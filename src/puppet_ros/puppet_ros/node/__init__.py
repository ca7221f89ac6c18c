# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What every node uses: parameters, diagnostics, QoS, streams, transforms, spinning."""

from puppet_ros.node import qos
from puppet_ros.node.deferred_service import DeferredService
from puppet_ros.node.diagnostics import (
    Diagnostics,
    DIAGNOSTICS_TOPIC,
    ERROR_HOLD_S,
    FrameStatistics,
    PERIOD_S,
    READERS,
    WRITERS,
)
from puppet_ros.node.parameters import NODE_OPTIONS, parameters_msg, ParameterTable
from puppet_ros.node.spin import (
    ALLOW_SECOND,
    COMPILE_ONLY,
    cores_of,
    make_executor,
    observing,
    own_context,
    OWN_WORDS,
    run_first,
    Scheduling,
    spin_node,
    spin_nodes,
    split_words,
    threads,
)
from puppet_ros.node.stamps import ClockJumpDetector, ExactTimeSynchronizer, RateLimit
from puppet_ros.node.streams import (
    IntraProcessBus,
    pose_row,
    PoseArrayOutput,
    StampedRecord,
    StreamPublisher,
    subscribe,
    use_bus,
)
from puppet_ros.node.transforms import (
    RobotDescriptionPublisher,
    SensorTransforms,
    StaticTransforms,
    StaticTransformTree,
    TF_STATIC_TOPIC,
    TF_TOPIC,
    TRANSMITTER,
    with_mesh_files,
    WORLD,
)
