# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`puppet_clip`: the live models over files, one subcommand each.

Exit code 2 for bad input and 1 for a run that failed, with one line that says why.
"""

import argparse
from collections.abc import Sequence
import sys

from puppet_clips import command_character, command_retarget
from puppet_clips.batch import command_batch
from puppet_clips.edit_pictures import before_and_after, edit_preview
from puppet_core.io import CommandParser, EXIT_OK, run_command
from puppet_edit import command_edit, command_enhance
from puppet_ros import config_files
from puppet_view.render import command_render

SUBCOMMANDS = {
    'retarget': (command_retarget, 'give the motion of a clip to a character'),
    'batch': (command_batch, 'give a library of clips to characters, by many processes'),
    'edit': (command_edit, 'make the motion of a clip meet constraints'),
    'enhance': (command_enhance, 'mend a captured motion by measured end-effectors'),
    'render': (command_render, 'pictures and films of a clip or a bag'),
    'character': (command_character, 'make a character file, or look over one'),
}
# What draws before and after is handed to the commands that need it.
EXTRAS = {command_edit: (edit_preview,), command_enhance: (before_and_after,)}


def parser() -> argparse.ArgumentParser:
    top = CommandParser(
        prog='puppet',
        description='Retarget, edit, enhance and draw motion clips.',
        epilog=command_retarget.EXAMPLE,
    )
    words = top.add_subparsers(dest='word', metavar='COMMAND', required=True)
    for word, (command, text) in SUBCOMMANDS.items():
        description = f'{text[0].upper()}{text[1:]}.'
        command.add_arguments(
            words.add_parser(word, help=text, description=description, epilog=command.EXAMPLE)
        )
    return top


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    name = ' '.join(['puppet', *(word for word in words[:1] if word in SUBCOMMANDS)])

    def run() -> int:
        arguments = parser().parse_args(words)
        command, _ = SUBCOMMANDS[arguments.word]
        print(command.run(arguments, config_files, *EXTRAS.get(command, ())))
        return EXIT_OK

    return run_command(name, run)


if __name__ == '__main__':
    sys.exit(main())
