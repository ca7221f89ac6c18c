# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Reports are strict JSON, whatever numbers they are made of."""

import json

import numpy as np
from puppet_retarget.offline.motion_report import plain, report_text, write_report
import pytest


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        (float('nan'), None),
        (float('inf'), None),
        (np.float64('nan'), None),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        ('nan', 'nan'),
        (None, None),
        ((1, 2.5), [1, 2.5]),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        ({'a': {'b': -np.inf}}, {'a': {'b': None}}),
    ],
)
def test_values_become_what_json_has(value, expected):
    assert plain(value) == expected
    assert json.loads(report_text(value)) == expected


def test_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / 'r.json'
    path.write_text('old')
    with pytest.raises(TypeError):
        write_report({'a': object()}, path)
    assert path.read_text() == 'old'
    write_report({'a': 1}, path)
    assert json.loads(path.read_text()) == {'a': 1}
    assert list(tmp_path.iterdir()) == [path]
