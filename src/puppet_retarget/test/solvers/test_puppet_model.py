# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernels are told of a puppet and its tuning."""

from dataclasses import replace

from puppet_core.body.character import AUTO, Character
from puppet_core.io import ConfigError
from puppet_retarget.solvers.state import SolverConfig, tuning
import pytest


def test_world_scale_and_root_ratio_are_worked_out(tall_character: Character) -> None:
    ratio = tall_character.skeleton.leg_length / 0.9
    plain = tuning(SolverConfig(), tall_character, 0.9)
    assert (plain.world_scale, plain.root_ratio) == (1.0, pytest.approx(ratio))
    auto = tuning(SolverConfig(), replace(tall_character, world_scale=AUTO), 0.9)
    assert auto.world_scale == auto.root_ratio == pytest.approx(ratio)


def test_unknown_root_form_is_refused() -> None:
    with pytest.raises(ConfigError, match="root_form: expected one of projection, .*'middle'"):
        SolverConfig(root_form='middle')
