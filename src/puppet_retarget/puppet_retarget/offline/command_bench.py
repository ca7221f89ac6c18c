# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip bench`: quality and speed over clips, characters, solvers and presets."""

import argparse
from collections.abc import Iterator, Sequence
from itertools import product
import os
from pathlib import Path
import platform
from typing import Any

import numba
import numpy as np
from puppet_core.clip import SUFFIXES
from puppet_core.errors import ConfigError, InputFileError
from puppet_core.posture import Motion
from puppet_retarget.offline import clip_arguments
from puppet_retarget.offline.bench_table import bench_row, markdown
from puppet_retarget.offline.clip_arguments import ConfigFiles
from puppet_retarget.offline.clip_retarget import RetargetJob
from puppet_retarget.offline.report_file import write_report
from puppet_retarget.offline.terminal_progress import progress
from puppet_retarget.parameters import PRESETS
from puppet_retarget.performer.sensor_layout import load_layout
from puppet_retarget.solvers.registry import SOLVER_NAMES

EXAMPLE = 'example: ./puppet bench --clip walk.bvh --characters blubby,sally --json bench.json'
PROCEDURAL = 'procedural'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's arguments."""
    parser.add_argument(
        'clips', nargs='*', type=Path, metavar='CLIP',
        help='clips, or folders of them; the built-in performer if there are none',
    )  # fmt: skip
    parser.add_argument(
        '--clip', action='append', default=[], type=Path, metavar='FILE', help='one more clip'
    )
    parser.add_argument(
        '--asf', type=Path, metavar='F', help='skeleton of .amc clips; else SUBJECT.asf beside'
    )
    _add_list(parser, 'characters', ('blubby', 'sally'), 'names or YAML files')
    _add_list(parser, 'solvers', SOLVER_NAMES[:1], f'of {", ".join(SOLVER_NAMES)}')
    _add_list(parser, 'presets', PRESETS[:1], f'of {", ".join(PRESETS)}')
    parser.add_argument(
        '--layout', default='default14', metavar='L',
        help='sensors of the timed path, name or YAML file; default %(default)s',
    )  # fmt: skip
    parser.add_argument('--json', type=Path, metavar='FILE', help='the same, and the machine')
    clip_arguments.add_tuning_options(parser, has_procedural=True)
    clip_arguments.add_clip_options(parser)


def _add_list(
    parser: argparse.ArgumentParser, name: str, default: Sequence[str], text: str
) -> None:
    parser.add_argument(
        f'--{name}', type=clip_arguments.listed, default=tuple(default), metavar='A,B',
        help=f'{text}; default {",".join(default)}',
    )  # fmt: skip


def run(arguments: argparse.Namespace, files: ConfigFiles) -> str:
    """
    Measure everything asked for; return the Markdown table.

    Raises
    ------
    PuppetError : for bad input.

    """
    if arguments.json:
        clip_arguments.check_output(arguments.json, '--json')
    paths = _clip_files([*arguments.clips, *arguments.clip])
    jobs = list(_jobs(arguments, files, is_procedural=not paths))
    layout = load_layout(files.layout_file(arguments.layout))
    rows = []
    for name, motion in _motions(paths, arguments, files):
        with progress(f'bench {name}', len(jobs) * motion.n_frames) as advance:
            for preset, job in jobs:
                row = bench_row(name, motion, job, layout, advance)
                rows.append({**row, 'preset': preset})
    if arguments.json:
        write_report({'machine': machine(), 'rows': rows}, arguments.json)
    return markdown(rows)


def machine() -> dict[str, Any]:
    """Return what the times depend on."""
    return {
        'processor': _processor(),
        'cores': os.cpu_count(),
        'python': platform.python_version(),
        'numba': numba.__version__,
        'numpy': np.__version__,
    }


def _jobs(
    arguments: argparse.Namespace, files: ConfigFiles, is_procedural: bool
) -> Iterator[tuple[str, RetargetJob]]:
    for solver in arguments.solvers:
        if solver not in SOLVER_NAMES:
            known = ', '.join(SOLVER_NAMES)
            raise ConfigError(f'--solvers: expected names of {known}, got {solver!r}')
    environment = clip_arguments.find_environment(files, arguments.environment, is_procedural)
    characters = [
        clip_arguments.find_character(files, name, arguments.world_scale)
        for name in arguments.characters
    ]
    for character, solver, preset in product(characters, arguments.solvers, arguments.presets):
        tuning = clip_arguments.tuning(arguments.settings, preset)
        yield preset, RetargetJob(
            character, environment, solver, tuning.importance, tuning.solver
        )


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


def _motions(
    paths: Sequence[Path], arguments: argparse.Namespace, files: ConfigFiles
) -> Iterator[tuple[str, Motion]]:
    if not paths:
        yield PROCEDURAL, clip_arguments.procedural_clip(files)
    for path in paths:
        asf = clip_arguments.skeleton_beside(path, arguments.asf)
        yield path.stem, clip_arguments.read_clip(path, arguments, asf)


def _processor() -> str:
    """Return the processor's name where the system tells it."""
    try:
        lines = Path('/proc/cpuinfo').read_text(encoding='utf-8', errors='replace').splitlines()
    except OSError:
        lines = []
    names = [line.partition(':')[2].strip() for line in lines if line.startswith('model name')]
    return names[0] if names else platform.processor() or platform.machine()
