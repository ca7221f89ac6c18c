# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all packages: bodies, environments, motions, clips, commands, a ROS context."""

from collections.abc import Callable
from dataclasses import replace
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from puppet_core import named_files
from puppet_core.body.character import Character, load_character
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import SEGMENT_INDEX, Skeleton
from puppet_core.clips.bvh import write_bvh
from puppet_core.clips.load import load_clip
from puppet_core.math import quaternions
from puppet_core.math.arrays import Floats
from puppet_core.procedural.performer import procedural_motion
from puppet_retarget.importance.environment import Environment, Placement, SceneObject
from puppet_retarget.importance.objects import SHAPES
from puppet_retarget.offline.whole_motion import retarget_motion, RetargetJob, RetargetResult
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
CHARACTERS = named_files.DATA / 'characters'
TICK_NS = 8_333_333  # 120 Hz
STEPS = slice(690, 810)  # frames of the built-in performance that hold two steps
NO_TURN = np.array([1.0, 0.0, 0.0, 0.0])


@pytest.fixture
def rng():
    """Return a seeded source of numbers."""
    return np.random.default_rng(20025)


@pytest.fixture(scope='session')
def repository():
    """Return the root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope='session')
def adult_character():
    """Return a body of ordinary proportions."""
    return load_character(CHARACTERS / 'performer.yaml')


@pytest.fixture(scope='session')
def tall_character():
    """Return a body with very long limbs."""
    return load_character(CHARACTERS / 'sally.yaml')


@pytest.fixture(scope='session')
def short_character():
    """Return a body with very short limbs in the performer's world."""
    return replace(load_character(CHARACTERS / 'blubby.yaml'), world_scale=1.0)


@pytest.fixture(scope='session')
def scaled():
    """Return a maker of characters of the same proportions and another size."""

    def make(character: Character, factor: float) -> Character:
        own = character.skeleton
        skeleton = Skeleton(own.offsets * factor, own.interaction_points * factor)
        capsules = tuple(
            replace(c, start=c.start * factor, end=c.end * factor, radius=c.radius * factor)
            for c in character.capsules
        )
        return replace(character, skeleton=skeleton, capsules=capsules)

    return make


def make_object(
    shape: str,
    position: Floats,
    size: Floats = (1.0, 1.0, 1.0),
    *,
    puppet_position: Floats | None = None,
    puppet_size: Floats | None = None,
    orientation: Floats = NO_TURN,
    puppet_orientation: Floats | None = None,
    influence: float | Floats = np.nan,
    margin: float = np.nan,
    name: str = 'thing',
    follows: str = '',
    held: bool = False,
    segment: int = -1,
    rests: tuple[float, float] = (np.nan, np.nan),
) -> SceneObject:
    """
    Return a scene object; the counterpart is the object itself unless said otherwise.

    `rests` are the distances of influence of hips and head.
    """

    def other(value: Floats | None, own: Floats) -> Floats:
        return own if value is None else value

    real = Placement(position, orientation, size)
    puppet = Placement(
        other(puppet_position, position),
        other(puppet_orientation, orientation),
        other(puppet_size, size),
    )
    joints = np.full(4, np.nan)  # elbows and knees do not count
    influences = np.concatenate((np.full(4, influence), joints, rests))
    margins = np.append(np.full(4, margin), joints)
    ends = influences, margins
    return SceneObject(name, SHAPES.index(shape), real, puppet, *ends, follows, held, segment)


def floor_only() -> Environment:
    """Return the environment of a level floor at z = 0."""
    return Environment((make_object('plane', np.zeros(3), name='floor'),))


@pytest.fixture(scope='session')
def scene():
    """Return a maker of environments from the arguments of several `make_object`."""

    def make(*objects: SceneObject) -> Environment:
        return Environment(objects)

    make.thing = make_object
    make.floor = make_object('plane', np.zeros(3), name='floor')
    return make


@pytest.fixture(scope='session')
def floor():
    """Return the level floor."""
    return floor_only()


def _stepping(skeleton: Skeleton, duration_s: float, rate_hz: float) -> Motion:
    """
    Return a smooth motion with bent knees: arms wave, feet lift in turn, body sways.

    The lower sole always is at the height of the floor.
    """
    amplitude = 0.35
    t = np.arange(round(duration_s * rate_hz)) / rate_hz
    vectors = np.zeros((len(t), 16, 3))
    for k, name in enumerate(
        ('left_upper_arm', 'right_upper_arm', 'left_forearm', 'right_forearm', 'chest', 'head')
    ):
        vectors[:, SEGMENT_INDEX[name]] = amplitude * np.sin(
            2.0 * np.pi * t[:, None] * np.array([0.5, 0.7, 0.9]) + k + np.arange(3)
        )
    for side, sign in (('left', -1.0), ('right', 1.0)):
        vectors[:, SEGMENT_INDEX[f'{side}_forearm'], 2] += 0.6 * sign  # elbows bend one way
    for k, side in enumerate(('left', 'right')):
        # heel up the back of the thigh: hip and ankle take up what the knee bends
        bend = 0.5 + amplitude * (1.0 - np.cos(2.0 * np.pi * t + k * np.pi))
        vectors[:, SEGMENT_INDEX[f'{side}_thigh'], 1] = -0.5 * bend
        vectors[:, SEGMENT_INDEX[f'{side}_shank'], 1] = bend
        vectors[:, SEGMENT_INDEX[f'{side}_foot'], 1] = -0.5 * bend
    vectors[:, 0, 2] = 0.3 * amplitude * np.sin(2.0 * np.pi * 0.4 * t)
    rotations = quaternions.exp(vectors)
    sway = 0.05 * amplitude * np.sin(2.0 * np.pi * 0.5 * t)
    roots = np.stack((0.2 * t, sway, np.zeros_like(t)), axis=-1)
    motion = Motion.from_rotations(skeleton, rate_hz, roots, rotations)
    roots[:, 2] = -motion.end_effectors[:, 2:4, 2].min(axis=1)
    return Motion.from_rotations(skeleton, rate_hz, roots, rotations)


@pytest.fixture(scope='session')
def stepping_motion(adult_character):
    """Return two seconds of stepping with bent knees."""
    return _stepping(adult_character.skeleton, 2.0, 120.0)


@pytest.fixture(scope='session')
def procedural(adult_character):
    """Return one pass of the built-in performance."""
    return procedural_motion(adult_character, 120.0)


@pytest.fixture(scope='session')
def retarget():
    """Return a function that puts a motion on another body, on a floor if not said otherwise."""

    def run(
        motion: Motion, character: Character, environment: Environment | None = None, **job: object
    ) -> RetargetResult:
        where = floor_only() if environment is None else environment
        return retarget_motion(motion, RetargetJob(character, where, **job))

    return run


@pytest.fixture(scope='session')
def mocap_dir():
    """Return the folder of captured clips; skip where it is absent."""
    folder = REPOSITORY.parent / 'shared' / 'mocap'
    if not folder.is_dir():
        pytest.skip(f'captured clips are not in {folder}')
    return folder


@pytest.fixture(scope='session')
def captured(mocap_dir):
    """Return a loader of captured clips by name, each read once."""
    loaded: dict[str, Motion] = {}

    def load(name: str) -> Motion:
        if name not in loaded:
            folder = mocap_dir / 'cmu_asfamc'
            if (folder / f'{name}.amc').is_file():
                asf = folder / f'{name.split("_")[0]}.asf'
                loaded[name] = load_clip(folder / f'{name}.amc', asf)
            else:
                loaded[name] = load_clip(mocap_dir / 'cmu_bvh' / f'{name}.bvh')
        return loaded[name]

    return load


@pytest.fixture
def ros_context():
    """Yield an initialised ROS context of its own, on a domain of this process."""
    pytest.importorskip('rclpy', reason='needs ROS 2')
    from puppet_ros.testing import isolated_context

    with isolated_context() as context:
        yield context


@pytest.fixture(scope='session')
def postures(procedural):
    """Return a maker of posture messages: frame n of the built-in performance."""
    pytest.importorskip('puppet_msgs', reason='needs the built messages')
    from puppet_ros.messages import posture_msg

    _, segments = procedural.world_segments()

    def make(index: int) -> Any:
        frame = 700 + index
        record = posture_msg.PostureRecord(
            index * TICK_NS,
            index,
            'performer',
            procedural.posture(frame),
            segments[frame],
            np.zeros(16, dtype=np.uint8),
            procedural.skeleton.leg_length,
        )
        return posture_msg.PostureWriter().fill(record)

    return make


@pytest.fixture(scope='session')
def characters_dir():
    """Return the folder of the built-in characters."""
    return CHARACTERS


@pytest.fixture(scope='session')
def walk_clip(mocap_dir):
    """Return a captured walk on a flat floor."""
    folder = mocap_dir / 'cmu_asfamc'
    return load_clip(folder / '02_01.amc', folder / '02.asf')


@pytest.fixture(scope='session')
def data_dir():
    """Return the folder of the characters, environments and the like that come with the suite."""
    return named_files.DATA


@pytest.fixture(scope='session')
def performer():
    """Return the built-in performer's body."""
    return load_character(CHARACTERS / 'performer.yaml')


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def outcome(capsys):
    """Return a function that runs a command's `main`; returns its exit code and texts."""

    def call(main: Callable[[list[str]], int], *words: object) -> Outcome:
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert 'Traceback' not in err
        return Outcome(code, out, err)

    return call


@pytest.fixture
def checkout_installed(tmp_path_factory, monkeypatch):
    """Stand before the installation: the ament index shows the checkout's configuration."""
    prefix = tmp_path_factory.mktemp('prefix')
    index = prefix / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    (index / 'puppet_bringup').touch()
    (prefix / 'share/puppet_bringup').mkdir()
    (prefix / 'share/puppet_bringup/config').symlink_to(REPOSITORY / 'config')
    real = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)[0]
    if real:
        (prefix / 'lib').symlink_to(Path(real, 'lib'))
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix), prepend=os.pathsep)


@pytest.fixture(scope='session')
def steps(performer):
    """Return two steps of the built-in performance."""
    motion = procedural_motion(performer, 120.0)
    return Motion.from_rotations(
        motion.skeleton, 120.0, motion.root_positions[STEPS], motion.rotations[STEPS]
    )


@pytest.fixture(scope='session')
def walk_bvh(steps, tmp_path_factory):
    """Return a clip file of two steps."""
    path = tmp_path_factory.mktemp('clips') / 'walk.bvh'
    write_bvh(steps, path)
    return path


@pytest.fixture(scope='session')
def sensors_bag(tmp_path_factory):
    """Return a bag with three seconds of /tracker/raw, from the T-pose on."""
    from puppet_driver.emulator import cli

    path = tmp_path_factory.mktemp('bags') / 'sensors.mcap'
    assert cli.main(['--export', str(path), '--export-s', '3', '--seed', '3']) == 0
    return path
