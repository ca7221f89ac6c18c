# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The command line of a bench: its grammar, and its figures as printed."""

import argparse
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
import platform
import shlex
import sys

from puppet_core.io import CommandParser, ConfigError, EXIT_OK, run_command, write_text

ROOT = Path(__file__).resolve().parents[1]
Run = Callable[[argparse.Namespace], str]


def bench_parser(
    name: str,
    description: str,
    example: str,
    add_arguments: Callable[[argparse.ArgumentParser], None],
) -> CommandParser:
    """Return the grammar of a bench."""
    parser = CommandParser(prog=f'puppet bench {name}', epilog=example, description=description)
    add_arguments(parser)
    parser.add_argument(
        '--write-docs',
        nargs='?',
        const=name,
        metavar='BLOCK',
        help='also insert the tables at the marks of this block in doc/; default: the block of '
        'this bench',
    )
    return parser


def bench_command(
    parser: argparse.ArgumentParser, run: Run, argv: Sequence[str] | None = None
) -> int:
    """Measure, print what `run` returns; return the exit code."""
    program = parser.prog.removeprefix('./')

    def command() -> int:
        options = parser.parse_args(argv)
        text = run(options)
        print(text)
        if options.write_docs:
            words = [word for word in argv or sys.argv[1:] if not word.startswith('--write-docs')]
            write_docs(ROOT / 'doc', options.write_docs, f'{program} {_shown(words)}', text)
        return EXIT_OK

    return run_command(program, command)


def write_docs(folder: Path, block: str, command: str, text: str) -> None:
    """Put what a bench printed between the marks of a block in one of a folder's pages."""
    begin, end = f'<!-- bench {block} -->\n', '<!-- end bench -->\n'
    pages = {page: page.read_text() for page in sorted(folder.glob('*.md'))}
    found = [page for page, written in pages.items() if begin in written]
    if not found:
        raise ConfigError(f'--write-docs: expected a block of {folder}, got {block!r}')
    before, _, rest = pages[found[0]].partition(begin)
    shown = text if text.startswith('|') else f'```text\n{text}\n```'
    head = f'`./{command.strip()}` ({processor()}, {date.today()}):'
    after = rest.partition(end)[2]
    write_text(found[0], f'{before}{begin}\n{head}\n\n{shown}\n\n{end}{after}')


def processor() -> str:
    """Return the processor's name where the system has it."""
    try:
        lines = Path('/proc/cpuinfo').read_text(encoding='utf-8', errors='replace').splitlines()
    except OSError:
        lines = []
    names = [line.partition(':')[2].strip() for line in lines if line.startswith('model name')]
    return names[0] if names else platform.processor() or platform.machine()


def _shown(words: Sequence[str]) -> str:
    """Return arguments as text, paths outside the repository by their last name."""
    return shlex.join(Path(word).name if Path(word).is_absolute() else word for word in words)
