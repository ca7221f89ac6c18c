# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip character: files that load, from every source, and what it refuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from puppet_core.body.character import load_character
from puppet_core.body.skeleton import SEGMENTS, Skeleton
from puppet_core.clips.load import load_clip
from puppet_performer.calibration.calibration import Calibration, save_calibration
import pytest

pytestmark = pytest.mark.ros

HUMANOID = Path(__file__).resolve().parents[2] / 'puppet_core' / 'test' / 'humanoid.urdf'


def test_a_clip_gives_its_own_body(run, walk_bvh, tmp_path):
    out = tmp_path / 'walker.yaml'
    done = run('character', 'new', out, '--from-clip', walk_bvh)
    assert done.code == 0, done.err
    assert done.out.startswith(f'{out}: walker, legs ')
    character = load_character(out)
    skeleton = load_clip(walk_bvh).skeleton
    np.testing.assert_array_equal(character.skeleton.offsets, skeleton.offsets)
    assert {c.segment for c in character.capsules} == set(range(len(SEGMENTS)))


def test_a_urdf_gives_a_robot_that_check_finds_nothing_odd_about(run, tmp_path):
    out = tmp_path / 'tin.yaml'
    done = run('character', 'new', out, '--from-urdf', HUMANOID)
    assert done.code == 0, done.err
    assert done.out.splitlines()[1:] == ['  nothing odd about it']
    character = load_character(out)
    assert character.robot is not None
    assert character.robot.urdf == HUMANOID.read_text()
    done = run('character', 'check', out)
    assert done.code == 0 and '29 robot joints' in done.out


def test_a_calibration_gives_the_performers_own_body_or_that_of_its_character(
    run, performer, tmp_path
):
    """All of it comes through: lengths, palms, soles; the shape is stretched to them."""
    own, out, file = performer.skeleton, tmp_path / 'me.yaml', tmp_path / 'c.yaml'
    skeleton = Skeleton(1.07 * own.offsets, 1.07 * own.interaction_points)
    one, turn, zero = np.zeros(1), np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros((1, 3))
    pose = Calibration('sally', 'one', '', ('a',), np.array([0]), turn, zero, one, one)
    save_calibration(replace(pose, skeleton=skeleton), file)
    done = run('character new', out, '--from-calibration', file)
    assert done.code == 0, done.err
    assert done.out.splitlines()[1:] == ['  nothing odd about it']
    made = load_character(out)
    np.testing.assert_allclose(made.skeleton.offsets, skeleton.offsets, atol=1e-12)
    np.testing.assert_allclose(
        made.skeleton.interaction_points, skeleton.interaction_points, atol=1e-12
    )
    feet = [c for c in made.capsules if SEGMENTS[c.segment] == 'left_foot']
    lowest = min(min(c.start[2], c.end[2]) - c.radius for c in feet)
    assert lowest == pytest.approx(skeleton.interaction_points[2, 2], abs=0.01)
    save_calibration(pose, file)
    done = run('character new', out, '--from-calibration', file)
    assert done.code == 0 and 'those of sally' in done.out, done.err
    assert load_character(out).name == 'me'


@pytest.mark.parametrize('name', ['performer', 'sally', 'blubby', 'frog'])
def test_nothing_is_odd_about_the_built_in_ones(run, name):
    done = run('character', 'check', name)
    assert done.code == 0 and done.out.splitlines()[1:] == ['  nothing odd about it']


@pytest.mark.parametrize(
    'words, says',
    [
        (('--from-urdf', 'none.urdf'), 'none.urdf: expected a readable file'),
        (('--from-clip', 'none.bvh'), 'none.bvh: expected a readable BVH file'),
        (('--from-calibration', 'none.yaml'), 'none.yaml: expected a readable file'),
        (('--from-urdf', HUMANOID, '--world-scale', '-1'), '--world-scale: expected auto or'),
        (('--from-urdf', HUMANOID, '--map', 'no.yaml'), 'no.yaml: expected a readable file'),
        (('--from-clip', 'a.bvh', '--map', 'no.yaml'), '--map: expected --from-urdf with it'),
        ((), 'one of the arguments --from-clip --from-calibration --from-urdf is required'),
    ],
)
def test_bad_input_is_reported_and_nothing_is_written(run, tmp_path, words, says):
    out = tmp_path / 'x.yaml'
    done = run('character', 'new', out, *words)
    assert done.code == 2 and says in done.err and 'Traceback' not in done.err
    assert not out.exists()


def test_follow_reports_limits_soles_and_speed(run, walk_bvh, tmp_path):
    out = tmp_path / 'tin.yaml'
    assert run('character', 'new', out, '--from-urdf', HUMANOID).code == 0
    done = run('character', 'follow', out, walk_bvh)
    assert done.code == 0, done.err
    head, _, line = (
        [cell.strip() for cell in row.strip('|').split('|')] for row in done.out.splitlines()
    )
    row = dict(zip(head, line))
    assert row['motion'] == walk_bvh.stem and row['limits violated'] == '0'
    median, most = (float(word) for word in row['soles, mm'].split('/'))
    assert 0.0 <= median <= most < 10.0  # mm, by which feet make room for each other
    assert float(row['fastest joint, rad/s']) > 0.0
    done = run('character', 'follow', 'sally', walk_bvh)
    assert done.code == 2 and 'sally: expected a robot' in done.err
