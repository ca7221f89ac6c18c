# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Sensors that come and go all the time: no worse than ones that are gone for good."""

from functools import cache

from motion_samples import CONFIG, estimator_of, walk_and_clap
import numpy as np
from numpy.typing import NDArray
from puppet_core.math.arrays import Vec3s
from puppet_core.sensor_frames import FILTER_LOST, FILTER_REINITIALISED, FilteredFrame
from puppet_performer.calibration.synthetic_recording import sensor_frames
from puppet_performer.sensor_layout import load_layout
import pytest

RATE_HZ = 120.0
N_FRAMES = 480
FLICKER = slice(60, 440)
N_PATTERNS = 6
# A loss after another one may begin where the body is not yet where it was seen.
WORSE, WORSE_M = 1.4, 0.03
CARRIED_M = 0.15  # more than a pelvis that a chest carries that does not flicker
EASING_M_S = 2.0  # of the losses here; the root is never half a metre off
TRUNK_TOO_M_S = 5.0  # of those of trunk and leg at once


@cache
def _frames(layout: str) -> list[FilteredFrame]:
    found = load_layout(CONFIG / f'layouts/{layout}.yaml')
    return [
        frame._replace(
            **{
                name: np.array(value)
                for name, value in frame._asdict().items()
                if isinstance(value, np.ndarray)
            }
        )
        for frame in sensor_frames(walk_and_clap(N_FRAMES), found)
    ]


def _play(layout: str, names: tuple[str, ...], lost: NDArray[np.bool_]) -> Vec3s:
    """
    Return joints and end-effectors, shape (n, 24, 3) [m].

    `lost` has shape (n,), or (n, k) for each of the k `names` its own.
    """
    lost = np.broadcast_to(lost.reshape(N_FRAMES, -1), (N_FRAMES, len(names)))
    found = load_layout(CONFIG / f'layouts/{layout}.yaml')
    estimator = estimator_of(walk_and_clap(N_FRAMES).skeleton, found)
    rows, before = [], False
    for frame, are_gone in zip(_frames(layout), lost):
        gone = np.isin(frame.sensors, np.array(names)[are_gone])
        back = np.where(before & ~gone, FILTER_REINITIALISED, frame.status)  # as a filter says it
        status = np.where(gone, FILTER_LOST, back).astype(np.uint8)
        before = gone
        estimate = estimator.step(frame._replace(status=status))
        rows.append(np.concatenate((estimate.p_world, estimate.posture.end_effectors)))
    return np.array(rows)


def _patterns(rng: np.random.Generator) -> list[NDArray[np.bool_]]:
    """Return regular losses, and ones whose lengths are random, from a frame to half a second."""
    index = np.arange(N_FRAMES)
    patterns = [index % (seen + lost) < lost for seen, lost in ((1, 1), (2, 2), (6, 30))]
    for _ in range(N_PATTERNS):
        means = np.exp(rng.uniform(0.0, np.log(60.0), 2))
        spans = np.ceil(rng.exponential(means, (N_FRAMES, 2))).astype(int)
        patterns.append(np.repeat(np.tile([False, True], N_FRAMES), spans.ravel())[:N_FRAMES])
    for pattern in patterns:
        pattern[: FLICKER.start] = pattern[FLICKER.stop :] = False
    return patterns


def _error(played: Vec3s, whole: Vec3s) -> float:
    return float(np.linalg.norm(played - whole, axis=2).max())


def _speed(played: Vec3s) -> float:
    return float(np.linalg.norm(np.diff(played, axis=0), axis=2).max()) * RATE_HZ


@pytest.mark.parametrize('names', [('pelvis',), ('left_hand', 'right_hand'), ('left_foot',)])
@pytest.mark.parametrize('layout', ['default14', 'six_point'])
def test_flicker_is_hardly_worse_than_loss(
    layout: str, names: tuple[str, ...], rng: np.random.Generator
) -> None:
    index = np.arange(N_FRAMES)
    whole = _play(layout, names, index < 0)
    always = max(
        _error(_play(layout, names, index >= start), whole) for start in range(60, 440, 60)
    )
    for lost in _patterns(rng):
        played = _play(layout, names, lost)
        assert _error(played, whole) < WORSE * always + WORSE_M
        assert _speed(played) < _speed(whole) + EASING_M_S


@pytest.mark.parametrize('seen, lost', [(1, 1), (2, 2), (10, 3)])
def test_chest_that_flickers_carries_a_lost_pelvis(seen: int, lost: int) -> None:
    names, index = ('pelvis', 'chest'), np.arange(N_FRAMES)
    gone = np.zeros((N_FRAMES, 2), dtype=bool)
    whole = _play('default14', names, gone)
    gone[FLICKER, 0] = True
    always = _play('default14', names, gone)
    gone[FLICKER, 1] = (index % (seen + lost) < lost)[FLICKER]
    played = _play('default14', names, gone)
    assert _error(played, whole) < _error(always, whole) + CARRIED_M
    assert _speed(played) < _speed(whole) + EASING_M_S


def test_foot_that_is_back_does_not_leap_as_its_leg_flickers(rng: np.random.Generator) -> None:
    """The hip is elsewhere than it seems to the leg: pelvis and chest come and go, too."""
    names = ('pelvis', 'chest', 'left_shank', 'left_thigh', 'left_foot')
    whole = _play('default14', names, np.zeros(N_FRAMES, dtype=bool))
    for _ in range(N_PATTERNS):
        gone = rng.permuted(np.array(_patterns(rng)), axis=0)[: len(names)].T
        assert _speed(_play('default14', names, gone)) < _speed(whole) + TRUNK_TOO_M_S
