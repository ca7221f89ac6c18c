# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet dev compile`: the kernels of all nodes now, for an image or many programs."""

import argparse
from collections.abc import Sequence
import os
from pathlib import Path
import sys
import tempfile

from puppet_bringup.kernel_cache import CACHE_VARIABLE, compile_kernels
from puppet_bringup.process_table import SIM
from puppet_bringup.programs import child_environment
from puppet_bringup.stop_signals import stop_on_signals
from puppet_bringup.up import prepared
from puppet_ros import share

EXIT_OK, EXIT_FAILED, EXIT_BAD_INPUT = 0, 1, 2
EXAMPLE = 'example: ./puppet setup && ./puppet dev compile'


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    return argparse.ArgumentParser(
        prog='puppet dev compile',
        epilog=EXAMPLE,
        description='Compile the kernels of all nodes, unless that was done: for an image of a '
        'machine, or before many programs start at once. Without it the first start does so.',
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Compile; return the exit code."""
    parser().parse_args(argv)
    environ = child_environment(os.environ)
    if not environ.get(CACHE_VARIABLE):
        print(
            f'puppet dev compile: {CACHE_VARIABLE}: expected a folder, got none', file=sys.stderr
        )
        return EXIT_BAD_INPUT
    stopping = stop_on_signals()
    with tempfile.TemporaryDirectory(prefix='puppet_compile_') as folder:
        is_done = compile_kernels(
            prepared(SIM, {}, Path(folder)),
            share.config_dir(),
            environ,
            stopping,
            lambda text: print(f'puppet dev compile: {text}', flush=True),
        )
    return EXIT_OK if is_done else EXIT_FAILED


if __name__ == '__main__':
    sys.exit(main())
