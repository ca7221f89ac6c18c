# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip batch`: a library of clips given to characters, by many processes."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
import os
from pathlib import Path

from puppet_clips.batch import batch_run, ledger
from puppet_clips.batch.batch_run import FAILED_LIST, SUMMARY, TIMES_LIST
from puppet_clips.batch.plan import find_clips, make_tasks
from puppet_clips.batch.retarget_file import warm_up
from puppet_clips.batch.runners import DaskRunner, LocalRunner
from puppet_clips.batch.task import DONE, FAILED, LEDGER, Outcome, Reading, Runner, SKIPPED, Task
from puppet_core.clips import clip_options, SUFFIXES
from puppet_core.io import check_writable, ConfigError, InputFileError, progress
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import MOTION_SUFFIXES, write_report

EXAMPLE = 'example: ./puppet batch clips out --character sally blubby --workers 4'
DEFAULT_CHARACTER = 'blubby'
MAX_WORKERS = 1024
MAX_TIMEOUT_S = 1e7
_TO_DO, _FINISHED, _UNREADABLE = 'to do', 'finished', 'unreadable'  # of a dry run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    text = f'folder with {", ".join(SUFFIXES)}, bags with /performer/posture'
    add('in_dir', metavar='IN_DIR', type=Path, help=text)
    text = f'output: CHARACTER/… mirrors IN_DIR; {SUMMARY}, {TIMES_LIST}, {FAILED_LIST}'
    add('out_dir', metavar='OUT_DIR', type=Path, help=text)
    add(
        '--character',
        nargs='+',
        action='extend',
        type=clip_arguments.listed,
        metavar='C',
        help=f'names or files; default {DEFAULT_CHARACTER}',
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        '--workers', type=int, metavar='N', help='number of processes; default: one per core'
    )
    text = 'use the cluster of this scheduler instead, e.g. tcp://127.0.0.1:8786'
    where.add_argument('--dask', metavar='ADDRESS', help=text)
    text = 'only clips whose name, or path below IN_DIR, matches; may be repeated'
    add('--glob', action='append', default=[], metavar='PATTERN', help=text)
    add(
        '--asf',
        type=Path,
        metavar='F',
        help='skeleton of all .amc clips; default: the .asf beside each',
    )
    text = 'output format; default npz for robots, else bvh'
    add('--format', choices=[suffix[1:] for suffix in MOTION_SUFFIXES], help=text)
    clip_arguments.add_solver_options(parser)
    add('--overwrite', action='store_true', help='redo finished outputs as well')
    add('--dry-run', action='store_true', help='only list what would be done')
    text = 'address-space limit per process; a clip that needs more fails; default: none'
    add('--memory-gib', type=float, metavar='G', help=text)
    text = 'time limit per clip [s]; 0 for none; default %(default)g'
    add('--timeout', type=float, default=3600.0, metavar='S', help=text)
    text = f'write the table here as well, .csv or .parquet; OUT_DIR/{SUMMARY} is always written'
    add('--summary', type=Path, metavar='FILE', help=text)
    add('--json', type=Path, metavar='FILE', help='counts, rates and times of the run')
    clip_arguments.add_tuning_options(parser)
    clip_arguments.add_clip_options(parser)


def run(arguments: argparse.Namespace) -> str:
    """Retarget a library and return a summary; RuntimeError if clips failed, beside the others."""
    _check(arguments)
    tasks = _tasks(arguments)
    if arguments.dry_run:
        return batch_run.printable(_plan(tasks))
    result = batch_run.BatchResult()
    with progress('batch', len(tasks), unit='clip') as advance:

        def report(outcome: Outcome) -> None:
            advance(1, outcome.status == SKIPPED)

        try:
            runner = _runner(arguments, tasks)
            advance(0, True)  # compiling does not predict the time that is left
            batch_run.run_batch(tasks, runner, result, report)
        finally:
            if arguments.summary and result.rows:
                batch_run.write_table(result.table, arguments.summary)
    if arguments.json:
        write_report(result.figures(), arguments.json)
    return batch_run.printable(_summary(arguments.out_dir, result))


def _check(arguments: argparse.Namespace) -> None:
    if arguments.workers is not None and not 1 <= arguments.workers <= MAX_WORKERS:
        raise ConfigError(f'--workers: expected 1 .. {MAX_WORKERS}, got {arguments.workers}')
    if arguments.memory_gib is not None and not 0.5 <= arguments.memory_gib <= 1e4:
        raise ConfigError(f'--memory-gib: expected 0.5 .. 10000, got {arguments.memory_gib:g}')
    if not 0.0 <= arguments.timeout <= MAX_TIMEOUT_S:
        raise ConfigError(f'--timeout: expected 0 .. {MAX_TIMEOUT_S:g}, got {arguments.timeout:g}')
    if arguments.memory_gib is not None and arguments.dask:
        raise ConfigError(
            '--memory-gib: expected no --dask with it, as its workers set their own limit'
        )
    if arguments.out_dir.exists() and not arguments.out_dir.is_dir():
        raise ConfigError(f'OUT_DIR: expected a folder, got {str(arguments.out_dir)!r}')
    if arguments.summary:
        batch_run.check_summary(arguments.summary)
    if arguments.json:
        check_writable(arguments.json, '--json')
    own = {f'OUT_DIR/{name}': arguments.out_dir / name for name in batch_run.OWN_FILES}
    for name, path in own.items():
        check_writable(path, name)
    outputs = {'--summary': arguments.summary, '--json': arguments.json}
    clip_arguments.require_other_files({**own, '--asf': arguments.asf}, outputs)
    for name, path in outputs.items():
        if path and path.resolve().is_relative_to((arguments.out_dir / LEDGER).resolve()):
            raise ConfigError(
                f'{name}: expected a file outside OUT_DIR/{LEDGER}, got {str(path)!r}'
            )


def _tasks(arguments: argparse.Namespace) -> list[Task]:
    tuning = clip_arguments.tuning(arguments.settings)
    environment = clip_arguments.find_environment(arguments.environment)
    given = arguments.character or [(DEFAULT_CHARACTER,)]
    characters = [
        clip_arguments.find_character(name, arguments.world_scale)
        for names in given
        for name in names
    ]
    jobs = [tuning.job(character, environment, arguments.solver) for character in characters]
    options = clip_options(arguments)
    reading = Reading(
        _from_anywhere(arguments.name_map),
        replace(
            options,
            marker_set=_from_anywhere(options.marker_set),
            body_model=_from_anywhere(options.body_model),
        ),
    )
    in_dir, out_dir = arguments.in_dir.absolute(), arguments.out_dir.absolute()
    names = find_clips(in_dir, out_dir, arguments.glob)
    asf = None if arguments.asf is None else arguments.asf.absolute()
    how = arguments.overwrite, arguments.timeout, arguments.format and f'.{arguments.format}'
    return make_tasks(in_dir, out_dir, names, jobs, reading, asf, *how)


def _from_anywhere(name_or_path: str | None) -> str | None:
    """Return a file's path, which a worker in another folder can follow, or a built-in name."""
    if name_or_path is None or Path(name_or_path).suffix.lower() not in ('.yaml', '.yml', '.npz'):
        return name_or_path
    return str(Path(name_or_path).absolute())


def _runner(arguments: argparse.Namespace, tasks: Sequence[Task]) -> Runner:
    if arguments.dask:
        return DaskRunner(arguments.dask)
    warm_up(tasks)
    workers = arguments.workers or len(os.sched_getaffinity(0))
    return LocalRunner(workers, int((arguments.memory_gib or 0.0) * 2**30))


def _plan(tasks: Sequence[Task]) -> str:
    lines, counts = list[str](), dict.fromkeys((_TO_DO, _FINISHED, _UNREADABLE), 0)
    for task in tasks:
        rest = f'{task.name} -> {task.out_name}'
        try:
            is_done = not task.redo and bool(ledger.finished_row(task, ledger.task_key(task)))
            state = _FINISHED if is_done else _TO_DO
        except (InputFileError, OSError) as err:
            state, rest = _UNREADABLE, f'{task.name}: {err}'
        counts[state] += 1
        lines.append(f'{state:10}  {rest}')
    told = ', '.join(f'{n} {state}' for state, n in counts.items() if n or state != _UNREADABLE)
    return '\n'.join([*lines, f'{told}; nothing was written'])


def _summary(out_dir: Path, result: batch_run.BatchResult) -> str:
    counts, figures = result.counts, result.figures()
    text = f'{out_dir / SUMMARY}: {counts[DONE]} retargeted, {counts[SKIPPED]} finished before'
    if result.frames:
        text += (
            f'; {result.frames} frames in {result.wall_s:.1f} s, '
            f'{figures["frames_per_cpu_s"]:.0f} frames a second of core time'
        )
    if not counts[FAILED]:
        return text
    first = result.failures[0]
    why = '; '.join(first[name] for name in ('reason', 'detail') if first[name])
    raise RuntimeError(
        f'{counts[FAILED]} of {sum(counts.values())}, listed in {out_dir / FAILED_LIST}, the '
        f'first {first["clip"]} for {first["character"]}: {why} ({text})'
    )
