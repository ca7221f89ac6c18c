# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Clip text: what is a number, what is text, and which errors say so."""

from puppet_core.clips.text import first_bad_word, parse_float, parse_floats, parse_int, read_text
from puppet_core.io import InputFileError
import pytest


@pytest.mark.parametrize('word', ['1', '-2.5', '+.5', '3.', '1e-5', '7.62852e-016', '-0'])
def test_numbers_of_clip_writers_are_read(word):
    assert parse_float(word) == float(word)


@pytest.mark.parametrize(
    'word', ['', 'nan', 'NaN', '-inf', '1e999', '1_000', '1,5', '0x10', '1.2.3', 'abc', '--1']
)
def test_only_finite_numbers_are_parsed(word):
    assert parse_float(word) is None
    assert parse_floats(['1.0', word]) is None
    assert first_bad_word(['1.0', word, 'x']) == 1


@pytest.mark.parametrize('word', ['1.0', '1e3', '', '-', '٣', '9' * 5000, 'x'])
def test_only_plain_integers_are_parsed(word):
    assert parse_int(word) is None
    assert parse_int('-12') == -12 and parse_int('+7') == 7


def test_line_ends_and_byte_order_mark_vanish(tmp_path):
    path = tmp_path / 'a.bvh'
    path.write_bytes(b'\xef\xbb\xbfone\r\ntwo\rthree\n\x1a')
    assert read_text(path, 'BVH') == 'one\ntwo\nthree\n '


def test_names_in_an_old_code_page_do_not_stop_the_reader(tmp_path):
    path = tmp_path / 'a.bvh'
    path.write_bytes('JOINT Hüfte'.encode('latin-1'))
    assert read_text(path, 'BVH').startswith('JOINT H')


@pytest.mark.parametrize(
    'data, text',
    [
        (b'', 'expected a BVH file, got an empty file'),
        (b' \r\n\t ', 'got an empty file'),
        (b'HIERARCHY\0', 'expected a BVH text file, got binary data'),
        (b'\x7fELF\x02\x01', 'got binary data'),
        ('HIERARCHY'.encode('utf-16'), 'got binary data'),
    ],
)
def test_file_that_is_not_text_is_refused(tmp_path, data, text):
    path = tmp_path / 'a.bvh'
    path.write_bytes(data)
    with pytest.raises(InputFileError, match=text):
        read_text(path, 'BVH')


@pytest.mark.parametrize('name', ['no.bvh', '.'], ids=['missing', 'a folder'])
def test_what_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(InputFileError, match='expected a readable BVH file'):
        read_text(tmp_path / name, 'BVH')
