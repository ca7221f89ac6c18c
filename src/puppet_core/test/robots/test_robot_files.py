# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Robots as xacro and as MJCF, each read as the URDF that it stands for."""

import re
import sys

import numpy as np
from puppet_core.io import InputFileError
from puppet_core.robots.robot_files import read_robot_file
import pytest
import trimesh

XACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="arm" value="0.3"/>
  <xacro:macro name="part" params="name above">
    <link name="${name}"/>
    <joint name="to_${name}" type="revolute">
      <origin xyz="0 0 ${2 * arm}"/><parent link="${above}"/><child link="${name}"/>
      <axis xyz="0 1 0"/><limit lower="-1" upper="2" velocity="5"/>
    </joint>
  </xacro:macro>
  <link name="base"/>
  <xacro:part name="a" above="base"/>
  <xacro:part name="b" above="a"/>
</robot>
"""
MJCF = """<mujoco model="m">
  <compiler angle="radian"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="base" pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.1 0.2 0.3"/>
      <body name="a" pos="0 0.1 0.2">
        <joint name="to_a" type="hinge" axis="0 1 0" pos="0 0 0.05" range="-1 2" limited="true"/>
        <geom type="sphere" size="0.04" pos="0 0 0.1"/>
        <body name="b" pos="0 0 0.3">
          <joint name="to_b" type="hinge" axis="1 0 0"/>
          <geom type="sphere" size="0.05"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize('axis', ['Y_UP', 'Z_UP', 'glb'])
@pytest.mark.parametrize('is_lying', [True, False])
def test_the_up_axis_of_a_mesh_counts_where_joints_fit_the_meshes_with_it(
    tmp_path, axis, is_lying
):
    """Many files are right without it, as RViz reads them; the box goes from joint to joint."""
    pytest.importorskip('collada')
    low, high = np.array([-0.1, -0.2, 0.0]), np.array([0.1, 0.2, 0.6])
    corners = trimesh.creation.box(bounds=[low, high]).vertices
    stored = corners[:, [0, 2, 1]] * [1, 1, -1] if is_lying else corners
    name, mesh = 'part.glb' if axis == 'glb' else 'part.dae', trimesh.convex.convex_hull(stored)
    written = mesh.export(file_type=name[-3:])
    (tmp_path / name).write_bytes(re.sub(b'[XYZ]_UP', axis.encode(), written))
    link = (
        f'<link name="{{}}"><visual><geometry><mesh filename="{name}"/></geometry></visual></link>'
    )
    joint = '<joint name="knee" type="continuous"><origin xyz="0 0 0.6"/><parent link="a"/>'
    path = tmp_path / 'robot.urdf'
    path.write_text(
        f'<robot>{link.format("a")}{link.format("b")}{joint}<child link="b"/></joint></robot>'
    )
    shape = read_robot_file(path).links['a'].shapes[0]
    points = shape.size @ shape.pose[:3, :3].T
    is_turned = is_lying and axis != 'Z_UP'
    expected = [low, high] if is_turned else [stored.min(axis=0), stored.max(axis=0)]
    np.testing.assert_allclose([points.min(axis=0), points.max(axis=0)], expected, atol=1e-6)


def test_a_xacro_is_expanded(tmp_path):
    pytest.importorskip('xacro')
    path = tmp_path / 'robot.urdf.xacro'
    path.write_text(XACRO)
    urdf = read_robot_file(path)
    assert [joint.name for joint in urdf.joints] == ['to_a', 'to_b']
    for joint in urdf.joints:
        assert (joint.lower, joint.upper, joint.speed) == (-1.0, 2.0, 5.0)
        np.testing.assert_allclose(joint.pose[:3, 3], [0.0, 0.0, 0.6])
    path.write_text(XACRO.replace('${2 * arm}', '${2 * leg}'))
    with pytest.raises(InputFileError, match='expected a xacro that expands'):
        read_robot_file(path)


def test_the_meshes_of_an_mjcf_are_in_the_folder_that_it_names(tmp_path):
    pytest.importorskip('mujoco')
    path, folder = tmp_path / 'robot.xml', tmp_path / 'shapes'
    folder.mkdir()
    trimesh.creation.box(extents=[0.2, 0.4, 0.6]).export(folder / 'base.stl')
    text = MJCF.replace('angle="radian"/>', 'angle="radian" meshdir="shapes"/>{}').format(
        '<asset><mesh name="m" file="base.stl"/></asset>'
    )
    path.write_text(text.replace('type="box" size="0.1 0.2 0.3"', 'type="mesh" mesh="m"'))
    (hull,) = read_robot_file(path).links['base'].shapes
    assert hull.kind == 'hull'
    np.testing.assert_allclose(np.ptp(hull.size, axis=0), [0.2, 0.4, 0.6], atol=1e-6)


def test_an_mjcf_has_its_hinges_limits_and_solids(tmp_path):
    pytest.importorskip('mujoco')
    path = tmp_path / 'robot.xml'
    path.write_text(MJCF)
    urdf = read_robot_file(path)
    assert urdf.root == 'base'
    hinges = {joint.name: joint for joint in urdf.joints if joint.turns}
    assert (hinges['to_a'].lower, hinges['to_a'].upper) == (-1.0, 2.0)
    assert hinges['to_b'].kind == 'continuous'
    # through the anchor of the hinge and back
    np.testing.assert_allclose(hinges['to_a'].pose[:3, 3], [0.0, 0.1, 0.25])
    place = np.eye(4)
    for joint in urdf.path_to('b'):
        place = place @ joint.pose
    np.testing.assert_allclose(place[:3, 3], [0.0, 0.1, 0.5], atol=1e-9)
    box, ball = urdf.links['base'].shapes[0], urdf.links['b'].shapes[0]
    np.testing.assert_allclose(box.size, [0.2, 0.4, 0.6], atol=1e-9)
    assert (ball.kind, float(ball.size[0])) == ('sphere', 0.05)
    path.write_text(MJCF.replace('type="hinge"', 'type="hunge"'))
    with pytest.raises(InputFileError, match='expected an MJCF that compiles'):
        read_robot_file(path)


@pytest.mark.parametrize(
    'text, package', [(XACRO, 'xacro'), (MJCF, 'mujoco')], ids=['xacro', 'mujoco']
)
def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch, text, package):
    monkeypatch.setitem(sys.modules, package, None)
    path = tmp_path / 'robot.xml'
    path.write_text(text)
    with pytest.raises(InputFileError, match=f'pip install {package}'):
        read_robot_file(path)


def test_an_mjcf_may_have_its_own_suffix_and_names_its_ball_joints(tmp_path):
    pytest.importorskip('mujoco')
    path = tmp_path / 'robot.mjcf'
    path.write_text(MJCF)
    assert read_robot_file(path).root == 'base'
    hinge = re.search(r'<joint name="to_a"[^>]*>', MJCF)[0]
    path.write_text(MJCF.replace(hinge, '<joint name="to_a" type="ball"/>'))
    with pytest.raises(InputFileError, match='to_a: expected hinges, got a ball joint'):
        read_robot_file(path)
