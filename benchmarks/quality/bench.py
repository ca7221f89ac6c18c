# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet bench quality`: quality and speed over clips, characters and solvers."""

import argparse
from collections.abc import Iterator, Sequence
from itertools import product
import os
from pathlib import Path
import platform
import sys
from typing import Any

from benchmarks.command import bench_command, bench_parser, processor
from benchmarks.quality.body_iterations import (
    at_frame_rate,
    count_iterations,
    iterations_table,
    PASSES_OF_A_JOB,
)
from benchmarks.quality.path_timing import PASSES
from benchmarks.quality.peer_table import peer_table
from benchmarks.quality.peers import is_peer, PEER_NAMES, peer_runs
from benchmarks.quality.run import ClipBench, passes_of, PASSES_OF_A_RUN
from benchmarks.quality.tables import markdown, timing_table
from benchmarks.quality.thesis_figures import Cast, part, thesis_figures
from benchmarks.quality.weights import variants, weight_rows, weights_table
from benchmarks.quality.worst_case import MIN_CANDIDATES, search_worst
import numba
import numpy as np
from puppet_core import named_files
from puppet_core.body import load_character, Motion
from puppet_core.clips import SUFFIXES
from puppet_core.drawing import save_png
from puppet_core.io import ConfigError, InputFileError, progress
from puppet_core.procedural import SCRIPTS, SHOW
from puppet_performer.sensor_layout import load_layout
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import PERFORMER, RetargetJob, write_report
from puppet_retarget.solvers import SOLVER_NAMES

DESCRIPTION = 'Measure quality and speed over clips, characters and solvers.'
EXAMPLE = (
    'example: ./puppet bench quality --clip walk.bvh --characters blubby,sally --json bench.json'
)
PROCEDURAL_WALK_S = (5.333, 8.583)  # when the built-in performer walks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        'clips',
        nargs='*',
        type=Path,
        metavar='CLIP',
        help='clips or folders of clips; default: the built-in performer',
    )
    parser.add_argument(
        '--clip', action='append', default=[], type=Path, metavar='FILE', help='one more clip'
    )
    parser.add_argument(
        '--asf',
        type=Path,
        metavar='F',
        help='skeleton of .amc clips; default: SUBJECT.asf beside each',
    )
    _add_list(parser, 'characters', ('blubby', 'sally'), 'names or YAML files')
    _add_list(parser, 'solvers', SOLVER_NAMES, f'of {", ".join(SOLVER_NAMES)}')
    parser.add_argument(
        '--peers',
        type=clip_arguments.listed,
        default=(),
        metavar='A,B',
        help=f'other solvers to measure as well, of {", ".join(PEER_NAMES)}; default: none',
    )
    parser.add_argument(
        '--layout',
        default='default14',
        metavar='L',
        help='sensor layout for the timing, name or YAML file; default %(default)s',
    )
    out = parser.add_mutually_exclusive_group()
    out.add_argument('--json', type=Path, metavar='FILE', help='write every run with all figures')
    out.add_argument(
        '--figures',
        type=Path,
        metavar='FOLDER',
        help='measure nothing; draw figures 4.1, 4.3, 7.2, 7.3 and 7.6 of the thesis, 7.2 and 7.3 '
        'of the first clip',
    )
    out.add_argument(
        '--worst',
        type=int,
        metavar='N',
        help='measure no clip; search N postures for the slowest frame',
    )
    out.add_argument(
        '--iterations',
        action='store_true',
        help='measure nothing else; print table 7.1 of the thesis: iterations of the body solver '
        'under its conditions',
    )
    out.add_argument(
        '--weights',
        action='store_true',
        help='measure nothing else; print the effect of halving and doubling each number of '
        'whole_body',
    )
    parser.add_argument(
        '--script',
        choices=tuple(SCRIPTS),
        default=SHOW,
        help='built-in performance to measure if no clip is given; default %(default)s',
    )
    clip_arguments.add_tuning_options(parser, has_procedural=True)
    clip_arguments.add_clip_options(parser)


def _add_list(
    parser: argparse.ArgumentParser, name: str, default: Sequence[str], text: str
) -> None:
    parser.add_argument(
        f'--{name}',
        type=clip_arguments.listed,
        default=tuple(default),
        metavar='A,B',
        help=f'{text}; default {",".join(default)}',
    )


def run(arguments: argparse.Namespace) -> str:
    """
    Measure everything asked for; return Markdown tables.

    Raises
    ------
    PuppetError : for bad input.

    """
    if arguments.json:
        clip_arguments.check_output(arguments.json, '--json')
    paths = _clip_files([*arguments.clips, *arguments.clip])
    jobs = list(_jobs(arguments, is_procedural=not paths))
    peers = peer_runs(jobs, arguments.peers)
    if arguments.figures:
        return _draw_figures(paths, arguments)
    if arguments.worst is not None:
        return _search(jobs, arguments.worst)
    layout = load_layout(named_files.layout_file(arguments.layout))
    if arguments.iterations:
        return _count(jobs, list(_motions(paths, arguments)))
    if arguments.weights:
        return _vary(jobs, list(_motions(paths, arguments)))
    rows: list[dict[str, Any]] = []
    passes = PASSES_OF_A_RUN * len(jobs) + sum(passes_of(peer) for peer, _ in peers)
    for number, (name, motion) in enumerate(_motions(paths, arguments), start=1):
        title = f'bench {name} ({number} of {max(len(paths), 1)})'
        with progress(title, passes * motion.n_frames) as advance:
            bench = ClipBench(name, motion, layout)
            rows += [bench.row(job, advance) for job in jobs]
            rows += [bench.peer_row(peer, job, advance) for peer, job in peers]
    if arguments.json:
        write_report({'runs': rows}, arguments.json)
    if arguments.write_docs:
        is_whole = arguments.write_docs == 'quality'  # of the block with table 7.2, too
        return peer_table(rows) + f'\n\n{timing_table(rows)}' * is_whole
    return _text(rows)


def _text(rows: list[dict[str, Any]]) -> str:
    """Return what is printed: the tables, each with a title line."""
    parts = [
        markdown(rows),
        f'Time of posture, importance and solver ({rows[0]["solver"]}), each '
        f"frame's fastest of {PASSES} passes:",
        timing_table(rows),
    ]
    if any(is_peer(row['solver']) for row in rows):
        parts += ['Beside peers, mean over the clips and in brackets the worst clip:']
        parts += [peer_table(rows)]
    parts.append(
        f'{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, numba '
        f'{numba.__version__}, numpy {np.__version__}; one core was used.'
    )
    return '\n\n'.join(parts)


def _draw_figures(paths: Sequence[Path], arguments: argparse.Namespace) -> str:
    """Draw the figures of the thesis; return where they are."""
    folder = arguments.figures
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise ConfigError(f'--figures: expected a folder, got {str(folder)!r}: {err}') from err
    tuning = clip_arguments.tuning(arguments.settings)
    cast = Cast(
        clip_arguments.find_character(PERFORMER),
        clip_arguments.find_character('sally', arguments.world_scale),
        clip_arguments.find_character('blubby', arguments.world_scale),
        clip_arguments.find_environment(arguments.environment),
        tuning.importance,
        tuning.solver,
        tuning.self_interaction,
    )
    show = clip_arguments.procedural_clip(SHOW)
    walk = part(show, PROCEDURAL_WALK_S)
    if paths:
        _, walk = next(_motions(paths, arguments))
    stage = clip_arguments.find_environment(None, SHOW)
    figures = thesis_figures(walk, show, cast, stage)
    with progress('figures', len(figures), unit='figure') as advance:
        for name, draw in figures.items():
            save_png(folder / name, draw())
            advance(1)
    return '\n'.join(str(folder / name) for name in figures)


def _jobs(arguments: argparse.Namespace, is_procedural: bool) -> Iterator[RetargetJob]:
    for solver in arguments.solvers:
        if solver not in SOLVER_NAMES:
            known = ', '.join(SOLVER_NAMES)
            raise ConfigError(f'--solvers: expected names of {known}, got {solver!r}')
    environment = clip_arguments.find_environment(
        arguments.environment, arguments.script if is_procedural else None
    )
    characters = [
        clip_arguments.find_character(name, arguments.world_scale) for name in arguments.characters
    ]
    tuning = clip_arguments.tuning(arguments.settings)
    for character, solver in product(characters, arguments.solvers):
        yield tuning.job(character, environment, solver)


def _clip_files(paths: Sequence[Path]) -> list[Path]:
    """Return clips, those of folders in their place."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted(p for p in path.rglob('*') if p.suffix.lower() in SUFFIXES)
        if not inside:
            raise InputFileError(path, f'a folder with {" or ".join(SUFFIXES)} files', 'none')
        files += inside
    return files


def _motions(paths: Sequence[Path], arguments: argparse.Namespace) -> Iterator[tuple[str, Motion]]:
    if not paths:
        yield arguments.script, clip_arguments.procedural_clip(arguments.script)
    names = [path.stem for path in paths]
    for path in paths:
        name = path.stem if names.count(path.stem) == 1 else str(path)
        yield name, clip_arguments.read_clip(path, arguments, arguments.asf)


def _count(jobs: Sequence[RetargetJob], motions: Sequence[tuple[str, Motion]]) -> str:
    """Return table 7.1 of the thesis, under its conditions."""
    characters = list({id(job.character): job for job in jobs}.values())
    rows = []
    for name, motion in motions:
        slow = at_frame_rate(motion)
        n_frames = PASSES_OF_A_JOB * len(characters) * slow.n_frames
        with progress(f'body iterations {name}', n_frames) as advance:
            rows.append(count_iterations(name, slow, characters, advance))
    return iterations_table([job.character.name for job in characters], rows)


def _vary(jobs: Sequence[RetargetJob], motions: Sequence[tuple[str, Motion]]) -> str:
    """Return what each number of the whole-body solver does."""
    characters = list({id(job.character): job for job in jobs}.values())
    with progress('numbers of whole_body', len(list(variants()))) as advance:
        rows = weight_rows([motion for _, motion in motions], characters, advance)
    return weights_table(rows)


def _search(jobs: Sequence[RetargetJob], n_candidates: int) -> str:
    """Return the time of the slowest frame that is found for each puppet."""
    if n_candidates < MIN_CANDIDATES:
        raise ConfigError(f'--worst: expected {MIN_CANDIDATES} or more, got {n_candidates}')
    performer = load_character(named_files.character_file(PERFORMER)).skeleton
    titles = '| character | frames tried | median, us | worst, us |'
    lines = [titles, '|---|---|---|---|']
    for job in jobs:
        if job.solver != SOLVER_NAMES[0]:
            continue
        with progress(f'worst frame of {job.character.name}', n_candidates) as advance:
            found = search_worst(
                performer, job.character, job.environment, job.tuning, n_candidates, 0, advance
            )
        median = float(np.median(found.times_us))
        lines.append(
            f'| {job.character.name} | {n_candidates} | {median:.0f} | {found.worst_us:.0f} |'
        )
    return '\n'.join(lines)


def parser() -> argparse.ArgumentParser:
    return bench_parser('quality', DESCRIPTION, EXAMPLE, add_arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bench; return the exit code."""
    return bench_command(parser(), run, argv)


if __name__ == '__main__':
    sys.exit(main())
