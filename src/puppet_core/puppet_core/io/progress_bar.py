# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Progress of long work: a bar on a terminal, now and then a line in a log, by tqdm."""

from collections.abc import Iterator
from contextlib import contextmanager
import sys
import time
from typing import Protocol, TextIO

LINE_PERIOD_S = 2.0
_BAR = '{desc}: {n_fmt} of {total_fmt} {unit}s, {rate_fmt}, {remaining} left{postfix}'


class Advance(Protocol):
    """Called with how much was done since its last call."""

    def __call__(
        self, count: int, is_free: bool = False, /, *, note: str = '', total: int | None = None
    ) -> object:
        """
        Count so many.

        What is free, and the time since the last call, do not define a rate. A note is shown
        beside the count, in a log always. The total may become known only now.
        """
        ...


@contextmanager
def progress(
    title: str, total: int | None, stream: TextIO | None = None, unit: str = 'frame'
) -> Iterator[Advance]:
    """Yield an Advance; a `total` of None is not known yet, the stream is standard error."""
    from tqdm import tqdm

    stream = sys.stderr if stream is None else stream
    in_log = not stream.isatty()

    class LogLines(tqdm):
        def display(self, msg: str | None = None, pos: int | None = None) -> None:
            """Write a line; nothing at the end, or before there is anything to say."""
            if msg != '' and (self.n or self.total):
                self.fp.write(f'{self}\n')
                self.fp.flush()

    kind = LogLines if in_log else tqdm
    settings = {'mininterval': LINE_PERIOD_S, 'bar_format': _BAR} if in_log else {}
    # no smoothing: the rate is that of all that was not free
    with kind(
        total=total, desc=title, unit=unit, file=stream, leave=False, smoothing=0.0, **settings
    ) as bar:
        last = time.time()

        def advance(
            count: int, is_free: bool = False, /, *, note: str = '', total: int | None = None
        ) -> None:
            nonlocal last
            bar.total = bar.total if total is None else total
            passed_s, last = time.time() - last, time.time()
            if is_free:
                bar.initial += count
                bar.start_t += passed_s
            if note:
                bar.set_postfix_str(note, refresh=False)
            bar.update(count)
            if note and in_log:
                bar.refresh()

        yield advance
