# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Other trackers' PoseStamped and PoseArray topics to frames: parameters, topic plan, merging.

A frame is emitted when all sensors are in, when one that is in comes again, or after a timeout;
sensors that missed several ticks in a row are not waited for. The frame's stamp is its newest
sample's, the others are so much older. Stamps strictly increase.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import math
import re

import numpy as np
from puppet_core.io import ConfigError, rows_of
from puppet_core.math import Quat, quaternions, Quats, Vec3, Vec3s
from puppet_core.sensor_frames import SAMPLE_MISSING, SAMPLE_OK, SensorFrame
from puppet_driver.parameters import (
    DEFAULT_SENSORS,
    fixed,
    place,
    placed,
    pose_array_mode,
    require_different,
    rpy,
    tf_prefix,
    transforms_rate,
    transmitter_position,
    transmitter_rpy,
    world_frame,
)
from puppet_driver.tracker import Pose

SENSOR_FIELD = '{sensor}'
_ENTRY = re.compile(r'([^\[\]{}]+)(?:\[(\d+|\*)\])?')

HEADER, ARRIVAL = 'header', 'arrival'
GIVEN, STATIC_TF = 'given', 'tf'
TIMEOUT_PERIODS = 0.5
MAX_MISSED_TICKS = 3  # ticks in a row that a sensor may miss before nobody waits for it
CLOCK_STEP_NS = 1_000_000_000  # a clock set back by more than this restarts the stamps
UNIT_TOL = 0.2  # of a quaternion's length; further from one is garbage


@dataclass(frozen=True, slots=True)
class TopicPlan:
    topic: str  # Name
    is_array: bool  # Whether it carries PoseArray; else PoseStamped
    rows: dict[int, int]  # Frame row by index in the message; index 0 for a PoseStamped


def plan_topics(sensors: Sequence[str], entries: Sequence[str]) -> tuple[TopicPlan, ...]:
    """Return what each topic brings; ConfigError names the entry that cannot be meant so."""
    words = _one_for_each(sensors, entries)
    found: dict[str, TopicPlan] = {}
    for row, word in enumerate(words):
        match = _ENTRY.fullmatch(word)
        if match is None or match[2] == '*':
            raise ConfigError(f'topics: expected TOPIC or TOPIC[INDEX], got {word!r}')
        topic, is_array, index = match[1], match[2] is not None, int(match[2] or 0)
        plan = found.setdefault(topic, TopicPlan(topic, is_array, {}))
        if plan.is_array != is_array:
            raise ConfigError(f'topics: expected {topic} with an index or without, got both')
        if index in plan.rows:
            other = sensors[plan.rows[index]]
            raise ConfigError(
                f'topics: expected a different source for each sensor, got {word} for {other} and '
                f'{sensors[row]}'
            )
        plan.rows[index] = row
    return tuple(found.values())


def _one_for_each(sensors: Sequence[str], entries: Sequence[str]) -> list[str]:
    if len(entries) == 1 and SENSOR_FIELD in entries[0]:
        return [entries[0].replace(SENSOR_FIELD, sensor) for sensor in sensors]
    if len(entries) == 1 and entries[0].endswith('[*]'):
        return [f'{entries[0][:-3]}[{row}]' for row in range(len(sensors))]
    if len(entries) != len(sensors):
        raise ConfigError(
            f'topics: expected one for each of the {len(sensors)} sensors, or one with '
            f'{SENSOR_FIELD} or [*] in it, got {len(entries)}'
        )
    return list(entries)


@dataclass(frozen=True, slots=True)
class PoseTopicsConfig:
    sensors: tuple[str, ...] = fixed(DEFAULT_SENSORS, description='Names of the sensors.')
    topics: tuple[str, ...] = fixed(
        ('/vrpn_mocap/{sensor}/pose',),
        description='Source of each sensor: a PoseStamped TOPIC, or TOPIC[INDEX] of a PoseArray; '
        'or one entry for all, with {sensor} or [*] in it.',
    )
    rate_hz: float = fixed(120.0, 'Hz', 1.0, 1000.0, 'Frame rate of the tracker.')
    frame_timeout_s: float = fixed(
        0.0, 's', 0.0, 1.0, 'Longest wait for the rest of a frame; 0: half a period.'
    )
    stamps: str = fixed(
        HEADER,
        description='Time of a sample: its header stamp, or its arrival, for trackers on another '
        'clock.',
        choices=(HEADER, ARRIVAL),
    )
    latency_s: float = fixed(
        0.0, 's', 0.0, 0.5, 'Delay from a measurement to its stamp; subtracted from the stamps.'
    )
    unit_m: float = fixed(
        1.0,
        'm',
        0.0,
        10.0,
        'Length of one unit of positions; 0.001 for millimetres.',
        low_open=True,
    )
    axes: str = fixed(
        GIVEN,
        description="Pose of the source's axes: given by source.*, or looked up on /tf_static for "
        "the frame of the messages' headers.",
        choices=(GIVEN, STATIC_TF),
    )
    source_position_m: tuple[float, float, float] = place(
        (0.0, 0.0, 0.0), description="Origin of the source's axes in the transmitter's."
    )
    source_rpy_deg: tuple[float, float, float] = rpy(
        description="Roll, pitch and yaw of the source's axes in the transmitter's; with Y up: "
        '90, 0, 0 if X is forward, 90, 0, 90 if Z is, 90, 0, -90 if Z is backward.'
    )
    transmitter_position_m: tuple[float, float, float] = transmitter_position(0.0)
    transmitter_rpy_deg: tuple[float, float, float] = transmitter_rpy()
    transforms_rate_hz: float = transforms_rate()
    world_frame: str = world_frame()
    tf_prefix: str = tf_prefix()
    pose_array: str = pose_array_mode()

    def __post_init__(self) -> None:
        require_different('sensors', self.sensors)
        plan_topics(self.sensors, self.topics)

    @property
    def plans(self) -> tuple[TopicPlan, ...]:
        return plan_topics(self.sensors, self.topics)

    @property
    def wait_s(self) -> float:
        """Longest wait for the rest of a frame [s]."""
        return self.frame_timeout_s or TIMEOUT_PERIODS / self.rate_hz

    @property
    def source(self) -> tuple[Vec3, Quat]:
        """Return the source's axes in the transmitter's."""
        return placed(self.source_position_m, self.source_rpy_deg)

    @property
    def transmitter(self) -> tuple[Vec3, Quat]:
        return placed(self.transmitter_position_m, self.transmitter_rpy_deg)


POSE_TOPICS_ROWS = rows_of(PoseTopicsConfig, groups=('source', 'transmitter'))


def transform_poses(
    origins: Vec3s, turns: Quats, unit_m: float, positions: Vec3s, orientations: Quats
) -> None:
    """
    Turn the poses of a frame in place from each source's axes and units; NaN stays NaN.

    `origins` [m] and `turns` are each source's axes in the transmitter's, `unit_m` is the length
    of one unit of positions.
    """
    positions[:] = origins + unit_m * quaternions.rotate(turns, positions)
    orientations[:] = quaternions.normalize(quaternions.multiply(turns, orientations))


class PoseMerger:
    """Collects the samples of a tick, at most for the timeout after the first of them."""

    def __init__(self, sensors: tuple[str, ...], timeout_ns: int) -> None:
        n = len(sensors)
        self._sensors = sensors
        self._timeout_ns = timeout_ns
        self._last_ns = [-1] * n
        self._missed = [0] * n
        self._began_ns: int | None = None
        self._stamp_ns = -1
        # Totals since construction: frames emitted, those in which a sensor was missing, sensors
        # missing in them; samples with a number that is not finite or a quaternion that is none,
        # and those not newer than the sensor's last one
        names = 'frames incomplete_frames missing_samples invalid_samples old_samples'
        self.counters = dict.fromkeys(names.split(), 0)
        self._clear()

    def add(self, row: int, stamp_ns: int, now_ns: int, pose: Pose) -> list[SensorFrame]:
        """
        Take a sample; return the frames that it completes, oldest first, mostly none or one.

        `stamp_ns` is when it was measured, `now_ns` any steady clock; the pose is position and
        quaternion w x y z.
        """
        x, y, z, qw, qx, qy, qz = pose
        norm = math.sqrt(qw * qw + qx * qx + qy * qy + qz * qz)
        if not (abs(norm - 1.0) < UNIT_TOL and math.isfinite(x + y + z)):
            self.counters['invalid_samples'] += 1
            return []
        last_ns = self._last_ns[row]
        if last_ns - CLOCK_STEP_NS < stamp_ns <= last_ns:
            self.counters['old_samples'] += 1
            return []
        frames = []
        if self._has[row]:
            frames.append(self._emit_frame())
        if self._began_ns is None:
            self._began_ns = now_ns
        self._has[row] = True
        self._last_ns[row] = stamp_ns
        self._positions[row] = x, y, z
        self._quaternions[row] = qw, qx, qy, qz
        if all(has or missed >= MAX_MISSED_TICKS for has, missed in zip(self._has, self._missed)):
            frames.append(self._emit_frame())
        return frames

    def expire(self, now_ns: int) -> SensorFrame | None:
        if self._began_ns is None or now_ns - self._began_ns < self._timeout_ns:
            return None
        return self._emit_frame()

    def _emit_frame(self) -> SensorFrame:
        has = np.array(self._has)
        last_ns = np.array(self._last_ns, dtype=np.int64)
        stamp_ns = int(last_ns[has].max())
        if self._stamp_ns - CLOCK_STEP_NS < stamp_ns <= self._stamp_ns:
            stamp_ns = self._stamp_ns + 1
        self._stamp_ns = stamp_ns
        ages_s = np.where(last_ns >= 0, 1e-9 * np.maximum(stamp_ns - last_ns, 0), 0.0)
        self._missed = [0 if here else n + 1 for here, n in zip(self._has, self._missed)]
        n_missing = self._has.count(False)
        counts = self.counters
        counts['frames'] += 1
        counts['incomplete_frames'] += n_missing > 0
        counts['missing_samples'] += n_missing
        frame = SensorFrame(
            stamp_ns,
            counts['frames'] - 1,
            self._sensors,
            self._positions,
            self._quaternions,
            ages_s,
            np.where(has, SAMPLE_OK, SAMPLE_MISSING).astype(np.uint8),
        )
        self._clear()
        return frame

    def _clear(self) -> None:
        """Begin a tick; the arrays of the last one are the frame's now."""
        n = len(self._sensors)
        self._began_ns = None
        self._has = [False] * n
        self._positions = np.full((n, 3), np.nan)
        self._quaternions = np.full((n, 4), np.nan)
