# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts of heels and toes: against the plan of a walk, on captured clips, under noise."""

from benchmarks.edit.walks import square_walk
import numpy as np
from puppet_core.body import runs
from puppet_core.body.posture import Motion
from puppet_edit.scene.foot_plants import detect_contacts, HEEL, TOE
import pytest

EARLY_S, LATE_S = 0.13, 0.05  # a toe-first landing is slow and near before the sole is flat


@pytest.fixture(scope='module', params=[30.0, 120.0])
def walk(request, skeleton):
    """Return a walk whose steps are known, at a slow and a fast rate."""
    return square_walk(skeleton, request.param)


def _whole(walk):
    """Return the steps that land in the clip, and whose foot stays down then."""
    last_s = walk.motion.n_frames / walk.motion.rate_hz - 0.2
    again = {
        id(a)
        for a in walk.steps
        for b in walk.steps
        if a.foot == b.foot and a.lift_s < b.lift_s < a.land_s
    }
    return [s for s in walk.steps if 0.2 < s.land_s < last_s and id(s) not in again]


def _strikes(contacts, foot):
    """Return the frames in which a heel comes down; not a contact that the clip opens."""
    return [first for first, _ in runs(contacts.flags[:, foot, HEEL]) if first > 1]


def _toe_offs(contacts, foot):
    """Return the first frames without the toe; not of a contact that the clip ends."""
    n = len(contacts.flags)
    return [end for _, end in runs(contacts.flags[:, foot, TOE]) if end < n]


def test_every_step_strikes_when_the_plan_says(walk):
    contacts = detect_contacts(walk.motion)
    strikes = [np.array(_strikes(contacts, foot)) / walk.motion.rate_hz for foot in (0, 1)]
    for step in _whole(walk):
        apart = strikes[step.foot] - step.land_s
        apart = apart[np.argmin(np.abs(apart))]
        assert -EARLY_S <= apart <= LATE_S


def test_every_step_lifts_after_the_heel_and_before_mid_swing(walk):
    contacts = detect_contacts(walk.motion)
    steps = _whole(walk)
    for step in steps[2:]:
        middle_s = 0.5 * (step.lift_s + step.land_s)
        if any(a.foot == step.foot and a.lift_s < step.lift_s < a.land_s for a in walk.steps):
            continue
        offs = np.array(_toe_offs(contacts, step.foot)) / walk.motion.rate_hz
        assert np.any((step.lift_s < offs) & (offs < middle_s))
        heel = contacts.flags[round(middle_s * walk.motion.rate_hz), step.foot]
        assert not heel.any()


def test_there_are_no_more_plants_than_steps(walk):
    plants = detect_contacts(walk.motion).plants()
    # the left foot stands at the beginning; the last landing is cut off by the clip's end
    assert len(plants) == len(_whole(walk)) + 2
    assert all(p.first <= p.flat_first <= p.flat_last <= p.last for p in plants)


def test_noise_of_a_millimetre_neither_makes_nor_breaks_a_plant(walk, rng):
    clean = detect_contacts(walk.motion).plants()
    roots = walk.motion.root_positions + 0.001 * rng.standard_normal((walk.motion.n_frames, 3))
    noisy = Motion.from_rotations(
        walk.motion.skeleton, walk.motion.rate_hz, roots, walk.motion.rotations
    )
    found = detect_contacts(noisy).plants()
    assert [p.foot for p in found] == [p.foot for p in clean]
    slack = 0.05 * walk.motion.rate_hz
    assert max(abs(a.first - b.first) for a, b in zip(found, clean)) <= slack


def test_unknown_ground_gives_the_same_plants_on_a_level_floor(walk):
    known, unknown = (detect_contacts(walk.motion, *args).plants() for args in ((), (None,)))
    assert [p.foot for p in known] == [p.foot for p in unknown]


@pytest.mark.mocap
@pytest.mark.parametrize(
    ('clip', 'ground', 'least'), [('02_01', (), 6), ('02_03', (), 4), ('03_01', (None,), 4)]
)
def test_captured_feet_take_turns(captured, clip, ground, least):
    plants = detect_contacts(captured(clip), *ground).plants()
    assert len(plants) >= least
    assert all(a.foot != b.foot for a, b in zip(plants, plants[1:]))
