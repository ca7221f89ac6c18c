# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet bench quality: tables, JSON and figures of runs, and what it refuses."""

import json
import shlex

from benchmarks.quality import bench as command_bench
from benchmarks.quality import thesis_figures
from benchmarks.quality.bench import PROCEDURAL_WALK_S
import numpy as np
from PIL import Image
from puppet_core.body import LIMB_SEGMENTS
from puppet_core.procedural import procedural_motion
from puppet_edit.enhancement import joint_angles_between
from puppet_retarget.importance import IMPORTANCE
from puppet_retarget.offline import find_character, PROCEDURAL_RATE_HZ
from puppet_retarget.offline.arguments import find_environment
from puppet_retarget.solvers import SOLVER_NAMES
from puppet_view.render import GUTTER_PX
import pytest

pytestmark = pytest.mark.ros
RUN_KEYS = {
    'frames',
    'body_iterations',
    'us_per_frame',
    'stages_us',
    'ms_per_frame',
    'planted_foot_slide_mm_s',
    'planted_impossible_share',
    'goal_error_mm',
    'penetration_mm',
    'free_limb_deviation_deg_max',
    'jerk_ratio',
    'self_penetration_mm_max',
    'performer_self_penetration_mm_max',
    'self_contact_error_mm',
    'self_contact_impossible_share',
    'touching_error_mm',
    'leaping_frames',
    'flips',
    'whips',
    'snaps',
    'pops',
    'sensitivity',
    'self_penetration_mm',
    'segment_direction_deg',
    'lying_height_mm',
    'limit_use',
    'joint_jerk_ratio',
    'surface_depth_mm',
    'full_importance_goal_error_mm',
}


@pytest.fixture(scope='module')
def show(performer):
    return procedural_motion(performer, PROCEDURAL_RATE_HZ)


@pytest.fixture(scope='module')
def cast(performer):
    sally, blubby = (find_character(name) for name in ('sally', 'blubby'))
    stage = find_environment(None, 'show')
    return thesis_figures.Cast(performer, sally, blubby, stage)


def table_rows(text: str) -> list[list[str]]:
    """Return the cells of the first Markdown table, without head and rule."""
    lines = text.split('\n\n')[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in lines]


def test_every_combination_has_a_row(run, walk_bvh):
    done = run(
        'quality', walk_bvh, '--characters', 'blubby,sally', '--solvers', 'joint_angles,position'
    )
    assert done.code == 0, done.err
    rows = table_rows(done.out)
    assert [row[2:4] for row in rows] == [
        [character, solver]
        for character in ('blubby', 'sally')
        for solver in ('joint_angles', 'position')
    ]
    assert {len(row) for row in rows} == {len(done.out.splitlines()[0].strip('|').split('|'))}


def test_json_has_a_run_for_each_solver(run, walk_bvh, tmp_path):
    path = tmp_path / 'bench.json'
    run('quality', '--clip', walk_bvh, '--characters', 'sally', '--json', path)
    bench = json.loads(path.read_text())
    assert set(bench) == {'runs'}
    assert [row['solver'] for row in bench['runs']] == list(SOLVER_NAMES)
    for row in bench['runs']:
        assert (row['clip'], row['character']) == ('walk', 'sally')
        assert RUN_KEYS <= set(row)
        assert list(row['us_per_frame']) == ['median', 'p99', 'max']
        assert 0.0 < row['us_per_frame']['median'] <= row['us_per_frame']['max']


def test_table_names_the_joint_that_jerks_most_beside_copied_angles(run, walk_bvh, tmp_path):
    path, solvers = tmp_path / 'bench.json', 'joint_angles,importance_based'
    run('quality', walk_bvh, '--characters', 'sally', '--solvers', solvers, '--json', path)
    done = run('quality', walk_bvh, '--characters', 'sally', '--solvers', solvers)
    _, row = json.loads(path.read_text())['runs']
    captured, puppet = row['joint_jerk_rad_s3'].values()
    moving = [name for name in puppet if captured[name] > 10.0]  # the others are still
    ratios = {name: puppet[name] / captured[name] for name in moving}
    worst = max(ratios, key=ratios.get)
    assert row['worst_joint'] == worst
    assert ratios[worst] == pytest.approx(row['joint_jerk_ratio']['worst'])
    assert f'({worst}: {puppet[worst]:.0f} rad/s³)' in done.out


def test_times_of_the_thesis_follow(run, walk_bvh):
    done = run('quality', walk_bvh, '--characters', 'blubby,sally')
    _, _, times, machine = done.out.split('\n\n')
    assert len(times.splitlines()) == 4
    assert 'cores, Python' in machine


def test_iterations_of_table_7_1_are_few_with_root_estimation(run, walk_bvh):
    done = run('quality', walk_bvh, '--characters', 'blubby,sally', '--iterations')
    head, _, clip, total = (line.strip('| ').split(' | ') for line in done.out.splitlines())
    assert head == [
        'clip',
        'frames',
        'without: blubby',
        'without: sally',
        'with: blubby',
        'with: sally',
    ]
    assert clip[0] == 'walk' and total[0] == 'total (1 clip)'
    assert clip[1:] == total[1:]
    assert int(clip[2].split()[0]) > 0  # short legs do not reach without the root's help
    assert clip[4:] == ['0', '0']


def test_figures_are_drawn_instead(run, walk_bvh, tmp_path, monkeypatch):
    monkeypatch.setattr(thesis_figures, 'CELL_PX', (60, 70))
    monkeypatch.setattr(thesis_figures, 'CONTACT_CELL_PX', (60, 70))
    monkeypatch.setattr(thesis_figures, 'SITUATION_CELL_PX', (60, 70))
    folder = tmp_path / 'new/figures'
    done = run('quality', walk_bvh, '--figures', folder)
    assert done.code == 0, done.err
    names = [f'figure_{number}.png' for number in ('4_1', '4_3', '7_2', '7_3', '7_6')]
    assert done.out.split() == [str(folder / name) for name in names]
    sizes = {name: Image.open(folder / name).size for name in names}
    across, down = 60 + GUTTER_PX, 70 + GUTTER_PX
    wide, tall = zip(*(sizes[f'figure_7_{i}.png'] for i in (2, 3, 6)))
    assert wide == (6 * across - GUTTER_PX, 6 * across - GUTTER_PX, 3 * across - GUTTER_PX)
    # and a band for the labels of the instants
    assert all(0 < height - (3 * down - GUTTER_PX) < 40 for height in tall)


def test_worst_frame_is_searched_instead(run):
    done = run('quality', '--worst', '20', '--characters', 'blubby')
    assert done.code == 0, done.err
    cells = done.out.split('\n')[2].split('|')
    assert [c.strip() for c in cells[1:3]] == ['blubby', '20']
    assert 0.0 < float(cells[3]) and 0.0 < float(cells[4])
    done = run('quality', '--worst', '3')
    assert done.code == 2 and '--worst: expected 16 or more, got 3' in done.err


def test_the_built_in_performer_walks_in_its_figures(show):
    path = thesis_figures.part(show, PROCEDURAL_WALK_S).root_positions
    steps = np.linalg.norm(np.diff(path[:, :2], axis=0), axis=1) * PROCEDURAL_RATE_HZ
    assert np.median(steps) > 0.7
    assert 2.5 < np.linalg.norm(path[-1] - path[0]) < 3.2


def test_figure_4_1_has_a_hand_that_does_not_matter_and_one_that_does(show, cast):
    until = thesis_figures.part(show, (0.0, 12.1))
    result = cast.run(until, cast.sally, SOLVER_NAMES[0])
    free, held = (round(s * until.rate_hz) for s in thesis_figures.SITUATIONS.values())
    weights = result.rows[:, 0, IMPORTANCE]
    assert weights[free] == 0.0 and weights[held] == 1.0
    arm = LIMB_SEGMENTS[0, :2]
    angles = joint_angles_between(until.rotations, result.puppet.rotations)[:, arm]
    turned = np.degrees(angles).max(axis=1)
    assert turned[free] < 1.0 and turned[held] > 3.0
    assert result.goal_errors[held, 0] < 1e-3


def test_figure_4_3_has_prediction_that_follows_the_landing_foot(show, cast):
    """Shin2002: with it the path is the performer's near the floor, without it only there."""
    jump = thesis_figures.part(show, thesis_figures.JUMP_S)
    captured = jump.end_effectors[:, 2, 2]
    without, looking = (
        cast.predicting(jump, s).puppet.end_effectors[:, 2, 2]
        for s in thesis_figures.PREDICTIONS_S
    )
    peak = int(captured.argmax())
    after = peak + round(0.14 * jump.rate_hz)
    assert captured[after] == pytest.approx(0.145, abs=0.01)
    assert abs(looking[after] - captured[after]) < 0.01
    assert without[after] < captured[after] - 0.04
    before = peak - round(0.15 * jump.rate_hz)
    assert looking[before] < without[before] - 0.03
    near_the_floor = captured < 0.05
    assert np.abs(without - captured)[near_the_floor].max() < 0.01


def test_clips_of_one_name_are_told_apart(run, walk_bvh, tmp_path):
    paths = [tmp_path / folder / 'walk.bvh' for folder in ('a', 'b')]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(walk_bvh.read_bytes())
    done = run('quality', tmp_path, '--characters', 'sally', '--solvers', 'joint_angles')
    assert [row[0] for row in table_rows(done.out)] == [str(path) for path in paths]


def test_folders_stand_for_their_clips(run, walk_bvh, tmp_path):
    for name in ('b/two.bvh', 'a.bvh', 'notes.txt'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(walk_bvh.read_bytes())
    done = run('quality', tmp_path, '--characters', 'sally', '--solvers', 'joint_angles')
    assert [row[0] for row in table_rows(done.out)] == ['a', 'two']


def test_built_in_performer_needs_no_clip(run):
    done = run('quality', '--characters', 'sally', '--solvers', 'joint_angles')
    assert done.code == 0, done.err
    assert [row[0] for row in table_rows(done.out)] == ['show']


def test_example_of_the_help_runs(run, walk_bvh, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'walk.bvh').write_bytes(walk_bvh.read_bytes())
    done = run(*shlex.split(command_bench.EXAMPLE.removeprefix('example: ./puppet bench ')))
    assert done.code == 0, done.err
    assert (tmp_path / 'bench.json').is_file()


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (('--solvers', 'ik'), f"of {', '.join(SOLVER_NAMES)}, got 'ik'"),
        (('--characters', 'sally,nobody'), "or the path of a YAML file, got 'nobody'"),
        (('--characters', 'sally,,frog'), "expected names with commas between, got 'sally,,frog'"),
        (('--layout', 'none'), 'layout: expected one of carry, choi_ko13'),
        (('--json', '.'), '--json: expected a file name, got the folder'),
        (('--figures', __file__), '--figures: expected a folder, got'),
        (('--figures', 'x', '--json', 'y'), '--json: not allowed with argument --figures'),
        (('--clip', 'absent.bvh'), 'absent.bvh: expected a readable BVH file'),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, tuple) else '',
)
def test_what_does_not_fit_is_refused(run, walk_bvh, words, says):
    done = run('quality', walk_bvh, *words)
    assert done.code == 2
    assert says in done.err.splitlines()[-1]


def test_folder_without_clips_is_refused(run, tmp_path):
    done = run('quality', tmp_path)
    assert done.code == 2
    assert 'expected a folder with .bvh' in done.err


@pytest.mark.mocap
def test_skeleton_is_found_beside_the_motion(run, mocap_dir):
    clip = mocap_dir / 'cmu_asfamc' / '02_03.amc'
    done = run('quality', clip, '--characters', 'sally', '--solvers', 'joint_angles')
    assert done.code == 0, done.err
    assert table_rows(done.out)[0][:2] == ['02_03', '173']
