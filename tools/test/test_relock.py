# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The pin files' lines."""

from puppet_setup.relock import pin_lines


def test_one_version_is_one_line():
    same = {'tqdm': '4.70.1', 'apsw': '3.54.1.0'}
    assert pin_lines({'3.10': same, '3.11': same}) == ['apsw==3.54.1.0', 'tqdm==4.70.1']


def test_differing_versions_get_markers():
    lines = pin_lines(
        {
            '3.10': {'numpy': '2.2.6', 'tomli': '2.5.0'},
            '3.11': {'numpy': '2.4.6'},
            '3.12': {'numpy': '2.4.6'},
        }
    )
    assert lines == [
        "numpy==2.2.6 ; python_version in '3.10'",
        "numpy==2.4.6 ; python_version in '3.11 3.12'",
        "tomli==2.5.0 ; python_version in '3.10'",
    ]
