# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Walks on terrain, for other bodies and through doors: feet on the ground, heads below."""

from benchmarks.edit.morph import proportioned
from benchmarks.edit.walks import square_walk
import numpy as np
from puppet_core.body.motion_measures import slide_mm_s
from puppet_core.body.posture import Motion
from puppet_core.procedural.motion_loop import smooth_step
from puppet_edit.edit_file import BodyTrack
from puppet_edit.editor.constraints import OnSurface
from puppet_edit.editor.motion_edit import edit_motion
from puppet_edit.scene import foot_plants
from puppet_edit.scene.doorway import doorway_at, doorway_constraints, stooping, upper_points
from puppet_edit.scene.foot_plants import (
    CLEARANCE_M,
    detect_contacts,
    firm_poses,
    for_body,
    on_terrain,
    own_poses,
    world_foot_points,
)
from puppet_edit.scene.surfaces import FLOOR, ramp, rough
from puppet_edit.scene.transition import cut
import pytest

ON_GROUND_M = 0.002  # of a heel or toe whose foot is flat, over a curved ground
SLIDE_MM_S = 1.0


@pytest.fixture(scope='module')
def walk(skeleton):
    return cut(square_walk(skeleton, 30.0).motion, 0, 120)


@pytest.fixture(scope='module')
def hills():
    return rough(1)


@pytest.fixture(scope='module')
def adapted(walk, hills):
    return on_terrain(walk, hills)


@pytest.fixture(scope='module')
def on_hills(adapted):
    return edit_motion(adapted.motion, adapted.constraints)


def _above(motion, surface):
    points = world_foot_points(motion.skeleton, *motion.world_segments())
    return points[..., 2] - surface.height(points[..., 0], points[..., 1])


def test_flat_soles_lie_on_the_ground(adapted, on_hills, hills):
    above = _above(on_hills.motion, hills)
    flat = adapted.contacts.flags.all(axis=2)
    assert np.abs(above[flat]).max() < ON_GROUND_M


def test_swinging_feet_clear_the_ground(adapted, on_hills, hills):
    before, after = _above(adapted.motion, FLOOR), _above(on_hills.motion, hills)
    swing = ~adapted.contacts.planted
    assert (after - np.clip(before, 0.0, CLEARANCE_M))[swing].min() > -0.006


def test_planted_feet_do_not_slide(adapted, on_hills):
    flat = adapted.contacts.flags.all(axis=2)
    inside = flat & np.roll(flat, 1, axis=0)
    soles = on_hills.motion.end_effectors[:, 2:4]
    assert slide_mm_s(soles, inside, on_hills.motion.rate_hz) < SLIDE_MM_S


def test_level_ground_changes_little(walk):
    contacts = detect_contacts(walk)
    goals, own = firm_poses(walk, contacts), own_poses(walk, contacts)
    assert np.abs(goals.soles - own.soles).max() < 0.012
    assert np.allclose(goals.soles[..., 2][contacts.flags.all(axis=2)], 0.0, atol=1e-9)


def test_plants_are_still_even_where_the_motion_slides(walk):
    drift = np.zeros((walk.n_frames, 3))
    drift[:, 0] = 0.003 * np.arange(walk.n_frames)  # 9 cm/s
    contacts = detect_contacts(walk)
    roots = walk.root_positions + drift
    moved = Motion.from_rotations(walk.skeleton, walk.rate_hz, roots, walk.rotations)
    goals = firm_poses(moved, contacts)
    flat = contacts.flags.all(axis=2)
    inside = flat & np.roll(flat, 1, axis=0)
    assert slide_mm_s(goals.soles, inside, 30.0) < 1e-9


def test_soles_tilt_as_the_ramp_does(walk):
    slope = np.radians(8.0)
    goals = on_terrain(walk, ramp(8.0)).goals
    contacts = detect_contacts(walk)
    points = goals.points(walk.skeleton)[contacts.flags.all(axis=2)]
    assert np.allclose(points[..., 2], np.tan(slope) * points[..., 0], atol=1e-9)


def test_other_body_stands_where_it_should(walk):
    other = proportioned(walk.skeleton, 0.8, 1.1)
    adaptation = for_body(walk, other)
    result = edit_motion(adaptation.motion, adaptation.constraints)
    assert result.motion.skeleton is adaptation.motion.skeleton
    flat = adaptation.contacts.flags.all(axis=2)
    above = result.motion.end_effectors[:, 2:4, 2][flat]
    assert np.abs(above).max() < 1e-4
    ratio = other.leg_length / walk.skeleton.leg_length
    soles = own_poses(walk, adaptation.contacts).soles
    assert np.allclose(
        result.motion.end_effectors[:, 2:4, :2][flat], ratio * soles[..., :2][flat], atol=0.012
    )


def test_head_stays_below_the_lintel(walk):
    doorway = doorway_at(walk, 45, 1.5)
    start = stooping(walk, [doorway], np.zeros((walk.n_frames, 3)))
    constraints = [*on_terrain(walk, FLOOR).constraints, *doorway_constraints(walk, [doorway])]
    top = upper_points(walk.skeleton)[0]
    assert any(isinstance(c, OnSurface) for c in constraints)
    frames = np.arange(40, 51)
    for place in BodyTrack(edit_motion(start, constraints).motion).places(top, frames):
        along, _ = doorway.way(place[0], place[1])
        if abs(along) < 0.5 * doorway.depth_m:
            assert place[2] < 1.5 + 0.002
    assert BodyTrack(walk).places(top, np.array([45]))[0, 2] > 1.6


def test_swings_are_free_half_way_between_plants(rng):
    """Against all distances; feet that never stand are free throughout."""
    planted = rng.uniform(size=(80, 2)) < [0.1, 0.0]
    share = foot_plants._swing_share(planted, 5)
    gaps = np.abs(np.arange(80)[:, None] - np.flatnonzero(planted[:, 0])).min(axis=1)
    np.testing.assert_array_equal(share[:, 0] == 0.0, planted[:, 0])
    np.testing.assert_array_equal(share[:, 0], smooth_step(gaps / 5))
    np.testing.assert_array_equal(share[:, 1], 1.0)
