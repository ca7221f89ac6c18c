# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The experiments of ChoiKo2000: what is generated, and its figures of errors and angles."""

from benchmarks.rate import swing as rate_swing
from benchmarks.rate import walk as rate_walk
from benchmarks.rate.experiments import course_correlation, HITS_M, unevenness
from benchmarks.rate.run import correlations, flexion, RateClip, run_clip, task_errors, task_track
import numpy as np
from puppet_core.math import quaternions as qb
from puppet_retarget.rate_control import AS_PRINTED, RateConfig, RateController
import pytest

PAPER_MAX_ERROR_M = 0.010464  # ChoiKo2000, at frame 128
OUR_MAX_ERROR_M = 1e-3
SOLE_M = 0.025  # nothing in the paper's tasks holds the heel
TABLE_1_CM = {'thigh': (46.0, 26.0), 'shank': (46.0, 34.0), 'foot': (16.0, 16.0)}


@pytest.fixture(scope='module')
def walk():
    """Return the source's walk."""
    return rate_walk.walk()


@pytest.fixture(scope='module')
def walks(walk):
    """Return the destination's walk by both settings."""
    body = rate_walk.lower_body(rate_walk.DESTINATION_LEG_M)
    settings = {'printed': AS_PRINTED, 'ours': RateConfig()}
    return {name: run_clip(walk, body, config)[0] for name, config in settings.items()}


def test_bodies_are_those_of_table_1():
    for column, leg in enumerate((rate_walk.SOURCE_LEG_M, rate_walk.DESTINATION_LEG_M)):
        body = rate_walk.lower_body(leg)
        assert body.n_dofs == 30
        lengths = 100.0 * np.linalg.norm(body.offsets, axis=1)
        for side in ('left', 'right'):
            for part, nxt in (('thigh', 'shank'), ('shank', 'foot'), ('foot', 'toes')):
                assert lengths[body.index(f'{side}_{nxt}')] == pytest.approx(
                    TABLE_1_CM[part][column]
                )
        assert lengths[1] + lengths[5] == pytest.approx(30.0)


def forward_error(clip: RateClip) -> float:
    """Return how far the source's joints are from those of its own angles [m]."""
    worst = 0.0
    controller = RateController(clip.source, clip.tasks)
    for i in range(0, len(clip.p_world), 7):
        angles = clip.script.imitated[i].copy()
        for j, parent in enumerate(clip.source.parents):
            if j:
                angles[j] = qb.multiply(qb.conjugate(clip.q_world[i, parent]), clip.q_world[i, j])
        controller.reset(clip.p_world[i, 0], clip.q_world[i, 0], angles)
        worst = max(worst, np.abs(controller.p_world - clip.p_world[i]).max())
    return worst


def test_source_motions_are_those_of_rigid_bodies(walk):
    """No leg or arm is asked for more than its length."""
    assert forward_error(walk) < 1e-9
    assert forward_error(rate_swing.swing()) < 1e-9


def test_walk_has_thirteen_steps_in_390_frames_and_eight_constraints(walk):
    assert len(walk.p_world) == 390 and walk.rate_hz == 30.0
    assert 1 + np.count_nonzero(np.diff(walk.script.bases)) == 13
    rows = np.array([task.n_rows for task in walk.tasks])
    np.testing.assert_array_equal(walk.script.active @ rows, 8)


def test_source_walks_on_the_floor(walk):
    """The stance toe tip stays where it is, the swinging one is above the floor."""
    for foot in range(2):
        tip = task_track(walk.tasks[2 * foot], walk)
        stands = walk.script.active[:, 2 * foot] == 0
        both = stands[1:] & stands[:-1]
        assert np.abs(np.diff(tip, axis=0)[both]).max() < 1e-9
        assert tip[stands, 2].max() < 1e-9 and tip[:, 2].min() > -1e-9
        assert tip[~stands, 2].max() > 0.04
    heading = np.unwrap(flexion(walk.q_world[..., [0, 1, 3, 2]][:, 0]))
    assert np.radians(60.0) < heading[-1] - heading[0] < np.radians(120.0)


def test_error_as_printed_is_the_papers(walk, walks):
    worst = task_errors(walk, walks['printed']).max()
    assert 1e-3 < worst < PAPER_MAX_ERROR_M


def test_error_with_our_settings_is_below_a_millimetre(walk, walks):
    assert task_errors(walk, walks['ours']).max() < 0.1 * OUR_MAX_ERROR_M


def test_pelvis_without_a_task_is_uneven_as_the_papers_clip_2(walk, walks):
    """The feet are as exact; the pelvis, which nothing leads, speeds up and slows down."""
    clip = rate_walk.walk(has_pelvis=False)
    rows = np.array([task.n_rows for task in clip.tasks])
    np.testing.assert_array_equal(clip.script.active @ rows, 6)
    body = rate_walk.lower_body(rate_walk.DESTINATION_LEG_M)
    result = run_clip(clip, body, RateConfig())[0]
    assert task_errors(clip, result).max() < 0.1 * OUR_MAX_ERROR_M
    assert unevenness(walks['ours']) < 0.01 < 0.1 < unevenness(result)
    swing = np.abs(np.diff(clip.script.bases)) > 0
    jumps = np.linalg.norm(np.diff(result.p_world, axis=0), axis=-1).max(axis=1)
    assert jumps[swing].max() < 1.1 * jumps[~swing].max()


def test_pattern_of_the_joints_is_kept(walk, walks):
    joints = (*rate_walk.HIP, *rate_walk.KNEE, *rate_walk.ANKLE)
    found = walks['ours'].rotations
    assert correlations(walk.script.imitated, found, joints).min() > 0.98
    hips = [np.ptp(flexion(angles[:, 1])) for angles in (walk.script.imitated, found)]
    assert hips[1] > 1.15 * hips[0]  # the paper: a smaller body takes bigger steps


def test_destination_walks_on_the_floor_too(walks):
    result = walks['ours']
    for first in (1, 5):
        heel = qb.rotate(
            result.q_world[:, first + 2], np.array([-rate_walk.HEEL_M, 0.0, -rate_walk.ANKLE_M])
        )
        assert (heel + result.p_world[:, first + 2])[:, 2].min() > -SOLE_M
        assert result.p_world[:, first + 3, 2].min() > -1e-5


def test_steps_join_without_a_jump(walk, walks):
    """Base and end-effector change places; no segment accelerates more than within a step."""
    boundaries = np.flatnonzero(np.diff(walk.script.bases)) + 1
    for result in walks.values():
        bends = np.linalg.norm(np.diff(result.p_world, 2, axis=0), axis=-1)
        at = np.concatenate([bends[boundaries - 2], bends[boundaries - 1]])
        assert at.max() < bends.max()
        assert at.max() < 0.02


def test_bat_swing_has_the_papers_numbers():
    clip = rate_swing.swing()
    assert len(clip.p_world) == 136 and clip.source.n_dofs == 42
    assert sum(task.n_rows for task in clip.tasks) == 9
    np.testing.assert_array_equal(clip.script.imitated[:, rate_swing.TORSO, 1:], 0.0)


@pytest.mark.parametrize('name', ['A', 'B', 'C'])
def test_bat_is_swung_by_all_characters(name):
    clip = rate_swing.swing()
    torso, limbs = rate_swing.PROPORTIONS[name]
    result, _ = run_clip(clip, rate_swing.upper_body(torso, limbs), RateConfig())
    assert task_errors(clip, result).max() < 1e-4
    top = rate_swing.TOP
    dots = np.abs((result.q_world[:, top] * clip.q_world[:, top]).sum(axis=1))
    np.testing.assert_allclose(dots, 1.0, atol=1e-6)
    likeness = [
        course_correlation(clip.script.imitated[:, j], result.rotations[:, j])
        for arm in rate_swing.ARMS
        for j in arm
    ]
    assert min(likeness) > (0.99 if name == 'B' else 0.9)


def test_unmeasured_torso_bends_evenly():
    """Five joints share what one orientation says; the source's equal shares are found again."""
    clip = rate_swing.swing()
    result, _ = run_clip(clip, clip.source, RateConfig())
    found = np.linalg.norm(qb.log(result.rotations[:, rate_swing.TORSO]), axis=-1)
    assert np.ptp(found, axis=1).max() < 0.1
    away = np.abs(result.p_world - clip.p_world).max()
    assert away < 0.03


@pytest.mark.parametrize('shift', HITS_M)
def test_a_swing_hits_where_it_is_aimed(shift):
    """The bat goes through the new point, as little of the batter's motion changes as can be."""
    clip = rate_swing.swing()
    aimed = rate_swing.aimed(clip, np.array(shift))
    result, _ = run_clip(aimed, clip.source, RateConfig())
    assert task_errors(aimed, result).max() < 1e-4
    begins, hits, ends = rate_swing.AIM_FRAMES

    def spots(motion):
        palms = np.stack([task_track(task, motion) for task in clip.tasks[:2]], axis=1)
        grip, bat = rate_swing.bat_of(palms)
        return grip + rate_swing.SPOT_M * bat

    moved = spots(result) - spots(clip)
    np.testing.assert_allclose(moved[hits], shift, atol=5e-4)
    assert np.abs(moved[[*range(begins + 1), *range(ends, len(moved))]]).max() < 5e-4
    joints = [joint for arm in rate_swing.ARMS for joint in arm]
    imitated = clip.script.imitated
    alike = [course_correlation(imitated[:, j], result.rotations[:, j]) for j in joints]
    assert min(alike) > 0.9


def test_an_aimed_swing_is_as_smooth():
    clip = rate_swing.swing()
    bend = np.linalg.norm(np.diff(clip.p_world, 2, axis=0), axis=-1).max()
    for shift in HITS_M:
        result, _ = run_clip(rate_swing.aimed(clip, np.array(shift)), clip.source, RateConfig())
        assert np.linalg.norm(np.diff(result.p_world, 2, axis=0), axis=-1).max() < 1.3 * bend
