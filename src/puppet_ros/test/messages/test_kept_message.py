# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes made from arrays against the same message through the middleware's serialisation."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core.body.posture import Posture  # noqa: E402,I100
from puppet_core.sensor_frames import FilteredFrame, SensorFrame  # noqa: E402
from puppet_ros.messages.cdr import (
    CdrLayout,  # noqa: E402
    plain_bytes,  # noqa: E402
)
from puppet_ros.messages.importance_msg import ImportanceWriter, SELF_ROW_WIDTH
from puppet_ros.messages.joint_state import JointStateWriter  # noqa: E402
from puppet_ros.messages.pose_frame import PoseFrameWriter  # noqa: E402
from puppet_ros.messages.posture_msg import PostureRecord, PostureWriter  # noqa: E402
from puppet_ros.messages.retarget_status import RetargetStatusRecord, RetargetStatusWriter
from puppet_ros.messages.tracker_frame import TrackerFrameWriter  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402

pytestmark = pytest.mark.ros

Case = tuple[Any, Callable[[], tuple[Any, ...]]]


def stamp_of(rng: np.random.Generator) -> int:
    """Return any stamp [ns]."""
    return int(rng.integers(0, 2_000_000_000 * 10**9))


def names(rng: np.random.Generator, n: int) -> tuple[str, ...]:
    """Return texts of different lengths, some of more bytes than letters."""
    return tuple(f'{"é" * (i % 2)}{"x" * int(rng.integers(0, 9))}{i}' for i in range(n))


def raw_case(rng: np.random.Generator) -> Case:
    """Return a writer of raw frames and what makes the next one."""
    n = int(rng.integers(0, 17))
    sensors = names(rng, n)
    return TrackerFrameWriter(sensors, 'w' * int(rng.integers(9))), lambda: (
        SensorFrame(
            stamp_of(rng),
            int(rng.integers(1 << 62)),
            sensors,
            rng.normal(size=(n, 3)),
            rng.normal(size=(n, 4)),
            rng.random(n),
            rng.integers(0, 2, n).astype(np.uint8),
        ),
    )


def filtered_case(rng: np.random.Generator) -> Case:
    """Likewise of filtered frames, with and without covariances of twists."""
    n = int(rng.integers(0, 17))
    sensors = names(rng, n)
    return PoseFrameWriter(sensors, 'w' * int(rng.integers(9))), lambda: (
        FilteredFrame(
            stamp_of(rng),
            int(rng.integers(1 << 62)),
            sensors,
            rng.normal(size=(n, 3)),
            rng.normal(size=(n, 4)),
            rng.normal(size=(n, 3)),
            rng.normal(size=(n, 3)),
            rng.normal(size=(n, 6, 6)),
            rng.integers(0, 5, n).astype(np.uint8),
            rng.normal(size=(n * int(rng.integers(2)), 6, 6)),
        ),
    )


def posture_case(rng: np.random.Generator) -> Case:
    """Likewise of postures."""
    body = 'b' * int(rng.integers(9))
    return PostureWriter(body, 0.8), lambda: (
        PostureRecord(
            stamp_of(rng),
            int(rng.integers(1 << 62)),
            body,
            Posture(*(rng.normal(size=shape) for shape in ((3,), (16, 4), (8, 3), (8, 3)))),
            rng.normal(size=(16, 3)),
            rng.integers(0, 3, 16).astype(np.uint8),
            0.8,
        ),
    )


def importance_case(rng: np.random.Generator) -> Case:
    """Likewise of importance, of a body far from itself too."""
    return ImportanceWriter(names(rng, int(rng.integers(4))), 'world'), lambda: (
        stamp_of(rng),
        int(rng.integers(1 << 62)),
        rng.normal(size=(4, 8)),
        rng.normal(size=(8, SELF_ROW_WIDTH)) if rng.integers(2) else None,
    )


def joints_case(rng: np.random.Generator) -> Case:
    """Likewise of joint states."""
    n = int(rng.integers(0, 60))
    return JointStateWriter(names(rng, n), 'w' * int(rng.integers(9))), lambda: (
        stamp_of(rng),
        rng.normal(size=n),
    )


def status_case(rng: np.random.Generator) -> Case:
    """Likewise of states of a solver, whose texts change on the way."""
    return RetargetStatusWriter('world'), lambda: (
        RetargetStatusRecord(
            stamp_of(rng),
            int(rng.integers(1 << 62)),
            's' * int(rng.integers(4)),
            'c' * int(rng.integers(4)),
            rng.random(),
            int(rng.integers(99)),
            rng.normal(size=3),
            np.full(4, np.inf),
            rng.normal(size=4),
            rng.random(8),
            bool(rng.integers(2)),
            bool(rng.integers(2)),
            int(rng.integers(1 << 62)),
            int(rng.integers(1 << 62)),
        ),
    )


CASES = (raw_case, filtered_case, posture_case, importance_case, joints_case, status_case)


def number_bytes(msg: Any) -> np.ndarray:
    """Return whether a byte of the message is one of a number, a text or a length."""
    layout = CdrLayout(msg)
    used = np.zeros(layout.size, dtype=bool)
    for place in [*layout.numbers, *layout.arrays]:
        used[place.start : place.stop] = True
    for start, stop in layout.fixed:
        used[start:stop] = True
    return used


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.__name__)
def test_bytes_are_those_of_the_middleware_but_for_padding(
    case: Callable[[np.random.Generator], Case], rng: np.random.Generator
) -> None:
    for _ in range(12):
        writer, record = case(rng)
        for _ in range(3):
            values = record()
            data, msg = writer.data(*values), writer.fill(*values)
            assert deserialize_message(data, type(msg)) == msg
            assert data == plain_bytes(msg)
            theirs = np.frombuffer(serialize_message(msg), np.uint8)
            ours, used = np.frombuffer(data, np.uint8), number_bytes(msg)
            np.testing.assert_array_equal(ours[used], theirs[: len(ours)][used])
            assert not ours[~used].any()
