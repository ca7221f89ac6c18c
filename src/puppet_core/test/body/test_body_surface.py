# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Sample points of bodies: on the surface, symmetric, finite; and files of measured ones."""

import numpy as np
from puppet_core.body import surface
from puppet_core.body.capsules import segment_distance, shape_arrays
from puppet_core.body.character import Capsule, load_character
from puppet_core.body.skeleton import SEGMENT_INDEX, SEGMENTS
from puppet_core.io import ConfigError, InputFileError
import pytest

BUILT_IN = ('performer', 'sally', 'blubby', 'frog')
TORSO = ('pelvis', 'spine', 'chest')
SURFACE_TOL_M = 1e-9
FILE_TOL_M = 1e-6  # files have micrometres
MIRROR = np.array([1.0, -1.0, 1.0])
ROW = '[0.1, 0.0, 0.02]'


@pytest.fixture(params=BUILT_IN)
def body(request, characters_dir):
    return load_character(characters_dir / f'{request.param}.yaml')


def _rings(samples, segment):
    return samples[SEGMENT_INDEX[segment]].reshape(surface.N_RINGS, surface.N_ROUND, 3)


def _distances(body, samples, segments=SEGMENTS):
    """Return distances (n, 40) of samples from their own segments' capsules."""
    shape = shape_arrays(body.capsules)
    rows = [SEGMENT_INDEX[name] for name in segments]
    return np.array([[segment_distance(shape, s, p) for p in samples[s]] for s in rows])


def test_samples_of_limbs_are_where_the_body_ends(body):
    limbs = [name for name in SEGMENTS if name not in TORSO]
    distances = _distances(body, surface.surface_samples(body.skeleton, body.capsules), limbs)
    assert np.min(distances) > -SURFACE_TOL_M
    # between a frog's fingers a ray may find nothing: such points are on the axis
    assert np.mean(np.abs(distances) < SURFACE_TOL_M) > 0.95
    assert np.max(distances) < 0.01


def test_the_right_side_mirrors_the_left_row_by_row(body):
    samples = surface.surface_samples(body.skeleton, body.capsules)
    for name in SEGMENTS:
        other = SEGMENT_INDEX[name.replace('left_', 'right_')]
        if SEGMENT_INDEX[name] != other:
            mirrored = samples[SEGMENT_INDEX[name]] * MIRROR
            np.testing.assert_allclose(samples[other], mirrored, atol=SURFACE_TOL_M)


def test_a_round_limb_has_even_rings_of_its_radius(adult_character):
    skeleton = adult_character.skeleton
    arm = Capsule(SEGMENT_INDEX['left_forearm'], np.zeros(3), np.array([0.0, 0.5, 0.0]), 0.04)
    rings = _rings(surface.surface_samples(skeleton, [arm]), 'left_forearm')
    length = skeleton.limb_lengths[0, 1]
    shares = (np.arange(surface.N_RINGS) + 0.5) / surface.N_RINGS
    np.testing.assert_allclose(rings[:, :, 1], np.tile(length * shares, (surface.N_ROUND, 1)).T)
    np.testing.assert_allclose(np.linalg.norm(rings[:, :, [0, 2]], axis=2), 0.04)
    angles = np.unwrap(np.arctan2(rings[:, :, 2], rings[:, :, 0]), axis=1)
    np.testing.assert_allclose(angles[0], np.radians([0, 72, 144, 216, 288]), atol=1e-9)


def test_rings_reach_from_heel_to_toe_and_from_wrist_to_fingertips(body):
    samples = surface.surface_samples(body.skeleton, body.capsules)
    for name, axis in (('left_hand', 1), ('left_foot', 0)):
        own = [c for c in body.capsules if c.segment == SEGMENT_INDEX[name]]
        ends = np.array([(c.start[axis], c.end[axis]) for c in own])
        radii = np.array([[c.radius] for c in own])
        low = (ends - radii).min() if name == 'left_foot' else 0.0
        step = ((ends + radii).max() - low) / surface.N_RINGS
        rows = _rings(samples, name)[:, :, axis]
        np.testing.assert_allclose(rows[0], low + 0.5 * step, atol=SURFACE_TOL_M)
        np.testing.assert_allclose(np.diff(rows, axis=0), step, atol=SURFACE_TOL_M)


def test_measured_points_come_back(tmp_path, rng):
    path = tmp_path / 'body.yaml'
    measured = rng.uniform(-0.3, 0.3, size=(16, surface.N_SAMPLES, 3))
    surface.save_surface(measured, path, ('chest', 'left_hand'))
    loaded = surface.read_surface(path)
    assert set(loaded) == {'chest', 'left_hand'}
    for name, points in loaded.items():
        np.testing.assert_allclose(points, measured[SEGMENT_INDEX[name]], atol=FILE_TOL_M)


@pytest.mark.parametrize(
    ('segment', 'rows', 'text'),
    [
        ('tail', [], 'unknown.*left_hand'),
        ('head', [ROW] * 39, 'expected 40 points .*, got 39 of them'),
        ('head', [ROW] * 39 + ['[0.1, 0.2]'], r'got \[0.1, 0.2\] as point 39'),
        ('head', ['[0.1, .nan, 0.0]'] + [ROW] * 39, 'as point 0'),
        ('head', ['[120.0, 30.0, 0.0]'] + [ROW] * 39, 'within 3 m'),
        ('head', ['[yes, 0.0, 0.0]'] + [ROW] * 39, 'as point 0'),
    ],
)
def test_bad_points_are_named_with_file_line_and_segment(tmp_path, segment, rows, text):
    path = tmp_path / 'body.yaml'
    path.write_text(f'format: puppet-surface/1\npoints_m:\n  {segment}: [{", ".join(rows)}]\n')
    with pytest.raises(InputFileError, match=f'body.yaml:3: points_m.{segment}: .*{text}'):
        surface.read_surface(path)


@pytest.mark.parametrize('value', [np.nan, 5.0])
def test_points_that_cannot_be_are_not_written(tmp_path, value):
    path = tmp_path / 'body.yaml'
    samples = np.zeros((16, surface.N_SAMPLES, 3))
    samples[SEGMENT_INDEX['head'], 3, 1] = value
    with pytest.raises(ConfigError, match='head'):
        surface.save_surface(samples, path)
    assert not path.exists()
