# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""doc/index.md and doc/tutorial.md, followed word for word in one folder."""

from pathlib import Path
import re

from doc_page import blocks, commands, run_puppet
from puppet_view.render import command_render
import pytest
from source_tree import ROOT

QUICK_START, TUTORIAL = (
    (ROOT / 'doc' / f'{name}.md').read_text() for name in ('index', 'tutorial')
)
WRITTEN = {'my_tracker.yaml', 'imp.yaml', 'stage.yaml'}


@pytest.mark.slow
def test_the_pages_are_followed(tmp_path, monkeypatch, capsys):
    """Every command without a prompt runs, the tutorial's from the files of the quick start."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command_render, 'PICTURE_PX', 400)
    named = {text.splitlines()[0][2:]: text for text in blocks(TUTORIAL, 'yaml')}
    assert set(named) == WRITTEN
    for name, text in named.items():
        Path(name).write_text(text)
    said: dict[str, str] = {}
    for words in commands(QUICK_START) + commands(TUTORIAL):
        line = ' '.join(words[1:])
        if line not in said:  # the tutorial begins as the quick start does
            said[line] = run_puppet(words[1:], capsys)
    written = blocks(QUICK_START, 'text')[0].splitlines()[0]
    told = next(text for line, text in said.items() if 'report.json' in line)
    # figures of another machine may be others
    assert re.search(re.sub(r'[\d.]+', r'[\\d.]+', re.escape(written).replace(r'\.', '.')), told)
    wanted = 'd_0.2 feet first imp imp_in_our_world lambda_0.15 reach_0.2 six stage'.split()
    assert sorted(path.stem for path in tmp_path.glob('*.png')) == wanted
