# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Smooth periodic curves that the procedural performer is made of: two derivatives, always."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import Floats
from puppet_core.procedural.motion_loop import smooth_step


class End(NamedTuple):
    """Value, velocity and acceleration at one end of a quintic."""

    value: float
    velocity: float = 0.0
    acceleration: float = 0.0


def check_timing(t_pose_s: float, rate_hz: float) -> None:
    """Raise ConfigError unless a performance can begin with such a T-pose at such a rate."""
    if not 0.0 <= t_pose_s < 1e4 or not 1.0 <= rate_hz < 1e4:
        raise ConfigError(
            f'expected t_pose_s >= 0 and rate_hz >= 1, got {t_pose_s:g} s and {rate_hz:g} Hz'
        )


def eased(t: Floats, keys: Sequence[tuple[float, float]]) -> Floats:
    """
    Return the curve that rests at each key and goes from one to the next by a smooth step.

    Keys (time, value) are in order of time; before the first and after the last the curve is
    constant.
    """
    curve = np.full(len(t), float(keys[0][1]))
    for (start, before), (end, after) in zip(keys, keys[1:]):
        curve += (after - before) * smooth_step((t - start) / (end - start))
    return curve


def bump(u: Floats) -> Floats:
    """Return 1 at u = 1/2, 0 outside (0, 1), with two derivatives vanishing at the ends."""
    u = np.clip(u, 0.0, 1.0)
    return 64.0 * (u * (1.0 - u)) ** 3


def quintic(t: Floats, start_s: float, end_s: float, start: End, end: End) -> Floats:
    """Return the quintic through both ends at times t, meant for start_s <= t <= end_s."""
    span = end_s - start_s
    u = (t - start_s) / span
    p0, v0, a0 = start.value, start.velocity * span, start.acceleration * span * span
    p1, v1, a1 = end.value, end.velocity * span, end.acceleration * span * span
    d = p1 - p0 - v0 - 0.5 * a0
    dv, da = v1 - v0 - a0, a1 - a0
    c3, c4 = 10.0 * d - 4.0 * dv + 0.5 * da, -15.0 * d + 7.0 * dv - da
    c5 = 6.0 * d - 3.0 * dv + 0.5 * da
    return p0 + u * (v0 + u * (0.5 * a0 + u * (c3 + u * (c4 + u * c5))))


def smoothed(values: Floats, rate_hz: float, width_s: float) -> Floats:
    """
    Return one period (n, ...) of a curve smoothed by a Gaussian along axis 0.

    `width_s` is its standard deviation [s].
    """
    frequencies = np.fft.rfftfreq(len(values), 1.0 / rate_hz)
    gain = np.exp(-0.5 * (2.0 * np.pi * frequencies * width_s) ** 2)
    gain = gain.reshape((-1,) + (1,) * (values.ndim - 1))
    return np.fft.irfft(np.fft.rfft(values, axis=0) * gain, len(values), axis=0)
