# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Options for reading a clip file: what the file itself leaves open or states wrongly."""

from dataclasses import dataclass

from puppet_core.io import ConfigError

AUTO = 'auto'
UP_AXES = (AUTO, 'x', 'y', 'z', '-x', '-y', '-z')
UNITS_M = {'mm': 0.001, 'cm': 0.01, 'in': 0.0254, 'm': 1.0}  # what --unit takes by name


@dataclass(frozen=True, slots=True)
class ClipOptions:
    """Overrides for reading a clip; the defaults suit the known sources."""

    unit_m: float | None = None
    """Length of the file's unit [m]; None for that of the file, or the one that suits a body."""

    rate_hz: float | None = None
    """Frames per second; None for that of the file, 120 for AMC."""

    up_axis: str = AUTO
    """
    The file's axis that points up, x, y or z, with a minus if it points down.

    auto takes that of the file, or how the body stands.

    """

    marker_set: str | None = None
    """Marker set of a C3D: a built-in name or a YAML file; None for the one that fits."""

    drop_artificial_start: bool = True
    """Drop first frames that jump: conversions put a T-pose there, in another place."""

    level_floor: bool = True
    """Turn the clip where its standing feet agree on a floor that is slightly tilted."""

    shift_to_floor: bool = True
    """Move the clip vertically where its floor is not at zero height."""

    def __post_init__(self) -> None:
        if self.up_axis not in UP_AXES:
            known = ', '.join(UP_AXES)
            raise ConfigError(f'up_axis: expected one of {known}, got {self.up_axis!r}')
        for name, low, high in (('unit_m', 1e-6, 1e3), ('rate_hz', 0.1, 1e4)):
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise ConfigError(f'{name}: expected {low:g} .. {high:g}, got {value}')


def unit_length_m(text: str) -> float:
    """
    Return the length [m] of a unit given by name (mm, cm, in, m) or as a number of metres.

    Raises
    ------
    ConfigError : if it is neither.

    """
    if text in UNITS_M:
        return UNITS_M[text]
    try:
        return float(text)
    except ValueError:
        known = ', '.join(UNITS_M)
        raise ConfigError(f'unit: expected one of {known} or metres, got {text!r}') from None


DEFAULT_OPTIONS = ClipOptions()
