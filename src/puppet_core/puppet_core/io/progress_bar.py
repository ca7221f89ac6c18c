# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Progress of long work: a bar on a terminal, nothing elsewhere, by tqdm."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import logging
import sys
import time
from typing import TextIO

from puppet_core.io.command import LOG

Advance = Callable[..., object]
"""
`advance(count, is_free=False, *, note='', total=None)` counts what was done since its last call.

What is free, and the time since the last call, do not define a rate. A note is shown beside the
count. The total may become known only now.
"""


@contextmanager
def progress(
    title: str, total: int | None, stream: TextIO | None = None, unit: str = 'frame'
) -> Iterator[Advance]:
    """Yield an Advance; a `total` of None is not known yet, the stream is standard error."""
    stream = sys.stderr if stream is None else stream
    if not stream.isatty() or not LOG.isEnabledFor(logging.INFO):
        yield lambda *_, **__: None
        return
    from tqdm import tqdm

    # no smoothing: the rate is that of all that was not free
    with tqdm(total=total, desc=title, unit=unit, file=stream, leave=False, smoothing=0.0) as bar:
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

        yield advance
