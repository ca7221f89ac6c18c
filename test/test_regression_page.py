# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""doc/bags.md from Compare on, word for word: its commands run, its files are used."""

import json
import os
from pathlib import Path
import re
import subprocess
import sys

from doc_page import blocks, commands, run_puppet
from source_tree import ROOT

PAGE = (ROOT / 'doc' / 'bags.md').read_text().partition('## Compare')[2]
EXIT_CODES = {'compare before.mcap after.mcap --html': 1}  # what differs is the lesson


def run_pytest(arguments: list[str]) -> None:
    """Run pytest in the folder of the page."""
    command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', *arguments]
    clean = {'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1', 'PYTEST_ADDOPTS': ''}
    done = subprocess.run(
        command, env=os.environ | clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_page_is_followed_from_recording_to_plugin(tmp_path, monkeypatch, capsys):
    """Every command ends as it should, and the comparison says what the page says."""
    monkeypatch.chdir(tmp_path)
    named = {
        text.splitlines()[0][2:]: text
        for kind in ('yaml', 'python')
        for text in blocks(PAGE, kind)
        if text.startswith('# ')
    }
    assert set(named) == {'tolerances.yaml', 'conftest.py', 'test_walk.py'}
    for name, text in named.items():
        Path(name).write_text(text)
    Path('pytest.ini').write_text('[pytest]\n')
    said = {}
    for words in commands(PAGE):
        if words[0] == 'pytest':
            run_pytest(words[1:])
        else:
            line = ' '.join(words[1:])
            wanted = next((c for start, c in EXIT_CODES.items() if line.startswith(start)), 0)
            said[line] = run_puppet(words[1:], capsys, wanted)
    made = {path.name for path in tmp_path.iterdir()}
    assert made >= {'walk.mcap', 'after.mcap', 'difference.html', 'difference.xml', 'goldens'}
    told = next(text for line, text in said.items() if line.startswith('compare')).splitlines()
    for line, written in zip(told, blocks(PAGE, 'text')[0].splitlines()):
        # figures of another machine may be others
        words = [
            re.sub(r'[\d.]+', lambda _: r'[\d.]+', word) if word != '..' else '.*'
            for word in written.split()
        ]
        assert re.fullmatch(' '.join(words), line), line
    report = json.loads(Path('difference.json').read_text())
    assert report['origin'] == '/importance'
