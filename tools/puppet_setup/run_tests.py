# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet test`, in the prepared environment: pytest, side by side where it can."""

from importlib.metadata import version
from importlib.util import find_spec
import os
from pathlib import Path
import subprocess
import sys

MAX_PROCESSES = 4  # each takes up to 1.5 GB
KEEPS_ORDER = [3, 7]  # the first version of pytest-xdist that can


def side_by_side() -> list[str]:
    """Return what tells pytest to run several files at once; nothing without pytest-xdist."""
    # one more than processors: tests of the running graph wait for its frames half of their time
    n_processes = min(len(os.sched_getaffinity(0)) + 1, MAX_PROCESSES)
    if n_processes < 3 or find_spec('xdist') is None:
        return []
    arguments = ['-n', str(n_processes), '--dist', 'loadfile']
    if _numbers(version('pytest-xdist')) >= KEEPS_ORDER:
        arguments.append('--no-loadscope-reorder')  # ours is that of test_order
    return arguments


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split('.')[:2]]


def compile_ahead() -> None:
    """Compile the kernels of the nodes once; else each process of the tests does."""
    command = [sys.executable, '-m', 'puppet_bringup.compile_command']
    subprocess.run(command, cwd=Path(__file__).parents[1], check=False)


def main() -> int:
    """Run all tests, or what the arguments of this process say."""
    # Neither this folder nor the working folder: launch/ would pass for ROS's package.
    sys.path.pop(0)
    import pytest

    if not sys.argv[1:]:
        arguments = side_by_side()
        if arguments:
            compile_ahead()
        sys.argv += arguments
    return pytest.console_main()


if __name__ == '__main__':
    sys.exit(main())
