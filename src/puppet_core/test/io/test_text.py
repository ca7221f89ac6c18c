# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Errors, and whatever a file says in one short line that commands no terminal."""

from puppet_core.io.errors import brief, InputFileError, listed, printable
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


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        ({None: 1, 3: 2, 9**9999: 3}, 'the keys None, 3, a very large integer'),
        ({'k' * 50: 1}, 'the keys ' + 'k' * 17 + '..'),
        ({9**9999}, 'a very large integer'),
        ([(1, 9**9999), 'x'], "[a very large integer, 'x']"),
    ],
)
def test_any_value_has_a_brief_text(value, text):
    assert brief(value) == text


def test_of_many_keys_the_first_are_listed():
    assert listed(('a', 'b')) == 'a, b'
    text = listed([f'{i}' * 99 for i in range(9999)])
    assert text.endswith(', ..') and len(text) < 4000


@pytest.mark.parametrize(
    ('text', 'shown'),
    [
        ('/tracker/raw: 5 mm, 3°\nnext', '/tracker/raw: 5 mm, 3°\nnext'),
        ('', ''),
        ('\x1b[31m', '\\x1b[31m'),
        ('a\rb\tc', 'a\\rb\\tc'),
        ('\x9b2J\x7f', '\\x9b2J\\x7f'),
        ('\u202eabc', '\\u202eabc'),
        ('\ud800', '\\ud800'),
    ],
)
def test_control_characters_are_escaped(text, shown):
    assert printable(text) == shown
