# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Measured noise of the sensors in a YAML file: R of each, as measure_noise writes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from puppet_core.arrays import Mat6, read_only
from puppet_core.atomic_file import write_text
from puppet_core.io.yaml_file import load_yaml
import yaml

FILE_FORMAT = 'puppet-sensor-noise/1'
HEADER = """\
# Measurement noise of tracker sensors: R of Shin2002 eq. 3.7, 6 x 6 row by row.
# Order: x y z [m], rotation vector x y z in the sensor's axes [rad].
"""


@dataclass(frozen=True, slots=True)
class SensorNoise:
    """R by sensor name."""

    matrices: Mapping[str, Mat6]
    """Symmetric positive definite, shape (6, 6) [m^2, m rad, rad^2]."""


def load_noise(path: str | Path) -> SensorNoise:
    """
    Read a noise file.

    Raises
    ------
    InputFileError : naming file, line and sensor, if a matrix is not a covariance.

    """
    tree = load_yaml(path, FILE_FORMAT)
    sensors = tree.section('sensors')
    matrices: dict[str, Mat6] = {}
    for name in sensors.keys():
        matrix = sensors.numbers(name, 36).reshape(6, 6)
        scale = np.sqrt(np.abs(np.diag(matrix)))
        if not np.allclose(matrix, matrix.T, atol=1e-6 * np.outer(scale, scale).max()):
            raise sensors.error(name, 'a symmetric 6 x 6 matrix', 'one that is not')
        if np.linalg.eigvalsh(matrix)[0] <= 0.0:
            raise sensors.error(name, 'a positive definite 6 x 6 matrix', 'one that is not')
        matrices[name] = read_only(0.5 * (matrix + matrix.T))
    tree.finish()
    return SensorNoise(matrices)


def save_noise(noise: SensorNoise, path: str | Path) -> None:
    """Write a noise file, all or nothing."""
    lines = [HEADER, f'format: {FILE_FORMAT}\n', 'sensors:\n']
    for name, matrix in noise.matrices.items():
        rows = [', '.join(f'{value:.6e}' for value in row) for row in matrix]
        key = yaml.safe_dump(name, default_style=None).split('\n')[0]
        lines.append(f'  {key}: [\n    ' + ',\n    '.join(rows) + ']\n')
    write_text(path, ''.join(lines))
