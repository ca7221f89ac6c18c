# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What hands carry, throw and catch, wear and set down."""

from dataclasses import replace

import numpy as np
from puppet_core.body import load_character, Motion, SEGMENT_INDEX
from puppet_core.math import quaternions
from puppet_core.procedural import carry_motion, SCRIPTS
from puppet_retarget.importance import (
    Environment,
    ImportanceConfig,
    ImportanceModel,
    load_environment,
    SelfInteractionConfig,
)
from puppet_retarget.offline import retarget_motion, RetargetJob
from puppet_retarget.parameters import RetargetConfig
from puppet_retarget.retarget_model import RetargetModel
import pytest

RATE_HZ = 60.0
GRAVITY_M_S2 = 9.81
TOUCH_M = 1e-4
MOST_M_S2 = 14.0  # of a box in hands
OPEN_M = 0.045  # a palm so far from the box holds it no more


@pytest.fixture(scope='module')
def carrying(adult_character):
    return carry_motion(adult_character, RATE_HZ)


@pytest.fixture(scope='module')
def throwing(adult_character):
    return SCRIPTS['throw'].motion(adult_character, 120.0)


@pytest.fixture(scope='module')
def stage(repository):
    return load_environment(repository / 'data' / 'environments' / 'carry.yaml')


def with_box(stage, size_factor):
    """Return the stage with another size of the puppet's box."""
    return Environment(
        tuple(
            replace(o, puppet=replace(o.puppet, size=size_factor * o.puppet.size))
            if o.name == 'box'
            else o
            for o in stage.objects
        )
    )


def of_box(motion, result):
    """Return places of the performer's and of the puppet's box over time."""
    row = result.puppet_moving.names.index('box')
    return motion.props.positions[:, 0], result.puppet_moving.positions[:, row]


def palms_off(palms, places, turns, size):
    """Return distances of palms from the box's surface, (n, 2)."""
    local = quaternions.rotate(quaternions.conjugate(turns)[:, None], palms - places[:, None])
    out = np.abs(local) - 0.5 * size
    return np.linalg.norm(np.maximum(out, 0.0), axis=-1) + np.minimum(out.max(axis=-1), 0.0)


def box_size(stage):
    return next(o for o in stage.objects if o.name == 'box').puppet.size


@pytest.mark.parametrize('size', [0.7, 1.4])
@pytest.mark.parametrize('who', ['tall_character', 'short_character'])
def test_a_box_of_any_size_is_between_the_palms_and_stands_where_it_stands(
    carrying, stage, who, size, request
):
    character, own = request.getfixturevalue(who), with_box(stage, size)
    result = retarget_motion(carrying, RetargetJob(character, own, solver='whole_body'))
    scale = character.scale_for(carrying.skeleton.leg_length)
    performers, puppets = of_box(carrying, result)
    turns = result.puppet_moving.orientations[:, result.puppet_moving.names.index('box')]
    palms = result.puppet.end_effectors[:, :2]
    held = palms_off(
        carrying.end_effectors[:, :2],
        performers,
        carrying.props.orientations[:, 0],
        box_size(stage),
    )
    held = np.all(np.abs(held) < TOUCH_M, axis=1)
    off = palms_off(palms, puppets, turns, scale * box_size(own))
    assert np.abs(off[held]).max() < 2e-3
    # it neither floats nor moves while it stands, and nothing jumps as it is taken or set down
    stands = np.linalg.norm(np.diff(performers, axis=0), axis=1) * RATE_HZ < 1e-6
    top = next(o.real.size[2] for o in stage.objects if o.name == 'table')
    stands = np.append(stands, False) & (performers[:, 2] < 1.01 * (top + 0.13))
    gaps = puppets[stands, 2] - scale * (0.5 * box_size(own)[2] + top)
    assert np.abs(gaps).max() < 1e-9
    speeds, fastest = (
        np.linalg.norm(np.diff(p, axis=0), axis=1).max() for p in (puppets, performers)
    )
    assert speeds < 1.2 * fastest
    assert np.linalg.norm(np.diff(puppets, n=2, axis=0), axis=1).max() * RATE_HZ**2 < MOST_M_S2


def test_a_larger_box_does_not_enter_the_trunk(carrying, stage, short_character):
    own = with_box(stage, 1.4)
    result = retarget_motion(carrying, RetargetJob(short_character, own, solver='whole_body'))
    row = result.puppet_moving.names.index('box')
    places, turns = (part[:, row] for part in result.puppet_moving[1:])
    deepest = 0.0
    for capsule in short_character.capsules:
        if capsule.segment < 3:
            core = np.linspace(capsule.start, capsule.end, 9)
            q, p = (x[:, capsule.segment, None] for x in (result.q_world, result.p_world))
            points = p + quaternions.rotate(q, core)
            off = palms_off(points, places, turns, box_size(own))
            deepest = max(deepest, capsule.radius - off.min())
    assert deepest < 0.02


@pytest.mark.parametrize('who', ['tall_character', 'frog'])
def test_what_is_thrown_falls_freely(throwing, stage, who, request, characters_dir):
    frog = load_character(characters_dir / 'frog.yaml')
    character = frog if who == 'frog' else request.getfixturevalue(who)
    result = retarget_motion(throwing, RetargetJob(character, stage, solver='whole_body'))
    performers, puppets = of_box(throwing, result)
    falls, own = (np.diff(p[:, 2], n=2) * 120.0**2 for p in (performers, puppets))
    flies = np.abs(falls + GRAVITY_M_S2) < 0.05
    size = box_size(stage)
    off = palms_off(
        throwing.end_effectors[:, :2], performers, throwing.props.orientations[:, 0], size
    )
    away = flies & (off[1:-1].min(axis=1) > OPEN_M)
    assert away.sum() > 40
    np.testing.assert_allclose(own[away], -GRAVITY_M_S2, atol=0.5)
    # while hands open and close it is no more than what a throw itself needs
    assert np.abs(own).max() < 1.5 * np.abs(falls).max()
    # it is caught by the palms
    held = np.all(np.abs(off) < TOUCH_M, axis=1)
    scale = character.scale_for(throwing.skeleton.leg_length)
    turns = result.puppet_moving.orientations[:, result.puppet_moving.names.index('box')]
    caught = palms_off(result.puppet.end_effectors[:, :2], puppets, turns, scale * size)
    assert np.abs(caught[held]).max() < 2e-3


def test_a_hand_at_the_hat_follows_the_puppets_head(scene, adult_character, tall_character):
    """The performer nods under the palm that holds the hat."""
    hat = scene.thing(
        'box', np.array([0.0, 0.0, 0.25]), np.array([0.3, 0.4, 0.2]), segment=SEGMENT_INDEX['head']
    )
    motion = holding_a_hat(adult_character.skeleton, hat)
    environment = scene(scene.floor, hat)
    result = retarget_motion(motion, RetargetJob(tall_character, environment, solver='whole_body'))
    head, scale = hat.segment, tall_character.scale_for(motion.skeleton.leg_length)
    q, p = motion.world_segments()
    performers = quaternions.rotate(
        quaternions.conjugate(q[:, head]), motion.end_effectors[:, 0] - p[:, head]
    )
    puppets = quaternions.rotate(
        quaternions.conjugate(result.q_world[:, head]),
        result.puppet.end_effectors[:, 0] - result.p_world[:, head],
    )
    important = result.rows[:, 0, 0] > 0.999
    assert important.sum() > RATE_HZ
    np.testing.assert_allclose(puppets[important], scale * performers[important], atol=3e-3)
    # the hat itself is on the head
    place = result.p_world[:, head] + quaternions.rotate(
        result.q_world[:, head], scale * hat.puppet.position
    )
    np.testing.assert_allclose(result.puppet_moving.positions[:, 0], place, atol=1e-9)


def holding_a_hat(skeleton, hat):
    """Return who nods with the left palm on the side of a hat, for two seconds."""
    n = round(2.0 * RATE_HZ)
    phase = np.pi * np.arange(n) / RATE_HZ
    vectors = np.zeros((n, 16, 3))
    vectors[:, SEGMENT_INDEX['head'], 1] = 0.25 * np.sin(phase)
    rotations = quaternions.exp(vectors)
    rotations[:, SEGMENT_INDEX['left_upper_arm']] = quaternions.exp(np.array([0.5, -0.3, 0.1]))
    rotations[:, SEGMENT_INDEX['left_forearm']] = quaternions.exp(np.array([2.2, 0.0, 0.0]))
    roots = np.tile([0.0, 0.0, skeleton.rest_root_height], (n, 1))
    motion = Motion.from_rotations(skeleton, RATE_HZ, roots, rotations)
    # the palm itself is where a tracker on the hat's side would have it
    q, p = motion.world_segments()
    points = motion.end_effectors.copy()
    side = hat.real.position + [0.0, 0.5 * hat.real.size[1], 0.0]
    points[:, 0] = p[:, hat.segment] + quaternions.rotate(q[:, hat.segment], side)
    return replace(motion, end_effectors=points)


def test_the_box_goes_with_the_hands_while_a_puppet_eases(carrying, stage, tall_character):
    """A second of the input is missing while the box is carried."""
    model = RetargetModel(tall_character, stage, RetargetConfig(solver='whole_body'))
    near = ImportanceModel(stage, ImportanceConfig(), SelfInteractionConfig())
    segments, leg = carrying.world_segments()[1], carrying.skeleton.leg_length
    start, missed = round(9.0 * RATE_HZ), round(RATE_HZ)
    apart, eased = [], []
    for i in [*range(start, start + 30), *range(start + 30 + missed, start + 90 + missed)]:
        stamp_ns, posture = round(i * 1e9 / RATE_HZ), carrying.posture(i)
        found = near.step(stamp_ns, posture, segments[i])
        given = posture.root_position, segments[i], posture.rotations
        out = model.step(stamp_ns, *given, found.rows, found.self_rows, leg, found.moving)
        box = out.solution.moving.positions[out.solution.moving.names.index('box')]
        apart.append(np.linalg.norm(out.solution.end_effectors[:2].mean(axis=0) - box))
        eased.append(out.eased)
    assert eased[30] and not eased[-1]
    assert np.ptp(apart) < 0.02
