# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Digests: equal for equal values in every process, another for every change."""

from dataclasses import replace
from importlib import metadata
import pickle

from body_fixtures import floor_only
import numpy as np
from puppet_clips.batch.ledger import LIBRARIES, suite_version, task_key, value_digest
from puppet_clips.batch.plan import make_tasks
from puppet_clips.batch.task import Reading
from puppet_core import named_files
from puppet_retarget.offline.whole_motion import RetargetJob
import pytest


def test_every_change_of_a_job_shows_and_a_copy_has_the_same(performer):
    job = RetargetJob(performer, floor_only())
    assert value_digest(pickle.loads(pickle.dumps(job))) == value_digest(job)
    longer = replace(
        performer,
        skeleton=replace(performer.skeleton, offsets=performer.skeleton.offsets * (1.0 + 1e-15)),
    )
    changed = [
        job,
        replace(job, solver='position'),
        replace(job, character=longer),
        replace(job, tuning=replace(job.tuning, posture_weight=0.8)),
        replace(job, importance=replace(job.importance, prediction_s=0.07)),
        replace(job, self_interaction=replace(job.self_interaction, smoothing_s=0.02)),
    ]
    assert len({value_digest(one) for one in changed}) == len(changed)


@pytest.mark.parametrize(
    'a, b',
    [
        (('ab', 'c'), ('a', 'bc')),
        ((1, 2), ((1, 2),)),
        ((1.0,), (1,)),
        ((0.0,), (-0.0,)),
        ((None,), ('None',)),
        ((np.zeros(6),), (np.zeros((2, 3)),)),
        ((np.zeros(1),), (np.zeros(1, dtype=np.int64),)),
        ((True,), (1,)),
    ],
)
def test_similar_values_have_different_digests(a, b):
    assert value_digest(*a) != value_digest(*b)


def test_objects_have_no_digest():
    with pytest.raises(TypeError, match='object'):
        value_digest({'key': object()})


@pytest.mark.parametrize('is_missing', [False, True], ids=['another', 'missing'])
def test_another_library_is_another_version(monkeypatch, is_missing):
    before, own = suite_version(), metadata.version

    def version(name):
        if name == LIBRARIES[-1] and is_missing:
            raise metadata.PackageNotFoundError(name)
        return 'x' if name == LIBRARIES[-1] else own(name)

    monkeypatch.setattr(metadata, 'version', version)
    assert suite_version.__wrapped__() != before


@pytest.mark.parametrize('suffix, is_other', [('.C3D', True), ('.bvh', False)])
def test_built_in_marker_sets_decide_over_c3d_clips(
    tmp_path, monkeypatch, performer, suffix, is_other
):
    folder = tmp_path / 'markersets'
    folder.mkdir()
    (folder / 'own.yaml').write_text('1')
    (tmp_path / f'a{suffix}').write_text('clip')
    monkeypatch.setattr(named_files, 'DATA', tmp_path)
    job = RetargetJob(performer, floor_only())
    (task,) = make_tasks(tmp_path, tmp_path / 'out', [f'a{suffix}'], [job], Reading())
    before = task_key(task)
    (folder / 'own.yaml').write_text('22')
    assert (task_key(task) != before) == is_other
