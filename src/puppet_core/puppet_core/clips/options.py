# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Options for reading a clip: what its file leaves open or states wrongly, also on a command."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from puppet_core.io import ConfigError

AUTO = 'auto'
UP_AXES = (AUTO, 'x', 'y', 'z', '-x', '-y', '-z')
UNITS_M = {'mm': 0.001, 'cm': 0.01, 'in': 0.0254, 'm': 1.0}  # what --unit takes by name


@dataclass(frozen=True, slots=True)
class ClipOptions:
    """Overrides for reading a clip; the defaults suit the known sources."""

    # Length of the file's unit [m]; None for that of the file, or the one that suits a body
    unit_m: float | None = None
    rate_hz: float | None = None  # Frames per second; None for that of the file, 120 for AMC
    up_axis: str = AUTO
    """
    The file's axis that points up, x, y or z, with a minus if it points down.

    auto takes that of the file, or how the body stands.
    """

    # Marker set of a C3D: a built-in name or a YAML file; None for the one that fits
    marker_set: str | None = None
    # Animation of a glTF or FBX by name; None for the longest
    animation: str | None = None
    # Model of the SMPL family, as its makers give it, for the shape of a body; None for a mean one
    body_model: str | None = None
    # Drop first frames that jump (conversions put a T-pose there, in another place), turn the clip
    # where its standing feet agree on a floor that is slightly tilted, move that to zero height
    correct: bool = True
    # Every joint of the file is also a prop of the motion, by its name; its axes in the file's
    # rest pose are those of our world
    joints_as_props: bool = False

    def __post_init__(self) -> None:
        if self.up_axis not in UP_AXES:
            known = ', '.join(UP_AXES)
            raise ConfigError(f'up_axis: expected one of {known}, got {self.up_axis!r}')
        for name, low, high in (('unit_m', 1e-6, 1e3), ('rate_hz', 0.1, 1e4)):
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise ConfigError(f'{name}: expected {low:g} .. {high:g}, got {value}')


def unit_length_m(text: str) -> float:
    """Return the length [m] of a unit, by name (mm, cm, in, m) or in metres; or ConfigError."""
    if text in UNITS_M:
        return UNITS_M[text]
    try:
        return float(text)
    except ValueError:
        known = ', '.join(UNITS_M)
        raise ConfigError(f'unit: expected one of {known} or metres, got {text!r}') from None


DEFAULT_OPTIONS = ClipOptions()


def add_reading_options(
    parser: argparse._ActionsContainer, rate_option: str = '--rate-hz'
) -> None:
    """Declare the options; `rate_option` is for where --rate-hz means something else."""
    add = parser.add_argument
    add('--name-map', metavar='MAP', help='joint names: built in, or a YAML file')
    add('--markers', metavar='MAP', help='marker set of a C3D: built in, or a YAML file')
    add(
        '--animation',
        metavar='NAME',
        help='animation to read from a .glb or .fbx with several; default: the longest',
    )
    add(
        '--body-model',
        metavar='NPZ',
        help="SMPL body model, gives the performer's shape for an SMPL .npz",
    )
    add(
        '--unit',
        '--unit-m',
        dest='unit_m',
        type=_unit,
        metavar='U',
        help='unit of the file: mm, cm, in, m, or its length in metres; detected by default',
    )
    add(
        '--up-axis',
        choices=UP_AXES,
        default=AUTO,
        help="the file's axis that points up, --up-axis=-y if it points down; %(default)s looks "
        'how the body stands',
    )
    add(rate_option, dest='clip_rate_hz', type=float, metavar='HZ', help='frames per second')


def clip_options(arguments: argparse.Namespace, correct: bool = True) -> ClipOptions:
    """Return the options as data; without `correct` nothing is dropped, levelled or moved."""
    a = arguments
    by_name = a.markers, a.animation, a.body_model
    return ClipOptions(a.unit_m, a.clip_rate_hz, a.up_axis, *by_name, correct)


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
