# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Faults on purpose and repeatably: bad samples, lost records."""

from dataclasses import asdict, dataclass

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import Floats, quaternions

OUTLIER_M = 0.3  # standard deviation per axis of a wild sample
OUTLIER_RAD = 0.5


@dataclass(frozen=True, slots=True)
class FaultRates:
    drop_out: float = 0.0  # That a record is not sent, per record
    outlier: float = 0.0  # That a sample is far off, per record

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 0.0 <= value <= 1.0:
                raise ConfigError(f'{name}: expected 0.0 <= value <= 1.0, got {value}')


class Faults:
    def __init__(self, rates: FaultRates, seed: int) -> None:
        self._rates = rates
        self._rng = np.random.default_rng((seed, 1))

    def add_outliers(self, poses: Floats) -> Floats:
        """Return poses (..., 7) of which some are far off."""
        if self._rates.outlier == 0.0:
            return poses
        wild = self._rng.random(poses.shape[:-1]) < self._rates.outlier
        thrown = poses.copy()
        n_wild = int(wild.sum())
        thrown[wild, :3] += self._rng.normal(0.0, OUTLIER_M, (n_wild, 3))
        turns = quaternions.exp(self._rng.normal(0.0, OUTLIER_RAD, (n_wild, 3)))
        thrown[wild, 3:] = quaternions.multiply(thrown[wild, 3:], turns)
        return thrown

    def drops(self, n_ticks: int, n_sensors: int) -> np.ndarray:
        """Return which records are not sent, bool, shape (n_ticks, n_sensors)."""
        if self._rates.drop_out == 0.0:
            return np.zeros((n_ticks, n_sensors), dtype=bool)
        return self._rng.random((n_ticks, n_sensors)) < self._rates.drop_out
