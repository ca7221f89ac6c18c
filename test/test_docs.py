# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The documentation against the code: links, commands, options, messages, papers, examples."""

import argparse
import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
import re
import subprocess
import sys
from typing import Any

from doc_page import blocks, PAGES, prose, puppet_lines
import numpy as np
from puppet_bringup.process_table import arguments_of
from puppet_setup.commands import BUILT_IN, COMMANDS, FAMILIES
import pytest
from source_tree import name_of, python_files, ROOT
from tools.reference import module_of, parsers_of, programs

PAPERS, API = (ROOT / 'doc' / f'{name}.md' for name in ('papers', 'api'))
FORMATS = {
    'characters.md': 'puppet_core/puppet_core/body/character.py',
    'tutorial.md': 'puppet_retarget/puppet_retarget/importance/environment.py',
    'calibration.md': 'puppet_performer/puppet_performer/sensor_layout.py',
}
SAMPLE = 'data/clips/walk.bvh'
MAX_PICTURE_BYTES = 600_000
LINK = re.compile(r'!?\[[^\]]*\]\(([^)\s]+)\)')
WEB = re.compile(r'[a-z]+:')
MESSAGE = re.compile(r'^> `(.+)`$', re.MULTILINE)
BETWEEN = re.compile(r'\.\.|:? ?\bexpected |, got |; ')
LEAST_CHARACTERS = 4  # of a piece of a message that has to be found

EACH_PAGE = pytest.mark.parametrize('page', PAGES, ids=name_of)


def targets(page: Path) -> list[str]:
    """Return the addresses of a page's links and pictures but those on the web."""
    found = LINK.findall(prose(page.read_text()))
    return [target for target in found if not WEB.match(target)]


def anchors(page: Path) -> set[str]:
    """Return the names that a page's headings have as link targets, as GitHub makes them."""
    names: dict[str, int] = {}
    for heading in re.findall(r'^#+ (.+)$', prose(page.read_text()), re.MULTILINE):
        plain = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading).strip().lower()
        slug = re.sub(r'[^\w\- ]', '', plain).replace(' ', '-')
        names[slug] = names.get(slug, -1) + 1
    marked = set(re.findall(r'<a id="(.*?)">', page.read_text()))
    return marked | {f'{s}-{k}' if k else s for s, n in names.items() for k in range(n + 1)}


@EACH_PAGE
def test_links_lead_somewhere(page):
    """Files are there, and headings."""
    for target in targets(page):
        path, _, anchor = target.partition('#')
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f'{name_of(page)}: {target}'
        if anchor and file.suffix == '.md':
            assert anchor in anchors(file), f'{name_of(page)}: {target}'


def test_every_page_and_picture_is_reached_from_the_readme():
    """Nothing is written that nobody finds."""
    seen, waiting = set(), [PAGES[0]]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        if page.suffix != '.md':
            continue
        found = ((page.parent / target.partition('#')[0]).resolve() for target in targets(page))
        waiting += [file for file in found if file.is_file() and file not in seen]
    pictures = {*(ROOT / 'doc' / 'images').iterdir()}
    assert not {name_of(path) for path in {*PAGES, *pictures} - seen}
    assert max(picture.stat().st_size for picture in pictures) < MAX_PICTURE_BYTES


def options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the option strings of a parser and of those behind its subcommands."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from options_of(inner)


@cache
def known_options(package: str, program: str) -> frozenset[str]:
    """Return the option strings that a program reads; none for a node."""
    module = module_of(package, program) if package else import_module(program)
    return frozenset(o for p in parsers_of(module) for o in options_of(p))


def check_launch(words: list[str]) -> None:
    """Fail for arguments that a launch description does not have; --NAME is NAME:= too."""
    if not words or words[0].isupper():
        return
    known = {argument.name for argument in arguments_of(words[0])}
    given = {word.strip('\'"').partition(':=')[0] for word in words[1:] if ':=' in word}
    given |= {word[2:].replace('-', '_') for word in words[1:] if word.startswith('--')}
    assert known and given <= known, words


def check_command(words: list[str]) -> None:
    """Fail for words after ./puppet that are no command with options of its own."""
    if not words or words[0].isupper() or words[0] in ('test', 'setup', '--help', '--version'):
        return  # a placeholder, or a command whose arguments are others'
    name, *rest = words
    known = COMMANDS
    if name in FAMILIES:
        if not rest or rest[0].isupper():
            return
        _, known, built_in = FAMILIES[name]
        name, *rest = rest
        if name in built_in:
            return
    assert name in {*known, *BUILT_IN}, words
    if name == 'run':
        if not rest or rest[0].isupper():
            return
        package, program, *rest = rest
        assert (package, program) in programs(), words
    else:
        package, program = known[name].package, known[name].program
    if name == 'up':
        check_launch(rest)
        return
    if '--ros-args' in rest:
        rest = rest[: rest.index('--ros-args')]
    options = {word.partition('=')[0] for word in rest if word.startswith('--')}
    assert options - {'--help'} <= known_options(package, program), words


@EACH_PAGE
def test_commands_are_commands_and_options_their_options(page):
    for words in puppet_lines(page.read_text()):
        check_command(words)
    for module in re.findall(r'python3 -m (benchmarks[\w.]+)', page.read_text()):
        import_module(module)


@cache
def said_by_the_code() -> str:
    """Return all texts of the sources, what stands between the fields of f-strings by itself."""
    texts = [(ROOT / 'puppet').read_text()]
    for path in python_files():
        if 'test' not in path.relative_to(ROOT).parts[:-1]:
            tree = ast.parse(path.read_text())
            texts += [
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
    return '\n\0'.join(texts)


def test_quoted_messages_are_those_of_the_code():
    """Whoever searches the page for a message finds it; `..` stands for names and numbers."""
    messages = MESSAGE.findall((ROOT / 'doc' / 'troubleshooting.md').read_text())
    assert len(messages) > 30
    for message in messages:
        pieces = [piece for piece in BETWEEN.split(message) if len(piece) >= LEAST_CHARACTERS]
        assert pieces, message
        for piece in pieces:
            assert piece in said_by_the_code(), f'{message}: {piece!r}'


@pytest.mark.parametrize(('page', 'code'), FORMATS.items())
def test_each_key_of_a_kind_of_file_is_on_its_page(page, code):
    keys = re.findall(r"\.(?:text|numbers?|sections?)\('(\w+)'", (ROOT / 'src' / code).read_text())
    text = (ROOT / 'doc' / page).read_text()
    assert keys and not [key for key in keys if not re.search(rf'\b{key}\b', text)]


def test_each_equation_leads_to_the_function_that_has_it():
    """What a link of the papers' page names is defined in the file to which it leads."""
    links = re.findall(r'\[`(\w+)`\]\((.*?\.py)\)', PAPERS.read_text())
    assert len(links) > 70
    for name, path in links:
        text = (PAPERS.parent / path).read_text()
        assert re.search(rf'^ *(def|class) {name}\b|^{name}\b.* = ', text, re.MULTILINE), name


def test_each_erratum_of_the_papers_is_told():
    """Each number that code and tests cite is an item of the page."""
    items = {int(n) for n in re.findall(r'^\| (\d+) \|', PAPERS.read_text(), re.MULTILINE)}
    text = '\n'.join(path.read_text() for path in python_files())
    cited = {int(n) for n in re.findall(r'errata (\d+)', text)}
    assert items == set(range(1, max(items) + 1))
    assert cited <= items


def test_the_readme_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    section = (ROOT / 'README.md').read_text().partition('## In Python')[2]
    (code, *_), (shown, *_) = blocks(section, 'python'), blocks(section, '')
    exec(compile(code, 'README.md', 'exec'), {})
    number = re.compile(r'\d+\.\d+')
    printed = capsys.readouterr().out
    assert number.sub('#', printed) == number.sub('#', shown)
    found, told = (np.array(number.findall(text), dtype=float) for text in (printed, shown))
    np.testing.assert_allclose(found, told, atol=0.11)


def test_the_examples_of_the_interface_run(tmp_path, monkeypatch):
    """The Python of the page, one after the other, in a folder with the files it names."""
    monkeypatch.chdir(tmp_path)
    Path('data').symlink_to(ROOT / 'data')
    retarget = import_module('puppet_clips.cli').main
    assert retarget(['retarget', SAMPLE, 'session.mcap', '--character', 'sally']) == 0
    named = {}
    for text in blocks(API.read_text(), 'python'):
        names: dict[str, Any] = {}
        exec(compile(text, str(API), 'exec'), names)
        named[text.splitlines()[0][2:]] = names
    assert Path('sally.bvh').stat().st_size > 100_000
    mine, usual = named['feet_only.py']['result'], named['retarget.py']['sally'].result
    moved_m = abs(mine.puppet.end_effectors - usual.puppet.end_effectors)[:, :4].max(axis=(0, 2))
    assert (moved_m[:2] > 0.02).all() and (moved_m[2:] < 0.01).all()
    varied = named['higher_table.py']
    missed_m = np.linalg.norm(varied['higher'].end_effectors[:, :4] - varied['goals'], axis=-1)
    assert missed_m.max() < 1e-4 and varied['share'].max() == 1.0
    assert named['importance.py']['importance'].shape == (len(named['importance.py']['times']), 4)


def test_the_interface_shows_what_folders_export():
    faces = re.findall(r'^::: (\S+)\n.*\n +members: \[(.*)\]$', API.read_text(), re.MULTILINE)
    assert len(faces) > 6
    for face, members in faces:
        module = import_module(face)
        assert all(hasattr(module, name) for name in members.split(', ')), face


def test_the_site_is_built_strictly(tmp_path):
    """With every link and anchor; needs ./puppet setup --with docs."""
    pytest.importorskip('mkdocs', reason='needs ./puppet setup --with docs')
    command = [sys.executable, '-m', 'mkdocs', 'build', '--strict', '--site-dir', str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '../files/src/puppet_filter' in (tmp_path / 'papers' / 'index.html').read_text()
