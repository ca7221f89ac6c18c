# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Which clips of a folder go where, settled and checked before any work is done."""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from functools import cache
import os
from pathlib import Path, PurePosixPath
from typing import NoReturn

from puppet_clips.batch.batch_run import OWN_FILES
from puppet_clips.batch.ledger import suite_version, value_digest
from puppet_clips.batch.task import LEDGER, Reading, Task
from puppet_core.clips import skeleton_beside, SUFFIXES
from puppet_core.io import ConfigError
from puppet_retarget.offline import BAG_SUFFIXES, is_bag, RetargetJob


def find_clips(in_dir: Path, out_dir: Path, patterns: Sequence[str] = ()) -> list[str]:
    """
    Return the clips below a folder, as sorted paths with slashes; ConfigError for none.

    Hidden files, links to folders and folders of outputs are left out. Patterns are those of a
    shell, of the name if there is no slash in it, else of the path below `in_dir`; any one is
    enough.
    """
    if not in_dir.is_dir():
        raise ConfigError(f'IN_DIR: expected a folder, got {str(in_dir)!r}')
    if in_dir.resolve() == out_dir.resolve():
        raise ConfigError(f'OUT_DIR: expected a folder other than IN_DIR, got {str(out_dir)!r}')
    names = sorted(
        name
        for name in _files(in_dir, out_dir.resolve())
        if (PurePosixPath(name).suffix.lower() in SUFFIXES or is_bag(in_dir / name))
        and _is_wanted(name, patterns)
    )
    if not names:
        which = f' that {" or ".join(patterns)} names' if patterns else ''
        kinds = ' or '.join(SUFFIXES + BAG_SUFFIXES)
        raise ConfigError(f'IN_DIR: expected {kinds} files{which}, got none in {str(in_dir)!r}')
    return names


def make_tasks(
    in_dir: Path,
    out_dir: Path,
    names: Iterable[str],
    jobs: Sequence[RetargetJob],
    reading: Reading,
    asf: Path | None = None,
    redo: bool = False,
    timeout_s: float = 0.0,
    suffix: str = '',
) -> list[Task]:
    """
    Return a task for each clip and job (one of each character), all of a clip in a row.

    `asf` is the skeleton of all .amc clips, in place of the one beside each. Raises ConfigError if
    two tasks would write one file, or one the file of a clip.
    """
    _check_characters(jobs)
    version = suite_version()
    digests = [value_digest(version, job, reading) for job in jobs]
    tasks: list[Task] = []
    for name in names:
        clip = in_dir / name
        own = asf if clip.suffix.lower() == '.amc' else None
        beside = skeleton_beside(clip, own)
        skeleton = None if beside is None else Path(beside)
        for job, digest in zip(jobs, digests):
            what = len(tasks), clip, skeleton, name, out_dir, job, reading, version, digest
            tasks.append(Task(*what, redo, timeout_s, suffix=suffix))
    _check_outputs(tasks)
    return tasks


def _files(in_dir: Path, out_dir: Path) -> Iterator[str]:
    for folder, subfolders, files in os.walk(in_dir, onerror=_raise):
        below = PurePosixPath(Path(folder).relative_to(in_dir).as_posix())
        seen = [
            name
            for name in subfolders
            if not name.startswith('.')
            and Path(folder, name).resolve() != out_dir
            and not Path(folder, name, LEDGER).is_dir()
        ]
        bags = {name for name in seen if is_bag(Path(folder, name))}
        subfolders[:] = [name for name in seen if name not in bags]
        yield from (str(below / name) for name in (*bags, *files) if not name.startswith('.'))


def _raise(err: OSError) -> NoReturn:
    raise ConfigError(
        f'IN_DIR: expected folders that can be read, got {err.filename!r}: {err.strerror}'
    ) from err


def _is_wanted(name: str, patterns: Sequence[str]) -> bool:
    last = name.rpartition('/')[2]
    return not patterns or any(
        fnmatch(name if '/' in pattern else last, pattern) for pattern in patterns
    )


def _check_characters(jobs: Sequence[RetargetJob]) -> None:
    """Refuse names that cannot be the name of one folder each."""
    seen: set[str] = set()
    for name in (job.character.name for job in jobs):
        if not name or name.startswith('.') or '/' in name or '\0' in name or name in OWN_FILES:
            raise ConfigError(f'--character: expected a name that can be a folder, got {name!r}')
        if name in seen:
            raise ConfigError(f'--character: expected each name once, got {name!r} twice')
        seen.add(name)


def _check_outputs(tasks: Sequence[Task]) -> None:
    folder_of = cache(os.path.realpath)  # of an output that is a link the link is replaced

    def place(path: Path) -> str:
        return os.path.join(folder_of(path.parent), path.name)

    inputs = {place(path) for task in tasks for path in (task.clip, task.asf) if path}
    taken: dict[str, Task] = {}
    folders = {folder for task in tasks for folder in PurePosixPath(task.out_name).parents}
    for task in tasks:
        if PurePosixPath(task.out_name) in folders:
            raise ConfigError(
                f'IN_DIR: expected clips with different outputs, got {task.name}, whose output '
                f'{task.out_name} is a folder of other outputs; choose clips with --glob'
            )
        other = taken.setdefault(task.out_name, task)
        if other is not task:
            raise ConfigError(
                f'IN_DIR: expected clips with different outputs, got {other.name} and '
                f'{task.name}, both written to {task.out_name}; choose clips with --glob'
            )
        if place(task.out) in inputs:
            raise ConfigError(
                f'OUT_DIR: expected outputs that replace no input, got {task.out}, which is a clip'
            )
    assert not any(task.out_name.startswith(f'{LEDGER}/') for task in tasks)
