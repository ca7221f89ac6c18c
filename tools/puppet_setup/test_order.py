# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
In which order files of tests are given to processes that run side by side.

Tests of whole programs wait for frames most of their time. Several at once would wait for each
other instead, and at the end processors would have nothing to do; so they are spread among the
others, and end before them.

"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

LAST_SHARE = 0.85  # of the other files; after so many the last file of whole programs begins


def spread(items: Sequence[Any], programs: Path) -> list[Any]:
    """
    Return the tests in another order, those of a file together and as they were.

    Parameters
    ----------
    items : sequence of pytest.Item
        The tests.
    programs : Path
        The folder of those that run whole programs.

    """
    files: dict[Path, list[Any]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    long = [path for path in files if path.parent == programs]
    ranks = {path: LAST_SHARE * (i + 1) / len(long) for i, path in enumerate(long)}
    short = [path for path in files if path not in ranks]
    ranks |= {path: i / len(short) for i, path in enumerate(short)}
    return [item for path in sorted(ranks, key=lambda p: ranks[p]) for item in files[path]]
