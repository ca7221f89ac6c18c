# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The links of a URDF by the angles of its joints, and motions of robots as files for controllers.

`.npz` has the arrays of BeyondMimic's motions (HybridRobotics/whole_body_tracking,
`scripts/csv_to_npz.py`), `.csv` the rows that this script and Unitree's data sets have, `.pkl` the
dictionary of GMR (YanjieZe/GMR, `data_loader.py`). Joints are in the order of the URDF.
"""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
import pickle
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, follow_chains, parse_urdf, TURNING, UrdfJoint
from puppet_core.math import Floats, frozen, Quats, Vec3s
from puppet_core.math.quaternions import (
    align_signs,
    conjugate,
    exp,
    from_matrix,
    log,
    multiply,
    rotate,
)
from puppet_core.robots.description import description_text

SUFFIXES = ('.npz', '.csv', '.pkl')


class LinkKinematics:
    """
    Links of a URDF, each after its parent, by the angles of some joints.

    Joints that mimic others follow them; those without an angle stay.
    """

    def __init__(self, path: Path, text: str, names: Sequence[str]) -> None:
        """Take a URDF, `path` for errors, and the joints whose angles will be given."""
        urdf = parse_urdf(path, text)
        joints, index = urdf.joints, {name: i for i, name in enumerate(names)}
        self.links = (urdf.root, *(joint.child for joint in joints))
        self.parents = np.array([-1, *(self.links.index(joint.parent) for joint in joints)])
        rows = [_angle_of(joint, {j.name: j for j in joints}, index) for joint in joints]
        self.sources = np.array([row[0] for row in rows], dtype=np.int64)
        """Whose angle moves each link but the root, -1 for none."""
        self._factors, self._offsets = np.array([row[1:] for row in rows]).T
        self._axes = np.array([joint.axis for joint in joints])
        poses = np.array([joint.pose for joint in joints])
        self.places: Vec3s = poses[:, :3, 3]
        """Of each link but the root in its parent's axes [m]."""
        self._turned = from_matrix(poses[:, :3, :3])

    def turns(self, angles: Floats) -> Quats:
        """Return the orientation of each link but the root in its parent, (..., j, 4)."""
        known = np.concatenate([angles, np.zeros((*angles.shape[:-1], 1))], axis=-1)
        turns = self._factors * known[..., self.sources] + self._offsets
        return multiply(self._turned, exp(turns[..., None] * self._axes))

    def world(self, root: Vec3s, q_root: Quats, angles: Floats) -> tuple[Quats, Vec3s]:
        """Return all links in world, (n, l, 4) and (n, l, 3) [m], for the root link's poses."""
        rotations = np.concatenate([q_root[:, None], self.turns(angles)], axis=1)
        places = np.broadcast_to(self.places, (len(root), *self.places.shape))
        translations = np.concatenate([root[:, None], places], axis=1)
        q_world, p_world = np.empty_like(rotations), np.empty_like(translations)
        follow_chains(self.parents, frozen(rotations), frozen(translations), q_world, p_world)
        return q_world, p_world


def _angle_of(
    joint: UrdfJoint, joints: Mapping[str, UrdfJoint], index: Mapping[str, int]
) -> tuple[int, float, float]:
    """Return whose angle a joint has, times what and plus what."""
    factor, offset = 1.0, 0.0
    if joint.mimic is not None:
        # URDF: multiplier * other_joint + offset
        factor, offset = joint.mimic.multiplier, joint.mimic.offset
    leader = joint if joint.mimic is None else joints[joint.mimic.joint]
    if joint.kind not in TURNING or leader.name not in index:
        return -1, 0.0, offset if joint.kind in TURNING else 0.0
    return index[leader.name], factor, offset


class Trajectory(NamedTuple):
    """A motion in world by joints and links; quaternions wxyz, the first link is the base."""

    fps: float
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    joint_pos: Floats  # Shape (n, j) [rad]
    joint_vel: Floats  # By central differences, as all velocities [rad/s]
    body_pos_w: Vec3s  # Shape (n, l, 3) [m]
    body_quat_w: Quats  # Shape (n, l, 4)
    body_lin_vel_w: Vec3s  # Of the links' origins [m/s]
    body_ang_vel_w: Vec3s  # [rad/s]

    def data(self, suffix: str) -> bytes:
        """Return the bytes of a file of one of SUFFIXES."""
        base, q_base = self.body_pos_w[:, 0], self.body_quat_w[:, 0]
        xyzw, buffer = np.roll(q_base, -1, axis=1), BytesIO()
        if suffix == '.csv':
            np.savetxt(buffer, np.hstack([base, xyzw, self.joint_pos]), '%.9g', delimiter=',')
        elif suffix == '.npz':
            arrays = self._asdict() | {'base_pos_w': base, 'base_quat_w': q_base}
            arrays['fps'] = np.array([self.fps])
            np.savez(buffer, **arrays)
        else:
            back = conjugate(q_base)[:, None]
            motion = {
                'fps': self.fps,
                'root_pos': base,
                'root_rot': xyzw,
                'dof_pos': self.joint_pos,
                'local_body_pos': rotate(back, self.body_pos_w - base[:, None]),
                'link_body_list': list(self.body_names),
            }
            pickle.dump(motion, buffer)
        return buffer.getvalue()


def trajectory_of(
    character: Character,
    rate_hz: float,
    pelvis: tuple[Vec3s, Quats],
    joints: tuple[Sequence[str], Floats],
) -> Trajectory:
    """
    Return a motion of a character, by its robot's URDF or the one made for it.

    In: the pelvis in world, (n, 3) [m] and (n, 4); joints by names and angles (n, j) [rad].
    """
    robot, (names, angles) = character.robot, joints
    path = Path(character.name) if robot is None else robot.urdf_path
    links = LinkKinematics(path, description_text(character), names)
    base = pelvis[1] if robot is None else multiply(pelvis[1], robot.facing)
    q, p = links.world(pelvis[0], base, angles)
    spins = np.zeros_like(p)
    if len(q) > 2:
        spins[1:-1] = 0.5 * rate_hz * log(multiply(q[2:], conjugate(q[:-2])))
        spins[0], spins[-1] = spins[1], spins[-2]
    speeds = (np.gradient(v, axis=0) * rate_hz if len(v) > 1 else 0.0 * v for v in (angles, p))
    joint_vel, body_vel = speeds
    poses = angles, joint_vel, p, align_signs(q), body_vel, spins
    return Trajectory(rate_hz, tuple(names), links.links, *poses)
