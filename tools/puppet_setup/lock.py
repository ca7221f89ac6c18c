# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One set-up at a time in a checkout."""

from collections.abc import Iterator
from contextlib import contextmanager
import fcntl
from pathlib import Path

from puppet_setup.phase import say


@contextmanager
def exclusive(path: Path) -> Iterator[int]:
    """Hold the lock file, waiting for another process that does; yield its file descriptor."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('w') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say('another ./puppet is setting up this checkout; waiting for it')
            fcntl.flock(file, fcntl.LOCK_EX)
        # The lock ends with the last process that has the file open, also when it is killed.
        yield file.fileno()
