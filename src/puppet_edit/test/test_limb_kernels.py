# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The editor's limb in closed form: LeeShin1999 section 5.3, against forward kinematics."""

import math

import numpy as np
from puppet_core.body.skeleton import LIMB_SEGMENTS, N_SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_edit.editor import constraint_kernels
from puppet_edit.editor.limb_kernels import bend_angle
from puppet_edit.editor.pose_solver_kernels import (
    FrameTasks,
    solve_frames,
    SolverOptions,
    workspace,
)
import pytest

LIMB_TOL_M = 1e-9  # closed form against forward kinematics
ENDS = LIMB_SEGMENTS[:, 2]


@pytest.mark.parametrize('along', [0.0, 0.05, 0.3])
def test_eq_7_is_the_distance_of_a_limb_built_from_its_angle(along):
    r1, r2 = 0.31, 0.24
    for phi in np.linspace(0.01, math.pi - 0.01, 50):
        # elbow axis along z, appendix of LeeShin1999
        shoulder = np.array([r1, 0.0, 0.0])
        wrist = np.array([r2 * math.cos(phi), r2 * math.sin(phi), along])
        distance = float(np.linalg.norm(wrist - shoulder))
        assert bend_angle(r1, r2, along, distance) == pytest.approx(phi, abs=1e-9)


def test_eq_7_as_printed():
    l1, l2, r1, r2, distance = 0.33, 0.28, 0.31, 0.24, 0.45
    s1, s2 = math.sqrt(l1**2 - r1**2), math.sqrt(l2**2 - r2**2)
    printed = math.acos((l1**2 + l2**2 + 2.0 * s1 * s2 - distance**2) / (2.0 * r1 * r2))
    assert bend_angle(r1, r2, s1 + s2, distance) == pytest.approx(printed, abs=1e-12)


def test_eq_7_is_clamped_at_full_stretch_and_at_folding():
    """Errata 9."""
    assert bend_angle(0.3, 0.2, 0.0, 0.6) == math.pi
    assert bend_angle(0.3, 0.2, 0.0, 0.05) == 0.0
    assert bend_angle(0.3, 0.2, 0.1, 0.05) == 0.0


def _limbs(rng, n):
    """Return random bodies and postures; every tenth with straight limbs, as good as."""
    offsets = rng.normal(0.0, 0.1, (n, N_SEGMENTS, 3))
    lengths = rng.uniform(0.15, 0.5, (n, 4, 2, 1))
    ways = rng.normal(size=(n, 4, 1, 3)) + 0.2 * rng.normal(size=(n, 4, 2, 3))
    offsets[:, LIMB_SEGMENTS[:, 1:]] = (
        lengths * ways / np.linalg.norm(ways, axis=-1, keepdims=True)
    )
    rotations = qb.exp(rng.normal(0.0, 0.8, (n, N_SEGMENTS, 3)))
    straight = qb.exp(rng.normal(0.0, 1e-3, (-(-n // 10), 4, 3)))
    rotations[::10, LIMB_SEGMENTS[:, 1]] = straight
    return offsets, rotations


def _solved(offsets, roots, rotations, items, per_frame):
    n = len(offsets)
    tasks = FrameTasks(
        np.arange(n),
        np.arange(0, per_frame * n + 1, per_frame),
        np.ascontiguousarray(items.reshape(-1)),
        offsets,
        np.ones(17),
        np.zeros(N_SEGMENTS, constraint_kernels.LIMIT),
    )
    poses, solved = np.zeros(n, constraint_kernels.POSE), np.zeros(n, constraint_kernels.POSE)
    poses['root'], poses['rotations'] = roots, rotations
    constraint_kernels.place_poses(offsets, poses)
    # no step: what is left is the closed form
    solve_frames(
        tasks, poses, SolverOptions(False, 0, 0.0), workspace(), solved, np.empty((n, 17))
    )
    q_world, p_world = _placed(offsets, solved['root'], solved['rotations'])
    return q_world, p_world, solved['rotations']


def _items(n, points, goals):
    """Return a place for the end of each limb, shape (n, 4)."""
    items = np.zeros((n, 4), constraint_kernels.ITEM)
    items['segment'], items['weight'], items['kind'] = ENDS, 1.0, constraint_kernels.POINT
    items['mask'], items['offset'], items['goal'][..., :3] = 1.0, points, goals
    return items


def _placed(offsets, roots, rotations):
    """Return forward kinematics in numpy, for bodies that differ."""
    parents = [-1, 0, 1, 2, 2, 4, 5, 2, 7, 8, 0, 10, 11, 0, 13, 14]
    q_world, p_world = rotations.copy(), np.empty((*rotations.shape[:2], 3))
    p_world[:, 0] = roots
    for i in range(1, N_SEGMENTS):
        up = parents[i]
        q_world[:, i] = qb.multiply(q_world[:, up], rotations[:, i])
        p_world[:, i] = p_world[:, up] + qb.rotate(q_world[:, up], offsets[:, i])
    return q_world, p_world


def _goals(rng, offsets, roots, rotations, tips, low, high):
    """Return places at a share `low` .. `high` between folded and stretched, (n, 4, 3)."""
    _, p_world = _placed(offsets, roots, rotations)
    upper = np.linalg.norm(offsets[:, LIMB_SEGMENTS[:, 1]], axis=-1)
    lower = np.linalg.norm(tips, axis=-1)
    fold, length = np.abs(upper - lower), upper + lower
    distance = fold + rng.uniform(low, high, fold.shape) * (length - fold)
    ways = rng.normal(size=(len(offsets), 4, 3))
    ways /= np.linalg.norm(ways, axis=-1, keepdims=True)
    return p_world[:, LIMB_SEGMENTS[:, 0]] + distance[..., None] * ways, length


@pytest.mark.parametrize('is_oriented', [True, False], ids=['oriented', 'hand as it was'])
def test_closed_form_agrees_with_forward_kinematics(rng, is_oriented):
    n = 26_000  # bodies of four limbs: more than 1e5
    offsets, rotations = _limbs(rng, n)
    roots, points = rng.normal(size=(n, 3)), rng.normal(0.0, 0.05, (n, 4, 3))
    tips = offsets[:, ENDS]
    if not is_oriented:
        tips = tips + qb.rotate(rotations[:, ENDS], points)
    goals, _ = _goals(rng, offsets, roots, rotations, tips, 0.08, 0.9)
    turns = qb.exp(rng.normal(0.0, 1.0, (n, 4, 3)))
    if is_oriented:
        goals = goals + qb.rotate(turns, points)
    items = np.stack([_items(n, points, goals)] * (2 if is_oriented else 1), axis=2)
    if is_oriented:
        items['kind'][:, :, 1], items['goal'][:, :, 1] = constraint_kernels.ORIENTATION, turns
    per_frame = items.shape[1] * items.shape[2]
    q_world, p_world, solved = _solved(offsets, roots, rotations, items, per_frame)
    reached = p_world[:, ENDS] + qb.rotate(q_world[:, ENDS], points)
    # limbs that begin straight bend about their natural axis and may fold less far
    assert np.linalg.norm(reached - goals, axis=-1).max() < LIMB_TOL_M
    if is_oriented:
        assert np.abs(np.sum(q_world[:, ENDS] * turns, axis=-1)).min() > 1.0 - 1e-12
    else:
        np.testing.assert_allclose(solved[:, ENDS], rotations[:, ENDS], atol=1e-12)
    torso = [0, 1, 2, 3]
    np.testing.assert_array_equal(solved[:, torso], rotations[:, torso])


def test_a_limb_whose_goal_is_out_of_reach_points_there(rng):
    n = 200
    offsets, rotations = _limbs(rng, n)
    roots, tips = rng.normal(size=(n, 3)), offsets[:, ENDS]
    goals, length = _goals(rng, offsets, roots, rotations, tips, 1.5, 5.0)
    _, p_world, _ = _solved(offsets, roots, rotations, _items(n, np.zeros(3), goals), 4)
    shoulders = p_world[:, LIMB_SEGMENTS[:, 0]]
    line, arm = goals - shoulders, p_world[:, ENDS] - shoulders
    cosine = np.sum(line * arm, axis=-1)
    cosine /= np.linalg.norm(line, axis=-1) * np.linalg.norm(arm, axis=-1)
    assert cosine.min() > 1.0 - 1e-9
    stretch = np.linalg.norm(arm, axis=-1) / length
    assert stretch.max() < 1.0 + 1e-12
    assert stretch.min() > 0.99


def test_limb_that_meets_its_goal_stays_as_it_is(skeleton, rng):
    n = 500
    rotations = qb.exp(rng.normal(0.0, 0.4, (n, N_SEGMENTS, 3)))
    offsets = np.broadcast_to(skeleton.offsets, (n, N_SEGMENTS, 3)).copy()
    roots = np.zeros((n, 3))
    _, p_world = _placed(offsets, roots, rotations)
    _, _, solved = _solved(offsets, roots, rotations, _items(n, np.zeros(3), p_world[:, ENDS]), 4)
    apart = qb.log(qb.multiply(qb.conjugate(rotations), solved))
    # a limb bent the wrong way by a little bends the right way instead: not among these
    assert np.median(np.linalg.norm(apart, axis=-1)) < 1e-9
