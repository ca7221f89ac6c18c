# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How far long work has come: a bar on a terminal, now and then a line in a log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import sys
from time import monotonic
from typing import TextIO

from tqdm import tqdm

LINE_PERIOD_S = 2.0


@contextmanager
def progress(
    title: str, total: int, stream: TextIO | None = None, unit: str = 'frame'
) -> Iterator[Callable[[int], object]]:
    """
    Yield a function that is told how much was done since its last call.

    Parameters
    ----------
    title : str
        What is being done.
    total : int
        Number of frames, or of what else is done.
    stream : TextIO, optional
        Where to show it; the standard error stream if not given.
    unit : str
        What is counted.

    """
    stream = sys.stderr if stream is None else stream
    show = _bar if stream.isatty() else _lines
    with show(title, total, stream, unit) as advance:
        yield advance


@contextmanager
def _bar(
    title: str, total: int, stream: TextIO, unit: str
) -> Iterator[Callable[[int], object]]:
    with tqdm(total=total, desc=title, unit=unit, file=stream, leave=False) as bar:
        yield bar.update


@contextmanager
def _lines(
    title: str, total: int, stream: TextIO, unit: str
) -> Iterator[Callable[[int], object]]:
    done, start = 0, monotonic()
    shown_at = start

    def advance(count: int) -> None:
        nonlocal done, shown_at
        done += count
        if monotonic() - shown_at >= LINE_PERIOD_S:
            shown_at = monotonic()
            pace = _pace(done / (shown_at - start), total - done, unit)
            _say(f'{title}: {done} of {total} {unit}s{pace}', stream)

    _say(f'{title}: {total} {unit}s', stream)
    yield advance


def _pace(rate: float, left: int, unit: str) -> str:
    """Return the rate and the remaining time as a line's end; nothing where it is not known."""
    if rate <= 0.0:
        return ''
    return f', {rate:.3g} {unit}s/s, {tqdm.format_interval(left / rate)} left'


def _say(line: str, stream: TextIO) -> None:
    stream.write(f'{line}\n')
    stream.flush()
