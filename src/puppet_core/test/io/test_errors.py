# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The wording of errors."""

from puppet_core.io.errors import (
    InputFileError,
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
