# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One run on the bench: the figures of the report, contacts."""

from benchmarks.quality.procedural_self_contact import self_contact_motion
from benchmarks.quality.run import ClipBench, PASSES_OF_A_RUN
from benchmarks.quality.self_quality import self_figures
from body_fixtures import floor_only
import numpy as np
from puppet_core.body import default_capsules, load_character
from puppet_performer.sensor_layout import load_layout
from puppet_retarget.offline import report, retarget_motion, RetargetJob
from puppet_retarget.offline.self_contact import performer_body
import pytest


@pytest.fixture(scope='module')
def layout(data_dir):
    """Return the usual sensors."""
    return load_layout(data_dir / 'layouts/default14.yaml')


@pytest.fixture(scope='module')
def blubby(data_dir):
    """Return the puppet with short legs."""
    return load_character(data_dir / 'characters/blubby.yaml')


def test_a_run_has_the_report_of_the_retarget_command(steps, layout, blubby):
    job = RetargetJob(blubby, floor_only())
    row = ClipBench('steps', steps, layout).row(job)
    expected = report(steps, job, retarget_motion(steps, job))
    for key in set(expected) - {'ms_per_frame'}:
        assert row[key] == expected[key], key
    assert list(row)[:3] == ['clip', 'character', 'solver']


def test_all_passes_are_told(steps, layout, blubby):
    told: list[int] = []
    bench, job = ClipBench('steps', steps, layout), RetargetJob(blubby, floor_only())
    bench.row(job, progress=told.append)
    assert PASSES_OF_A_RUN * (steps.n_frames - 99) <= sum(told) <= PASSES_OF_A_RUN * steps.n_frames


def test_puppet_segments_in_the_result_belong_to_its_angles(steps, blubby):
    result = retarget_motion(steps, RetargetJob(blubby, floor_only()))
    q_world, p_world = result.motion(blubby, steps.rate_hz).world_segments()
    np.testing.assert_allclose(result.p_world, p_world, atol=1e-9)
    along = np.abs(np.sum(result.q_world * q_world, axis=-1))
    np.testing.assert_allclose(along, 1.0, atol=1e-9)


def test_a_performer_has_no_error_against_itself(performer):
    body = performer_body(self_contact_motion('waist', performer.skeleton, 30.0))
    figures = self_figures(body, body, 1.0)
    assert figures['touching_error_mm'] == {'p50': 0.0, 'p99': 0.0, 'max': 0.0}
    deepest = figures['performer_self_penetration_mm_max']
    assert figures['self_penetration_mm_max'] == deepest < 5.0


def test_apart_hands_are_an_error_and_no_touch_is_none(performer):
    motion = self_contact_motion('clap', performer.skeleton, 30.0)
    body = performer_body(motion)
    apart = body._replace(end_effectors=body.end_effectors.copy())
    apart.end_effectors[:, 0, 1] += 0.1
    error = self_figures(body, apart, 1.0)['touching_error_mm']
    assert 80.0 < error['max'] < 120.0
    still = slice(0, 3)
    q_world, p_world = body.q_world[still], body.p_world[still]
    hanging = body._replace(
        capsules=default_capsules(performer.skeleton)[:1],
        q_world=q_world,
        p_world=p_world,
        end_effectors=body.end_effectors[still],
    )
    assert self_figures(hanging, hanging, 1.0)['touching_error_mm'] is None
