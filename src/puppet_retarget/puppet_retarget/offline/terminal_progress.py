# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How far long work has come: a bar on a terminal, now and then a line in a log."""

from collections.abc import Iterator
from contextlib import contextmanager
import sys
from time import monotonic
from typing import Protocol, TextIO

from tqdm import tqdm

LINE_PERIOD_S = 2.0


class Advance(Protocol):
    """Told how much was done since its last call."""

    def __call__(self, count: int, is_free: bool = False, /) -> object:
        """Count so many; what is free, and the time since the last call, say nothing of a rate."""
        ...


@contextmanager
def progress(
    title: str, total: int, stream: TextIO | None = None, unit: str = 'frame'
) -> Iterator[Advance]:
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
) -> Iterator[Advance]:
    # no smoothing: the rate is that of all that was not free
    with tqdm(total=total, desc=title, unit=unit, file=stream, leave=False, smoothing=0.0) as bar:
        clock = _Clock()

        def advance(count: int, is_free: bool = False, /) -> None:
            passed_s = clock.lap_s()
            if is_free:
                bar.initial += count
                bar.start_t += passed_s
            bar.update(count)

        yield advance


@contextmanager
def _lines(
    title: str, total: int, stream: TextIO, unit: str
) -> Iterator[Advance]:
    done, paid, paid_s, clock = 0, 0, 0.0, _Clock()
    shown_at = clock.at

    def advance(count: int, is_free: bool = False, /) -> None:
        nonlocal done, paid, paid_s, shown_at
        done += count
        passed_s = clock.lap_s()
        if not is_free:
            paid, paid_s = paid + count, paid_s + passed_s
        if clock.at - shown_at >= LINE_PERIOD_S:
            shown_at = clock.at
            rate = paid / paid_s if paid_s else 0.0
            _say(f'{title}: {done} of {total} {unit}s{_pace(rate, total - done, unit)}', stream)

    _say(f'{title}: {total} {unit}s', stream)
    yield advance


class _Clock:
    """Time between calls."""

    def __init__(self) -> None:
        self.at = monotonic()

    def lap_s(self) -> float:
        """Return the time since the last call [s]."""
        last, self.at = self.at, monotonic()
        return self.at - last


def _pace(rate: float, left: int, unit: str) -> str:
    """Return the rate and the remaining time as a line's end; nothing where it is not known."""
    if rate <= 0.0:
        return ''
    return f', {rate:.3g} {unit}s/s, {tqdm.format_interval(left / rate)} left'


def _say(line: str, stream: TextIO) -> None:
    stream.write(f'{line}\n')
    stream.flush()
