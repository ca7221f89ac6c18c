# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One clip for one character: what has to be done, and what came of it; both can be pickled."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from puppet_core.clip_options import ClipOptions, DEFAULT_OPTIONS
from puppet_retarget.offline.clip_retarget import RetargetJob

LEDGER = '.batch'  # folder of the records in OUT_DIR
PARTS = 'parts'  # in it: outputs that are being written
DONE, SKIPPED, FAILED = 'done', 'skipped', 'failed'

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """How clips are read."""

    name_map: str | None = None
    """Built-in map of joint names, or a file."""

    options: ClipOptions = DEFAULT_OPTIONS
    """What files do not say."""


@dataclass(frozen=True, slots=True)
class Task:
    """A clip and a character."""

    number: int
    """Place in the run, from 0."""

    clip: Path
    """The file."""

    asf: Path | None
    """Skeleton of an .amc clip."""

    name: str
    """The clip's path below IN_DIR, with slashes."""

    out_dir: Path
    """OUT_DIR."""

    job: RetargetJob
    """Character, environment, solver and tuning."""

    reading: Reading
    """How the clip is read."""

    version: str
    """Digest of the code that is to do it."""

    parameters: str
    """Digest of that, of the job and of the reading."""

    redo: bool = False
    """Whether a finished output is made anew, too."""

    @property
    def out_name(self) -> str:
        """Return the output's path below OUT_DIR, with slashes."""
        return f'{self.job.character.name}/{self.name.rpartition(".")[0]}.bvh'

    @property
    def out(self) -> Path:
        """Return the file to make."""
        return self.out_dir / self.out_name

    @property
    def record(self) -> Path:
        """Return the file that says what the output was made from."""
        return self.out_dir / LEDGER / f'{self.out_name}.json'

    def part(self) -> Path:
        """Return a new name under which the output is written before it takes its place."""
        return self.out_dir / LEDGER / PARTS / f'{uuid4().hex}.bvh'


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a task."""

    number: int
    """The task's."""

    status: str
    """DONE, SKIPPED or FAILED."""

    row: Row
    """Line of the summary; of a failed task only what is known of it."""

    reason: str = ''
    """Why it failed."""


class Runner(Protocol):
    """Who does tasks: processes of this machine, or a cluster."""

    def __call__(self, tasks: Iterator[Task]) -> Generator[Outcome, None, None]:
        """
        Yield the outcome of each task, in the order in which they end.

        Takes tasks as there is room for them, so they need not all be in memory. A task whose
        process dies is done again, and fails when that has happened often enough. When the
        iterator is closed no process of this run is left at work here.

        """
        ...


def failed(task: Task, reason: str) -> Outcome:
    """Return the outcome of a task that came to nothing."""
    return Outcome(task.number, FAILED, {}, ' '.join(reason.split()))
