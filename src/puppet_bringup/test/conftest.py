# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of puppet_bringup: a clip small enough to make on the spot."""

from pathlib import Path

import numpy as np
from puppet_core.body.character import load_character
from puppet_core.body.posture import Motion
from puppet_core.clips.bvh import write_bvh
import pytest

PERFORMER = Path(__file__).resolve().parents[3] / 'config' / 'characters' / 'performer.yaml'


@pytest.fixture
def small_clip(tmp_path):
    skeleton = load_character(PERFORMER).skeleton
    n = 60
    roots = np.tile([0.0, 0.0, skeleton.rest_root_height], (n, 1))
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (n, 16, 1))
    path = tmp_path / 'standing.bvh'
    write_bvh(Motion.from_rotations(skeleton, 120.0, roots, rotations), path)
    return path
