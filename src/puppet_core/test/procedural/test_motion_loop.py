# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Clips played for ever."""

import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.math import quaternions
from puppet_core.procedural.carry import carry_motion
from puppet_core.procedural.motion_loop import APPROACH_S, clip_loop
from puppet_core.procedural.performer import procedural_motion
import pytest

RATE_HZ = 120.0


@pytest.fixture(scope='module')
def clip(adult_character):
    """Return three seconds of a walk, sampled slower than the live rate, turned and moved."""
    whole = procedural_motion(adult_character, 60.0)
    part = slice(240, 420)
    return Motion.from_rotations(
        whole.skeleton, 60.0, whole.root_positions[part], whole.rotations[part]
    )


def test_opens_with_the_t_pose_where_the_clip_begins(clip):
    looped = clip_loop(clip, RATE_HZ, t_pose_s=1.0)
    first = looped.motion.posture(0)
    np.testing.assert_allclose(first.rotations[1:], [[1.0, 0.0, 0.0, 0.0]] * 15, atol=1e-12)
    np.testing.assert_allclose(first.root_position[:2], clip.root_positions[0, :2])
    np.testing.assert_allclose(first.end_effectors[2:4, 2], 0.0, atol=1e-9)
    ahead = quaternions.rotate(first.rotations[0], [1.0, 0.0, 0.0])
    clip_ahead = quaternions.rotate(clip.rotations[0, 0], [1.0, 0.0, 0.0])
    assert ahead[2] == 0.0 and ahead @ clip_ahead > 0.9


def test_t_pose_is_held_and_then_left(clip):
    looped = clip_loop(clip, RATE_HZ, t_pose_s=1.0)
    moved = np.abs(np.diff(looped.motion.end_effectors, axis=0)).max(axis=(1, 2))
    assert moved[:119].max() < 1e-12
    assert looped.loop_start == round((1.0 + APPROACH_S) * RATE_HZ)


def test_clip_runs_out_and_back(clip):
    looped = clip_loop(clip, RATE_HZ)
    loop = looped.motion.root_positions[looped.loop_start :]
    half = len(loop) // 2
    np.testing.assert_allclose(loop[0], clip.root_positions[0], atol=1e-9)
    np.testing.assert_allclose(loop[half], clip.root_positions[-1], atol=1e-9)
    np.testing.assert_allclose(loop[1:half], loop[:half:-1], atol=1e-9)


def test_velocities_do_not_jump_at_the_turns(clip):
    looped = clip_loop(clip, RATE_HZ)
    points = looped.motion.end_effectors
    order = np.r_[np.arange(len(points)), looped.loop_start + np.arange(60)]
    velocity = np.diff(points[order], axis=0) * RATE_HZ
    change = np.abs(np.diff(velocity, axis=0)).max(axis=(1, 2))
    clip_velocity = np.diff(clip.end_effectors, axis=0) * clip.rate_hz
    assert change.max() < 1.5 * np.abs(np.diff(clip_velocity, axis=0)).max()


def test_props_stand_until_the_clip_begins_and_go_out_and_back_with_it(adult_character):
    whole = carry_motion(adult_character, RATE_HZ)
    part = np.arange(1050, 1250)  # the box is being lifted
    moved = whole.root_positions[part], whole.rotations[part], whole.props.at(part)
    looped = clip_loop(Motion.from_rotations(whole.skeleton, RATE_HZ, *moved), RATE_HZ)
    box, start = looped.motion.props.positions[:, 0], looped.loop_start
    np.testing.assert_allclose(box[:start], np.tile(box[0], (start, 1)))
    np.testing.assert_allclose(box[start + (len(box) - start) // 2], moved[2].positions[-1, 0])
    assert box[:, 2].max() > box[0, 2] + 0.1
    gaps = np.linalg.norm(looped.motion.end_effectors[start:, :2] - box[start:, None], axis=2)
    assert np.ptp(gaps) < 1e-4  # it stays between the palms, between frames too


def test_playing_speed_is_the_clips(clip):
    looped = clip_loop(clip, RATE_HZ)
    out = looped.motion.end_effectors[looped.loop_start :][: round(4.0 * RATE_HZ)]
    fastest = np.linalg.norm(np.diff(out, axis=0), axis=2).max() * RATE_HZ
    steps = np.linalg.norm(np.diff(clip.end_effectors, axis=0), axis=2)
    assert fastest == pytest.approx(steps.max() * clip.rate_hz, rel=0.1)


def test_captured_walk_keeps_its_planted_feet(walk_clip):
    looped = clip_loop(walk_clip, RATE_HZ)
    soles = looped.motion.end_effectors[looped.loop_start :, 2:4]
    speed = np.linalg.norm(np.diff(soles, axis=0), axis=2) * RATE_HZ
    own = np.linalg.norm(np.diff(walk_clip.end_effectors[:, 2:4], axis=0), axis=2)
    own *= walk_clip.rate_hz
    assert np.percentile(speed, 20) <= np.percentile(own, 20) * 1.1
