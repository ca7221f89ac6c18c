# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""doc/reference.md: what the code gives, whole, and how its parts are read."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_bringup import reference  # noqa: E402,I100
from puppet_bringup.process_table import ARGUMENTS  # noqa: E402
from puppet_bringup.reference import cell, table  # noqa: E402
from puppet_core.io import ConfigError, Row  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
MESSAGES = sorted((ROOT / 'src' / 'puppet_msgs').glob('*/*.[ms][sr][gv]'))


@pytest.fixture(scope='module')
def page():
    return reference.reference_text(ROOT)


def test_the_page_is_what_the_code_gives(page):
    """If this fails: ./puppet dev reference --write."""
    assert (ROOT / reference.PAGE).read_text(encoding='utf-8') == page


def test_the_page_is_nobodys_own(page):
    """Nothing of this machine or checkout is in it, and every row of a table has its cells."""
    for word in (str(ROOT), '/tmp'):
        assert word not in page
    lines = [*page.splitlines(), '']
    for i, line in enumerate(lines):
        if line.startswith('| ---'):
            n = lines[i - 1].replace('\\|', '').count('|')
            for row in lines[i : lines.index('', i)]:
                assert row.replace('\\|', '').count('|') == n, row


def test_every_message_is_in_it_as_its_file_is(page):
    assert len(MESSAGES) > 5
    for path in MESSAGES:
        start = page.index(f'### puppet_msgs/{path.parent.name}/{path.stem}\n')
        assert path.read_text().strip() in page[start : page.find('\n### ', start)]


def test_every_launch_argument_and_command_is_in_it(page):
    for argument in ARGUMENTS:
        assert f'| `{argument.name}` |' in page[page.index('## Launch arguments') :]
    commands = import_module(reference.COMMANDS)
    for name in commands.COMMANDS:
        assert f'\n### ./puppet {name}\n' in page
    names = [*commands.COMMANDS, *commands.BUILT_IN]
    assert all(f'| `./puppet {name}` |' in page for name in names)


def test_cells_hold_what_would_be_markup():
    assert cell('a <b> | *c*\n  `<d>`') == 'a &lt;b> \\| \\*c\\* `<d>`'
    assert table(['a', 'b'], [['1', '2']]) == ['| a | b |', '| --- | --- |', '| 1 | 2 |', '']


def test_a_node_without_rows_is_an_error(monkeypatch):
    module = ModuleType('puppet_new')
    monkeypatch.setattr(reference, 'node_module', lambda _: module)
    with pytest.raises(ConfigError, match='expected one name that ends in ROWS, got 0'):
        reference.rows_of('new')
    vars(module).update(A_ROWS=(Row('a', 1),), B_ROWS=(Row('b', 1),))
    with pytest.raises(ConfigError, match='got 2'):
        reference.rows_of('new')


def test_check_tells_what_differs(tmp_path, page, monkeypatch, capsys):
    """In a checkout of its own, whose page is written, then changed; made once, without nodes."""
    monkeypatch.setattr(reference, 'reference_text', lambda _: page)
    monkeypatch.setattr(reference, 'current_policy', lambda: 'a policy\n')
    (tmp_path / 'tools').symlink_to(ROOT / 'tools')
    (tmp_path / 'src').symlink_to(ROOT / 'src')
    (tmp_path / 'doc').mkdir()
    monkeypatch.chdir(tmp_path / 'doc')
    assert reference.main(['--check']) == 1
    assert reference.main(['--write']) == 0 and reference.main(['--check']) == 0
    file = tmp_path / 'doc' / 'reference.md'
    assert file.read_text() == page
    assert (tmp_path / reference.POLICY).read_text() == 'a policy\n'
    capsys.readouterr()
    file.write_text(page.replace('| `/importance` |', '| `/import` |'))
    assert reference.main(['--check']) == 1
    said = capsys.readouterr()
    assert '-| `/import` |' in said.out and 'write it with: ./puppet dev reference' in said.err
    assert reference.main([]) == 0 and capsys.readouterr().out == page
