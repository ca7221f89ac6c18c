# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments that the subcommands of puppet_clip share, and what they stand for."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import math
from pathlib import Path
from typing import Any

from puppet_core import named_files
from puppet_core.body import AUTO, Character, load_character, Motion
from puppet_core.clips import (
    add_reading_options,
    props_of_joints,
    read_clip_by_options,
    read_props,
    SUFFIXES,
)
from puppet_core.io import (
    check_values,
    check_writable,
    ConfigError,
    InputFileError,
    load_plain_yaml,
    note,
    Row,
)
from puppet_core.procedural import SCRIPTS, SHOW
from puppet_retarget.importance import (
    Environment,
    ImportanceConfig,
    load_environment,
    SelfInteractionConfig,
)
from puppet_retarget.offline.whole_motion import RetargetJob
from puppet_retarget.parameters import (
    importance_config,
    IMPORTANCE_ROWS,
    self_interaction_config,
    solver_config,
    SOLVER_ROWS,
)
from puppet_retarget.solvers import SOLVER_NAMES, SolverConfig
import yaml

BAG_SUFFIXES = ('.mcap', '.db3')
MAX_WORLD_SCALE = 100.0
CLIP_ENVIRONMENT = 'floor'
PROCEDURAL_RATE_HZ = 120.0
PERFORMER = 'performer'
_OWN_OPTIONS = ('solver', 'character', 'environment')
_LIVE_ONLY = ('surface_file', 'influence_distances_m')


def tuning_rows() -> tuple[Row, ...]:
    rows = {row.name: row for row in (*IMPORTANCE_ROWS, *SOLVER_ROWS)}
    return tuple(row for name, row in rows.items() if name not in _OWN_OPTIONS + _LIVE_ONLY)


@dataclass(frozen=True, slots=True)
class ClipTuning:
    importance: ImportanceConfig
    solver: SolverConfig
    self_interaction: SelfInteractionConfig = SelfInteractionConfig()

    def job(
        self, character: Character, environment: Environment, solver: str = SOLVER_NAMES[0]
    ) -> RetargetJob:
        parts = self.importance, self.solver, self.self_interaction
        return RetargetJob(character, environment, solver, *parts)


def add_clip_options(parser: argparse.ArgumentParser, has_props: bool = False) -> None:
    group = parser.add_argument_group('reading the clip')
    add_reading_options(group)
    if has_props:
        text = (
            'poses of props: a .csv file with columns time_s,name,x,y,z,qx,qy,qz,qw, or a clip '
            'whose joints they are, which may be the same clip'
        )
        group.add_argument('--props', type=Path, metavar='FILE', help=text)


def add_solver_options(parser: argparse.ArgumentParser) -> None:
    text = 'solver that poses the puppet; default %(default)s'
    parser.add_argument('--solver', choices=SOLVER_NAMES, default=SOLVER_NAMES[0], help=text)


def add_tuning_options(parser: argparse.ArgumentParser, has_procedural: bool = False) -> None:
    group = parser.add_argument_group('retargeting')
    group.add_argument(
        '--environment',
        metavar='E',
        help=f'name or YAML file; default {CLIP_ENVIRONMENT}'
        f'{", of a built-in performance its own" if has_procedural else ""}',
    )
    group.add_argument(
        '--world-scale', metavar='K', help=f"size of the puppet's world, a number or {AUTO}"
    )
    group.add_argument(
        '--set',
        action='append',
        default=[],
        metavar='NAME=VALUE',
        dest='settings',
        help='set a parameter of importance or solver; may be repeated',
    )


def clip_path(text: str) -> Path:
    """Return the path of a clip: of a sample by its name, unless there is a file of that name."""
    path = Path(text)
    is_sample = text in named_files.available('clips', '.bvh') and not path.exists()
    return named_files.sample(text) if is_sample else path


def read_clip(
    path: str | Path,
    arguments: argparse.Namespace,
    asf: str | Path | None = None,
    mend: bool = True,
) -> Motion:
    """
    Return the clip that a path names, read with the clip options.

    Without `mend` every frame stays where the file has it. An InputFileError names file and line,
    a ConfigError the option that does not fit.
    """
    if is_bag(path):
        raise InputFileError(
            path, f'a {" or ".join(SUFFIXES)} file', 'a bag', hint='retarget and replay read bags'
        )
    return read_clip_by_options(path, arguments, asf, note, mend)


def read_clip_and_props(arguments: argparse.Namespace) -> Motion:
    """Return the clip of a command with `--props`, and these in it; errors as of `read_clip`."""
    motion = read_clip(arguments.clip, arguments, arguments.asf)
    path = arguments.props
    if path is None:
        return motion
    if path.suffix.lower() not in SUFFIXES:
        return replace(motion, props=read_props(path, motion))
    asf = arguments.asf if path.suffix.lower() == '.amc' else None
    report = (lambda text: None) if path == arguments.clip else note  # what it says was said
    joints = read_clip_by_options(path, arguments, asf, report, joints_as_props=True)
    return replace(motion, props=props_of_joints(joints, motion))


def procedural_clip(script: str = SHOW) -> Motion:
    """Return one pass of a built-in performance by an average adult."""
    return SCRIPTS[script].motion(find_character(PERFORMER), PROCEDURAL_RATE_HZ)


def is_bag(path: str | Path) -> bool:
    """Return whether a path seems to be a rosbag, a file or a folder."""
    return Path(path).suffix.lower() in BAG_SUFFIXES or (Path(path) / 'metadata.yaml').is_file()


def find_character(name_or_path: str, world_scale: str | None = None) -> Character:
    """Return a character, living in a world of the given scale instead of its own."""
    character = load_character(named_files.character_file(name_or_path))
    if world_scale is None:
        return character
    return replace(character, world_scale=parse_world_scale(world_scale))


def find_environment(name_or_path: str | None, script: str | None = None) -> Environment:
    """Return an environment, by default that of a script, and of a clip the floor."""
    usual = SCRIPTS[script].environment if script else CLIP_ENVIRONMENT
    return load_environment(named_files.environment_file(name_or_path or usual))


def tuning(settings: Sequence[str]) -> ClipTuning:
    """Return the tuning with single parameters set, or raise ConfigError."""
    values = check_values(tuning_rows(), dict(_setting(text) for text in settings))
    return ClipTuning(
        importance_config(values), solver_config(values), self_interaction_config(values)
    )


def check_output(path: str | Path, name: str, *suffixes: str) -> None:
    """Refuse an output that cannot be written, before the work is done, with a ConfigError."""
    path = Path(path)
    if any(suffixes) and path.suffix.lower() not in suffixes:
        kinds = ' or '.join(suffixes)
        raise ConfigError(f'{name}: expected a {kinds} file, got {str(path)!r}')
    check_writable(path, name)


def require_other_files(
    inputs: Mapping[str, Path | None], outputs: Mapping[str, Path | None]
) -> None:
    """Refuse an output that is an input or another output too; both are arguments by name."""
    taken = {path.resolve(): name for name, path in inputs.items() if path is not None}
    for name, path in outputs.items():
        if path is None:
            continue
        other = taken.setdefault(path.resolve(), name)
        if other != name:
            raise ConfigError(f'{name}: expected a file other than {other}, got {str(path)!r}')


def listed(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas; argparse shows the error."""
    names = tuple(name.strip() for name in text.split(','))
    if not all(names):
        raise argparse.ArgumentTypeError(f'expected names with commas between, got {text!r}')
    return names


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition('=')
    if not equals or not name.strip():
        raise ConfigError(f'--set: expected NAME=VALUE, got {text!r}')
    name = name.strip()
    if name in _OWN_OPTIONS:
        raise ConfigError(f'--set: expected a tuning parameter, got {name!r}; it has an option')
    return name, _typed(value)


def _typed(text: str) -> Any:
    """Return a number, a truth value or the text itself."""
    try:
        value = load_plain_yaml(text)
    except (yaml.YAMLError, RecursionError):
        return text
    if isinstance(value, str):
        try:
            return float(value)  # YAML takes 1e-3 for a text
        except ValueError:
            pass
    return value


def parse_world_scale(text: str) -> float | str:
    if text == AUTO:
        return AUTO
    try:
        scale = float(text)
    except ValueError:
        scale = math.nan
    if not 0.0 < scale <= MAX_WORLD_SCALE:
        raise ConfigError(
            f'--world-scale: expected {AUTO} or 0 < value <= {MAX_WORLD_SCALE:g}, got {text!r}'
        )
    return scale
