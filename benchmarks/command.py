# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The command line of a bench: its grammar, and its figures as printed."""

import argparse
from collections.abc import Callable, Sequence

from puppet_core.io import CommandParser, EXIT_OK, run_command
from puppet_retarget.offline import ConfigFiles
from puppet_ros import config_files

Run = Callable[[argparse.Namespace, ConfigFiles], str]


def bench_parser(
    name: str,
    description: str,
    example: str,
    add_arguments: Callable[[argparse.ArgumentParser], None],
) -> CommandParser:
    """Return the grammar of a bench."""
    parser = CommandParser(prog=f'puppet bench {name}', epilog=example, description=description)
    add_arguments(parser)
    return parser


def bench_command(
    parser: argparse.ArgumentParser, run: Run, argv: Sequence[str] | None = None
) -> int:
    """Measure, print what `run` returns; return the exit code."""

    def command() -> int:
        print(run(parser.parse_args(argv), config_files))
        return EXIT_OK

    return run_command(parser.prog, command)
