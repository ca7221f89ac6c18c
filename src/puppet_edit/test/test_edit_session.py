# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A session: after its start nothing more is compiled, and a drag reaches seven knots."""

from edit_samples import FULL_FILE, plan_of, walk
import numpy as np
from puppet_core.io import ConfigError
from puppet_edit.edit_file import BodyTrack
from puppet_edit.edit_session import drag_config, KNOTS_REACHED, warm_up
from puppet_edit.editor import constraint_kernels, pose_solver_kernels
from puppet_edit.editor.constraints import BodyPoint, PointGoal
from puppet_edit.editor.motion_edit import edit_motion
from puppet_edit.scene import cut
import pytest

KERNELS = (
    constraint_kernels.displace,
    pose_solver_kernels.item_errors,
    pose_solver_kernels.solve_frames,
)


def test_nothing_is_left_to_compile():
    warm_up(walk())
    counts = [len(kernel.signatures) for kernel in KERNELS]
    plan = plan_of(FULL_FILE)
    edit_motion(plan.motion, plan.constraints, plan.config)
    assert [len(kernel.signatures) for kernel in KERNELS] == counts == [1, 1, 1]


def test_a_clip_of_one_frame_is_enough():
    warm_up(cut(walk(), 0, 1))


def test_a_drag_reaches_no_farther_than_seven_knots():
    hand, foot = BodyPoint.named('left_hand'), BodyPoint.named('right_foot')
    at, before = np.array([30]), BodyTrack(walk())
    goal = PointGoal(at, hand, before.places(hand, at) + [0.05, 0.1, 0.15])
    held = PointGoal(at, foot, before.places(foot, at), keep_orientation=True)
    config = drag_config(0.5, walk().rate_hz)
    after = edit_motion(walk(), [goal, held], config).motion
    assert np.allclose(BodyTrack(after).places(hand, at), goal.goals, atol=1e-4)
    assert np.allclose(BodyTrack(after).places(foot, at), held.goals, atol=1e-4)
    changed = np.flatnonzero(np.abs(after.rotations - walk().rotations).max(axis=(1, 2)) > 1e-12)
    reach = 0.5 * KNOTS_REACHED * config.frames_per_knot + config.frames_per_knot
    assert 30 - reach <= changed[0] < 30 < changed[-1] <= 30 + reach
    assert len(changed) < walk().n_frames


def test_a_drag_reaches_somewhere():
    with pytest.raises(ConfigError, match='reach_s: expected > 0, got 0'):
        drag_config(0.0, 30.0)
