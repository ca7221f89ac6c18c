# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Captured clips through virtual sensors and back: pose calibration, posture, joint positions."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.character import Character, default_capsules
from puppet_core.clip import load_clip
from puppet_core.posture import Motion
from puppet_core.skeleton import SEGMENT_INDEX
from puppet_retarget.performer.sensor_layout import SensorLayout
import pytest

pytestmark = pytest.mark.mocap
MOCAP = Path(__file__).resolve().parents[5] / 'shared' / 'mocap'
CLIPS = {
    '02_01': '02', '02_03': '02', '02_04': '02', '02_10': '02', '03_01': '03', '01_14': '01',
    'salsa_10': '', 'martial_04': '', 'indian_13': '',
}  # fmt: skip
MAX_RMS_M = 0.005
MAX_INFERRED_RMS_M = 0.06  # with joints above a spine that no sensor is on
N_FRAMES = 60  # of each clip, evenly spaced


@pytest.fixture(scope='module', params=CLIPS)
def clip(request: Any) -> Motion:
    """Return each clip."""
    if not MOCAP.is_dir():
        pytest.skip(f'captured clips are not in {MOCAP}')
    name, subject = request.param, CLIPS[request.param]
    if not subject:
        return load_clip(MOCAP / 'cmu_bvh' / f'{name}.bvh')
    folder = MOCAP / 'cmu_asfamc'
    return load_clip(folder / f'{name}.amc', folder / f'{subject}.asf')


def with_spine_and_head(layout: SensorLayout) -> SensorLayout:
    """Return the layout with two more sensors."""
    more = ('spine', 'head')
    return replace(
        layout, name='all', sensors=layout.sensors + more,
        segments=np.append(layout.segments, [SEGMENT_INDEX[name] for name in more]),
        mountings=np.vstack([layout.mountings, [[-0.1, 0.0, 0.05], [0.0, 0.0, 0.15]]]),
    )  # fmt: skip


def errors_m(clip: Motion, layout: SensorLayout, make_virtual: Any, seed: int) -> np.ndarray:
    """Return distances of joints and end-effectors, shape (frames, 24) [m]."""
    virtual = make_virtual(yaw=1.0, layout=layout, seed=seed)
    virtual.character = Character('clip', '', clip.skeleton, default_capsules(clip.skeleton))
    virtual.place = np.array([0.3, -0.2, clip.skeleton.rest_root_height])
    estimator = virtual.estimator()
    rows = []
    for frame in np.linspace(0, clip.n_frames - 1, N_FRAMES).astype(int):
        root, rotations = clip.root_positions[frame], clip.rotations[frame]
        estimate = estimator.step(virtual.frame(root, rotations))
        _, p_world, points = virtual.truth(root, rotations)
        joints = np.linalg.norm(estimate.p_world - p_world, axis=1)
        ends = np.linalg.norm(estimate.posture.end_effectors - points, axis=1)
        rows.append(np.concatenate([joints, ends]))
    return np.array(rows)


def test_a_sensor_on_every_segment_gives_the_clip_back(
    clip: Motion, layout14: SensorLayout, make_virtual: Any
) -> None:
    errors = errors_m(clip, with_spine_and_head(layout14), make_virtual, 3)
    # What is left is the T-pose of a body whose left and right differ by a millimetre.
    assert errors.max() < 1e-4


def test_fourteen_sensors_give_pelvis_legs_and_end_effectors(
    clip: Motion, layout14: SensorLayout, make_virtual: Any
) -> None:
    """The spine is inferred; what stands on it is only as good as that."""
    errors = errors_m(clip, layout14, make_virtual, 4)
    measured = [0, 1, *range(10, 24)]
    assert np.sqrt(np.mean(errors[:, measured] ** 2)) < MAX_RMS_M
    assert np.sqrt(np.mean(errors**2)) < MAX_INFERRED_RMS_M
