# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Transitions: both clips outside of the seam, one derivative through it, feet held over it."""

from benchmarks.edit.experiments import trimmed
from benchmarks.edit.morph import proportioned
from benchmarks.edit.walks import square_walk, stooped
import numpy as np
from puppet_core.body.motion_measures import slide_mm_s
from puppet_core.body.posture import Motion
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as qb
from puppet_core.procedural.motion_loop import sample
from puppet_edit.editor.motion_edit import edit_motion
from puppet_edit.scene import transition
from puppet_edit.scene.foot_plants import detect_contacts
import pytest

RATE_HZ = 60.0


@pytest.fixture(scope='module')
def clips(skeleton):
    walk = square_walk(skeleton, RATE_HZ, side_m=6.0).motion
    stoop = stooped(transition.cut(walk, 40, 300))
    times = 0.85 * np.arange(200) / RATE_HZ
    slow = Motion.from_rotations(skeleton, RATE_HZ, *sample(stoop, times))
    return transition.cut(walk, 0, 180), slow


@pytest.fixture(scope='module')
def joined(clips):
    """Return both as one, the strikes of the feet brought together."""
    return transition.join(*clips)


@pytest.mark.parametrize('alignment', transition.ALIGNMENTS)
def test_outside_of_the_seam_it_is_both_clips(clips, alignment):
    first, second = clips
    done = transition.join(first, second, ((100, 136), (30, 60)), alignment)
    seam = done.seams[0]
    assert seam.start == 100 and len(seam.times_a) == 34
    assert np.array_equal(done.motion.root_positions[:101], first.root_positions[:101])
    rest = done.motion.rotations[seam.end :]
    assert np.allclose(np.abs(np.sum(rest[:, 1:] * second.rotations[60:, 1:], -1)), 1.0)
    turn = qb.multiply(rest[0, 0], qb.conjugate(second.rotations[60, 0]))
    placed = qb.rotate(turn, second.root_positions[60:])
    roots = done.motion.root_positions[seam.end :]
    assert np.allclose(turn[1:3], 0.0) and np.allclose(roots - roots[0], placed - placed[0])
    assert done.motion.n_frames == seam.end + 200 - 60


@pytest.mark.parametrize('alignment', transition.ALIGNMENTS)
def test_time_runs_on_and_at_its_own_speed_at_both_ends(clips, alignment):
    """Continuous first derivative: each clip's speed is 1 where it is alone."""
    seam = transition.join(*clips, ((100, 136), (30, 60)), alignment).seams[0]
    for times in (seam.times_a, seam.times_b):
        assert np.all(np.diff(times) > 0.0)
    # the cubic's second difference bounds how far the first step may be from slope one
    bends = [np.abs(np.diff(times, 2)).max() for times in (seam.times_a, seam.times_b)]
    assert abs(np.diff(seam.times_a)[0] - 1.0) <= bends[0] + 1e-9
    assert abs(np.diff(seam.times_b)[-1] - 1.0) <= bends[1] + 1e-9


def test_velocity_has_no_jump_at_the_seam(clips, joined):
    """Second differences over the seam's ends are those of clips, not of a corner."""
    places = joined.motion.end_effectors
    bends = np.linalg.norm(np.diff(places, 2, axis=0), axis=-1).max(axis=1)
    usual = max(
        np.linalg.norm(np.diff(clip.end_effectors, 2, axis=0), axis=-1).max() for clip in clips
    )
    seam = joined.seams[0]
    for end in (seam.start, seam.end):
        assert bends[end - 2 : end + 1].max() < 1.2 * usual


def test_matched_contacts_meet(clips):
    windows = ((60, 150), (30, 130))
    contacts = tuple(detect_contacts(clip) for clip in clips)
    pairs = transition.contact_pairs(contacts, windows)
    assert len(pairs) >= 2
    seam = transition.warp(*windows, pairs)
    for a, b in pairs:
        at_a = np.interp(a, seam.times_a, np.arange(len(seam.times_a)))
        at_b = np.interp(b, seam.times_b, np.arange(len(seam.times_a)))
        assert abs(at_a - at_b) < 0.02


def test_feet_that_slide_in_the_mixture_are_held(joined):
    result = edit_motion(joined.motion, transition.seam_constraints(joined))
    seam = joined.seams[0]
    flat = joined.contacts.flags.all(axis=2) & np.roll(joined.contacts.flags.all(axis=2), 1, 0)
    flat[: seam.start], flat[seam.end :] = False, False
    assert flat.any()
    before, after = (
        slide_mm_s(motion.end_effectors[:, 2:4], flat, RATE_HZ)
        for motion in (joined.motion, result.motion)
    )
    assert after < 1.0 < 10.0 < before
    assert result.exact_max_error_percent <= 0.1


def test_third_clip_is_joined_to_two(clips, joined):
    both = transition.join(joined, clips[0])
    assert len(both.seams) == 2 and both.seams[1].start > both.seams[0].end
    part = trimmed(both, both.seams[1].end - both.seams[0].start + 11)
    assert part.seams[0].start == 5
    assert len(part.contacts.flags) == part.motion.n_frames


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        ({'windows': ((170, 185), (0, 15))}, 'window of the first clip: expected at least 4'),
        ({'windows': ((10, 30), (5, 6))}, 'window of the second clip: expected at least 4'),
        ({'fade_s': 60.0}, 'expected clips of more than 3600 frames'),
    ],
)
def test_clips_that_do_not_join_are_refused(clips, change, text):
    with pytest.raises(ConfigError) as error:
        transition.join(*clips, **change)
    assert text in str(error.value)


def test_other_rates_and_bodies_are_refused(clips):
    first, second = clips
    slow = Motion.from_rotations(first.skeleton, 30.0, second.root_positions, second.rotations)
    with pytest.raises(ConfigError, match='expected clips of one rate, got 60 and 30 Hz'):
        transition.join(first, slow)
    other = Motion.from_rotations(
        proportioned(first.skeleton, 1.2, 1.0), RATE_HZ, second.root_positions, second.rotations
    )
    with pytest.raises(ConfigError, match='expected clips of one body'):
        transition.join(first, other)
