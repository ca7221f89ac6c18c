# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Puppets of all sizes carry boxes of all sizes: on the palms, without a slip or a jump."""

from dataclasses import replace

from benchmarks.carry import carry_figures, GAZE_RAD, looking_at_the_box, sight_misses, with_size
import numpy as np
from puppet_core.body import Props
from puppet_core.body.character import load_character
from puppet_core.procedural import carry_motion, SCRIPTS
from puppet_core.procedural.carry import GRIP_M
from puppet_retarget.importance import (
    Environment,
    ImportanceConfig,
    ImportanceModel,
    load_environment,
    Placement,
    SelfInteractionConfig,
)
from puppet_retarget.offline import retarget_motion, RetargetJob
from puppet_retarget.parameters import RetargetConfig
from puppet_retarget.retarget_model import RetargetModel
import pytest

RATE_HZ = 120.0


@pytest.fixture(scope='module')
def carried(performer):
    return carry_motion(performer, RATE_HZ)


@pytest.fixture(scope='module')
def stage(repository):
    return load_environment(repository / 'data' / 'environments' / 'carry.yaml')


# Of each body how deep the box of each size may be in its trunk [m], and the root's jerk over the
# performer's: Blubby is a ball of a metre, and turns beside the stand with the box in his arms
SIZES = (0.7, 1.0, 1.4)
BOUNDS = {
    'performer': ((1e-3, 1e-3, 1e-3), 2.5),
    'sally': ((1e-3, 1e-3, 1e-3), 10.0),
    'blubby': ((0.03, 0.045, 0.09), 12.0),
    'frog': ((1e-3, 1e-3, 1e-3), 10.0),
}


@pytest.mark.parametrize('name', BOUNDS)
@pytest.mark.parametrize('factor', SIZES)
def test_box_stays_on_the_palms_and_stands_where_it_is_set_down(
    carried, stage, characters_dir, name, factor
):
    figures = carry_figures(
        carried, load_character(characters_dir / f'{name}.yaml'), with_size(stage, factor)
    )
    assert figures.palms_m < 0.005 and figures.slip_m_s < 0.020
    assert figures.fastest < 1.2 and figures.acceleration_m_s2 < 16.0
    assert abs(figures.gap_m) < 1e-6 and abs(figures.float_m) < 1e-6
    assert figures.moves_m_s < 1e-6
    depths_m, root_jerk = BOUNDS[name]
    assert figures.trunk_m < depths_m[SIZES.index(factor)] and figures.root_jerk < root_jerk


def test_box_goes_with_the_hands_while_a_puppet_eases(carried, stage, characters_dir):
    """A second of the input is missing while the box is carried, then the whole of the way."""
    sally = load_character(characters_dir / 'sally.yaml')
    model = RetargetModel(sally, stage, RetargetConfig())
    near = ImportanceModel(stage, ImportanceConfig(), SelfInteractionConfig())
    segments, leg = carried.world_segments()[1], carried.skeleton.leg_length
    start, missed = round(9.0 * carried.rate_hz), round(carried.rate_hz)
    apart, eased = [], []
    for i in [*range(start, start + 60), *range(start + 60 + missed, start + 180 + missed)]:
        stamp_ns, posture = round(i * 1e9 / carried.rate_hz), carried.posture(i)
        given = posture.root_position, segments[i], posture.rotations
        rows, self_rows, moving, rests = near.step(stamp_ns, posture, segments[i])
        out = model.step(stamp_ns, *given, rows, self_rows, leg, moving, rests)
        box = out.solution.moving.positions[out.solution.moving.names.index('box')]
        apart.append(np.linalg.norm(out.solution.end_effectors[:2].mean(axis=0) - box))
        eased.append(out.eased)
    assert eased[60] and not eased[-1]
    assert np.ptp(apart) < 0.02


def test_puppets_look_at_what_their_performer_looks_at(carried, stage, characters_dir):
    """The performer's own body does so anyway, and keeps to the middle."""
    looking = looking_at_the_box(carried)
    for name in ('performer', 'blubby'):
        character = load_character(characters_dir / f'{name}.yaml')
        (_, before), (_, after) = (
            sight_misses(looking, character, stage, d) for d in (0.0, GAZE_RAD)
        )
        assert max(before, after) < 0.5 if name == 'performer' else after < 0.5 * before


@pytest.mark.parametrize('name', ['sally', 'frog'])
def test_thrown_box_flies_as_high_and_is_caught_by_the_palms(
    performer, stage, characters_dir, name
):
    motion = SCRIPTS['throw'].motion(performer, 120.0)
    character = load_character(characters_dir / f'{name}.yaml')
    result = retarget_motion(motion, RetargetJob(character, stage))
    box = result.puppet_moving.names.index('box')
    puppets, performers = result.puppet_moving.positions[:, box], motion.props.positions[:, 0]
    speed = np.abs(np.diff(puppets[:, 2])).max() / np.abs(np.diff(performers[:, 2])).max()
    assert 0.8 < speed < 1.6
    # no blow when hands let go and catch: of the size of what a throw itself needs
    shocks = [np.abs(np.diff(p[:, 2], n=2)).max() for p in (puppets, performers)]
    assert shocks[0] < 3.0 * shocks[1]
    # in the hands the palm keeps its place on the box
    apart, own = (
        np.linalg.norm(palms[:, 0] - boxes, axis=1)
        for palms, boxes in (
            (motion.end_effectors, performers),
            (result.puppet.end_effectors, puppets),
        )
    )
    gripped = np.abs(apart - np.linalg.norm(GRIP_M)) < 1e-6
    assert np.ptp(own[gripped]) < 0.01


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


def test_cup_on_the_carried_box_stays_on_it(carried, stage, short_character):
    """A cup of 10 cm on a box that is 1.4 times as large for the puppet."""
    size = np.array([0.08, 0.08, 0.1])
    (box,) = (o for o in stage.objects if o.name == 'box')
    above = 0.5 * (box.real.size[2] + size[2])
    names, places, turns = carried.props
    cup = places[:, names.index('box')] + [0.0, 0.0, above]
    props = Props(
        (*names, 'cup'),
        np.concatenate((places, cup[:, None]), axis=1),
        np.concatenate((turns, turns[:, :1]), axis=1),
    )
    at = Placement(np.zeros(3), box.real.orientation, size)
    objects = with_size(stage, 1.4).objects
    objects += (replace(box, name='cup', follows='cup', real=at, puppet=at),)
    job = RetargetJob(short_character, Environment(objects))
    moving = retarget_motion(replace(carried, props=props), job).puppet_moving
    apart = np.diff([moving.positions[:, moving.names.index(n)] for n in ('box', 'cup')], axis=0)
    scale = short_character.scale_for(carried.skeleton.leg_length)
    expected = 0.5 * scale * (1.4 * box.real.size[2] + size[2])
    np.testing.assert_allclose(apart[0, :, 2], expected, atol=1e-3)
    assert np.max(np.abs(apart[0, :, :2])) < 0.01
