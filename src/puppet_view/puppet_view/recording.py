# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads recordings for the browser, pictures and films: bags, or clips with their puppets.

Bodies of a bag are the topics named /NAME/posture, in the shape of /NAME/robot_description;
where the bag has no description, an ordinary person of the same size is drawn.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from puppet_core.body import Character, default_capsules, Motion
from puppet_core.io import ConfigError, InputFileError, progress
from puppet_core.math import Floats
from puppet_core.robots import merged_parts, Part, read_shape, robot_name, world_orientations
from puppet_edit import edit_session
from puppet_msgs.msg import Importance
from puppet_msgs.msg import Posture as PostureMsg
from puppet_retarget.importance import IMPORTANCE, SELF_IMPORTANCE, skeleton_of
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import ConfigFiles, PERFORMER, retarget_motion, RetargetJob
from puppet_retarget.parameters import PRESETS
from puppet_ros.bags import BagMessage, BagReader
from puppet_ros.messages import decoded, importance_msg, MessageError, posture_msg, raw_header
from puppet_view import bag_motion
from puppet_view.bag_motion import (
    IMPORTANCE_TOPIC,
    JOINTS_TOPIC,
    POSTURE,
    POSTURE_TOPIC,
    PUPPET_TOPIC,
    read_bag_motion,
)
from puppet_view.recorded import Recorded, RecordedBody, RecordedImportance
from puppet_view.shown_motion import (
    body_parts,
    BodyTrack,
    captured_body,
    ImportanceTrack,
    solved_body,
    Take,
)
from std_msgs.msg import String

POSTURE_NAME, DESCRIPTION_NAME = '/posture', '/robot_description'
TEXT, JOINTS = 'std_msgs/msg/String', 'sensor_msgs/msg/JointState'
NEAR = 'puppet_msgs/msg/Importance'
STEADY_MS = 1e-3  # a latency below this was not measured: the bag was not recorded live


def read_recorded(path: Path) -> Recorded:
    """
    Return everything of a bag that can be shown.

    Raises
    ------
    InputFileError : if it has no postures, or what it has cannot be read.

    """
    found = _Found(path)
    with BagReader(path) as reader:
        wanted = [topic for topic, kind in reader.topics.items() if _is_wanted(topic, kind)]
        for message in reader.messages(wanted):
            try:
                found.take(message)
            except MessageError as err:
                raise InputFileError(path, message.type, str(err), field=message.topic) from err
    return found.result()


def read_bag_take(path: Path) -> Take:
    """
    Return a bag as the page in the browser shows it.

    Raises
    ------
    InputFileError : as `read_recorded`.

    """
    recorded = read_recorded(path)
    near = recorded.importance
    return Take(
        path.stem,
        recorded.rate_hz,
        tuple(_track(path, body) for body in recorded.bodies),
        ImportanceTrack(near.times_s, near.environment) if len(near.times_s) else None,
        recorded.latency_ms,
    )


def read_motion(path: Path) -> Motion:
    """
    Return the performer's motion at a constant rate, to retarget it.

    Raises
    ------
    InputFileError : if there is none, or it has long gaps.

    """
    return bag_motion.read_bag_motion(path)[0]


class _Found:
    """What is known of a bag so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stamps: dict[str, list[int]] = {}
        self.rows: dict[str, list[Floats]] = {}
        self.names: dict[str, str] = {}
        self.shapes: dict[str, str] = {}
        self.near_stamps: list[int] = []
        self.near: list[Floats] = []
        self.delays_ms: list[float] = []

    def take(self, message: BagMessage) -> None:
        """Keep what is finite and goes on in time."""
        who = message.topic.rsplit('/', 1)[0].strip('/')
        if message.type == POSTURE:
            record = posture_msg.from_msg(decoded(message.data, PostureMsg))
            posture = record.posture
            row = np.concatenate(
                [np.ravel(a) for a in (posture.rotations, record.segments, posture.end_effectors)]
            )
            stamps = self.stamps.setdefault(who, [])
            if np.all(np.isfinite(row)) and (not stamps or record.stamp_ns > stamps[-1]):
                stamps.append(record.stamp_ns)
                self.rows.setdefault(who, []).append(row)
                self.names[who] = record.body
        elif message.type == TEXT:
            self.shapes[who] = decoded(message.data, String).data
        elif message.type == NEAR:
            near = importance_msg.from_msg(decoded(message.data, Importance))
            own = near.self_rows[:, SELF_IMPORTANCE]
            row = np.array([near.rows[:, IMPORTANCE], np.maximum(own[:4], own[4:])])
            is_next = not self.near_stamps or near.stamp_ns > self.near_stamps[-1]
            if np.all(np.isfinite(row)) and is_next:
                self.near_stamps.append(near.stamp_ns)
                self.near.append(row)
        else:
            self.delays_ms.append(1e-6 * (message.log_ns - raw_header.stamp_ns(message.data)))

    def result(self) -> Recorded:
        """Return all of it."""
        if not self.rows:
            raise InputFileError(
                self.path,
                f'postures on {POSTURE_TOPIC} or {PUPPET_TOPIC}',
                'none',
                hint='./puppet replay makes them of recorded sensors',
            )
        first_ns = min(self.stamps[who][0] for who in self.rows)
        order = sorted(self.rows, key=lambda who: (who != PERFORMER, who != 'puppet', who))
        near = np.array(self.near).reshape(-1, 2, 4)
        return Recorded(
            tuple(self._body(who, first_ns) for who in order),
            RecordedImportance(_since_s(self.near_stamps, first_ns), near[:, 0], near[:, 1]),
            self._latency(),
        )

    def _latency(self) -> tuple[float, float] | None:
        delays = np.abs(self.delays_ms)
        if not len(delays) or np.median(delays) < STEADY_MS:
            return None
        p50, p99 = np.percentile(self.delays_ms, (50, 99))
        return float(p50), float(p99)

    def _body(self, who: str, first_ns: int) -> RecordedBody:
        rows = np.array(self.rows.pop(who))
        rotations, segments, points = np.split(rows, (64, 112), axis=1)
        rotations, segments = rotations.reshape(-1, 16, 4), segments.reshape(-1, 16, 3)
        points = points.reshape(-1, 8, 3)
        try:
            skeleton = skeleton_of(rotations[-1], segments[-1], points[-1])
        except ConfigError as err:
            raise InputFileError(self.path, 'postures of a body', str(err), field=who) from err
        return RecordedBody(
            who,
            self.names[who],
            skeleton,
            self.shapes.get(who, ''),
            _since_s(self.stamps[who], first_ns),
            rotations,
            segments,
            points,
        )


def _since_s(stamps_ns: list[int], first_ns: int) -> Floats:
    return np.array([1e-9 * (stamp - first_ns) for stamp in stamps_ns])


def _track(path: Path, body: RecordedBody) -> BodyTrack:
    """Return a body as meshes."""
    q_world = world_orientations(body.rotations.swapaxes(0, 1)).swapaxes(0, 1)
    try:
        name, parts = _shape(body)
    except ConfigError as err:
        raise InputFileError(path, 'a robot description', str(err), field=body.who) from err
    return BodyTrack(name, parts, body.times_s, q_world, body.segments, body.who == PERFORMER)


def _shape(body: RecordedBody) -> tuple[str, list[Part]]:
    text = body.description
    if text:
        return robot_name(text) or body.who, merged_parts(read_shape(text))
    skeleton = body.skeleton
    person = Character(body.who, '', skeleton, default_capsules(skeleton))
    return body.who, body_parts(person)


def _is_wanted(topic: str, kind: str) -> bool:
    if kind == POSTURE:
        return topic.endswith(POSTURE_NAME)
    if kind == TEXT:
        return topic.endswith(DESCRIPTION_NAME) and topic != DESCRIPTION_NAME
    return (topic, kind) in ((IMPORTANCE_TOPIC, NEAR), (JOINTS_TOPIC, JOINTS))


def read_take(path: Path, arguments: argparse.Namespace, files: ConfigFiles) -> Take:
    """
    Return what a file and the puppets of `--characters` show.

    Raises
    ------
    PuppetError : naming the file or option that does not fit.

    """
    characters = [
        clip_arguments.find_character(files, name, arguments.world_scale)
        for name in arguments.characters
    ]
    if not clip_arguments.is_bag(path):
        motion = edit_session.read_clip(path, arguments)
        colour = clip_arguments.find_character(files, PERFORMER).colour
        shape = Character(
            PERFORMER, '', motion.skeleton, default_capsules(motion.skeleton), colour
        )
        clip = Take(path.stem, motion.rate_hz, (captured_body(path.stem, motion, shape),))
        return _with_puppets(clip, motion, characters, arguments, files)
    recorded = read_bag_take(path)
    if not characters:
        return recorded
    return _with_puppets(recorded, read_bag_motion(path)[0], characters, arguments, files)


def _with_puppets(
    take: Take,
    motion: Motion,
    characters: list[Character],
    arguments: argparse.Namespace,
    files: ConfigFiles,
) -> Take:
    """Return a recording with the puppets that the solver computes from its performer."""
    environment = clip_arguments.find_environment(files, arguments.environment)
    tuning = clip_arguments.tuning(arguments.settings, PRESETS[0])
    times = np.arange(motion.n_frames) / motion.rate_hz
    for character in characters:
        job = RetargetJob(
            character,
            environment,
            importance=tuning.importance,
            tuning=tuning.solver,
            self_interaction=tuning.self_interaction,
        )
        with progress(f'retarget to {character.name}', motion.n_frames) as advance:
            result = retarget_motion(motion, job, advance)
        body, importance = solved_body(character, times, result)
        take = replace(take, bodies=(*take.bodies, body), importance=take.importance or importance)
    return take
