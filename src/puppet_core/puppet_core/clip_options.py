# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a user can say about a clip file that the file itself does not say, or says wrongly."""

from dataclasses import dataclass

from puppet_core.errors import ConfigError

UP_AXES = ('auto', 'y', 'z')


@dataclass(frozen=True, slots=True)
class ClipOptions:
    """Overrides for reading a clip; the defaults suit the known sources."""

    unit_m: float | None = None
    """Length of the file's unit [m]; None for centimetres in BVH, what :units says in ASF."""

    rate_hz: float | None = None
    """Frames per second; None for what the file says, 120 for AMC."""

    up_axis: str = 'auto'
    """The file's vertical, y or z; auto takes the one along which the body stands."""

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


DEFAULT_OPTIONS = ClipOptions()
