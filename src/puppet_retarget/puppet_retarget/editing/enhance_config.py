# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Options of the enhancement of a motion, with their ranges."""

from dataclasses import dataclass

from puppet_core.errors import ConfigError
from puppet_core.skeleton import GENERAL_END_EFFECTORS
from puppet_retarget.editing.keyframe_postures import PostureObjective
from puppet_retarget.editing.rotation_channels import CHANNEL_KINDS
from puppet_retarget.editing.targets import Targets

AUTO, FIXED, FREE = 'auto', 'fixed', 'free'
MIN_DETAIL_S = 1e-3  # knots closer than frames ever are
ROOT_CHOICES = (AUTO, FIXED, FREE)
_FEET = [GENERAL_END_EFFECTORS.index(name) for name in ('left_foot', 'right_foot')]


@dataclass(frozen=True, slots=True)
class EnhanceConfig:
    """How a motion is enhanced."""

    weight: float = 0.999999
    """w1 of eq. 1, for metres and radians."""

    channels: str = CHANNEL_KINDS[0]
    """Numbers that curves are fitted to."""

    detail_s: float = 0.05
    """Spacing of free knots [s]; 0 for none, the paper's curve."""

    follow: bool = True
    """With detail: whether the curve follows end-effectors between keyframes as well."""

    segment: int = 0
    """Without detail: keyframes from one joint of segments to the next; 0 for one segment."""

    root: str = AUTO
    """Whether keyframes may move the root; auto: if a foot is measured, so that feet stay put."""

    tolerance_m: float = 0.0
    """Errors above it get a keyframe of their own [m]; 0 for none."""

    least_s: float = 0.1
    """Between two keyframes that are added [s]."""

    def __post_init__(self) -> None:
        PostureObjective((), weight=self.weight)
        for name, choices in (('channels', CHANNEL_KINDS), ('root', ROOT_CHOICES)):
            if getattr(self, name) not in choices:
                known = ', '.join(choices)
                raise ConfigError(f'{name}: expected one of {known}, got {getattr(self, name)!r}')
        for name, high in (('detail_s', 60.0), ('tolerance_m', 10.0), ('segment', 10**6)):
            if not 0.0 <= getattr(self, name) <= high:
                raise ConfigError(f'{name}: expected 0 .. {high:g}, got {getattr(self, name)}')
        if 0.0 < self.detail_s < MIN_DETAIL_S:
            raise ConfigError(
                f'detail_s: expected 0 or at least {MIN_DETAIL_S:g}, got {self.detail_s}'
            )


DEFAULT_CONFIG = EnhanceConfig()


def moves_root(root: str, targets: Targets) -> bool:
    """Return whether the root gives way: if told, or by default if a foot is measured."""
    if root not in ROOT_CHOICES:
        raise ConfigError(f'root: expected one of {", ".join(ROOT_CHOICES)}, got {root!r}')
    return root == FREE or (root == AUTO and bool(targets.rows[_FEET].any()))
