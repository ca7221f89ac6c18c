# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node that reads other trackers' topics: rows, and the config they fill."""

from dataclasses import dataclass

import numpy as np
from puppet_core.arrays import Quat, Vec3
from puppet_core.errors import ConfigError
from puppet_core.parameter_rows import Row
from puppet_core.sensor_frames import POSE_ARRAY_MODES, POSES_OFF
from puppet_driver.parameters import DEFAULT_SENSORS
from puppet_driver.roll_pitch_yaw import rotation_of
from puppet_driver.topic_plan import plan_topics, TopicPlan

HEADER, ARRIVAL = 'header', 'arrival'
GIVEN, STATIC_TF = 'given', 'tf'
TIMEOUT_PERIODS = 0.5

POSE_TOPICS_ROWS = (
    Row('sensors', DEFAULT_SENSORS, description='Names of the sensors.'),
    Row(
        'topics', ('/vrpn_mocap/{sensor}/pose',),
        description='Where each is: a PoseStamped TOPIC, or TOPIC[INDEX] of a PoseArray; or one '
        'for all, with {sensor} or [*] in it.',
    ),
    Row('rate_hz', 120.0, 'Hz', 1.0, 1000.0, description='Frames a second of the tracker.'),
    Row(
        'frame_timeout_s', 0.0, 's', 0.0, 1.0,
        description='Longest wait for the rest of a frame; 0: half a period.',
    ),
    Row(
        'stamps', HEADER, choices=(HEADER, ARRIVAL),
        description="Whether a sample's time is that of its header, or of its arrival here, for "
        'trackers whose clock is not ours.',
    ),
    Row(
        'latency_s', 0.0, 's', 0.0, 0.5,
        description='From the measurement to its stamp; taken off the stamps.',
    ),
    Row('unit_m', 1.0, 'm', 0.0, 10.0, low_open=True,
        description='Length of one unit of positions; 0.001 for millimetres.'),
    Row(
        'axes', GIVEN, choices=(GIVEN, STATIC_TF),
        description="Where the source's axes are: as source.* say, or where /tf_static has the "
        "frame of the messages' headers.",
    ),
    Row(
        'source.position_m', (0.0, 0.0, 0.0), 'm', -100.0, 100.0, length=3,
        description="Origin of the source's axes in the transmitter's.",
    ),
    Row(
        'source.rpy_deg', (0.0, 0.0, 0.0), 'deg', -360.0, 360.0, length=3,
        description="Roll, pitch and yaw of the source's axes in the transmitter's; with Y up: "
        '90, 0, 0 if X is forward, 90, 0, 90 if Z is, 90, 0, -90 if Z is backward.',
    ),
    Row(
        'transmitter.position_m', (0.0, 0.0, 0.0), 'm', -100.0, 100.0, length=3,
        description='Transmitter in world, published on /tf_static.',
    ),
    Row(
        'transmitter.rpy_deg', (0.0, 0.0, 0.0), 'deg', -360.0, 360.0, length=3,
        description='Roll, pitch and yaw of the transmitter in world, REP-103 axes.',
    ),
    Row(
        'transforms_rate_hz', 30.0, 'Hz', 0.0, 1000.0,
        description='How often the sensors are published on /tf at most; 0 never.',
    ),
    Row(
        'pose_array', POSES_OFF, choices=POSE_ARRAY_MODES,
        description='Whether to publish a geometry_msgs/PoseArray too: of all sensors, NaN where '
        'not measured, or of the valid ones.',
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PoseTopicsConfig:
    """What POSE_TOPICS_ROWS say, and what follows from them; see there."""

    sensors: tuple[str, ...]
    topics: tuple[str, ...]
    rate_hz: float
    frame_timeout_s: float
    stamps: str
    latency_s: float
    unit_m: float
    axes: str
    source_position_m: tuple[float, float, float]
    source_rpy_deg: tuple[float, float, float]
    transmitter_position_m: tuple[float, float, float]
    transmitter_rpy_deg: tuple[float, float, float]
    transforms_rate_hz: float
    pose_array: str

    def __post_init__(self) -> None:
        repeated = sorted({name for name in self.sensors if self.sensors.count(name) > 1})
        if repeated or '' in self.sensors:
            got = f'{repeated[0]!r} twice' if repeated else 'an empty one'
            raise ConfigError(f'sensors: expected different names, got {got}')
        plan_topics(self.sensors, self.topics)

    @property
    def plans(self) -> tuple[TopicPlan, ...]:
        """Return what each topic brings."""
        return plan_topics(self.sensors, self.topics)

    @property
    def wait_s(self) -> float:
        """Longest wait for the rest of a frame [s]."""
        return self.frame_timeout_s or TIMEOUT_PERIODS / self.rate_hz

    @property
    def source(self) -> tuple[Vec3, Quat]:
        """Position (3,) [m] and quaternion (4,) of the source's axes in the transmitter's."""
        return np.array(self.source_position_m), rotation_of(self.source_rpy_deg)

    @property
    def transmitter(self) -> tuple[Vec3, Quat]:
        """Position (3,) [m] and quaternion (4,) of the transmitter in the world."""
        return np.array(self.transmitter_position_m), rotation_of(self.transmitter_rpy_deg)
