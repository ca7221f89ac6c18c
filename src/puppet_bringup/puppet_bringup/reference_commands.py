# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Commands and programs with their options, from the parsers that read them."""

import argparse
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
import re
from types import ModuleType
from typing import Any

from puppet_bringup.reference_markdown import cell, code, table
from puppet_core.errors import ConfigError

PARSERS = ('parser', 'make_parser')
"""Functions of a program's module, the first of which returns its parser."""

_SAID_TWICE = re.compile(r'(?:^|[;,] |, which is )default (?:is )?\S+$')

MORE_PARSERS = 'MORE_PARSERS'
"""Tuple in a program's module: functions that return what else it may read its arguments with."""


def module_of(package: str, program: str) -> ModuleType:
    """
    Return the module of an installed program.

    Raises
    ------
    ConfigError : if it is not installed.

    """
    for entry in entry_points(group='console_scripts', name=program):
        if entry.module.split('.')[0] == package:
            return import_module(entry.module)
    raise ConfigError(f'{package} {program}: expected an installed program, found none')


def programs() -> list[tuple[str, str]]:
    """Return package and name of every installed program of the suite, sorted."""
    found = {
        (entry.module.split('.')[0], entry.name)
        for entry in entry_points(group='console_scripts') if entry.module.startswith('puppet_')
    }  # fmt: skip
    return sorted(found)


def parsers_of(module: ModuleType) -> list[argparse.ArgumentParser]:
    """Return the parsers of a program; none for a node, whose arguments are ROS's."""
    makers = [getattr(module, name) for name in PARSERS if hasattr(module, name)][:1]
    return [make() for make in (*makers, *getattr(module, MORE_PARSERS, ()))]


def command_lines(commands: Any) -> list[str]:
    """Return the sections of all commands; `commands` is the module puppet_setup.commands."""
    lines = ['| command | does |', '| --- | --- |']
    rows = {name: command.summary for name, command in commands.COMMANDS.items()}
    rows |= commands.BUILT_IN
    every = dict(commands.COMMANDS)
    for family, (_, inner, built_in) in commands.FAMILIES.items():
        every |= {f'{family} {name}': command for name, command in inner.items()}
        rows |= {f'{family} {name}': command.summary for name, command in inner.items()}
        rows |= {f'{family} {name}': summary for name, summary in built_in.items()}
    lines += [f'| `./puppet {name}` | {cell(summary)} |' for name, summary in rows.items()]
    lines.append('')
    shown = set()
    for name, command in every.items():
        shown.add((command.package, command.program))
        if command.package:
            module = module_of(command.package, command.program)
        else:
            module = import_module(command.program)
        found = parsers_of(module)
        if not found:
            raise ConfigError(f'{module.__name__}: expected parser() or make_parser(), got none')
        parsers = [_inner(parser, command.leading) for parser in found]
        lines += _section(f'./puppet {name}', parsers)
    for package, program in programs():
        found = parsers_of(module_of(package, program))
        if found and (package, program) not in shown:
            lines += _section(f'./puppet run {package} {program}', found)
    return lines


def _inner(
    parser: argparse.ArgumentParser, words: tuple[str, ...]
) -> argparse.ArgumentParser:
    """Return the parser behind subcommands; the same one without any."""
    for word in words:
        parser = _subparsers(parser)[word]
    return parser


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of a parser's subcommands, by name."""
    return {
        name: inner for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, inner in action.choices.items()
    }  # fmt: skip


def _section(title: str, parsers: list[argparse.ArgumentParser]) -> list[str]:
    lines = [f'### {title}', '']
    for parser in parsers:
        paragraph = (parser.description or '').split('\n\n')[0]
        lines += [cell(paragraph), '']
        rows = list(_rows(parser))
        if rows:
            lines += table(['argument', 'default', 'meaning'], rows)
        for name, inner in _subparsers(parser).items():
            lines += _section(f'{title} {name}', [inner])
    return lines


def _rows(parser: argparse.ArgumentParser) -> Iterator[list[str]]:
    # argparse's own, which fills %(default)s in
    formatter = parser._get_formatter()
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction) or action.help == argparse.SUPPRESS:
            continue
        meaning = formatter._expand_help(action) if action.help else ''
        default = _default(action)
        if default.startswith('`'):
            meaning = _SAID_TWICE.sub('', meaning)
        yield [_words(action), default, cell(meaning)]


def _words(action: argparse.Action) -> str:
    """Return the option with its value, or the name of a positional."""
    metavar = action.metavar
    value = ' '.join(metavar) if isinstance(metavar, tuple) else metavar
    if value is None and action.choices is not None:
        value = '{' + ','.join(map(str, action.choices)) + '}'
    if value is None:
        value = action.dest.upper()
    if action.nargs in ('+', '*') and not isinstance(metavar, tuple):
        value = f'{value} ..'
    if not action.option_strings:
        is_optional = action.nargs in ('?', '*')
        return code(f'[{value}]' if is_optional else value)
    name = ', '.join(action.option_strings)
    return code(name if action.nargs == 0 else f'{name} {value}'.replace('|', ' '))


def _default(action: argparse.Action) -> str:
    value = action.default
    if value is None or value is False or value == argparse.SUPPRESS or value in ('', (), []):
        return 'required' if action.required and action.option_strings else ''
    if isinstance(value, (tuple, list)):
        return code(' '.join(map(str, value)))
    if isinstance(value, float) and value in (float('inf'), float('-inf')):
        return ''
    return code(f'{value:g}' if isinstance(value, float) else str(value))
