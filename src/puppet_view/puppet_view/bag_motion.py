# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Motions out of bags and into bags, for the offline commands.

A bag is a clip if it has the performer's postures; what comes of it has the same topics as the
live graph, at the stamps of what it was made from. Frames that are missing in between are filled
in, for a motion has a constant rate.

"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from puppet_core.body import Character, ContinuousEuler, JOINT_NAMES, Motion, Posture
from puppet_core.io import ConfigError, InputFileError
from puppet_core.math import Floats, quaternions
from puppet_core.robots import description_text, urdf_text
from puppet_msgs.msg import Importance
from puppet_msgs.msg import Posture as PostureMsg
from puppet_retarget.importance import skeleton_of
from puppet_retarget.offline import RetargetJob, RetargetResult
from puppet_retarget.solvers import follower_of
from puppet_ros.bags import (
    bag_files,  # noqa: F401  # with the other functions on bags, for commands
    BagReader,
    BagWriter,
)
from puppet_ros.messages import (
    decoded,
    ImportanceWriter,
    JointStateWriter,
    KeptCdr,
    MessageError,
    posture_msg,
    PostureRecord,
    PostureWriter,
    WORLD,
)
from puppet_ros.node import qos
from sensor_msgs.msg import JointState
from std_msgs.msg import String

POSTURE_TOPIC, IMPORTANCE_TOPIC = '/performer/posture', '/importance'
JOINTS_TOPIC, PUPPET_TOPIC = '/joint_states', '/puppet/posture'
DESCRIPTION_TOPIC, BODY_TOPIC = '/robot_description', '/puppet/robot_description'
POSTURE = 'puppet_msgs/msg/Posture'
START_NS = 1_000_000_000  # of the first frame; a stamp of zero means none
MAX_FILLED = 3  # frames of the motion for each in the bag, at most
SAME_NS = 1000  # stamps of a constant rate are rounded, some to microseconds
MEASURED = np.zeros(16, dtype=np.uint8)
_TYPES = {
    POSTURE_TOPIC: POSTURE,
    PUPPET_TOPIC: POSTURE,
    IMPORTANCE_TOPIC: 'puppet_msgs/msg/Importance',
    JOINTS_TOPIC: 'sensor_msgs/msg/JointState',
    DESCRIPTION_TOPIC: 'std_msgs/msg/String',
    BODY_TOPIC: 'std_msgs/msg/String',
}

_KINDS: dict[str, type] = {
    POSTURE_TOPIC: PostureMsg,
    PUPPET_TOPIC: PostureMsg,
    IMPORTANCE_TOPIC: Importance,
    JOINTS_TOPIC: JointState,
    DESCRIPTION_TOPIC: String,
    BODY_TOPIC: String,
}


class _Frames(NamedTuple):
    """What is read of each posture; row by row."""

    stamps_ns: Any
    """Shape (n,) [ns]."""

    roots: Floats
    rotations: Floats
    points: Floats
    segments: Floats
    body: str


def read_bag_motion(path: Path, topic: str = POSTURE_TOPIC) -> tuple[Motion, tuple[int, ...], str]:
    """
    Return the motion of one topic, the stamp of each of its frames [ns] and the body's name.

    The stamps are those in the bag, as far as these have a constant rate.

    Raises
    ------
    InputFileError : if it has no postures, or none that make a motion.

    """
    frames = _read(path, topic)
    since = (frames.stamps_ns - frames.stamps_ns[0]) * 1e-9
    steps = np.diff(since)
    if len(steps) < 1:
        raise InputFileError(path, 'at least two postures', '1', field=topic)
    n = round(float(since[-1]) / float(np.median(steps))) + 1
    if n > MAX_FILLED * len(since):
        raise InputFileError(
            path, 'postures at a rate', f'a gap of {steps.max():.1f} s', field=topic
        )
    step = float(since[-1]) / (n - 1)  # a single step is rounded, and they add up
    times = np.arange(n) * step
    try:
        skeleton = skeleton_of(frames.rotations[0], frames.segments[0], frames.points[0])
        motion = Motion(
            skeleton,
            1.0 / step,
            _filled(times, since, frames.roots),
            quaternions.normalize(
                _filled(times, since, quaternions.align_signs(frames.rotations))
            ),
            _filled(times, since, frames.points),
        )
    except ConfigError as err:
        raise InputFileError(path, 'postures of a body', str(err), field=topic) from err
    return motion, _stamps(frames.stamps_ns, times), frames.body


def write_bag_motion(
    path: Path,
    motion: Motion,
    job: RetargetJob,
    result: RetargetResult,
    stamps_ns: Sequence[int] = (),
) -> None:
    """
    Write the captured motion and what a puppet makes of it, as the live graph does.

    The stamps are one for each frame; a clip has none and begins at START_NS.

    """
    stamps = stamps_ns or [
        START_NS + round(i * 1e9 / motion.rate_hz) for i in range(motion.n_frames)
    ]
    character, puppet = job.character, result.motion(job.character, motion.rate_hz)
    cdr = {topic: KeptCdr(kind) for topic, kind in _KINDS.items()}
    importance = ImportanceWriter(tuple(job.environment.names), WORLD)
    angles = _angles(result)
    joints = JointStateWriter(_joint_names(character))
    with BagWriter(path) as writer:
        for topic, text in (
            (DESCRIPTION_TOPIC, description_text(character)),
            (BODY_TOPIC, urdf_text(character)),
        ):
            data = cdr[topic].write(String(data=text))
            writer.write(topic, _TYPES[topic], stamps[0], data, qos.LATCHED)
        captured = _postures(motion, 'performer')
        driven = _postures(puppet, character.name)
        for i, stamp_ns in enumerate(stamps):
            for topic, msg in (
                (POSTURE_TOPIC, captured(i, stamp_ns)),
                (
                    IMPORTANCE_TOPIC,
                    importance.fill(stamp_ns, i, result.rows[i], result.self_rows[i]),
                ),
                (JOINTS_TOPIC, joints.fill(stamp_ns, angles[i])),
                (PUPPET_TOPIC, driven(i, stamp_ns)),
            ):
                profile = qos.JOINT_STATES if topic == JOINTS_TOPIC else qos.STREAM
                writer.write(topic, _TYPES[topic], stamp_ns, cdr[topic].write(msg), profile)


def _read(path: Path, topic: str) -> _Frames:
    rows: list[tuple[int, Floats, Floats, Floats, Floats]] = []
    with BagReader(path) as reader:
        if reader.topics.get(topic) != POSTURE or not reader.counts[topic]:
            raise InputFileError(
                path,
                f'postures on {topic}',
                'none',
                hint='./puppet replay makes them of recorded sensors',
            )
        last_ns, body = -1, ''
        for message in reader.messages([topic]):
            try:
                record = posture_msg.from_msg(decoded(message.data, PostureMsg))
            except MessageError as err:
                raise InputFileError(path, POSTURE, str(err), field=topic) from err
            row = (
                record.posture.root_position,
                record.posture.rotations,
                record.posture.end_effectors,
                record.segments,
            )
            # what stands still or goes back in time, or is no number, is not of this motion
            if record.stamp_ns > last_ns and all(np.isfinite(v).all() for v in row):
                rows.append((record.stamp_ns, *row))
                last_ns, body = record.stamp_ns, record.body
    if not rows:
        raise InputFileError(path, 'finite postures', 'none', field=topic)
    stamps = np.array([row[0] for row in rows])
    roots, rotations, points, segments = (np.array([row[k] for row in rows]) for k in range(1, 5))
    return _Frames(stamps, roots, rotations, points, segments, body)


def _stamps(stamps_ns: Any, times: Any) -> tuple[int, ...]:
    """Return stamps for these times since the first one; recorded ones where they are the same."""
    regular = stamps_ns[0] + np.round(times * 1e9).astype(np.int64)
    after = np.clip(np.searchsorted(stamps_ns, regular), 1, len(stamps_ns) - 1)
    before, behind = stamps_ns[after - 1], stamps_ns[after]
    nearest = np.where(regular - before < behind - regular, before, behind)
    same = np.abs(nearest - regular) <= SAME_NS
    return tuple(np.where(same, nearest, regular).tolist())


def _filled(times: Any, stamps: Floats, values: Floats) -> Floats:
    """Return the values at other times, linearly between those that are there."""
    after = np.clip(np.searchsorted(stamps, times), 1, len(stamps) - 1)
    span = stamps[after] - stamps[after - 1]
    share = np.clip((times - stamps[after - 1]) / span, 0.0, 1.0)
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    return (1.0 - share) * values[after - 1] + share * values[after]


def _postures(motion: Motion, body: str) -> Callable[[int, int], Any]:
    writer = PostureWriter(body, motion.skeleton.leg_length)
    segments, velocities = motion.world_segments()[1], motion.end_effector_velocities()

    def fill(i: int, stamp_ns: int) -> Any:
        posture = Posture(
            motion.root_positions[i], motion.rotations[i], motion.end_effectors[i], velocities[i]
        )
        return writer.fill(
            PostureRecord(
                stamp_ns, i, body, posture, segments[i], MEASURED, motion.skeleton.leg_length
            )
        )

    return fill


def _joint_names(character: Character) -> tuple[str, ...]:
    follower = follower_of(character)
    return JOINT_NAMES if follower is None else follower.names


def _angles(result: RetargetResult) -> Floats:
    """Return the joint angles of each frame, shape (n, joints) [rad]."""
    if result.robot_angles.shape[1]:
        return result.robot_angles
    split = ContinuousEuler()
    return np.array([split.step(rotations).copy() for rotations in result.puppet.rotations])
