# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bodies that touch themselves, from posture to puppet: the figure 7.6 of the thesis."""

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.quality.procedural_self_contact import self_contact_motion, SELF_CONTACTS
from benchmarks.quality.self_contact import MovingBody, self_distances_m, self_penetration_m
from benchmarks.quality.self_quality import performer_body, puppet_body
import numpy as np
from puppet_core.body.capsules import shape_arrays
from puppet_core.body.character import Character
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math.arrays import Floats
from puppet_retarget.importance.environment import floor_only
from puppet_retarget.importance.estimator import MAX_STEP_S
from puppet_retarget.importance.self_interaction import (
    estimator_of,
    SelfInteractionConfig,
    skeleton_of,
)
from puppet_retarget.offline.whole_motion import retarget_motion, RetargetJob, RetargetResult
import pytest
from self_bodies import curled_up

RATE_HZ = 120.0
EXACT_M = 0.5e-3
CLAP_M, SMOKE_M, WAIST_M = 5e-3, 5e-3, 10e-3
ADDED_DEPTH_M = 2e-3
PALMS = slice(0, 2)
TORSO = [SEGMENT_INDEX[name] for name in ('pelvis', 'spine', 'chest')]
PUPPETS = pytest.mark.parametrize('puppet', ['tall_character', 'short_character'])


class Run(NamedTuple):
    """A performance and what became of it."""

    motion: Motion
    result: RetargetResult
    performer: MovingBody
    puppet: MovingBody


@pytest.fixture(scope='module')
def perform(adult_character) -> Callable[[str, Character], Run]:
    """Return a function that puts a kind of self-contact on a character, each once."""
    done: dict[tuple[str, str], Run] = {}

    def run(kind: str, character: Character) -> Run:
        if (kind, character.name) not in done:
            motion = self_contact_motion(kind, adult_character.skeleton, RATE_HZ)
            job = RetargetJob(character, floor_only())
            result = retarget_motion(motion, job)
            done[kind, character.name] = Run(
                motion, result, performer_body(motion), puppet_body(job, result)
            )
        return done[kind, character.name]

    return run


def distances(body: MovingBody) -> Floats:
    """Return how far general end-effectors are from segments, shape (n, 8, 16) [m]."""
    return self_distances_m(shape_arrays(body.capsules), *body[2:])


def depths(body: MovingBody) -> Floats:
    """Return how deep general end-effectors are in the own body, shape (n, 8) [m]."""
    return self_penetration_m(shape_arrays(body.capsules), *body[2:])


@pytest.mark.parametrize('kind', SELF_CONTACTS)
def test_performer_on_itself_is_exact(perform, adult_character, kind: str) -> None:
    run = perform(kind, adult_character)
    away = np.linalg.norm(run.result.puppet.end_effectors - run.motion.end_effectors, axis=2)
    assert away.max() < EXACT_M


@PUPPETS
def test_palms_stay_on_the_waist_however_fat(perform, puppet: str, request) -> None:
    run = perform('waist', request.getfixturevalue(puppet))
    for palm in (0, 1):
        touching = distances(run.performer)[:, palm, TORSO].min(axis=1) < 1e-3
        assert touching.sum() > 60
        reached = distances(run.puppet)[touching][:, palm, TORSO].min(axis=1)
        assert np.abs(reached).max() < WAIST_M


@pytest.mark.parametrize('kind', SELF_CONTACTS)
@PUPPETS
def test_puppet_is_no_deeper_in_itself_than_the_performer(
    perform, puppet: str, kind: str, request
) -> None:
    run = perform(kind, request.getfixturevalue(puppet))
    assert depths(run.puppet).max() <= depths(run.performer).max() + ADDED_DEPTH_M
    np.testing.assert_allclose(
        run.result.self_depths[:, PALMS], depths(run.puppet)[:, PALMS], atol=1e-9
    )


def test_skeleton_is_recovered_from_any_posture(
    adult_character, tall_character, short_character, rng
) -> None:
    for character in (adult_character, tall_character, short_character):
        own = character.skeleton
        body = curled_up(own, rng)
        got = skeleton_of(body.rotations, body.p_world, body.points)
        np.testing.assert_allclose(got.offsets, own.offsets, atol=1e-12)
        np.testing.assert_allclose(got.interaction_points, own.interaction_points, atol=1e-12)


def test_long_gap_or_step_back_starts_anew(adult_character, rng) -> None:
    """Else an importance of before the gap would linger."""
    estimator = estimator_of(adult_character.skeleton, SelfInteractionConfig())
    near, far = curled_up(adult_character.skeleton, rng), np.zeros((4, 8))
    first = estimator.step(10**9, near.posture(), near.p_world, far).copy()
    assert first[:, 0].max() > 0.9
    other = curled_up(adult_character.skeleton, rng)
    for stamp_ns in (10**9 + round(2e9 * MAX_STEP_S), 0):
        got = estimator.step(stamp_ns, other.posture(), other.p_world, far).copy()
        estimator.reset()
        fresh = estimator.step(stamp_ns, other.posture(), other.p_world, far).copy()
        np.testing.assert_array_equal(got, fresh)
        estimator.step(stamp_ns + 8_333_333, near.posture(), near.p_world, far)
