# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Clip files made up for tests: a motion of ours written with another program's habits.

Independent of the code under test: Euler angles are scipy's, the tree is written here. A `Habit`
says which axes each joint has, how it is named and in which order its channels stand.
"""

from dataclasses import dataclass, field
import warnings

import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import END_EFFECTORS, PARENTS, SEGMENTS
from scipy.spatial.transform import Rotation

# File axes from ours: x_file is our left, y_file our up, z_file our front.
Y_UP = Rotation.from_matrix([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
# From our world to files', by the axis that points up: rows are the file's axes in ours.
WORLDS = {
    'x': Rotation.from_matrix([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    'y': Y_UP,
    'z': Rotation.identity(),
    '-x': Rotation.from_matrix([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]),
    '-y': Rotation.from_matrix([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
    '-z': Rotation.from_matrix([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]]),
}
RATE_HZ = 100.0
ORDERS = ('XYZ', 'XZY', 'YXZ', 'YZX', 'ZXY', 'ZYX')

MOTIONBUILDER_NAMES = dict(
    zip(
        SEGMENTS,
        'Hips Spine Spine2 Head LeftArm LeftForeArm LeftHand RightArm RightForeArm RightHand '
        'LeftUpLeg LeftLeg LeftFoot RightUpLeg RightLeg RightFoot'.split(),
    )
)


@dataclass
class Habit:
    """How a file differs from our own conventions."""

    names: dict[str, str] = field(default_factory=lambda: MOTIONBUILDER_NAMES)
    # Segment axes to joint axes; file axes (Y up) where not given
    axes: dict[str, Rotation] = field(default_factory=dict)
    orders: dict[str, str] = field(default_factory=dict)
    # End sites in segment axes [m]; palms and toe bases by default
    ends: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass
class FileJoint:
    """A joint of a BVH file, in its unit and axes."""

    name: str
    parent: int
    offset: np.ndarray
    turns: Rotation  # Local, of each frame
    order: str = 'ZXY'
    places: np.ndarray | None = None  # Position channels, shape (n, 3)
    end: np.ndarray | None = None


def rotation(quats):
    """Return scipy's rotation of quaternions (w, x, y, z)."""
    return Rotation.from_quat(np.asarray(quats)[..., [1, 2, 3, 0]])


def wave_motion(skeleton, rng, n_frames=80, swing=0.5):
    """
    Return smooth motion with knees and elbows as hinges that flex by 10 to 100 degrees.

    In the last 30 frames the body stands in a squat with flat feet, and only arms and trunk move.
    """
    t = np.linspace(0.0, 2.0 * np.pi, n_frames)[:, None, None]
    phase = rng.uniform(0.0, 2.0 * np.pi, (16, 3))
    rotvecs = swing * rng.uniform(0.3, 1.0, (16, 3)) * np.sin(t + phase)
    flexion = np.radians(55.0 + 45.0 * np.sin(t[:, 0, 0] + 1.0))
    for segment, axis in {5: (0, 0, -1), 8: (0, 0, 1), 11: (0, 1, 0), 14: (0, 1, 0)}.items():
        rotvecs[:, segment] = flexion[:, None] * np.array(axis)
    standing = slice(n_frames - 30, None)
    for thigh in (10, 13):
        rotvecs[standing, thigh] = (0.0, -0.5, 0.0)
        rotvecs[standing, thigh + 1] = (0.0, 1.0, 0.0)
        rotvecs[standing, thigh + 2] = (0.0, -0.5, 0.0)
    rotvecs[standing, 0] = 0.0
    roots = np.zeros((n_frames, 3))
    roots[:, 0] = 0.3 * np.sin(t[:, 0, 0])
    roots[:, 2] = 1.5
    leg = skeleton.rest_root_height - (1.0 - np.cos(0.5)) * skeleton.limb_lengths[2].sum()
    roots[standing] = (0.0, 0.0, leg)
    quats = Rotation.from_rotvec(rotvecs.reshape(-1, 3)).as_quat()[:, [3, 0, 1, 2]]
    return Motion.from_rotations(skeleton, RATE_HZ, roots, quats.reshape(n_frames, 16, 4))


def default_ends(skeleton):
    """Return finger and toe bases whose middles lie at palm and above the sole's centre."""
    ends = {}
    for name, point in zip(END_EFFECTORS, skeleton.interaction_points):
        ends[name] = 2.0 * point * ([1.0, 1.0, 0.4] if 'foot' in name else [0.0, 1.0, 0.0])
    return ends


def pure_angles_deg(quats_a, quats_b):
    """Return the angles between rotations, flattened [deg]."""
    a, b = (rotation(np.reshape(quats, (-1, 4))) for quats in (quats_a, quats_b))
    return np.degrees((a.inv() * b).magnitude())


def assert_same_motion(motion, loaded, angle_deg=1e-5, position_m=1e-6):
    """Compare orientations, joint positions and skeletons; files have ten decimals."""
    q_a, p_a = motion.world_segments()
    q_b, p_b = loaded.world_segments()
    assert pure_angles_deg(q_a, q_b).max() < angle_deg
    np.testing.assert_allclose(p_a, p_b, atol=position_m)
    offsets = motion.skeleton.offsets
    np.testing.assert_allclose(offsets, loaded.skeleton.offsets, atol=position_m)


def file_text(motion, habit, others=()):
    """Return the motion, and other joints, as a BVH file with these habits, in centimetres."""
    axes = [habit.axes.get(name, Y_UP) for name in SEGMENTS]
    ends = default_ends(motion.skeleton) | habit.ends
    q_world, _ = motion.world_segments()
    world = [Y_UP * rotation(q_world[:, i]) * axes[i].inv() for i in range(16)]
    joints = []
    for index, name in enumerate(SEGMENTS):
        parent, is_root = PARENTS[index], index == 0
        offset = 100.0 * motion.skeleton.offsets[index]
        joint = FileJoint(
            habit.names[name],
            parent,
            offset if is_root else axes[parent].apply(offset),
            world[0] if is_root else world[parent].inv() * world[index],
            habit.orders.get(name, 'ZXY'),
            Y_UP.apply(100.0 * motion.root_positions) if is_root else None,
            axes[index].apply(100.0 * np.asarray(ends[name])) if name in ends else None,
        )
        joints.append(joint)
    return bvh_file([*joints, *others], motion.rate_hz)


def bvh_file(joints, rate_hz):
    lines, columns = ['HIERARCHY'], []

    def write(index, tabs):
        joint = joints[index]
        channels = [] if joint.places is None else ['Xposition', 'Yposition', 'Zposition']
        channels += [f'{axis}rotation' for axis in joint.order]
        lines.append(f'{tabs}{"JOINT" if index else "ROOT"} {joint.name}')
        lines.append(f'{tabs}{{')
        lines.append(f'{tabs}  OFFSET {_numbers(joint.offset)}')
        lines.append(f'{tabs}  CHANNELS {len(channels)} {" ".join(channels)}')
        if joint.places is not None:
            columns.append(joint.places)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', UserWarning)  # gimbal lock: any triple will do
            columns.append(joint.turns.as_euler(joint.order, degrees=True))
        for child, other in enumerate(joints):
            if other.parent == index:
                write(child, tabs + '  ')
        if joint.end is not None:
            lines.append(f'{tabs}  End Site {{ OFFSET {_numbers(joint.end)} }}')
        lines.append(f'{tabs}}}')

    write(0, '')
    values = np.hstack(columns)
    lines.extend(['MOTION', f'Frames:\t{len(values)}', f'Frame Time:\t{1.0 / rate_hz:.9f}'])
    lines.extend(_numbers(row) for row in values)
    return '\n'.join(lines) + '\n'


def _numbers(values):
    return ' '.join(f'{value:.10f}' for value in values)


SMALL_BVH = """HIERARCHY
ROOT base
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT arm
  {
    OFFSET 0 10 0
    CHANNELS 2 Yrotation Xrotation
    End Site
    {
      OFFSET 0 0 20
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.01
1 2 3 10 20 30 40 50
4 5 6 0 0 0 0 0
7 8 9 0 0 90 0 0
"""

SMALL_ASF = """:version 1.10
:name TEST
:units
  mass 1.0
  length 0.45
  angle deg
:documentation
   a leg: and an arm
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name hip
    direction 0 -1 0
    length 2
    axis 0 0 0 XYZ
  end
  begin
    id 2
    name leg
    direction 0 -0.6 0.8
    length 3
    axis 10 20 30 XYZ
    dof rx rz
    limits (-160.0 20.0)
           (-70.0 70.0)
  end
  begin
    id 3
    name arm
    direction 1 0 0
    length 4
    axis 0 0 0 XYZ
    dof rz
  end
:hierarchy
  begin
    root hip arm
    hip leg
  end
"""

SMALL_AMC = """#!made by hand
:FULLY-SPECIFIED
:DEGREES
1
root 1 2 3 10 20 30
leg 40 50
arm 90
2
root 4 5 6 0 0 0
leg 0 0
arm 0
"""
