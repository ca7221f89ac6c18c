# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Surfaces: slopes against differences, grids through their heights, files and their errors."""

import io
import os
import struct
import warnings

import numpy as np
from PIL import Image
from puppet_core.io import ConfigError, InputFileError
from puppet_edit.editor.constraints import normals
from puppet_edit.scene.doorway import Ceiling, Doorway
from puppet_edit.scene.surfaces import (
    FLOOR,
    FUNCTIONS,
    HeightField,
    MAX_CELLS,
    MAX_FILE_BYTES,
    read_height_field,
    read_heights,
    rough,
)
import pytest

STEP_M = 1e-5


def _difference(surface, x, y):
    return np.stack(
        (
            surface.height(x + STEP_M, y) - surface.height(x - STEP_M, y),
            surface.height(x, y + STEP_M) - surface.height(x, y - STEP_M),
        ),
        axis=-1,
    ) / (2.0 * STEP_M)


@pytest.mark.parametrize('name', [*FUNCTIONS, 'door', 'floor'])
def test_gradient_is_that_of_the_height(name, rng):
    if name == 'door':
        surface = Ceiling(Doorway((0.3, -0.2), 0.7, 1.5), rough(2))
    else:
        surface = FLOOR if name == 'floor' else FUNCTIONS[name]()
    x, y = rng.uniform(-3.0, 3.0, (2, 200))
    assert np.allclose(surface.gradient(x, y), _difference(surface, x, y), atol=2e-4)


def test_normals_are_square_to_the_slope(rng):
    surface = rough(3)
    x, y = rng.uniform(-5.0, 5.0, (2, 50))
    normal, slope = normals(surface, x, y), surface.gradient(x, y)
    assert np.allclose(np.linalg.norm(normal, axis=1), 1.0)
    assert np.allclose(normal[:, 0] + normal[:, 2] * slope[:, 0], 0.0, atol=1e-12)
    assert np.all(normal[:, 2] > 0.0)


def test_field_goes_through_its_heights_and_holds_its_edge(rng):
    heights = rng.uniform(0.0, 0.3, (5, 7))
    field = HeightField(heights, 0.5, (-1.0, 2.0))
    x, y = np.meshgrid(-1.0 + 0.5 * np.arange(7), 2.0 + 0.5 * np.arange(5))
    assert np.allclose(field.height(x, y), heights, atol=1e-12)
    assert np.isclose(field.height(-9.0, 2.5), heights[1, 0])
    assert field.gradient(np.array([-9.0]), np.array([2.5]))[0, 0] == 0.0


def test_rough_ground_is_as_rough_as_the_paper_says():
    """Control points vary over 1.2 body heights; the spline smooths them by 0.479 each way."""
    surface = rough(1, body_height_m=1.8, size_m=60.0)
    x, y = np.meshgrid(*[np.linspace(-25.0, 25.0, 200)] * 2)
    expected = 1.2 * 1.8 / np.sqrt(12.0) * 0.479
    assert np.isclose(surface.height(x, y).std(), expected, rtol=0.1)


@pytest.mark.parametrize(
    ('name', 'settings', 'text'),
    [
        ('sine', {'length_m': 0.0}, 'length_m: expected 0.001 <= value'),
        ('ramp', {'slope_deg': 89.0}, 'slope_deg: expected -60 <= value <= 60, got 89'),
        ('steps', {'edge_m': 1.0}, 'edge_m: expected 0 < value <= tread_m, got 1'),
    ],
)
def test_impossible_functions_are_refused(name, settings, text):
    with pytest.raises(ConfigError) as error:
        FUNCTIONS[name](**settings)
    assert text in str(error.value)


def test_all_files_give_the_same_field(tmp_path, rng):
    levels = rng.integers(0, 256, (6, 5))
    heights = levels / 255.0 * 0.4
    np.save(tmp_path / 'h.npy', heights)
    np.savetxt(tmp_path / 'h.csv', heights, delimiter=',', fmt='%.17g')
    Image.fromarray(levels[::-1].astype(np.uint8)).save(tmp_path / 'h.png')
    for suffix in ('npy', 'csv', 'png'):
        field = read_height_field(tmp_path / f'h.{suffix}', 0.2, (1.0, 2.0), white_m=0.4)
        assert np.allclose(field.heights, heights, atol=1e-12)
        assert field.origin_m == (1.0, 2.0)


@pytest.mark.parametrize(
    ('name', 'content', 'text'),
    [
        ('h.csv', b'1,2,3,4\n1,2,x,4\n', 'h.csv:2: expected numbers with commas'),
        ('h.csv', b'1,2,3,4\n1,2,3\n', 'h.csv:2: expected 4 heights, got 3'),
        ('h.csv', b'', 'got an empty file'),
        ('h.csv', b'1,2\n3,4\n', 'expected at least 4 rows and columns, got 2 x 2'),
        ('h.csv', b'1,2,3,nan\n' * 4, 'expected finite numbers'),
        ('h.npy', b'nothing', 'expected a readable .npy file'),
        ('h.png', b'nothing', 'expected a readable .png file'),
        ('h.obj', b'', 'expected a .npy, .csv, .png file'),
        ('none.npy', None, 'none.npy: expected'),
        ('none.csv', None, 'none.csv: expected'),
        ('none.png', None, 'none.png: expected'),
    ],
)
def test_bad_files_are_reported(tmp_path, name, content, text):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputFileError) as error:
        read_height_field(tmp_path / name, 0.1)
    assert text in str(error.value) and name in str(error.value)


def _npy(shape, descr="'<f8'"):
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header


def _png(picture):
    data = io.BytesIO()
    picture.save(data, 'PNG')
    return data.getvalue()


DAMAGED = 'expected a readable .npy file, got'


@pytest.mark.parametrize(
    ('name', 'content', 'text'),
    [
        ('h.npy', _npy('(500000, 400000)'), DAMAGED),
        ('h.npy', _npy('(6, 7)', "'O'"), DAMAGED),
        ('h.npy', _npy('(' * 9000), DAMAGED),
        ('h.csv', b',' * MAX_CELLS, f'expected at most {MAX_CELLS} heights, got more'),
        ('h.png', _png(Image.new('L', (6, 7), 100))[:-28], 'expected a readable .png file'),
        ('h.png', _png(Image.new('L', (3000, 2000))), 'got shape [2000, 3000]'),
        ('h.png', _png(Image.new('RGB', (6, 7))), 'a grey picture of 8 or 16 bits, got mode RGB'),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else '',
)
def test_hostile_files_are_reported_at_once(tmp_path, name, content, text):
    (tmp_path / name).write_bytes(content)
    with warnings.catch_warnings(), pytest.raises(InputFileError) as error:
        warnings.simplefilter('error')
        read_height_field(tmp_path / name, 0.1)
    assert text in str(error.value)
    assert '\n' not in str(error.value) and len(str(error.value)) < 500


def test_pipes_and_large_files_are_refused_unread(tmp_path):
    os.mkfifo(tmp_path / 'pipe.png')
    with open(tmp_path / 'large.npy', 'wb') as file:
        file.truncate(MAX_FILE_BYTES + 1)
    for name, text in (('pipe.png', 'a pipe'), ('large.npy', 'bytes')):
        with pytest.raises(InputFileError, match=text):
            read_heights(tmp_path / name)
