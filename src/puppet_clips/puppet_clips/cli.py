# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip`: the live models over files, one subcommand each."""

from collections.abc import Sequence
from importlib import import_module
import sys
from typing import Any

from puppet_core.io import CommandParser, EXIT_OK, run_command

# The module of each, which is imported when it is asked for, and what it does.
SUBCOMMANDS = {
    'retarget': ('puppet_clips.command_retarget', 'retarget a clip to a character'),
    'batch': (
        'puppet_clips.batch.command_batch',
        'retarget a library of clips to characters, in parallel',
    ),
    'edit': ('puppet_edit.command_edit', 'edit a clip so that it meets constraints'),
    'enhance': (
        'puppet_edit.command_enhance',
        'correct a clip with measured hand and foot positions',
    ),
    'render': ('puppet_view.render.command_render', 'render pictures and videos of a clip or bag'),
    'view': (
        'puppet_view.browser.view_command',
        'play clips and bags in the browser; edit a clip by dragging',
    ),
    'character': ('puppet_clips.command_character', 'make or check a character file'),
}
# What draws before and after is handed to the commands that need it.
DRAWS = {'edit': 'edit_preview', 'enhance': 'before_and_after'}
EXAMPLE = 'example: ./puppet retarget walk.bvh out.bvh --character blubby'


def command(word: str) -> Any:
    return import_module(SUBCOMMANDS[word][0])


def parser(asked_for: Sequence[str] = tuple(SUBCOMMANDS)) -> CommandParser:
    """Return the grammar of all commands, with the arguments of those asked for."""
    top = CommandParser(
        prog='puppet', description='Retarget, edit, enhance and draw motion clips.', epilog=EXAMPLE
    )
    words = top.add_subparsers(dest='word', metavar='COMMAND', required=True)
    for word, (_, text) in SUBCOMMANDS.items():
        own = words.add_parser(word, help=text, description=f'{text[0].upper()}{text[1:]}.')
        if word in asked_for:
            own.epilog = command(word).EXAMPLE
            command(word).add_arguments(own)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    asked_for = [word for word in words[:1] if word in SUBCOMMANDS]

    def run() -> int:
        top = parser(asked_for)
        top.prog = ' '.join([top.prog, *asked_for])  # in errors about options
        arguments = top.parse_args(words)
        draws = []
        if arguments.word in DRAWS:
            draws = [getattr(import_module('puppet_clips.edit_pictures'), DRAWS[arguments.word])]
        if told := command(arguments.word).run(arguments, *draws):
            print(told)
        return EXIT_OK

    return run_command(' '.join(['puppet', *asked_for]), run)


if __name__ == '__main__':
    sys.exit(main())
