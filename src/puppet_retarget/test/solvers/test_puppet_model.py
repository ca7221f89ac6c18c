# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernels are told of a puppet and its tuning."""

from dataclasses import replace

import numpy as np
from puppet_core.body.character import AUTO, Character
from puppet_core.io import ConfigError
from puppet_retarget.solvers.puppet_model import (
    puppet_model,
    ROOT_FORMS,
    SolverConfig,
    tuning,
)
import pytest


def test_model_has_the_lengths_of_the_skeleton(tall_character: Character) -> None:
    model, skeleton = puppet_model(tall_character), tall_character.skeleton
    np.testing.assert_array_equal(model.upper_lengths, skeleton.limb_lengths[:, 0])
    np.testing.assert_array_equal(model.lower_lengths, skeleton.limb_lengths[:, 1])
    np.testing.assert_allclose(model.hip_centre, [0.0, 0.0, skeleton.offsets[10, 2]])


def test_arrays_are_writable_for_one_kernel_layout(tall_character: Character) -> None:
    """Read-only arrays would compile every kernel a second time."""
    groups, seen = [puppet_model(tall_character)], 0
    while groups:
        for field in groups.pop():
            if isinstance(field, tuple):
                groups.append(field)
            else:
                assert field.flags.writeable and field.flags.c_contiguous
                seen += 1
    assert seen > 10


def test_world_scale_and_root_ratio_are_worked_out(tall_character: Character) -> None:
    ratio = tall_character.skeleton.leg_length / 0.9
    plain = tuning(SolverConfig(), tall_character, 0.9)
    assert (plain.world_scale, plain.root_ratio) == (1.0, pytest.approx(ratio))
    auto = tuning(SolverConfig(), replace(tall_character, world_scale=AUTO), 0.9)
    assert auto.world_scale == auto.root_ratio == pytest.approx(ratio)


@pytest.mark.parametrize('form', ROOT_FORMS)
def test_root_form_becomes_a_number(tall_character: Character, form: str) -> None:
    config = SolverConfig(root_form=form)
    assert ROOT_FORMS[tuning(config, tall_character, 0.9).root_form] == form


def test_unknown_root_form_is_refused() -> None:
    with pytest.raises(ConfigError, match="root_form: expected one of projection, .*'middle'"):
        SolverConfig(root_form='middle')
