# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the kernels of the editor's inverse kinematics work on (kernel layer).

Unknowns are counted as in LeeShin1999 eq. 5: the root's displacement, then three of each
joint, a turn in the segment's own frame. Of a limb that is solved in closed form only the first
of its shoulder's counts: it is the swivel angle.

"""

from typing import NamedTuple

from puppet_core.arrays import Floats, Ints, Quats, Vec3, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.skeleton import LIMB_SEGMENTS, N_SEGMENTS, PARENTS

N_UNKNOWNS = 3 + 3 * N_SEGMENTS
N_TORSO = 4  # segments before the limbs'
SEGMENT_PARENTS = tuple(int(p) for p in PARENTS)
UPPER, LOWER, END = (tuple(int(s) for s in LIMB_SEGMENTS[:, i]) for i in range(3))
LIMB_OF = (-1, -1, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3)  # of each segment

FREE, CLOSED, NUMERIC = 0, 1, 2  # how a limb is solved

# columns of PoseTask.items
KIND, SEGMENT, OTHER, OFFSET, SECOND, DATA, SCALAR, MASK, WEIGHT, N_ITEM = (
    0, 1, 2, 3, 6, 9, 13, 14, 17, 18,
)  # fmt: skip
POINT, PLANE, ORIENTATION, LOOK, VECTOR, DISTANCE = range(6)

# columns of PoseTask.limbs
MODE, ORIENTED, AXIS, TIP, TARGET = 0, 1, 2, 5, 8
UPPER_RADIUS, LOWER_RADIUS, ALONG, REACH, CURRENT, TURN, N_LIMB = 11, 12, 13, 14, 16, 17, 21

# columns of PoseTask.limits
HAS, TWIST_AXIS, FIRST, SWING_SECOND, CENTRE, SWINGS, TWISTS, N_LIMIT = 0, 1, 4, 7, 10, 14, 16, 18


class PoseTask(NamedTuple):
    """One frame's problem."""

    offsets: Vec3s  # (16, 3) of the skeleton [m]
    root: Vec3  # (3,) before the solution [m]
    rotations: Quats  # (16, 4) before the solution
    items: Floats  # (m, N_ITEM) constraints
    limbs: Floats  # (4, N_LIMB) how each limb is solved; filled by `prepare_limbs`
    rigidity: Floats  # (17,) of the root's position [1/m^2] and each joint [1/rad^2]
    limits: Floats  # (16, N_LIMIT) of the joints


class Pose(NamedTuple):
    """A posture with its forward kinematics."""

    root: Vec3  # (3,) [m]
    rotations: Quats  # (16, 4)
    q_world: Quats  # (16, 4)
    p_world: Vec3s  # (16, 3) [m]
    matrices: Floats  # (48, 3): of q_world, three rows a segment


class Unknowns(NamedTuple):
    """Which unknowns there are."""

    columns: Ints  # (51,) the first n: their places among all
    row_of: Ints  # (51,) the other way round, -1 where it is none


@kernel
def copy_pose(pose: Pose, out: Pose) -> None:
    """Copy a posture without its forward kinematics."""
    copy(pose.root, out.root)
    for segment in range(N_SEGMENTS):
        copy(pose.rotations[segment], out.rotations[segment])


@kernel
def cross(a: Vec3, b: Vec3, out: Vec3) -> None:
    """Write a x b; out may be neither."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@kernel
def dot(a: Vec3, b: Vec3) -> float:
    """Return a . b of vectors of three."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def to_matrix(q: Floats, rows: Floats) -> None:
    """Write the rotation matrix of q to three rows."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    rows[0, 0], rows[0, 1] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z)
    rows[0, 2], rows[1, 0] = 2.0 * (x * z + w * y), 2.0 * (x * y + w * z)
    rows[1, 1], rows[1, 2] = 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    rows[2, 0], rows[2, 1] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x)
    rows[2, 2] = 1.0 - 2.0 * (x * x + y * y)
