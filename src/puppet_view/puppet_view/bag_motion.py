# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Motions out of bags with the performer's postures, gaps filled, and into bags."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from puppet_core.body import Motion, Posture, Props
from puppet_core.io import ConfigError, InputFileError
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_core.robots import description_text, urdf_text
from puppet_msgs.msg import Posture as PostureMsg
from puppet_retarget.importance import skeleton_of
from puppet_retarget.offline import RetargetJob, RetargetResult
from puppet_ros import interface_table as graph
from puppet_ros import messages
from puppet_ros.bags import BagReader, BagWriter, require_same_types
from scipy.interpolate import make_interp_spline
from std_msgs.msg import String

POSTURE = 'puppet_msgs/msg/Posture'
NO_POSTURES_HINT = './puppet replay makes them of recorded sensors'
START_NS = 1_000_000_000  # of the first frame; a stamp of zero means none
MAX_FILLED = 3  # frames of the motion for each in the bag, at most
SAME_NS = 1000  # stamps of a constant rate are rounded, some to microseconds
MEASURED = np.zeros(16, dtype=np.uint8)


class PostureTrack:
    """The postures of one topic: what is finite and goes on in time."""

    def __init__(self) -> None:
        self.stamps_ns: list[int] = []
        self.body = ''  # whose the last one is
        self._rows: list[Floats] = []
        self._props: list[Props] = []

    def add(self, data: bytes) -> None:
        """Keep a message, unless it is not of this motion."""
        record = messages.posture_msg.from_msg(messages.decoded(data, PostureMsg))
        posture = record.posture
        parts = posture.root_position, posture.rotations, record.segments, posture.end_effectors
        row = np.concatenate([np.ravel(part) for part in parts])
        is_next = not self.stamps_ns or record.stamp_ns > self.stamps_ns[-1]
        if is_next and np.all(np.isfinite(row)):
            self.stamps_ns.append(record.stamp_ns)
            self._rows.append(row)
            self._props.append(posture.props)
            self.body = record.body

    def arrays(self) -> tuple[Vec3s, Quats, Vec3s, Vec3s]:
        """Return roots (n, 3), rotations (n, 16, 4), joints (n, 16, 3), points (n, 8, 3)."""
        roots, rotations, joints, points = np.split(np.array(self._rows), (3, 67, 115), axis=1)
        places = joints.reshape(-1, 16, 3), points.reshape(-1, 8, 3)
        return roots, rotations.reshape(-1, 16, 4), *places

    def props(self) -> Props:
        """Return the props of the last message over time, (n, k, 3) and (n, k, 4)."""
        return Props.over_time(self._props)


def read_bag_motion(path: Path) -> tuple[Motion, tuple[int, ...], str]:
    """
    Return the performer's motion, the stamp of each of its frames [ns] and the body's name.

    The stamps are those in the bag, as far as these have a constant rate. Raises InputFileError if
    it has no postures, or none that make a motion.
    """
    track, topic = PostureTrack(), graph.POSTURE
    with BagReader(path) as reader:
        if reader.topics.get(topic) != POSTURE or not reader.counts[topic]:
            raise InputFileError(path, f'postures on {topic}', 'none', hint=NO_POSTURES_HINT)
        require_same_types(reader, [topic])
        for message in reader.messages([topic]):
            try:
                track.add(message.data)
            except messages.MessageError as err:
                raise InputFileError(path, POSTURE, str(err), field=topic) from err
    stamps = np.array(track.stamps_ns)
    if len(stamps) < 2:
        raise InputFileError(path, 'at least two postures', str(len(stamps)), field=topic)
    roots, rotations, joints, points = track.arrays()
    since = (stamps - stamps[0]) * 1e-9
    steps = np.diff(since)
    n = round(float(since[-1]) / float(np.median(steps))) + 1
    if n > MAX_FILLED * len(since):
        raise InputFileError(
            path, 'postures at a rate', f'a gap of {steps.max():.1f} s', field=topic
        )
    step = float(since[-1]) / (n - 1)  # a single step is rounded, and they add up
    times = np.arange(n) * step
    inside = np.minimum(times, since[-1])  # but for rounding
    places, turns, ends = (
        make_interp_spline(since, values, k=1)(inside)
        for values in (roots, quaternions.align_signs(rotations), points)
    )
    try:
        motion = Motion(
            skeleton_of(rotations[0], joints[0], points[0]),
            1.0 / step,
            places,
            quaternions.normalize(turns),
            ends,
            track.props().at(np.rint(np.interp(inside, since, np.arange(len(since)))).astype(int)),
        )
    except ConfigError as err:
        raise InputFileError(path, 'postures of a body', str(err), field=topic) from err
    regular = stamps[0] + np.round(times * 1e9).astype(np.int64)
    after = np.clip(np.searchsorted(stamps, regular), 1, len(stamps) - 1)
    before, behind = stamps[after - 1], stamps[after]
    nearest = np.where(regular - before < behind - regular, before, behind)
    same = np.abs(nearest - regular) <= SAME_NS
    return motion, tuple(np.where(same, nearest, regular).tolist()), track.body


def write_bag_motion(
    path: Path,
    motion: Motion,
    job: RetargetJob,
    result: RetargetResult,
    stamps_ns: Sequence[int] = (),
) -> None:
    """Write both motions as the live graph does; without stamps they begin at START_NS."""
    stamps = stamps_ns or [
        START_NS + round(i * 1e9 / motion.rate_hz) for i in range(motion.n_frames)
    ]
    character, puppet = job.character, result.motion(job.character, motion.rate_hz)
    importance, objects = messages.ImportanceWriter(), tuple(job.environment.names)
    names, angles = result.joints(character)
    joints = messages.JointStateWriter(names, with_speeds=character.robot is not None)
    with BagWriter(path) as writer:
        for topic, text in (
            (graph.DESCRIPTION, description_text(character)),
            (graph.BODY_DESCRIPTION, urdf_text(character)),
        ):
            data = messages.encoded(String(data=text))
            writer.write(topic, graph.TYPES[topic], stamps[0], data, graph.BY_NAME[topic].profile)
        captured = _postures(motion, 'performer')
        driven = _postures(puppet, character.name)
        for i, stamp_ns in enumerate(stamps):
            near = messages.ImportanceRecord(
                stamp_ns,
                i,
                result.rows[i],
                result.self_rows[i],
                objects,
                moving=result.moving.at(i),
                rests=result.rests[i],
            )
            frame = {
                graph.POSTURE: captured(i, stamp_ns),
                graph.IMPORTANCE: importance.data(near),
                graph.JOINTS: joints.data(stamp_ns, angles[i]),
                graph.PUPPET: driven(i, stamp_ns),
            }
            for topic, data in frame.items():
                kind, profile = graph.TYPES[topic], graph.BY_NAME[topic].profile
                writer.write(topic, kind, stamp_ns, data, profile)


def _postures(motion: Motion, body: str) -> Callable[[int, int], bytes]:
    writer = messages.PostureWriter()
    segments, velocities = motion.world_segments()[1], motion.end_effector_velocities()

    def data(i: int, stamp_ns: int) -> bytes:
        posture = Posture(
            motion.root_positions[i],
            motion.rotations[i],
            motion.end_effectors[i],
            velocities[i],
            motion.props.at(i),
        )
        return writer.data(
            messages.PostureRecord(
                stamp_ns, i, body, posture, segments[i], MEASURED, motion.skeleton.leg_length
            )
        )

    return data
