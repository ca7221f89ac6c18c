# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Limbs turn their colour with importance, over the robot model's own capsules."""

from pathlib import Path
from xml.etree import ElementTree as Xml

import numpy as np
from puppet_core.body.skeleton import LIMB_SEGMENTS, LIMBS, SEGMENTS
from puppet_core.marker_spec import importance_colour, MarkerSpec
from puppet_core.math.quaternions import rotate
from puppet_core.robots.description import urdf_text
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
from puppet_view.rviz.markers import BodyTint, KEEP_ALIVE_NS, LIFETIME_S, SKIN_M, TINTS
import pytest
from scipy.spatial.transform import Rotation

HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'
NOTHING = np.zeros(4)


def limbs(markers: tuple[MarkerSpec, ...]) -> set[str]:
    return {marker.namespace for marker in markers}


def test_only_the_limb_that_matters_is_drawn(short_character):
    tint = BodyTint(short_character, 'puppet/')
    assert tint.step(NOTHING, 0) == ()
    markers = tint.step(np.array([0.0, 0.8, 0.0, np.nan]), 1)
    assert limbs(markers) == {'right_arm'}
    assert {m.frame for m in markers} == {f'puppet/{SEGMENTS[i]}' for i in LIMB_SEGMENTS[1]}
    assert len({m.identifier for m in markers}) == len(markers)


def test_only_changes_are_sent_and_the_rest_kept_alive(short_character):
    tint = BodyTint(short_character, 'puppet/')
    tint.step(np.array([0.5, 0.0, 1.0, 0.0]), 0)
    assert tint.step(np.array([0.5, 0.0, 1.0, 0.0]), 1) == ()
    assert limbs(tint.step(np.array([0.9, 0.0, 1.0, 0.0]), 2)) == {'left_arm'}
    kept = tint.step(np.array([0.9, 0.0, 1.0, 0.0]), KEEP_ALIVE_NS + 2)
    assert limbs(kept) == {'left_arm', 'left_leg'}
    assert KEEP_ALIVE_NS < 0.5e9 * LIFETIME_S


def test_colour_is_the_capsules_own_until_it_matters(short_character):
    tint = BodyTint(short_character, 'puppet/')
    last = tint.step(np.array([1.0, 0.0, 0.0, 0.0]), 0)
    calm = tint.step(NOTHING, 1)
    owns = {tuple(np.round(short_character.colour_of(c), 9)) for c in short_character.capsules}
    assert {tuple(np.round(m.colour[:3], 9)) for m in calm} <= owns
    hands = [m for m in last if m.frame == 'puppet/left_hand']
    uppers = [m for m in last if m.frame == 'puppet/left_upper_arm']
    red = np.array(importance_colour(1.0))
    off = [np.abs(np.array([m.colour[:3] for m in ms]) - red).max() for ms in (hands, uppers)]
    assert off[0] < 0.1 < off[1]
    assert list(TINTS) == sorted(TINTS) and all(m.colour[3] == 1.0 for m in last)


def test_solids_are_the_robot_models_and_a_skin_thicker(tall_character):
    """So the model below never shows through, and its parts are nowhere at the same depth."""
    markers = BodyTint(tall_character, 'puppet/').step(np.ones(4), 0)
    robot = Xml.fromstring(urdf_text(tall_character).split('\n', 1)[1])
    drawn = []
    for segment in (SEGMENTS[i] for i in LIMB_SEGMENTS.ravel()):
        for visual in robot.find(f"link[@name='{segment}']").findall('visual'):
            pose = visual.find('origin')
            place = [float(word) for word in pose.get('xyz').split()]
            turn = Rotation.from_euler('xyz', [float(word) for word in pose.get('rpy').split()])
            (shape,) = visual.find('geometry')
            length = float(shape.get('length', 0.0))
            ends = place + np.outer((-0.5, 0.5), length * turn.as_matrix()[:, 2])
            drawn.append((f'puppet/{segment}', shape.tag, float(shape.get('radius')), ends))
    assert len(drawn) == len(markers)
    for frame, kind, radius, ends in drawn:
        assert any(
            m.frame == frame
            and m.shape == kind
            and abs(0.5 * m.size[0] - radius - SKIN_M) < 1e-9
            and _same_ends(m, ends)
            for m in markers
        ), (frame, kind)


def _same_ends(marker: MarkerSpec, ends: np.ndarray) -> bool:
    length = marker.size[2] if marker.shape == 'cylinder' else 0.0
    along = rotate(marker.orientation, np.array([0.0, 0.0, 0.5 * length]))
    own = np.array([marker.position - along, marker.position + along])
    return min(np.abs(own - ends).max(), np.abs(own[::-1] - ends).max()) < 1e-9


@pytest.mark.parametrize('limb', range(2))
def test_right_limbs_mirror_the_left(short_character, limb):
    tint = BodyTint(short_character, '')
    left, right = tint.step(np.eye(4)[2 * limb], 0), tint.step(np.eye(4)[2 * limb + 1], 1)
    left = [m for m in left if m.namespace == LIMBS[2 * limb]]
    right = [m for m in right if m.namespace == LIMBS[2 * limb + 1]]
    assert len(left) == len(right) > 0
    mirror = np.array([1.0, -1.0, 1.0])
    for marker in left:
        assert any(np.allclose(marker.position * mirror, other.position) for other in right)


def test_robot_has_no_coloured_limbs():
    tin = character_from_urdf(HUMANOID, RobotMap()).character
    assert BodyTint(tin, 'puppet/').step(np.ones(4), 0) == ()
