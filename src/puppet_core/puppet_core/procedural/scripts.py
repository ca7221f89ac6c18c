# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The built-in performances by name, and what each is performed in."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from puppet_core.body import Motion
from puppet_core.procedural.acrobatics import acrobatic_motion
from puppet_core.procedural.calibration_motion import range_of_motion
from puppet_core.procedural.carry import carry_motion, PROPS, throw_motion
from puppet_core.procedural.performer import procedural_motion


class Script(NamedTuple):
    motion: Callable[..., Motion]  # From a body, a rate [Hz] and the length of the T-pose [s]
    environment: str  # Name of the file in data/environments
    layout: str = 'default14'  # Name of the file in data/layouts
    props: tuple[str, ...] = ()  # Names of the motion's props


SHOW = 'show'
SCRIPTS = {
    SHOW: Script(procedural_motion, 'demo'),
    'seated': Script(partial(procedural_motion, sits=True), 'seated'),
    'carry': Script(carry_motion, 'carry', 'carry', PROPS),
    'throw': Script(throw_motion, 'carry', 'carry', PROPS),
    'acrobatics': Script(acrobatic_motion, 'ground'),
    'range': Script(range_of_motion, 'floor'),
}
