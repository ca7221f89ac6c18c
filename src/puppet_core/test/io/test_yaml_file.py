# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""YAML with line numbers: every complaint names file, line and key; no input is costly."""

import time

import numpy as np
from puppet_core.io.errors import InputFileError
from puppet_core.io.yaml_file import dump_yaml, load_yaml, MAX_FILE_BYTES
import pytest

HOSTILE_LIMIT_S = 60.0  # a bomb takes years or all memory; a refusal takes milliseconds


@pytest.fixture
def load(tmp_path):
    """Return a function that loads text (after a good format line) or raw bytes."""

    def run(content):
        path = tmp_path / 'test.yaml'
        data = content if isinstance(content, bytes) else f'format: t/1\n{content}'.encode()
        path.write_bytes(data)
        return load_yaml(path, 't/1')

    return run


def test_values_come_typed(load):
    source = load('a: 1\nb: [1, 2.5, 1e-3]\nc: word\n')
    assert source.number('a') == 1.0
    np.testing.assert_array_equal(source.numbers('b', 3), [1.0, 2.5, 1e-3])
    assert source.text('c', choices=['word', 'other']) == 'word'
    source.finish()


@pytest.mark.parametrize('text', ['1e-3', '+1E5', '-2.5e+3', '1_000', '.5', '5.', '0x10'])
def test_numbers_may_be_written_in_every_usual_way(load, text):
    assert isinstance(load(f'a: {text}').number('a'), float)


@pytest.mark.parametrize(
    'text, get, line, words',
    [
        ('a: x\n', lambda s: s.number('a'), 2, "a: expected a finite number, got 'x'"),
        ('a: .nan\n', lambda s: s.number('a'), 2, 'a: expected a finite number, got nan'),
        ('\na: .inf\n', lambda s: s.number('a'), 3, 'a: expected a finite number, got inf'),
        ('a: yes\n', lambda s: s.number('a'), 2, 'a: expected a finite number, got True'),
        ('a: 3\n', lambda s: s.number('a', high=2, low=0), 2, 'a number in 0 .. 2, got 3'),
        ('a: 0\n', lambda s: s.number('a', above=0), 2, 'a number > 0, got 0'),
        ('a: [1, .nan]\n', lambda s: s.numbers('a', 2), 2, '2 finite numbers, got [1, nan]'),
        ('a: [1]\n', lambda s: s.numbers('a', 2), 2, '2 finite numbers, got [1]'),
        ('a: 0x' + 'f' * 5000, lambda s: s.number('a'), 2, 'got a very large integer'),
        ('a: {b: {c: 1}}', lambda s: s.number('a'), 2, 'got the keys b'),
        ('a: [1]\n', lambda s: s.text('a'), 2, 'a: expected a text, got [1]'),
        ('a: n\n', lambda s: s.text('a', choices=['p', 'q']), 2, "one of p, q, got 'n'"),
        ('a: 1\n', lambda s: s.section('a'), 2, 'a: expected named keys, got 1'),
        ('a:\n  - 1\n', lambda s: s.sections('a'), 2, 'a list of entries with named keys'),
        ('b: 1\n', lambda s: s.raw('a'), 1, 'a: expected this key, got no such key'),
        ('b: 1\n', lambda s: s.finish(), 2, 'b: expected a known key, got an unknown one'),
    ],
)
def test_complaints_name_line_key_and_both_sides(load, text, get, line, words):
    with pytest.raises(InputFileError) as caught:
        get(load(text))
    assert caught.value.line == line
    assert words in str(caught.value)
    assert str(caught.value).startswith(f'{caught.value.path}:{line}: ')


def test_nested_keys_are_named_by_their_path_and_own_line(load):
    source = load('outer:\n  inner:\n  - {x: 1}\n  - x: 2\n    y: bad\n')
    entry = source.section('outer').sections('inner')[1]
    assert entry.line == 5
    with pytest.raises(InputFileError, match=r':6: outer\.inner\[1\]\.y: expected') as caught:
        entry.number('y')
    assert caught.value.field == 'outer.inner[1].y'


@pytest.mark.parametrize(
    'text, line, words',
    [
        ('a: 1\na: 2\n', 3, "the key 'a', repeated"),
        ('a: 1\nb: {c: 1, c: 2}\n', 3, "the key 'c', repeated"),
        ('no: 1\n', 2, 'the key False'),
        ('[1]: 1\n', 2, 'the key [1]'),
        ('a: 1\n\tb: 2\n', 3, "character '\\t'"),
        ('a: [1, 2\nb: 3\n', 3, 'expected'),
        ('a: 1\n---\nb: 2\n', 3, 'another document'),
        ('a: 0x_\n', 2, 'an unreadable value'),
        ('a: !!python/object:os.system x\n', 2, 'a value with the tag'),
        ('a: !!timestamp x\n', 2, 'a value with the tag'),
        ('a: !!int x\n', 2, 'an unreadable value'),
        ('a: !!bool x\n', 2, 'an unreadable value'),
        ('a: !!int ""\n', 2, 'an unreadable value'),
        ('a: "\\UFFFFFFFF"\n', 2, 'an unreadable text'),
        ('a: *nothing\n', 2, 'the alias *nothing;'),
        ('a: &x [*x]\n', 2, 'the alias *x;'),
        ('a: &x 1\n\nb: {c: *x}\n', 4, 'the alias *x; write the value itself there'),
    ],
)
def test_only_plain_yaml_is_accepted(load, text, line, words):
    with pytest.raises(InputFileError) as caught:
        load(text)
    assert words in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize(
    'data, line, words',
    [
        (b'', 1, 'the first format: t/1, got nothing'),
        (b'# only a comment\n', 1, 'got nothing'),
        (b'- 1\n', 1, 'named keys'),
        (b'a: 1\n', 1, 'format: expected this key'),
        (b'format: t/2\n', 1, "format: expected one of t/1, got 't/2'"),
        (b'format: t/1\na: \xe4\n', 2, 'UTF-8 text, got byte 0xe4'),
        ('format: t/1\n'.encode('utf-16'), 1, 'UTF-8 text'),
        (b'format: t/1\n\na: \x07\n', 3, 'printable text'),
        (b'format: t/1\na: \x00\n', 2, 'printable text'),
    ],
)
def test_files_of_another_kind_are_refused(load, data, line, words):
    with pytest.raises(InputFileError) as caught:
        load(data)
    assert words in str(caught.value)
    assert caught.value.line == line
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize('name', ['absent.yaml', '.'])
def test_an_unreadable_path_is_an_input_error(tmp_path, name):
    with pytest.raises(InputFileError, match='expected a readable file, got'):
        load_yaml(tmp_path / name, 't/1')


@pytest.mark.parametrize('level', ['[{}]', '{{<<: [{}]}}'], ids=['lists', 'merge keys'])
def test_nested_aliases_cost_nothing(load, level):
    """Sixty levels of nine stand for more values than there are atoms."""
    began = time.monotonic()
    lines = ['a0: &a0 {k: 1}']
    lines += [f'a{i}: &a{i} ' + level.format(', '.join([f'*a{i - 1}'] * 9)) for i in range(1, 60)]
    with pytest.raises(
        InputFileError,
        match=r'test\.yaml:3: expected valid YAML, got the alias'
        r' \*a0; write the value itself there$',
    ):
        load('\n'.join(lines))
    assert time.monotonic() - began < HOSTILE_LIMIT_S


def test_repeated_values_are_written_without_aliases(load):
    shared = [1.0, 2.0]
    text = dump_yaml({'a': shared, 'b': {'c': shared}})
    assert load(text).section('b').numbers('c', 2).tolist() == shared


@pytest.mark.parametrize(
    'text',
    [
        'a: [' + 'x, ' * 20_000 + ']',
        'a: {' + ''.join(f'k{i}: 1, ' for i in range(4000)) + '}',
        'a: ' + 'x' * 100_000,
        'k' * 900 + ': 1',
        ''.join(f'k{i}: 1\n' for i in range(4000)),
    ],
    ids=lambda text: text[:9],
)
def test_long_values_and_keys_give_a_short_line(load, text):
    source = load(f'{text}\nother: 1')
    for read in (lambda: source.number('a'), source.finish):
        with pytest.raises(InputFileError) as caught:
            read()
        assert len(str(caught.value)) < 1000


def test_a_very_large_file_is_refused_unread(load):
    with pytest.raises(InputFileError, match=f'at most {MAX_FILE_BYTES} bytes'):
        load('a: 1\n' + '#' * MAX_FILE_BYTES)
