# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the offline commands: an installation, clips, characters, and the command itself."""

from dataclasses import replace
from pathlib import Path
import shutil

from puppet_clips.cli import main
from puppet_core.body import default_capsules, save_character
from puppet_core.body.skeleton import Skeleton
from puppet_core.clips.load import load_clip
import pytest

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def installed(checkout_installed):
    """Let every command find the checkout's configuration."""


@pytest.fixture
def run(outcome):
    """Return a function that runs puppet_clip; its first argument is split into words."""
    return lambda first='', *words: outcome(main, *first.split(), *words)


@pytest.fixture
def library(walk_bvh, tmp_path):
    (tmp_path / 'in' / 'a').mkdir(parents=True)
    shutil.copy(walk_bvh, tmp_path / 'in' / 'one.bvh')
    shutil.copy(walk_bvh, tmp_path / 'in' / 'a' / 'two.bvh')
    return tmp_path / 'in'


@pytest.fixture(scope='session')
def walk(walk_bvh):
    return load_clip(walk_bvh)


@pytest.fixture(scope='session')
def scaled_body(performer, walk, tmp_path_factory):
    """Return a function that writes the clip's own body, made larger, as a character file."""

    def write(factor):
        skeleton = Skeleton(
            factor * walk.skeleton.offsets, factor * walk.skeleton.interaction_points
        )
        path = tmp_path_factory.mktemp('bodies') / 'own.yaml'
        shape = default_capsules(skeleton)
        save_character(replace(performer, name='own', skeleton=skeleton, capsules=shape), path)
        return path

    return write
