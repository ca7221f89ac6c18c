# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Every kind of file that the suite reads: good ones to damage, and what reads them."""

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from pathlib import Path
import sqlite3
import tempfile
from typing import Any, NamedTuple

import numpy as np
from puppet_core import named_files
from puppet_core.body import load_character, Motion, read_surface
from puppet_core.clips import (
    bvh_text,
    load_clip,
    load_marker_set,
    load_name_map,
    read_asf,
    read_clip_file,
)
from puppet_core.cue_file import load_cues
from puppet_core.io import InputFileError, PuppetError, read_parameter_file
from puppet_core.robots import load_robot_map
from puppet_ros import config_files
from puppet_ros.bags import BagReader, BagWriter, read_metadata
from puppet_ros.messages import PostureRecord, PostureWriter
from robustness.fuzz import samples as fuzz_samples
from robustness.fuzz.c3d import c3d_files, has_reader

N_FRAMES, RATE_HZ = 12, 60.0
CELL_M = 0.1  # of heights
JOINTS = ('left_knee', 'right_knee')  # of a last posture
WRITTEN_NS = 10**9  # its time

REPOSITORY = Path(__file__).resolve().parents[3]


class FileKind(NamedTuple):
    """One kind of file."""

    suffix: str  # Of its name
    is_text: bool  # Whether damage to text hurts it
    seeds: Callable[[], list[bytes]]  # Returns good files, or nearly
    read: Callable[[Path], Any]  # Reads one as the commands do
    may_miss: tuple[str, ...] = ()  # Fields in which NaN or infinity means that there is nothing


def _by_name(module: str, name: str) -> Callable[[Path], Any]:
    """Return a reader of a package that is known by its name only."""
    return lambda path: getattr(import_module(module), name)(path)


@lru_cache
def motion() -> Motion:
    """Return a short motion of an ordinary body."""
    skeleton = load_character(named_files.character_file('performer')).skeleton
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (N_FRAMES, 16, 1))
    angles = np.linspace(0.0, 0.5, N_FRAMES)
    rotations[:, 4, 0], rotations[:, 4, 1] = np.cos(angles), np.sin(angles)
    roots = np.tile([0.0, 0.0, skeleton.rest_root_height], (N_FRAMES, 1))
    return Motion.from_rotations(skeleton, RATE_HZ, roots, rotations)


def _data(folder: str) -> Callable[[], list[bytes]]:
    """Return a reader of the files of a kind that come with the suite."""
    paths = sorted((named_files.DATA / folder).glob('*.yaml'))
    return lambda: [path.read_bytes() for path in paths]


def _bag(path: Path) -> list[str]:
    with BagReader(path) as reader:
        return [message.topic for message in reader.messages()]


def _mcap(compression: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'bag.mcap'
        with BagWriter(path, compression) as writer:
            for i, data in enumerate(_postures()):
                writer.write('/performer/posture', 'puppet_msgs/msg/Posture', 10**9 + i, data)
        return path.read_bytes()


def _postures() -> list[bytes]:
    body, found = motion(), []
    leg_length = body.skeleton.leg_length
    writer = PostureWriter()
    segments = body.world_segments()[1]
    status = np.zeros(16, np.uint8)
    for i in range(body.n_frames):
        record = PostureRecord(
            10**9 + i * 8_333_333, i, 'performer', body.posture(i), segments[i], status, leg_length
        )
        found.append(writer.data(record))
    return found


def _sqlite() -> bytes:
    base = sqlite3.connect(':memory:')
    base.execute(
        'CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, '
        'serialization_format TEXT, offered_qos_profiles TEXT)'
    )
    base.execute(
        'CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, '
        'timestamp INTEGER, data BLOB)'
    )
    base.execute(
        'INSERT INTO topics VALUES (1, ?, ?, ?, ?)',
        ('/performer/posture', 'puppet_msgs/msg/Posture', 'cdr', ''),
    )
    base.executemany(
        'INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?, ?)',
        list(enumerate(_postures(), start=10**9)),
    )
    base.commit()
    return base.serialize() if hasattr(base, 'serialize') else b'SQLite format 3\0'


@lru_cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix='puppet_fuzz_')  # removed when the process ends


@lru_cache
def _asf() -> Path:
    path = Path(_folder().name) / 'made.asf'
    path.write_bytes(fuzz_samples.ASF)
    return path


def _urdf(path: Path) -> Any:
    robot_map = import_module('puppet_core.robots.limbs').RobotMap()
    return import_module('puppet_core.robots.robot_character').character_from_urdf(path, robot_map)


def _edit(path: Path) -> Any:
    files = import_module('puppet_edit.edit_file')
    return files.load_edit(path, motion(), files.Readers(None, None))  # it names no others


def _targets(path: Path) -> Any:
    files = import_module('puppet_edit.enhancement.targets')
    return files.read_targets(path, N_FRAMES, RATE_HZ)


def _surface(path: Path) -> Any:
    return read_surface(path)


def _tolerances(path: Path) -> Any:
    """Return what is allowed of a field, by unit."""
    tolerances = import_module('puppet_replay.compare').load_tolerances(path)
    units = import_module('puppet_replay.compare').UNITS
    return np.array([tolerances.field('/importance', 'importance', u).max for u in units])


def _heights(path: Path) -> Any:
    files = import_module('puppet_edit.scene.surfaces')
    return files.read_height_field(path, CELL_M)


def _last_postures() -> list[bytes]:
    path = Path(_folder().name) / 'last_posture'
    kept = import_module('puppet_retarget.retarget_model').LastPostureFile(path, JOINTS)
    body = motion()
    for i in range(2):
        posture = body.posture(i)
        kept.write(WRITTEN_NS + i, posture.root_position, posture.rotations, np.full(2, 0.1 * i))
    kept.close()
    return [path.read_bytes()]


def _last_posture(path: Path) -> Any:
    """Return what a node would go on from that is started again."""
    files = import_module('puppet_retarget.retarget_model')
    try:
        kept, last, refusal = files.open_last_posture(path, JOINTS, WRITTEN_NS + 10**9)
    except OSError as err:
        raise InputFileError(path, 'a writable file', str(err.strerror)) from err
    kept.close()
    if refusal:
        raise PuppetError(refusal)
    if last is None:
        raise InputFileError(path, 'a last posture', 'none yet')
    return last


def _parameters(path: Path) -> Any:
    return read_parameter_file(path, 'pose_filter')


def _shipped(name: str) -> Callable[[], list[bytes]]:
    return lambda: [(config_files.config_dir() / name).read_bytes()]


def _robots() -> list[bytes]:
    return [(REPOSITORY / 'src/puppet_core/test/humanoid.urdf').read_bytes()]


KINDS = {
    'bvh': FileKind('.bvh', True, lambda: [bvh_text(motion()).encode()], load_clip),
    'asf': FileKind('.asf', True, lambda: [fuzz_samples.ASF], read_asf),
    'amc': FileKind(
        '.amc', True, lambda: [fuzz_samples.AMC], lambda path: read_clip_file(path, _asf())
    ),
    'urdf': FileKind('.urdf', True, _robots, _urdf, ('lower', 'upper')),
    'mcap': FileKind('.mcap', False, lambda: [_mcap(c) for c in ('', 'zstd', 'lz4')], _bag),
    'sqlite3': FileKind('.db3', False, lambda: [_sqlite()], _bag),
    'character': FileKind('.yaml', True, _data('characters'), load_character),
    'environment': FileKind(
        '.yaml',
        True,
        _data('environments'),
        _by_name('puppet_retarget.importance.environment', 'load_environment'),
        may_miss=('influence_distances', 'contact_margins'),
    ),
    'cues': FileKind('.yaml', True, _shipped('cues/demo.yaml'), load_cues),
    'layout': FileKind(
        '.yaml', True, _data('layouts'), _by_name('puppet_performer.sensor_layout', 'load_layout')
    ),
    'markers': FileKind('.yaml', True, _data('markersets'), load_marker_set),
    'calibration': FileKind(
        '.yaml',
        True,
        lambda: [fuzz_samples.CALIBRATION],
        _by_name('puppet_performer.calibration.calibration', 'load_calibration'),
    ),
    'noise': FileKind(
        '.yaml',
        True,
        lambda: [fuzz_samples.NOISE],
        _by_name('puppet_filter.sensor_noise', 'load_noise'),
    ),
    'parameters': FileKind('.yaml', True, _shipped('pose_filter.yaml'), _parameters),
    'edit': FileKind('.yaml', True, lambda: [fuzz_samples.EDIT], _edit),
    'targets-csv': FileKind(
        '.csv', True, lambda: [fuzz_samples.TARGETS[0]], _targets, ('positions',)
    ),
    'targets-yaml': FileKind(
        '.yaml', True, lambda: [fuzz_samples.TARGETS[1]], _targets, ('positions',)
    ),
    'name-map': FileKind('.yaml', True, lambda: [fuzz_samples.NAME_MAP], load_name_map),
    'tolerances': FileKind('.yaml', True, lambda: [fuzz_samples.TOLERANCES], _tolerances),
    'surface': FileKind('.yaml', True, lambda: [fuzz_samples.surface()], _surface),
    'robot-map': FileKind('.yaml', True, lambda: [fuzz_samples.ROBOT_MAP], load_robot_map),
    'heights-npy': FileKind('.npy', True, fuzz_samples.heights_npy, _heights),
    'heights-png': FileKind('.png', False, fuzz_samples.heights_png, _heights),
    'heights-csv': FileKind('.csv', True, lambda: [fuzz_samples.HEIGHTS_CSV], _heights),
    'last-posture': FileKind('.bin', False, _last_postures, _last_posture),
    'metadata': FileKind('.yaml', True, lambda: [fuzz_samples.METADATA], read_metadata),
}
if has_reader():
    KINDS['c3d'] = FileKind('.c3d', False, c3d_files, load_clip)
