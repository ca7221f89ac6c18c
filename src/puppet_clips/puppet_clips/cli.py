# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`puppet_clip`: the live models over files, one subcommand each.

Exit code 2 for bad input and 1 for a run that failed, with one line that says why.
"""

import argparse
from collections.abc import Callable, Sequence
import os
import sys
import traceback
from typing import NoReturn

from puppet_clips import command_character, command_layouts, command_retarget
from puppet_clips.batch import command_batch
from puppet_clips.edit_pictures import before_and_after, edit_preview
from puppet_core.io import ConfigError, PuppetError
from puppet_edit import command_edit, command_enhance
from puppet_ros import config_files
from puppet_view.render import command_render

EXIT_OK, EXIT_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 0, 1, 2, 130
SUBCOMMANDS = {
    'retarget': (command_retarget, 'give the motion of a clip to a character'),
    'batch': (command_batch, 'give a library of clips to characters, by many processes'),
    'edit': (command_edit, 'make the motion of a clip meet constraints'),
    'enhance': (command_enhance, 'mend a captured motion by measured end-effectors'),
    'render': (command_render, 'pictures and films of a clip or a bag'),
    'layouts': (command_layouts, 'measure what each sensor layout tells of a motion'),
    'character': (command_character, 'make a character file, or look over one'),
}
# What draws before and after is handed to the commands that need it.
EXTRAS = {command_edit: (edit_preview,), command_enhance: (before_and_after,)}


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line, as all others."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f'{message}; see {self.prog} --help')


def parser() -> argparse.ArgumentParser:
    top = CommandParser(
        prog='puppet',
        description='Retarget, edit, enhance and draw motion clips.',
        epilog=command_retarget.EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words = top.add_subparsers(dest='word', metavar='COMMAND', required=True)
    for word, (command, text) in SUBCOMMANDS.items():
        description = f'{text[0].upper()}{text[1:]}.'
        command.add_arguments(
            words.add_parser(
                word,
                help=text,
                description=description,
                epilog=command.EXAMPLE,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
        )
    return top


def main(argv: Sequence[str] | None = None) -> int:
    def run(arguments: argparse.Namespace) -> str:
        command, _ = SUBCOMMANDS[arguments.word]
        return command.run(arguments, config_files, *EXTRAS.get(command, ()))

    return run_command(parser(), run, argv)


def run_command(
    grammar: argparse.ArgumentParser,
    run: Callable[[argparse.Namespace], str],
    argv: Sequence[str] | None,
) -> int:
    """Run what `grammar`, a CommandParser, reads, print what it returns; return the exit code."""
    name = grammar.prog
    try:
        arguments = grammar.parse_args(argv)
        name = f'{name} {getattr(arguments, "word", "")}'.rstrip()
        print(run(arguments), flush=True)
    except PuppetError as err:
        print(f'{name}: {err}', file=sys.stderr)
        return EXIT_BAD_INPUT
    except BrokenPipeError:
        # nobody reads any more: what is left to flush at exit goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except KeyboardInterrupt:
        print(f'{name}: interrupted', file=sys.stderr)
        return EXIT_INTERRUPTED
    except Exception as err:  # the edge: whatever it is, one line and an exit code
        print(f'{name}: failed: {_one_line(err)}', file=sys.stderr)
        return EXIT_FAILED
    return EXIT_OK


def _one_line(err: Exception) -> str:
    """Return what happened, and where if it is a mistake of ours."""
    text = ' '.join(str(err).split()) or type(err).__name__
    if isinstance(err, (OSError, RuntimeError)):
        return text
    place = traceback.extract_tb(err.__traceback__)[-1]
    return f'{type(err).__name__}: {text} ({place.filename}:{place.lineno})'


if __name__ == '__main__':
    sys.exit(main())
