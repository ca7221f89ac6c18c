# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A robot description becomes meshes that are where its capsules are."""

from pathlib import Path

import numpy as np
from puppet_core.body.character import load_character
from puppet_core.body.meshes import closed_cylinder, unit_cylinder, unit_sphere
from puppet_core.body.posture import world_segments
from puppet_core.body.skeleton import SEGMENT_INDEX, SEGMENTS
from puppet_core.io import ConfigError
from puppet_core.math import quaternions
from puppet_core.robots.description import (
    CYLINDER,
    merged_parts,
    read_shape,
    SPHERE,
    urdf_text,
    world_orientations,
)
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
import pytest

CHARACTERS = Path(__file__).resolve().parents[4] / 'config' / 'characters'
HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'
TESSELLATION = 0.02  # how far a 24-sided round solid is inside the true one


@pytest.mark.parametrize('name', ['performer', 'blubby', 'sally', 'frog'])
def test_solids_are_the_capsules_of_the_character(name: str) -> None:
    character = load_character(CHARACTERS / f'{name}.yaml')
    solids = read_shape(urdf_text(character))
    cores = [c for c in character.capsules if not np.allclose(c.start, c.end)]
    assert sum(s.kind == CYLINDER for s in solids) == len(cores)
    assert sum(s.kind == SPHERE for s in solids) == len(character.capsules) + len(cores)


def test_a_robot_has_a_body_made_of_its_own_solids() -> None:
    """Its URDF's links are not ours: the description by segments shows it."""
    robot = character_from_urdf(HUMANOID, RobotMap()).character
    parts = merged_parts(read_shape(urdf_text(robot)))
    # waist joints meet in one point: spine and chest are one part
    assert {SEGMENTS[p.segment] for p in parts} == set(SEGMENTS) - {'spine'}
    foot = np.concatenate([p.vertices for p in parts if p.segment == SEGMENT_INDEX['left_foot']])
    # a box of 22 x 10 x 3 cm, 7 cm below the ankle
    np.testing.assert_allclose(np.ptp(foot, axis=0), [0.22, 0.10, 0.03], atol=TESSELLATION)
    assert foot[:, 2].min() == pytest.approx(-0.07, abs=TESSELLATION)


def test_merged_parts_keep_extent_and_colour() -> None:
    character = load_character(CHARACTERS / 'blubby.yaml')
    solids = read_shape(urdf_text(character))
    parts = merged_parts(solids)
    assert len(parts) < len(solids)
    assert {(p.segment, p.colour) for p in parts} == {(s.segment, s.colour) for s in solids}
    for part in parts:
        own = [s for s in solids if (s.segment, s.colour) == (part.segment, part.colour)]
        top = max(s.position[2] + s.scale[0] for s in own if s.kind == SPHERE)
        assert part.vertices[:, 2].max() == pytest.approx(top, abs=TESSELLATION)
        assert part.triangles.max() < len(part.vertices)


LINK = '<robot><link name="pelvis"><visual>{}</visual></link></robot>'


@pytest.mark.parametrize(
    'text',
    [
        '',
        'no xml',
        LINK.format('<origin xyz="a b c"/>'),
        LINK.format('<geometry><sphere radius="x"/></geometry>'),
        LINK.format('<geometry><sphere radius="inf"/></geometry>'),
        'x' * 3_000_000,
    ],
    ids=['empty', 'text', 'words', 'radius', 'infinite', 'huge'],
)
def test_broken_description_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match='robot_description: expected'):
        read_shape(text)


def test_links_that_are_no_segments_are_passed_over() -> None:
    text = (
        '<robot name="r"><link name="tail"><visual><geometry><sphere radius="1"/></geometry>'
        '</visual></link></robot>'
    )
    assert read_shape(text) == ()


def test_orientations_agree_with_forward_kinematics() -> None:
    rng = np.random.default_rng(1)
    skeleton = load_character(CHARACTERS / 'sally.yaml').skeleton
    rotations = quaternions.exp(rng.normal(size=(16, 3)))
    q, _ = world_segments(skeleton, np.zeros((1, 3)), rotations[None])
    np.testing.assert_allclose(world_orientations(rotations), q[0], atol=1e-12)


@pytest.mark.parametrize('mesh', [unit_sphere(), closed_cylinder()], ids=['sphere', 'cylinder'])
def test_closed_meshes_enclose_their_volume_outwards(mesh: tuple) -> None:
    """The divergence theorem: signed volume is near the solid's, and positive."""
    vertices, triangles = mesh
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    volume = np.einsum('ij,ij->', a, np.cross(b, c)) / 6.0
    true = 4.0 / 3.0 * np.pi if len(vertices) > 200 else np.pi * 0.25
    assert volume == pytest.approx(true, rel=0.05)


def test_open_cylinder_has_length_and_radius_one() -> None:
    vertices, _ = unit_cylinder()
    assert np.ptp(vertices[:, 2]) == 1.0
    np.testing.assert_allclose(np.linalg.norm(vertices[:, :2], axis=1), 1.0)
