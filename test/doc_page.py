# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pages of the documentation as tests read and follow them."""

from collections.abc import Callable
import importlib
import re
import shlex
import subprocess
import sys

from puppet_setup.commands import COMMANDS, FAMILIES
import pytest
from source_tree import ROOT

PAGES = [ROOT / 'README.md', *sorted((ROOT / 'doc').rglob('*.md'))]

_BLOCK = re.compile(r'^```(\w*)\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r'(?<!`)`(\./puppet [^`]+)`')
_SHELL_ENDS = ('|', '&&', ';', '>', '&')


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of one language."""
    return [text for kind, text in _BLOCK.findall(page) if kind == language]


def prose(page: str) -> str:
    """Return a page without its code blocks."""
    return _BLOCK.sub('', page)


def commands(page: str) -> list[list[str]]:
    """Return the words of every command line in the sh blocks, without comments."""
    text = '\n'.join(blocks(page, 'sh')).replace('\\\n', ' ')
    words = [shlex.split(line, comments=True) for line in text.splitlines()]
    return [line for line in words if line]


def puppet_lines(page: str) -> list[list[str]]:
    """Return the words after ./puppet wherever a page names a command with it."""
    shown = [
        line[2:]
        for block in blocks(page, 'console')
        for line in block.replace('\\\n', ' ').splitlines()
        if line.startswith('$ ')
    ]
    found = [shlex.split(line, comments=True) for line in shown] + commands(page)
    found += [span.replace('\n', ' ').split() for span in _SPAN.findall(prose(page))]
    lines = []
    for words in found:
        while './puppet' in words:
            words = words[words.index('./puppet') + 1 :]
            ends = [k for k, word in enumerate(words) if word in _SHELL_ENDS]
            lines.append(words[: ends[0]] if ends else words)
    return lines


def module_name(package: str, program: str) -> str:
    """Return the module that a program of a package runs."""
    text = (ROOT / 'src' / package / 'setup.cfg').read_text()
    found = re.search(rf'  {program} = ({package}\.[\w.]+):main', text)
    assert found, f'{package} has no program {program}'
    return found[1]


def run_puppet(words: list[str], capsys: pytest.CaptureFixture[str], wanted: int = 0) -> str:
    """Run ./puppet with these arguments, without setting up; return what was printed."""
    name, *arguments = words
    if name == 'run':
        command = [sys.executable, '-m', module_name(*arguments[:2]), *arguments[2:]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == wanted, done.stderr
        return done.stdout
    command = FAMILIES[name][1][arguments.pop(0)] if name in FAMILIES else COMMANDS[name]
    main: Callable[[list[str]], int]
    main = importlib.import_module(module_name(command.package, command.program)).main
    capsys.readouterr()
    code = main([*command.leading, *arguments])
    told = capsys.readouterr()
    assert code == wanted, f'{" ".join(words)}: {told.out}{told.err}'
    return told.out
