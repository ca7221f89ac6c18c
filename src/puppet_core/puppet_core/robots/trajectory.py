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

    def root_pose(
        self, link: str, place: Floats, turn: Floats, turns: Quats
    ) -> tuple[Floats, Floats]:
        """Return place [m] and orientation of the root link from those of another, and `turns`."""
        i = self.links.index(link)
        while i > 0:
            turn = multiply(turn, conjugate(turns[..., i - 1, :]))
            place, i = place - rotate(turn, self.places[i - 1]), self.parents[i]
        return place, turn

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


def trajectory_data(
    character: Character,
    rate_hz: float,
    pelvis: tuple[Vec3s, Quats],
    joints: tuple[Sequence[str], Floats],
    suffix: str,
) -> bytes:
    """
    Return a motion as the bytes of a file of one of SUFFIXES; the first link is the base.

    In: the pelvis in world, (n, 3) [m] and (n, 4); joints by names and angles (n, j) [rad]. Links
    are those of the robot's URDF, or of the one made for a character that is none.
    """
    robot, (names, angles), buffer = character.robot, joints, BytesIO()
    path = Path(character.name) if robot is None else robot.urdf_path
    links = LinkKinematics(path, description_text(character), names)
    base = pelvis
    if robot is not None:
        turn = multiply(pelvis[1], robot.facing)
        link = robot.pelvis or links.links[0]
        base = links.root_pose(link, pelvis[0], turn, links.turns(angles))
    q, p = links.world(*base, angles)
    q = align_signs(q)
    xyzw = np.roll(q[:, 0], -1, axis=1)
    if suffix == '.csv':
        np.savetxt(buffer, np.hstack([p[:, 0], xyzw, angles]), '%.9g', delimiter=',')
    elif suffix == '.pkl':
        local = rotate(conjugate(q[:, :1]), p - p[:, :1])
        motion = {'fps': rate_hz, 'root_pos': p[:, 0], 'root_rot': xyzw, 'dof_pos': angles}
        motion |= {'local_body_pos': local, 'link_body_list': list(links.links)}
        pickle.dump(motion, buffer)
    else:
        spins = np.zeros_like(p)
        if len(q) > 2:
            spins[1:-1] = 0.5 * rate_hz * log(multiply(q[2:], conjugate(q[:-2])))
            spins[0], spins[-1] = spins[1], spins[-2]
        np.savez(
            buffer,
            fps=np.array([rate_hz]),
            joint_names=np.array(names),
            body_names=np.array(links.links),
            joint_pos=angles,
            joint_vel=_speeds(angles, rate_hz),
            base_pos_w=p[:, 0],
            base_quat_w=q[:, 0],
            body_pos_w=p,
            body_quat_w=q,
            body_lin_vel_w=_speeds(p, rate_hz),
            body_ang_vel_w=spins,
        )
    return buffer.getvalue()


def _speeds(values: Floats, rate_hz: float) -> Floats:
    return np.gradient(values, axis=0) * rate_hz if len(values) > 1 else 0.0 * values
