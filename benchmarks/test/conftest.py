# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the benches: bodies, clips, frames of samples, and the benches themselves."""

from collections.abc import Callable
from importlib import import_module
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, Motion, Skeleton
from puppet_core.clips import write_bvh
from puppet_core.procedural import procedural_motion
from puppet_core.sensor_frames import SAMPLE_MISSING, SAMPLE_OK, SensorFrame
from puppet_setup.commands import BENCHES
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIG = REPOSITORY / 'config'
STEPS = slice(690, 810)  # frames of the procedural performer that hold two steps
STEP_NS = 8_333_333


class Outcome(NamedTuple):
    """What a bench left behind."""

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
    real = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)[0]
    if real:
        (prefix / 'lib').symlink_to(Path(real, 'lib'))
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix), prepend=os.pathsep)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Return a function that runs a bench by its name; returns its exit code and texts."""

    def call(name: str, *words: object) -> Outcome:
        capsys.readouterr()
        code = import_module(BENCHES[name].program).main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert 'Traceback' not in err
        return Outcome(code, out, err)

    return call


@pytest.fixture(scope='session')
def skeleton(performer: Character) -> Skeleton:
    """Return the average adult's lengths."""
    return performer.skeleton


@pytest.fixture(scope='session')
def steps(performer: Character) -> Motion:
    """Return two steps of the procedural performer."""
    motion = procedural_motion(performer, 120.0)
    return Motion.from_rotations(
        motion.skeleton, 120.0, motion.root_positions[STEPS], motion.rotations[STEPS]
    )


@pytest.fixture(scope='session')
def walk_bvh(steps: Motion, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clip file of two steps."""
    path = tmp_path_factory.mktemp('clips') / 'walk.bvh'
    write_bvh(steps, path)
    return path


@pytest.fixture(scope='session')
def sensors_bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag with three seconds of /tracker/raw, from the T-pose on."""
    from puppet_driver.emulator import cli

    path = tmp_path_factory.mktemp('bags') / 'sensors.mcap'
    assert cli.main(['--export', str(path), '--export-s', '3', '--seed', '3']) == 0
    return path


@pytest.fixture(scope='session')
def make_frame() -> Callable[..., SensorFrame]:
    """Return a function that makes a frame of samples; NaN rows are missing."""

    def make(
        index: int, positions: np.ndarray, quaternions: np.ndarray | None = None
    ) -> SensorFrame:
        positions = np.ascontiguousarray(positions, dtype=float)
        n = len(positions)
        if quaternions is None:
            quaternions = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
        status = np.where(np.isnan(positions[:, 0]), SAMPLE_MISSING, SAMPLE_OK).astype(np.uint8)
        return SensorFrame(
            (index + 1) * STEP_NS,
            index,
            tuple(f's{i}' for i in range(n)),
            positions,
            np.ascontiguousarray(quaternions, dtype=float),
            np.zeros(n),
            status,
        )

    return make
