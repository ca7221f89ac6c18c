# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How far a long work is: a bar on a terminal, a plain line now and then in a log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from tqdm import tqdm

BAR_STEP = 240  # messages between two looks at the bar
LINES = 10  # in a log, about


@contextmanager
def progress_on(stream: TextIO, title: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that is called with the number of steps done, and of all."""
    if not stream.isatty():
        def tell(done: int, total: int) -> None:
            if done % max(total // LINES, 1) == 0:
                print(f'{title}: {done} of {total}', file=stream, flush=True)

        yield tell
        return
    with tqdm(desc=title, unit='msg', file=stream, leave=False) as bar:
        def show(done: int, total: int) -> None:
            if done % BAR_STEP == 0:
                bar.total = total
                bar.update(done - bar.n)

        yield show
