# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The wording of errors."""

from puppet_core.io.errors import (
    CalibrationError,
    ConfigError,
    InputFileError,
    PuppetError,
    SolverError,
)
import pytest


@pytest.mark.parametrize(
    'arguments, text',
    [
        (('walk.bvh', '96 values', '95', 41), 'walk.bvh:41: expected 96 values, got 95'),
        (('a.yaml', 'a number', "'x'"), "a.yaml: expected a number, got 'x'"),
        (('a.yaml', 'm', 'n', 3, 'radius_m'), 'a.yaml:3: radius_m: expected m, got n'),
        (('a.yaml', 'm', 'n', None, None, 'try k'), 'a.yaml: expected m, got n; try k'),
    ],
)
def test_input_file_error_reads_place_expected_got_hint(arguments, text):
    assert str(InputFileError(*arguments)) == text


def test_input_file_error_carries_its_place():
    error = InputFileError('a.yaml', 'x', 'y', 7, 'name')
    assert (error.path.name, error.line, error.field) == ('a.yaml', 7, 'name')
    assert isinstance(error, ValueError)


@pytest.mark.parametrize('kind', [ConfigError, CalibrationError, SolverError, InputFileError])
def test_every_error_is_a_puppet_error(kind):
    assert issubclass(kind, PuppetError)
