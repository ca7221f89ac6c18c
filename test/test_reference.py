# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""doc/reference/: what the code gives, whole, and how its parts are read."""

import re

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from source_tree import ROOT  # noqa: E402,I100
from tools import reference  # noqa: E402
from tools.reference import cell, table  # noqa: E402


@pytest.fixture(scope='module')
def pages():
    return reference.reference_pages()


@pytest.fixture(scope='module')
def page(pages):
    return '\n'.join(pages.values())


def test_the_pages_are_what_the_code_gives(pages):
    """If this fails: ./puppet dev reference --write."""
    for path, text in pages.items():
        assert (ROOT / path).read_text(encoding='utf-8') == text


def test_the_page_is_nobodys_own(page):
    """Nothing of this machine is in it, every row has its cells, and each anchor is one."""
    for word in (str(ROOT), '/tmp'):
        assert word not in page
    lines = [*page.splitlines(), '']
    for i, line in enumerate(lines):
        if line.startswith('| ---'):
            n = lines[i - 1].replace('\\|', '').count('|')
            for row in lines[i : lines.index('', i)]:
                assert row.replace('\\|', '').count('|') == n, row
    anchors = re.findall(r'id="(.*?)"', page)
    assert len(anchors) == len({*anchors}) > 100


def test_cells_hold_what_would_be_markup():
    assert cell('a <b> | *c*\n  `<d>`') == 'a &lt;b> \\| \\*c\\* `<d>`'
    assert table(['a', 'b'], [['1', '2']]) == ['| a | b |', '| --- | --- |', '| 1 | 2 |', '']
