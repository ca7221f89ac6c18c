# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet test`, in the prepared environment: pytest, side by side where it can."""

from collections.abc import Sequence
from importlib.util import find_spec
import os
from pathlib import Path
import subprocess
import sys
from typing import Any

MAX_PROCESSES = 4  # each takes up to 1.5 GB
QUICK = '--quick'
QUICK_ARGUMENTS = ['-m', 'not (ros or slow or mocap)', 'src']
LAST_FRACTION = 0.85  # of the other files; after so many the last file of whole programs begins


def side_by_side() -> list[str]:
    """Return what tells pytest to run several files at once; nothing without pytest-xdist."""
    # one more than processors: tests of the running graph wait for its frames half of their time
    n_processes = min(len(os.sched_getaffinity(0)) + 1, MAX_PROCESSES)
    if n_processes < 3 or find_spec('xdist') is None:
        return []
    # the order is that of `spread`
    return ['-n', str(n_processes), '--dist', 'loadfile', '--no-loadscope-reorder']


def spread(items: Sequence[Any], programs: Path) -> list[Any]:
    """
    Return the tests in the order in which their files are given to processes side by side.

    Tests of whole programs wait for frames most of their time. Several at once would wait for each
    other instead, so they are spread among the others, and end before them.

    Parameters
    ----------
    items : sequence of pytest.Item
        The tests; those of a file stay together and as they were.
    programs : Path
        The folder of those that run whole programs.

    """
    files: dict[Path, list[Any]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    long = [path for path in files if path.parent == programs]
    short = [path for path in files if path.parent != programs]
    ranks = {path: LAST_FRACTION * (i + 1) / len(long) for i, path in enumerate(long)}
    ranks |= {path: i / len(short) for i, path in enumerate(short)}
    return [item for path in sorted(ranks, key=lambda p: ranks[p]) for item in files[path]]


def main() -> int:
    """Run all tests, those of --quick, or what the arguments of this process say."""
    # Neither this folder nor the working folder: launch/ would pass for ROS's package.
    sys.path.pop(0)
    import pytest

    is_quick = sys.argv[1:2] == [QUICK]
    if is_quick or not sys.argv[1:]:
        found = side_by_side()
        sys.argv[1:2] = [*found, *is_quick * QUICK_ARGUMENTS]
        if found:  # compile the kernels once; else each process of the tests does
            command = [sys.executable, '-m', 'puppet_bringup.compile_command']
            usual = is_quick * ['--for-launch']  # at once where that is done
            subprocess.run([*command, *usual], cwd=Path(__file__).parents[1], check=False)
    return pytest.console_main()


if __name__ == '__main__':
    sys.exit(main())
