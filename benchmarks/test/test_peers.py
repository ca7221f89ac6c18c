# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Peers on the bench: what is refused, their targets, and the rows beside ours."""

from dataclasses import replace
import math
import sys
from xml.etree import ElementTree as Xml

from benchmarks.quality import peers
from benchmarks.quality.as_printed import printed_job
from benchmarks.quality.peer_mjcf import mjcf_text
from benchmarks.quality.peer_solver import FEET, PeerSolver, segment_ratios, Targets
from benchmarks.quality.peer_table import peer_table
from benchmarks.quality.run import ClipBench
from benchmarks.quality.tables import markdown
from body_fixtures import floor_only
import numpy as np
from puppet_core.body import AUTO, load_character, PARENTS, SEGMENTS, Skeleton
from puppet_core.io import ConfigError
from puppet_core.math import Quats, Vec3
from puppet_performer.sensor_layout import load_layout
from puppet_retarget.offline import report, retarget_motion, RetargetJob
import pytest


class Follower(PeerSolver):
    """A peer that keeps its targets, and takes the pelvis and the captured angles from them."""

    name = 'follower'
    seen: list[Targets]

    def pose(self, targets: Targets) -> tuple[Vec3, Quats]:
        """Return what it is given, each quaternion the other way round."""
        self.seen = [*getattr(self, 'seen', []), targets]
        return targets.positions[0], -targets.rotations


@pytest.fixture
def follower(monkeypatch):
    """Stand in for a peer from a library."""
    monkeypatch.setattr(peers, '_peer_class', lambda name: Follower)


@pytest.fixture(scope='module')
def blubby(data_dir):
    """Return the puppet with short legs in the performer's world."""
    return replace(load_character(data_dir / 'characters/blubby.yaml'), world_scale=1.0)


def test_a_missing_library_is_said_with_what_to_install(run, walk_bvh, monkeypatch):
    monkeypatch.setitem(sys.modules, 'mink', None)
    monkeypatch.delitem(sys.modules, 'benchmarks.quality.peer_mink', raising=False)
    done = run('quality', walk_bvh, '--peers', 'mink')
    assert (done.code, done.out) == (2, '')
    assert len(done.err.splitlines()) == 1
    assert '--peers: mink is not installed' in done.err
    assert done.err.rstrip().endswith('pip install mink')


def test_an_unknown_peer_is_refused(run, walk_bvh):
    done = run('quality', walk_bvh, '--peers', 'mimic')
    assert done.code == 2
    assert "--peers: expected names of as_printed, mink, got 'mimic'" in done.err


def test_errata_of_the_thesis_are_corrected_by_their_names(blubby):
    job = RetargetJob(blubby, floor_only())
    printed = printed_job('as_printed', job)
    assert printed.solver == 'importance_based' and printed.tuning.errata == ()
    assert printed.importance.smoothing_s == printed.importance.contact_margin_m == 0.0
    assert printed.importance.prediction_s == printed.self_interaction.prediction_s == 0.15
    assert not printed.self_interaction.margins_m.any()
    some = printed_job('as_printed+turn_axis+smoothing', job)
    assert some.tuning.errata == ('turn_axis',)
    assert some.importance.smoothing_s == job.importance.smoothing_s
    with pytest.raises(ConfigError, match="errata of own_height, .*, got 'as_printed[+]7'"):
        peers.peer_runs([job], ['as_printed+7'])


def test_rows_of_the_thesis_as_printed_have_its_name(steps, data_dir, blubby):
    bench = ClipBench('steps', steps, load_layout(data_dir / 'layouts/default14.yaml'))
    row = bench.peer_row('as_printed+turn_axis', RetargetJob(blubby, floor_only()))
    assert row['solver'] == 'as_printed+turn_axis' and peers.is_peer(row['solver'])
    assert row['stages_us']['solver']['median'] > 0.0


@pytest.mark.mocap
def test_printed_importance_makes_the_root_lurch(walk_clip, blubby):
    """Errata 12: root jerk of an order of magnitude, and feet several times."""
    jerk = []
    for name in ('', '+no_mean+smoothing'):
        job = printed_job(
            f'as_printed+turn_axis+unit_directions{name}', RetargetJob(blubby, floor_only())
        )
        found = report(walk_clip, job, retarget_motion(walk_clip, job))['jerk_ratio']
        jerk.append((found['root'], found['feet']))
    assert jerk[0][0] > 8.0 > 5.0 > jerk[1][0]
    assert jerk[0][1] > 1.5 * jerk[1][1] > 4.0


def test_nothing_of_a_peer_is_imported_unasked(blubby, monkeypatch):
    monkeypatch.delitem(sys.modules, 'benchmarks.quality.peer_mink', raising=False)
    assert peers.peer_runs([RetargetJob(blubby, floor_only())], ()) == []
    assert 'benchmarks.quality.peer_mink' not in sys.modules


def test_each_peer_runs_once_on_each_puppet(performer, blubby, follower):
    jobs = [
        RetargetJob(character, floor_only(), solver)
        for character in (performer, blubby)
        for solver in ('importance_based', 'joint_angles')
    ]
    runs = peers.peer_runs(jobs, ('mink', 'mink'))
    assert [(name, job.character.name) for name, job in runs] == [
        ('mink', 'performer'),
        ('mink', 'blubby'),
    ]


def test_targets_of_the_own_size_are_the_captured_segments(steps, performer):
    peer = Follower(RetargetJob(performer, floor_only()), steps.skeleton)
    retarget_motion(steps, RetargetJob(performer, floor_only()), solver=peer)
    q_world, p_world = steps.world_segments()
    expected = p_world.copy()
    expected[:, [6, 9, 12, 15]] = steps.end_effectors[:, :4]
    targets = peer.seen[1:]  # the first call was to warm up
    np.testing.assert_allclose([t.positions for t in targets], expected, atol=1e-9)
    along = np.sum(np.array([t.orientations for t in targets]) * q_world, axis=-1)
    np.testing.assert_allclose(np.abs(along), 1.0, atol=1e-12)


def test_targets_of_a_body_of_half_the_size_are_a_scaled_copy(steps, performer):
    own = performer.skeleton
    half = replace(
        performer,
        skeleton=Skeleton(0.5 * own.offsets, 0.5 * own.interaction_points),
        world_scale=AUTO,
    )
    job = RetargetJob(half, floor_only())
    peer = Follower(job, steps.skeleton)
    result = retarget_motion(steps, job, solver=peer)
    expected = 0.5 * steps.world_segments()[1]
    expected[:, [6, 9, 12, 15]] = 0.5 * steps.end_effectors[:, :4]
    np.testing.assert_allclose([t.positions for t in peer.seen[1:]], expected, atol=1e-9)
    # so that the captured angles fit exactly: measured by the same code as our solvers
    np.testing.assert_allclose(result.puppet.end_effectors, 0.5 * steps.end_effectors, atol=1e-9)
    assert np.all(np.sum(result.puppet.rotations * steps.rotations, axis=-1) > 0.0)


def test_soles_are_the_performers_in_a_world_of_the_same_size(steps, performer, blubby):
    job = RetargetJob(blubby, floor_only())
    peer = Follower(job, steps.skeleton)
    retarget_motion(steps, job, solver=peer)
    soles = np.array([t.positions[FEET] for t in peer.seen[1:]])
    np.testing.assert_allclose(soles, steps.end_effectors[:, 2:4], atol=1e-9)
    ratios = segment_ratios(blubby.skeleton, performer.skeleton)
    assert ratios[0] == 1.0 and ratios[11] < 0.6  # a knee of Blubby is near its pelvis


def test_rows_of_a_peer_have_the_keys_of_ours(steps, data_dir, blubby, follower):
    bench = ClipBench('steps', steps, load_layout(data_dir / 'layouts/default14.yaml'))
    job = RetargetJob(blubby, floor_only())
    told: list[int] = []
    rows = [bench.row(job), bench.peer_row('follower', job, progress=told.append)]
    assert list(rows[0]) == list(rows[1])
    assert rows[1]['body_iterations'] == 0 and list(rows[1]['stages_us']) == ['solver']
    assert sum(told) == 4 * 100  # on the clock, and nudged
    # what follows copies the captured angles: our baseline
    slide = rows[1]['planted_foot_slide_mm_s']
    assert slide['puppet'] == pytest.approx(slide['joint_angles_baseline'])
    assert rows[1]['orientation_deviation_deg']['max'] < 1e-5
    assert rows[0]['orientation_deviation_deg']['max'] > 1.0
    lines = [line.strip('| ').split(' | ') for line in markdown(rows).splitlines()]
    assert lines[3][3] == 'follower' and lines[3][-2] == '0'
    assert lines[3][-1].endswith(' (solver)') and not lines[2][-1].endswith(' (solver)')


def clip_row(solver: str, character: str, slide: float, contact: float | None) -> dict:
    """Return what the table reads of one run."""
    return {
        'character': character,
        'solver': solver,
        'world_scale': 0.5,
        'planted_foot_slide_mm_s': {'performer': 100.0, 'puppet': slide},
        'goal_error_mm': {'p50': math.nan, 'p99': 2.0, 'max': 9.0},
        'penetration_mm': {'environment_max': 0.0},
        'self_penetration_mm_max': 4.0,
        'touching_error_mm': contact and {'p50': contact, 'p99': 2 * contact, 'max': 99.0},
        'orientation_deviation_deg': {'p50': 1.0, 'p99': 3.0, 'max': 9.0},
        'jerk_ratio': {'root': 1.0, 'feet': 1.1, 'hands': slide / 10.0},
        'stages_us': {'solver': {'median': slide, 'p99': 2.0 * slide, 'max': 999.0}},
    }


def test_table_has_means_and_the_worst_clip():
    rows = [
        clip_row(solver, character, slide, contact)
        for slide, contact in ((60.0, 10.0), (80.0, None))
        for character in ('blubby', 'sally')
        for solver in ('importance_based', 'mink')
    ]
    lines = [line.strip('| ').split(' | ') for line in peer_table(rows).splitlines()]
    assert [line[:2] for line in lines[2:]] == [
        [character, solver]
        for character in ('blubby', 'sally')
        for solver in ('importance_based', 'mink')
    ]
    assert lines[2][2:] == [
        '20 (30)',
        '– / 2.0 (– / 2.0)',
        '0.0 (0.0)',
        '4.0 (4.0)',
        '10.0 / 20.0 (10.0 / 20.0)',
        '1.0 / 3.0 (1.0 / 3.0)',
        '1.00 / 1.10 / 7.00 (1.00 / 1.10 / 8.00)',
        '70 / 140 (80 / 160)',
    ]


def test_mjcf_has_the_segments_in_their_order(blubby):
    root = Xml.fromstring(mjcf_text(blubby.skeleton, blubby.name))
    bodies = list(root.iter('body'))
    assert [body.get('name') for body in bodies] == list(SEGMENTS)
    for body in bodies:
        for child in body.findall('body'):
            parent = PARENTS[SEGMENTS.index(child.get('name'))]
            assert SEGMENTS[parent] == body.get('name')
    read = [[float(x) for x in body.get('pos').split()] for body in bodies]
    np.testing.assert_array_equal(read, blubby.skeleton.offsets)
    assert [joint.get('type') for joint in root.iter('joint')] == ['free'] + 15 * ['ball']
