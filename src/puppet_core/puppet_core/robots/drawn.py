# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A robot as its URDF draws it: the meshes of its links, and where they are in a posture."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.body import Character, parse_urdf, UrdfShape
from puppet_core.io import note
from puppet_core.math import Quats, Vec3s
from puppet_core.math.quaternions import multiply
from puppet_core.robots.description import Part
from puppet_core.robots.robot_files import find_mesh, is_y_up, read_hulls, upright
from puppet_core.robots.segment_angles import turn_segments
from puppet_core.robots.trajectory import LinkKinematics


class DrawnRobot:
    """Meshes of a robot's links, and the links' poses in postures that the robot can take."""

    def __init__(self, character: Character) -> None:
        """Take a robot; raises whatever the readers of its meshes raise."""
        assert character.robot is not None
        self._robot = robot = character.robot
        self._skeleton = character.skeleton
        self._held = np.array([angle for _, angle in robot.held])
        self._links = LinkKinematics(robot.urdf_path, robot.urdf, robot.published_names)
        urdf = parse_urdf(robot.urdf_path, robot.urdf)
        links = {name: link._replace(shapes=link.visuals) for name, link in urdf.links.items()}
        urdf = urdf._replace(links=links)
        if any(is_y_up(urdf.path, shape.file) for x in links.values() for shape in x.shapes):
            urdf = upright(urdf, read_hulls(urdf))
        own, segments = dict(zip(robot.names, robot.segments.tolist())), [0]
        for joint, above in zip(urdf.joints, self._links.parents[1:]):
            segments.append(own.get(joint.name, segments[above]))
        self.parts: list[Part] = []
        """What is drawn of all links, in their order."""
        for index, (name, segment) in enumerate(zip(self._links.links, segments)):
            for shape in urdf.links[name].shapes:
                for mesh in shape_meshes(urdf.path, shape):
                    colour = _own_colour(mesh) or shape.colour or character.colour
                    place = np.array(mesh.vertices), np.array(mesh.faces)
                    self.parts.append(Part(segment, colour, *place, index))

    def poses(self, q_world: Quats, p_world: Vec3s) -> tuple[Quats, Vec3s]:
        """Return all links in world, (l, 4) and (l, 3) [m], from segments (16, 4), (16, 3)."""
        turned = turn_segments(self._robot, self._skeleton, p_world[0], q_world)
        angles = np.concatenate((turned.angles, self._held))
        turns, link = self._links.turns(angles), self._robot.pelvis or self._links.links[0]
        turn = multiply(q_world[0], self._robot.facing)
        place, turn = self._links.root_pose(link, p_world[0], turn, turns)
        q, p = self._links.world(place[None], turn[None], angles[None])
        return q[0], p[0]


def drawn_robot(character: Character) -> DrawnRobot | None:
    """Return what is drawn of a robot; None of others, of one without visuals or its meshes."""
    try:
        robot = DrawnRobot(character) if character.robot else None
        return robot if robot is not None and robot.parts else None
    except Exception as err:  # whatever the readers of meshes raise
        note(f'{character.name}: drawn by its capsules: {" ".join(str(err).split())}')
        return None


def shape_meshes(urdf: Path, shape: UrdfShape) -> Iterator[Any]:
    """Return trimesh's meshes of a solid of a URDF, in the frame of its link."""
    import trimesh

    size = shape.size
    if shape.kind == 'mesh':
        file = find_mesh(urdf, shape.file)
        if file is None:
            raise ValueError(f'{urdf}: {shape.file}: no such file')
        found = trimesh.load_scene(file).dump()
    elif shape.kind == 'box':
        found = [trimesh.creation.box(size)]
    elif shape.kind == 'sphere':
        found = [trimesh.creation.icosphere(2, size[0])]
    else:
        found = [getattr(trimesh.creation, shape.kind)(radius=size[0], height=size[1])]
    for mesh in found:
        if shape.kind == 'mesh':
            mesh.apply_scale(size)
        yield mesh.apply_transform(shape.pose)


def _own_colour(mesh: Any) -> tuple[float, float, float] | None:
    """Return the colour that a mesh's file gives it, if any."""
    visual = mesh.visual
    if not visual.defined:
        return None
    rgba = visual.material.main_color if visual.kind == 'texture' else visual.main_color
    red, green, blue = (rgba[:3] / 255.0).tolist()
    return red, green, blue
