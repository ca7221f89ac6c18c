# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""noise_file: round trip, and files that are no covariances."""

from pathlib import Path

import numpy as np
from puppet_core.io import InputFileError
from puppet_filter.sensor_noise import load_noise, save_noise, SensorNoise
import pytest


def covariance(rng: np.random.Generator) -> np.ndarray:
    """Return a covariance of the size of a tracker's noise."""
    a = rng.normal(size=(6, 6))
    return 1e-7 * (a @ a.T + np.eye(6))


def test_round_trip_keeps_names_and_numbers(tmp_path: Path, rng: np.random.Generator) -> None:
    noise = SensorNoise({name: covariance(rng) for name in ('pelvis', 'left hand: a', 'no')})
    save_noise(noise, tmp_path / 'noise.yaml')
    loaded = load_noise(tmp_path / 'noise.yaml')
    assert list(loaded.matrices) == list(noise.matrices)
    for name, matrix in noise.matrices.items():
        np.testing.assert_allclose(loaded.matrices[name], matrix, rtol=1e-5, atol=1e-13)


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        (('1.000000e-06', '.nan'), r'noise\.yaml:\d+: sensors\.a: expected 36 finite numbers'),
        (('puppet-sensor-noise/1', 'x/1'), 'expected one of puppet-sensor-noise/1'),
        (('1.000000e-06, 0.000000e+00', '1.000000e-06, 5.0e-07'), 'expected a symmetric'),
        (('1.000000e-06', '-1.0e-06'), 'expected a positive definite'),
        (('\nsensors:', '\nsensor:'), 'sensors: expected this key'),
    ],
)
def test_bad_file_is_refused_with_line_and_sensor(
    tmp_path: Path, change: tuple[str, str], text: str
) -> None:
    path = tmp_path / 'noise.yaml'
    save_noise(SensorNoise({'a': 1e-6 * np.eye(6)}), path)
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(InputFileError, match=text):
        load_noise(path)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match='none.yaml: expected a readable file'):
        load_noise(tmp_path / 'none.yaml')
