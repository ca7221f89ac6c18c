# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet bench batch`: frames a second and core of a library, and where the time goes."""

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys
from tempfile import TemporaryDirectory

from benchmarks.batch_stages import bench, best, efficiency, Timing
from benchmarks.command import bench_command, bench_parser
from puppet_core.clips import SUFFIXES, write_bvh
from puppet_core.io import check_writable, ConfigError
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import RetargetJob, write_report

DESCRIPTION = 'Measure batch throughput and profile it.'
EXAMPLE = 'example: ./puppet bench batch walk.bvh run.bvh --copies 16'
MAX_COPIES, MAX_WORKERS, MAX_ROUNDS = 10000, 256, 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        'clips',
        metavar='CLIP',
        type=Path,
        nargs='*',
        help='.bvh, .amc, .c3d; default: the built-in performer',
    )
    add('--character', default='sally', metavar='C', help='name or file; default %(default)s')
    add(
        '--copies',
        type=int,
        default=16,
        metavar='N',
        help='copies of each clip in the library; default %(default)s',
    )
    add(
        '--workers',
        type=int,
        default=2,
        metavar='N',
        help='number of processes to compare with one; default %(default)s',
    )
    add(
        '--rounds',
        type=int,
        default=2,
        metavar='N',
        help='timing rounds; the best one counts; default %(default)s',
    )
    add('--json', type=Path, metavar='FILE', help='write the figures of all passes to this file')


def run(arguments: argparse.Namespace) -> str:
    """
    Time, write the figures and return a table.

    Raises
    ------
    PuppetError : for bad arguments.
    RuntimeError : if a clip failed.

    """
    for name, low, high in (
        ('copies', 1, MAX_COPIES),
        ('workers', 2, MAX_WORKERS),
        ('rounds', 1, MAX_ROUNDS),
    ):
        value = getattr(arguments, name)
        if not low <= value <= high:
            raise ConfigError(f'--{name}: expected {low} .. {high}, got {value}')
    for clip in arguments.clips:
        if clip.suffix.lower() not in SUFFIXES or not clip.is_file():
            raise ConfigError(f'CLIP: expected a {" or ".join(SUFFIXES)} file, got {str(clip)!r}')
    if arguments.json:
        check_writable(arguments.json, '--json')
    character = clip_arguments.find_character(arguments.character)
    job = RetargetJob(character, clip_arguments.find_environment(None))
    with TemporaryDirectory() as folder:
        clips = arguments.clips
        if not clips:
            clips = [Path(folder, 'performer.bvh')]
            write_bvh(clip_arguments.procedural_clip(), clips[0])
        timings = bench(clips, job, arguments.copies, arguments.workers, arguments.rounds)
    if arguments.json:
        write_report(
            [
                {'workers': t.workers, 'parent_us_per_frame': t.parent_us, **t.figures}
                for t in timings
            ],
            arguments.json,
        )
    return _table(timings, arguments.workers)


def _table(timings: Sequence[Timing], workers: int) -> str:
    stages = list(timings[0].figures['cpu_us_per_frame'])
    rows = [('workers', *stages, 'parent', 'frames/s a core'), ('---',) * (len(stages) + 3)]
    for count in (1, workers):
        timing = best(timings, count)
        spent = timing.figures['cpu_us_per_frame']
        rows.append(
            (
                str(count),
                *(f'{spent[stage]:.1f}' for stage in stages),
                f'{timing.parent_us:.1f}',
                f'{timing.figures["frames_per_cpu_s"]:.0f}',
            )
        )
    lines = [f'| {" | ".join(row)} |' for row in rows]
    frames = timings[0].figures['frames']
    core, wall = (
        efficiency(timings, workers, key) for key in ('frames_per_cpu_s', 'frames_per_s')
    )
    return '\n'.join(
        [
            f'us of core time a frame, {frames} frames a pass',
            '',
            *lines,
            '',
            f'1 to {workers} workers: efficiency {core:.2f} of core time, {wall:.2f} of time that '
            'passed, with starting',
        ]
    )


def parser() -> argparse.ArgumentParser:
    return bench_parser('batch', DESCRIPTION, EXAMPLE, add_arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bench; return the exit code."""
    return bench_command(parser(), run, argv)


if __name__ == '__main__':
    sys.exit(main())
