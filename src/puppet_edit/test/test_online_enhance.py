# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Enhancement frame by frame: both errors fall against the truth (issue 6), causally."""

import math

from benchmarks.enhance import CONDITIONS, measured_take, TakeErrors
import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.io import ConfigError
from puppet_edit.enhancement.enhancer import enhance_online, rate_config
from puppet_edit.enhancement.targets import Targets
import pytest

SEEDS = range(20)
BOTH = ('end_effector_rms_mm', 'joint_rms_deg')


def errors(truth: Motion, motion: Motion) -> tuple[float, float]:
    """Return RMS errors of palms and soles [m], and of joints [rad]; written out again."""
    apart = (motion.end_effectors - truth.end_effectors)[:, :4]
    dots = np.abs(np.sum(motion.rotations * truth.rotations, axis=-1))[:, 1:]
    turned = 2.0 * np.arccos(np.minimum(dots, 1.0))
    return math.sqrt(np.mean(np.sum(apart**2, axis=-1))), math.sqrt(np.mean(turned**2))


@pytest.mark.parametrize('name', list(CONDITIONS))
def test_both_errors_fall_for_every_seed(walk: Motion, name: str) -> None:
    """Noise and bias of angles, noise of positions, wrong lengths of limbs."""
    for seed in SEEDS:
        take = measured_take(walk, CONDITIONS[name], seed)
        before = errors(walk, take.motion)
        after = errors(walk, enhance_online(take.motion, take.targets))
        assert after[0] < 0.5 * before[0] and after[1] < before[1], seed


def test_exact_weight_puts_end_effectors_in_place(walk: Motion) -> None:
    take = measured_take(walk, TakeErrors(3.0, 1.0), 5)
    better = enhance_online(take.motion, take.targets, weight=0.999999)
    apart = (better.end_effectors - take.targets.positions)[:, :4]
    assert np.max(np.linalg.norm(apart, axis=-1)) < 1e-4


def test_later_frames_change_nothing(walk: Motion) -> None:
    """Causal: the first half alone gives the same."""
    take = measured_take(walk, TakeErrors(3.0, 1.0, 3.0), 5)
    half = Motion.from_rotations(
        take.motion.skeleton,
        take.motion.rate_hz,
        take.motion.root_positions[:30],
        take.motion.rotations[:30],
    )
    whole = enhance_online(take.motion, take.targets)
    part = enhance_online(half, Targets(take.targets.positions[:30]))
    assert np.allclose(whole.rotations[:30], part.rotations, atol=1e-12)


def test_a_kept_root_stays_where_it_was_measured(walk: Motion) -> None:
    take = measured_take(walk, TakeErrors(3.0), 5)
    better = enhance_online(take.motion, take.targets, root='fixed')
    assert np.allclose(better.root_positions, take.motion.root_positions, atol=1e-12)


def test_end_effectors_without_measurement_follow_their_angles(walk: Motion) -> None:
    """After a gap in one hand's trajectory nothing is left of the gap."""
    take = measured_take(walk, TakeErrors(3.0), 5)
    positions = np.array(take.targets.positions)
    positions[20:40, 0] = np.nan
    better = enhance_online(take.motion, Targets(positions), weight=0.999999)
    apart = np.linalg.norm((better.end_effectors - take.targets.positions)[:, :4], axis=-1)
    assert np.isfinite(better.rotations).all()
    assert apart[:20].max() < 1e-3 and apart[45:].max() < 1e-3 and apart[20:40, 1:].max() < 1e-3


@pytest.mark.parametrize('weight', [0.0, 1.0, float('nan')])
def test_weights_out_of_range_are_refused(weight: float) -> None:
    with pytest.raises(ConfigError, match='weight: expected 0.0 < value < 1.0'):
        rate_config(weight)
