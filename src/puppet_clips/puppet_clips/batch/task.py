# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One clip for one character: what has to be done, and what came of it; both can be pickled."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
import hashlib
import os
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from puppet_core.clips import ClipOptions, DEFAULT_OPTIONS, SUFFIXES
from puppet_retarget.offline import BAG_SUFFIXES, BVH, RetargetJob

LEDGER = '.batch'  # folder of what OUT_DIR needs to know
RECORDS = 'records'  # in it: what each output was made from
PARTS = 'parts'  # in it: a folder for each run, with outputs that are being written
DONE, SKIPPED, FAILED = 'done', 'skipped', 'failed'
# Reasons
KILLED = 'expected a clip that its process survives, got one over which several ended'
NO_MEMORY = 'expected a clip that fits into memory, got a longer one'

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    name_map: str | None = None  # built-in map of joint names, or a file
    options: ClipOptions = DEFAULT_OPTIONS  # what is not in files


@dataclass(frozen=True, slots=True)
class Task:
    number: int  # place in the run, from 0
    clip: Path  # the file
    asf: Path | None  # skeleton of an .amc clip
    name: str  # the clip's path below IN_DIR, with slashes
    out_dir: Path  # OUT_DIR
    job: RetargetJob  # character, environment, solver and tuning
    reading: Reading  # how the clip is read
    version: str  # digest of the code that is to do it
    parameters: str  # digest of that, of the job and of the reading
    redo: bool = False  # whether a finished output is made anew, too
    timeout_s: float = 0.0  # how long it may take [s]; 0 for any time
    run: str = ''  # name of the run that gives it, and of that run's folder in PARTS
    suffix: str = ''  # of the output; '' for .npz of robots, else .bvh

    @property
    def out_name(self) -> str:
        stem, _, suffix = self.name.rpartition('.')
        suffix_out = self.suffix or ('.npz' if self.job.character.robot else BVH)
        has_suffix = f'.{suffix.lower()}' in SUFFIXES + BAG_SUFFIXES
        return f'{self.job.character.name}/{stem if has_suffix else self.name}{suffix_out}'

    @property
    def out(self) -> Path:
        return self.out_dir / self.out_name

    @property
    def record(self) -> Path:
        """Return the file that records what the output was made from."""
        # an output's name may be as long as a file system takes, so it has no room for an end
        name = hashlib.sha256(os.fsencode(self.out_name)).hexdigest()
        return self.out_dir / LEDGER / RECORDS / name[:2] / f'{name}.json'

    def part(self) -> Path:
        """Return a new name under which a file is written before it takes its place."""
        return self.out_dir / LEDGER / PARTS / self.run / uuid4().hex


@dataclass(frozen=True, slots=True)
class Outcome:
    number: int  # the task's
    status: str  # DONE, SKIPPED or FAILED
    row: Row  # line of the summary; of a failed task only what is known of it
    reason: str = ''  # why it failed, in the same words in every run and whoever did the work
    detail: str = ''  # what else is known of that
    cpu_s: float = 0.0  # core time of all that was done for it [s]


class Runner(Protocol):
    """Who does tasks: processes of this machine, or a cluster."""

    def __call__(self, tasks: Iterator[Task]) -> Generator[Outcome, None, None]:
        """Yield the outcomes in the order in which tasks end; take tasks as there is room."""
        ...


def failed(task: Task, reason: str, detail: str = '') -> Outcome:
    return Outcome(task.number, FAILED, {}, ' '.join(reason.split()), ' '.join(detail.split()))
