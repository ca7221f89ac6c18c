# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a pose filter is set up with: its parameters, and the noise file that they name."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from puppet_core.errors import ConfigError, InputFileError
from puppet_filter.noise_file import load_noise, SensorNoise
from puppet_filter.parameters import make_config, PoseFilterConfig


class Tuning(NamedTuple):
    """Parameters and measured noise, always taken together."""

    parameters: PoseFilterConfig
    """Checked values of ROWS."""

    noise: SensorNoise
    """R of the sensors in `noise.file`; of none without a file."""


def load_tuning(values: Mapping[str, Any]) -> Tuning:
    """
    Return the tuning of checked parameter values, the noise file read.

    Raises
    ------
    ConfigError : for an impossible combination, or a noise file that cannot be used.

    """
    config = make_config(values)
    if not config.noise_file:
        return Tuning(config, SensorNoise({}))
    try:
        return Tuning(config, load_noise(config.noise_file))
    except InputFileError as err:
        raise ConfigError(f'noise.file: {err}') from err
