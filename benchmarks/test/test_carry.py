# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Puppets of all sizes carry boxes of all sizes: on the palms, without a slip or a jump."""

from dataclasses import replace

from benchmarks.carry import carry_figures, with_size
from puppet_core.body.character import load_character
from puppet_core.procedural import carry_motion
from puppet_retarget.importance import Environment, load_environment
import pytest


@pytest.fixture(scope='module')
def carried(performer):
    return carry_motion(performer, 60.0)


@pytest.fixture(scope='module')
def stage(repository):
    return load_environment(repository / 'config' / 'environments' / 'carry.yaml')


@pytest.mark.parametrize(
    ('name', 'factor'), [('sally', 1.4), ('blubby', 0.7), ('frog', 1.0), ('performer', 1.4)]
)
def test_box_stays_on_the_palms_and_stands_where_it_is_set_down(
    carried, stage, characters_dir, name, factor
):
    figures = carry_figures(
        carried, load_character(characters_dir / f'{name}.yaml'), with_size(stage, factor)
    )
    assert figures.palms_m < 0.005 and figures.slip_m_s < 0.010
    assert figures.fastest < 1.2 and figures.acceleration_m_s2 < 40.0
    assert abs(figures.gap_m) < 1e-6 and abs(figures.float_m) < 1e-6
    assert figures.moves_m_s < 1e-6


def test_box_that_only_hands_tell_of_is_carried_within_what_they_tell(carried, stage, performer):
    place, turn = carried.props.positions[0, 0], carried.props.orientations[0, 0]
    alone = tuple(
        replace(o, follows='', held=True, real=replace(o.real, position=place, orientation=turn))
        if o.name == 'box'
        else o
        for o in stage.objects
    )
    figures = carry_figures(carried, performer, Environment(alone))
    assert figures.palms_m < 0.005 and figures.fastest < 1.2
    assert figures.gap_m >= -1e-9 and figures.float_m < 0.015
