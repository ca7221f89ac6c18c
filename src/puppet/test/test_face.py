# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`import puppet`: fast, without ROS, and every example of its docstrings is true."""

import doctest
from importlib import import_module
import subprocess
import sys

import numpy as np
import puppet
from puppet import PuppetError
import pytest

MODULES = ('clips', 'correcting', 'pictures', 'retargeting')
HEAVY = ('matplotlib', 'numba', 'rclpy', 'scipy', 'trimesh', 'viser')


@pytest.fixture(scope='module')
def walk():
    return puppet.load_clip('walk')


@pytest.fixture(scope='module')
def short(walk):
    return puppet.Motion.from_rotations(
        walk.skeleton, walk.rate_hz, walk.root_positions[:30], walk.rotations[:30]
    )


def test_every_name_is_there_and_told():
    assert all(getattr(puppet, name).__doc__ for name in puppet.__all__)
    assert set(puppet.__all__) <= set(dir(puppet))
    with pytest.raises(AttributeError, match='nothing'):
        puppet.nothing  # noqa: B018


def test_import_brings_nothing_heavy_and_retargeting_no_ros():
    code = (
        'import sys, puppet; before = set(sys.modules); '
        f'assert not before & set({HEAVY}); '
        "walk = puppet.load_clip('walk'); puppet.retarget(walk, 'sally'); "
        "assert not {'matplotlib', 'rclpy', 'viser'} & set(sys.modules); "
        "puppet.render(walk); assert not {'rclpy', 'viser'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, '-c', code], check=True)


@pytest.mark.parametrize('name', MODULES)
def test_examples_of_docstrings_are_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = import_module(f'puppet.{name}')
    names = {key: getattr(puppet, key) for key in puppet.__all__} | {'np': np}
    failed, tried = doctest.testmod(module, extraglobs=names)
    assert tried > 0 and failed == 0


def test_outcome_is_saved_for_whom_wants_it(short, tmp_path):
    sally = puppet.retarget(short, 'sally', prediction_s=0.2)
    sally.save(tmp_path / 'sally.bvh')
    again = puppet.load_clip(tmp_path / 'sally.bvh')
    assert again.n_frames == short.n_frames
    sally.save(tmp_path / 'sally.npz')
    with np.load(tmp_path / 'sally.npz') as data:
        assert float(np.squeeze(data['fps'])) == short.rate_hz
    names, angles = sally.joints()
    assert angles.shape == (30, len(names))
    assert sally.importance.shape == (30, 4) and np.all(sally.importance <= 1.0)


def test_solver_of_ones_own_is_used(short):
    class Still:
        name = 'still'

        def __init__(self, inner):
            self.inner, self.calls = inner, 0

        def solve(self, *given, **named):
            self.calls += 1
            return self.inner.solve(*given, **named)

        def repose(self, rows):
            self.inner.repose(rows)

    from puppet_retarget.solvers import make_solver, SolverConfig

    character, floor = puppet.load_character('sally'), puppet.load_environment()
    own = Still(make_solver('position', character, floor, 0.9, SolverConfig()))
    found = puppet.retarget(short, character, floor, own)
    assert own.calls > 30 and found.job.solver == 'still'


@pytest.mark.parametrize(
    'call, text',
    [
        (lambda m: puppet.load_clip('nothing.bvh'), 'nothing.bvh'),
        (lambda m: puppet.load_character('nobody'), 'character: expected one of blubby'),
        (lambda m: puppet.load_environment('nowhere'), 'environment: expected one of'),
        (lambda m: puppet.retarget(m, solver='magic'), 'solver: expected one of whole_body'),
        (lambda m: puppet.retarget(m, prediction=1), 'prediction'),
        (lambda m: puppet.retarget(m).save('x.txt'), 'path: expected a file of .bvh'),
        (lambda m: puppet.render(m, 'x.jpg'), 'path: expected a .png, .mp4 or .gif'),
        (lambda m: puppet.render([]), 'at least one motion'),
        (lambda m: puppet.enhance(m, {'nose': np.zeros((30, 3))}), 'nose'),
        (lambda m: puppet.enhance(m, {'left_hand': np.zeros((3, 3))}), r'left_hand: expected an'),
        (lambda m: puppet.filter_poses([0, 1], np.zeros((3, 1, 3)), np.zeros((2, 1, 4))), 'shape'),
        (
            lambda m: puppet.filter_poses([1, 0], np.zeros((2, 1, 3)), np.zeros((2, 1, 4))),
            'rising',
        ),
    ],
)
def test_bad_input_is_named(short, call, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PuppetError, match=text):
        call(short)


def test_filter_predicts_what_is_missing_and_follows_what_is_there():
    times = np.arange(200) / 100.0
    places = np.zeros((200, 1, 3))
    places[:, 0, 0] = 0.5 * times
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (200, 1, 1))
    places[120] = np.nan
    found = puppet.filter_poses(times, places, turns)
    assert abs(found.positions[120, 0, 0] - 0.5 * times[120]) < 2e-3
    assert abs(found.linear_velocities[-1, 0, 0] - 0.5) < 0.02


def test_page_shows_itself_in_a_notebook(short):
    pytest.importorskip('viser')
    page = puppet.view(short)
    try:
        assert page.address in page._repr_html_()
    finally:
        page.close()
