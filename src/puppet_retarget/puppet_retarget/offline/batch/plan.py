# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Which clips of a folder go where, settled and checked before any work is done."""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
import os
from pathlib import Path, PurePosixPath

from puppet_core.clip import SUFFIXES
from puppet_core.clip_command_line import skeleton_beside
from puppet_core.errors import ConfigError
from puppet_retarget.offline.batch.digest import suite_version, value_digest
from puppet_retarget.offline.batch.task import LEDGER, Reading, Task
from puppet_retarget.offline.clip_retarget import RetargetJob


def find_clips(in_dir: Path, out_dir: Path, patterns: Sequence[str] = ()) -> list[str]:
    """
    Return the clips below a folder, as sorted paths with slashes.

    Hidden files and folders, links to folders, and the output folder are left out.

    Parameters
    ----------
    in_dir, out_dir : Path
        Where clips are, and where outputs go.
    patterns : sequence of str
        Which clips; as in a shell, of the name if there is no slash in it, else of the path
        below `in_dir`. Any one is enough; all clips if there is none.

    Raises
    ------
    ConfigError : if the folder cannot be read, or holds no such clip.

    """
    if not in_dir.is_dir():
        raise ConfigError(f'IN_DIR: expected a folder, got {str(in_dir)!r}')
    if in_dir.resolve() == out_dir.resolve():
        raise ConfigError(f'OUT_DIR: expected another folder than IN_DIR, got {str(out_dir)!r}')
    names = sorted(
        name for name in _files(in_dir, out_dir.resolve())
        if PurePosixPath(name).suffix.lower() in SUFFIXES and _is_wanted(name, patterns)
    )  # fmt: skip
    if not names:
        which = f' that {" or ".join(patterns)} names' if patterns else ''
        raise ConfigError(
            f'IN_DIR: expected {" or ".join(SUFFIXES)} files{which}, got none in {str(in_dir)!r}'
        )
    return names


def make_tasks(
    in_dir: Path, out_dir: Path, names: Iterable[str], jobs: Sequence[RetargetJob],
    reading: Reading, asf: Path | None = None, redo: bool = False,
) -> list[Task]:  # fmt: skip
    """
    Return a task for each clip and character, all of a clip in a row.

    Parameters
    ----------
    in_dir, out_dir : Path
        Where clips are, and where outputs go.
    names : iterable of str
        Clips, as paths below `in_dir`.
    jobs : sequence of RetargetJob
        One for each character.
    reading : Reading
        How clips are read.
    asf : Path, optional
        Skeleton of all .amc clips, in place of the one beside each.
    redo : bool
        Whether finished outputs are made anew.

    Raises
    ------
    ConfigError : if two tasks would write one file, or one the file of a clip.

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
        tasks += [
            Task(
                len(tasks) + i, clip, skeleton, name, out_dir, job, reading, version, digests[i],
                redo,
            )
            for i, job in enumerate(jobs)
        ]
    _check_outputs(tasks)
    return tasks


def _files(in_dir: Path, out_dir: Path) -> Iterator[str]:
    for folder, subfolders, files in os.walk(in_dir):
        subfolders[:] = [
            name for name in subfolders
            if not name.startswith('.') and Path(folder, name).resolve() != out_dir
        ]  # fmt: skip
        below = PurePosixPath(Path(folder).relative_to(in_dir).as_posix())
        yield from (str(below / name) for name in files if not name.startswith('.'))


def _is_wanted(name: str, patterns: Sequence[str]) -> bool:
    last = name.rpartition('/')[2]
    return not patterns or any(
        fnmatch(name if '/' in pattern else last, pattern) for pattern in patterns
    )


def _check_characters(jobs: Sequence[RetargetJob]) -> None:
    """Refuse names that cannot be the name of one folder each."""
    seen: set[str] = set()
    for name in (job.character.name for job in jobs):
        if not name or name.startswith('.') or '/' in name or '\0' in name:
            raise ConfigError(
                f'--character: expected a name that can be a folder, got {name!r}'
            )
        if name in seen:
            raise ConfigError(f'--character: expected each name once, got {name!r} twice')
        seen.add(name)


def _check_outputs(tasks: Sequence[Task]) -> None:
    inputs = {os.path.abspath(path) for task in tasks for path in (task.clip, task.asf) if path}
    taken: dict[str, Task] = {}
    for task in tasks:
        other = taken.setdefault(task.out_name, task)
        if other is not task:
            raise ConfigError(
                f'IN_DIR: expected clips with outputs of their own, got {other.name} and '
                f'{task.name}, both for {task.out_name}; choose with --glob'
            )
        if os.path.abspath(task.out) in inputs:
            raise ConfigError(
                f'OUT_DIR: expected outputs beside no input, got {task.out}, which is a clip'
            )
    assert not any(task.out_name.startswith(f'{LEDGER}/') for task in tasks)
