# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the offline commands: an installation, clips, characters, and the command itself."""

from collections.abc import Callable
from dataclasses import replace
import os
from pathlib import Path
import shutil
from typing import NamedTuple

from puppet_clips.cli import main
from puppet_core.body import Character, default_capsules, save_character
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import Skeleton
from puppet_core.clips.bvh import write_bvh
from puppet_core.clips.load import load_clip
from puppet_core.procedural.performer import procedural_motion
import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
CONFIG = REPOSITORY / 'config'
RATE_HZ = 120.0
STEPS = slice(690, 810)  # frames of the procedural performer that hold two steps


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand before the installation: the ament index shows the checkout's configuration."""
    prefix = tmp_path_factory.mktemp('prefix')
    index = prefix / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    (index / 'puppet_bringup').touch()
    (prefix / 'share/puppet_bringup').mkdir()
    (prefix / 'share/puppet_bringup/config').symlink_to(CONFIG)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix), prepend=os.pathsep)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Return a function that runs puppet_clip; its first argument is split into words."""

    def call(first: str = '', *words: object) -> Outcome:
        capsys.readouterr()
        code = main([*first.split(), *map(str, words)])
        out, err = capsys.readouterr()
        assert 'Traceback' not in err
        return Outcome(code, out, err)

    return call


@pytest.fixture(scope='session')
def steps(performer: Character) -> Motion:
    """Return two steps of the procedural performer."""
    motion = procedural_motion(performer, RATE_HZ)
    return Motion.from_rotations(
        motion.skeleton, RATE_HZ, motion.root_positions[STEPS], motion.rotations[STEPS]
    )


@pytest.fixture(scope='session')
def walk_bvh(steps: Motion, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clip file of two steps."""
    path = tmp_path_factory.mktemp('clips') / 'walk.bvh'
    write_bvh(steps, path)
    return path


@pytest.fixture
def library(walk_bvh: Path, tmp_path: Path) -> Path:
    """Return a folder with two clips."""
    (tmp_path / 'in' / 'a').mkdir(parents=True)
    shutil.copy(walk_bvh, tmp_path / 'in' / 'one.bvh')
    shutil.copy(walk_bvh, tmp_path / 'in' / 'a' / 'two.bvh')
    return tmp_path / 'in'


@pytest.fixture(scope='session')
def walk(walk_bvh: Path) -> Motion:
    """Return what `walk_bvh` is read as."""
    return load_clip(walk_bvh)


@pytest.fixture(scope='session')
def scaled_body(
    performer: Character, walk: Motion, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[float], Path]:
    """Return a function that writes the clip's own body, made larger, as a character file."""

    def write(factor: float) -> Path:
        skeleton = Skeleton(
            factor * walk.skeleton.offsets, factor * walk.skeleton.interaction_points
        )
        path = tmp_path_factory.mktemp('bodies') / 'own.yaml'
        shape = default_capsules(skeleton)
        save_character(replace(performer, name='own', skeleton=skeleton, capsules=shape), path)
        return path

    return write
