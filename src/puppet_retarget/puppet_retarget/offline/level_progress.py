# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How far an edit has come: a bar on a terminal, a line for each level in a log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import sys
from typing import TextIO

from tqdm import tqdm


@contextmanager
def level_progress(
    title: str, total: int, stream: TextIO | None = None
) -> Iterator[Callable[[str, float], None]]:
    """
    Yield a function that is told of each level, and its error in percent of the body's height.

    Parameters
    ----------
    title : str
        What is being edited.
    total : int
        Number of levels.
    stream : TextIO, optional
        Where to show it; the standard error stream if not given.

    """
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        def line(text: str, percent: float) -> None:
            stream.write(f'{title}: {text}, max. error {percent:.3f} %\n')
            stream.flush()

        yield line
        return
    with tqdm(total=total, desc=title, unit='level', file=stream, leave=False) as bar:
        def step(text: str, percent: float) -> None:
            bar.set_postfix_str(f'{text}: {percent:.3f} %', refresh=False)
            bar.update()

        yield step
