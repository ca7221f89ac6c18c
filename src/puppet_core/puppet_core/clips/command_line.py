# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Command-line options for reading a clip: what its file leaves open or states wrongly."""

import argparse
from collections.abc import Callable
from pathlib import Path

from puppet_core.body import Motion
from puppet_core.clips.load import read_clip
from puppet_core.clips.name_map import PUPPET
from puppet_core.clips.options import AUTO, ClipOptions, unit_length_m, UP_AXES
from puppet_core.io import ConfigError


def add_reading_options(
    parser: argparse._ActionsContainer, rate_option: str = '--rate-hz'
) -> None:
    """
    Declare the options.

    Parameters
    ----------
    parser : argument parser or group
        Where.
    rate_option : str
        What the clip's rate is called, where --rate-hz means something else.

    """
    add = parser.add_argument
    add('--name-map', metavar='MAP', help='joint names: built in, or a YAML file')
    add('--markers', metavar='MAP', help='marker set of a C3D: built in, or a YAML file')
    add(
        '--unit',
        '--unit-m',
        dest='unit_m',
        type=_unit,
        metavar='U',
        help="the file's unit: mm, cm, in, m or its length in metres; found if not given",
    )
    add(
        '--up-axis',
        choices=UP_AXES,
        default=AUTO,
        help="the file's axis that points up, --up-axis=-y if it points down; %(default)s looks "
        'how the body stands',
    )
    add(rate_option, dest='clip_rate_hz', type=float, metavar='HZ', help='frames per second')


def read_clip_as_told(
    path: str | Path,
    arguments: argparse.Namespace,
    asf: str | Path | None,
    tell: Callable[[str], None],
    mend: bool = True,
) -> Motion:
    """
    Return the clip, read with the options; report what was detected.

    The skeleton of an .amc is `asf`, or the one beside it. Without `mend` the floor is not
    levelled or moved and no first frames are dropped.

    Raises
    ------
    InputFileError : naming file, line and what was expected.
    ConfigError : if an option does not fit.

    """
    options = clip_options(arguments, mend)
    read = read_clip(path, skeleton_beside(Path(path), asf), arguments.name_map, options)
    if read.names != PUPPET:  # of our own files there is nothing to find out
        tell(read.text)
    return read.motion


def clip_options(arguments: argparse.Namespace, mend: bool = True) -> ClipOptions:
    """
    Return the options as data; see `read_clip_as_told`.

    Raises
    ------
    ConfigError : if an option does not fit.

    """
    return ClipOptions(
        unit_m=arguments.unit_m,
        rate_hz=arguments.clip_rate_hz,
        up_axis=arguments.up_axis,
        marker_set=arguments.markers,
        drop_artificial_start=mend,
        level_floor=mend,
        shift_to_floor=mend,
    )


def skeleton_beside(clip: Path, asf: str | Path | None) -> str | Path | None:
    """Return the .asf of an .amc: the one given, else SUBJECT.asf beside SUBJECT_TAKE.amc."""
    if clip.suffix.lower() != '.amc' or asf is not None:
        return asf
    beside = clip.with_name(clip.stem.rpartition('_')[0] + '.asf')
    return beside if beside.is_file() else None


def _unit(text: str) -> float:
    try:
        return unit_length_m(text)
    except ConfigError as err:
        raise argparse.ArgumentTypeError(str(err)) from err
