# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot at its zero pose: every turning joint's axis and place in the axes of the root link.

Written so, a pose is a product of turns about fixed lines, and the frames that the file gives
its links do not matter. Links that are fixed to each other are one body, named by the joint
that moves it; the root's body is ROOT.

"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from puppet_core.arrays import Floats, Vec3, Vec3s
from puppet_core.urdf_parts import TURNING, UrdfJoint, UrdfRobot
from scipy.spatial.transform import Rotation

ROOT = -1


@dataclass(frozen=True, slots=True)
class BodyShape:
    """A solid in the axes of the root at zero pose."""

    body: int
    """Joint that moves it, or ROOT."""

    kind: str
    size: Floats
    pose: Floats
    """Shape (4, 4) [m]."""


@dataclass(frozen=True, slots=True)
class RobotTree:
    """The turning joints of a robot, parents before children."""

    urdf: UrdfRobot
    joints: tuple[UrdfJoint, ...]

    axes: Vec3s
    """Unit, shape (n, 3)."""

    origins: Vec3s
    """A point on each axis, shape (n, 3) [m]."""

    parents: tuple[int, ...]
    """Joint above each joint, or ROOT."""

    link_bodies: dict[str, int]
    link_origins: dict[str, Vec3]
    shapes: tuple[BodyShape, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the joints' names."""
        return tuple(joint.name for joint in self.joints)

    def children(self, body: int) -> tuple[int, ...]:
        """Return the joints that hang on a body."""
        return tuple(i for i, parent in enumerate(self.parents) if parent == body)

    def points(self, bodies: Collection[int]) -> Vec3s:
        """Return points that reach as far as the solids of some bodies do, shape (k, 3) [m]."""
        found = [_corners(shape) for shape in self.shapes if shape.body in bodies]
        return np.concatenate(found) if found else np.empty((0, 3))


def make_tree(
    urdf: UrdfRobot, facing: Floats, moved: Collection[str] | None = None,
    held: Mapping[str, float] | None = None, with_mimics: bool = False,
) -> RobotTree:  # fmt: skip
    """
    Return a robot's tree.

    Parameters
    ----------
    urdf : UrdfRobot
        The file.
    facing : ndarray, shape (3, 3)
        Rotation that takes the root link's axes to X forward, Y left, Z up.
    moved : collection of str, optional
        Joints to move; by default all that have an angle of their own.
    held : mapping, optional
        Angles of joints that are not moved, by default zero [rad].
    with_mimics : bool, optional
        Whether joints that follow others count too; else they are fixed at zero.

    """
    root = np.eye(4)
    root[:3, :3] = facing
    poses, bodies = {urdf.root: root}, {urdf.root: ROOT}
    joints: list[UrdfJoint] = []
    parents, axes, origins = [], [], []
    for joint in urdf.joints:
        pose = poses[joint.parent] @ joint.pose
        body = bodies[joint.parent]
        turns = joint.kind in TURNING if with_mimics else joint.turns
        if turns and (moved is None or joint.name in moved):
            parents.append(body)
            body = len(joints)
            joints.append(joint)
            axes.append(pose[:3, :3] @ joint.axis)
            origins.append(pose[:3, 3])
        elif joint.turns and held:
            turn = np.eye(4)
            angle = held.get(joint.name, 0.0)
            turn[:3, :3] = Rotation.from_rotvec(angle * joint.axis).as_matrix()
            pose = pose @ turn
        poses[joint.child], bodies[joint.child] = pose, body
    shapes = tuple(
        BodyShape(bodies[link.name], shape.kind, shape.size, poses[link.name] @ shape.pose)
        for link in urdf.links.values() for shape in link.shapes
    )  # fmt: skip
    return RobotTree(
        urdf, tuple(joints), np.reshape(axes, (-1, 3)), np.reshape(origins, (-1, 3)),
        tuple(parents), bodies, {link: pose[:3, 3] for link, pose in poses.items()}, shapes,
    )  # fmt: skip


def _corners(shape: BodyShape) -> Vec3s:
    """Return corners of a box, or the least and greatest point along each axis otherwise."""
    turn, middle = shape.pose[:3, :3], shape.pose[:3, 3]
    if shape.kind == 'box':
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        return middle + (signs * shape.size) @ turn.T
    if shape.kind == 'sphere':
        reach = np.full(3, shape.size[0])
    else:
        radius, length = shape.size
        along = turn[:, 2]
        # a disc of radius r about an axis a reaches r sqrt(1 - a_k^2) along axis k
        reach = radius * np.sqrt(np.maximum(1.0 - along**2, 0.0)) + 0.5 * length * np.abs(along)
    return middle + np.concatenate((np.diag(reach), -np.diag(reach)))
