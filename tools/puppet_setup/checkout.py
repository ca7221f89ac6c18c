# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where things are in a checkout, what was done there, and the lock on it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
import fcntl
import hashlib
import json
import os
from pathlib import Path

from puppet_setup.process import report

Stamp = dict[str, str]


class Checkout:
    """Paths of one checkout, for one source of ROS: each has a venv and a build of its own."""

    def __init__(self, root: Path, flavour: str) -> None:
        self.root = root
        self.source = root / 'src'
        self.pins = root / 'tools' / 'pins'
        self.state = root / '.puppet'  # everything that the set-up writes
        self.home = self.state / flavour
        self.venv = self.home / 'venv'
        self.build = self.home / 'build'
        self.install = self.home / 'install'
        self.logs = self.home / 'log'

    def package_folders(self) -> list[Path]:
        """Return the folders of the packages, by name."""
        return sorted(path.parent for path in self.source.glob('*/package.xml'))


def fingerprint(parts: Iterable[bytes | str]) -> str:
    """Return a short digest of the parts, in their order."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, 'little') + data)
    return digest.hexdigest()[:16]


def read_stamp(path: Path) -> Stamp:
    """Return what was done, {step: fingerprint of its inputs}; empty if that is not known."""
    try:
        stamp = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(path: Path, stamp: Stamp) -> None:
    """Write the stamp beside, then rename: it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f'{path.name}.{os.getpid()}')
    beside.write_text(json.dumps(stamp, indent=1, sort_keys=True))
    beside.replace(path)


@contextmanager
def exclusive(path: Path) -> Iterator[int]:
    """Hold the lock file, waiting for another process that does; yield its file descriptor."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('w') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report('another ./puppet is setting up this checkout; waiting for it')
            fcntl.flock(file, fcntl.LOCK_EX)
        # The lock ends with the last process that has the file open, also when it is killed.
        yield file.fileno()
