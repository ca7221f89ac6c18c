# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Small humanoids of boxes written as URDF, for robots that the one in humanoid.urdf is not."""

from dataclasses import dataclass, field

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass
class Urdf:
    """A robot's links with one box each, and its joints, as text."""

    joints: dict = field(default_factory=dict)
    boxes: dict = field(default_factory=dict)

    def joint(self, name, parent, child, xyz, axis, limits, more=''):
        """Add a revolute joint; one of the same name is replaced."""
        self.joints[name] = (parent, child, xyz, axis, limits, more)

    def text(self):
        names = {n for row in self.joints.values() for n in row[:2]}
        lines = ['<robot name="made">']
        for name in sorted(names):
            size, middle = self.boxes.get(name, ('', ''))
            box = f'<geometry><box size="{_row(size)}"/></geometry>'
            solid = f'<collision><origin xyz="{_row(middle)}"/>{box}</collision>' if size else ''
            lines.append(f'<link name="{name}">{solid}</link>')
        for name, (parent, child, xyz, axis, (low, high), more) in self.joints.items():
            lines.append(
                f'<joint name="{name}" type="revolute"><origin xyz="{_row(xyz)}"/>'
                f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{_row(axis)}"/>'
                f'<limit lower="{low}" upper="{high}" effort="1" velocity="1"/>{more}</joint>'
            )
        return '\n'.join([*lines, '</robot>'])


def _row(values):
    return ' '.join(f'{value:g}' for value in values)


def seven_axis_arms(elbow=-0.15):
    """Return a robot of names that tell nothing, arms of seven axes, elbows bent at least so."""
    urdf = Urdf()
    urdf.boxes = {'base': ((0.2, 0.3, 0.15), (0, 0, 0)), 'torso': ((0.2, 0.3, 0.4), (0, 0, 0.2))}
    urdf.joint('t', 'base', 'torso', (0, 0, 0.2), Z, (-1, 1))
    for side, k in (('l', 1), ('r', -1)):

        def row(first, joints, side=side, k=k):
            above = first
            for name, xyz, axis, (low, high) in joints:
                xyz = (xyz[0], k * xyz[1], xyz[2])
                if axis == X and k < 0:
                    low, high = -high, -low
                urdf.joint(side + name, above, side + name, xyz, axis, (low, high))
                above = side + name

        row(
            'torso',
            [
                ('a1', (0, 0.2, 0.42), Y, (-3, 1.2)),
                ('a2', (0, 0.02, 0), X, (-0.3, 2.8)),
                ('a3', (0, 0, -0.12), Z, (-2, 2)),
                ('a4', (0, 0, -0.18), Y, (-2.4, elbow)),
                ('a5', (0, 0, -0.12), Z, (-2, 2)),
                ('a6', (0, 0, -0.15), Y, (-1, 1)),
                ('a7', (0, 0, 0), X, (-0.8, 0.8)),
            ],
        )
        row(
            'base',
            [
                ('l1', (0, 0.1, -0.08), Z, (-0.7, 0.7)),
                ('l2', (0, 0, 0), X, (-0.4, 0.7)),
                ('l3', (0, 0, 0), Y, (-2, 0.7)),
                ('l4', (0, 0, -0.4), Y, (0, 2.5)),
                ('l5', (0, 0, -0.4), Y, (-1, 0.8)),
                ('l6', (0, 0, 0), X, (-0.4, 0.4)),
            ],
        )
        urdf.boxes[side + 'a7'] = ((0.04, 0.08, 0.12), (0, 0, -0.08))
        urdf.boxes[side + 'l6'] = ((0.24, 0.1, 0.03), (0.04, 0, -0.06))
    return urdf


def rooted_at_the_trunk():
    """Return the robot of seven-axis arms with its trunk as the root link, legs behind a joint."""
    urdf = seven_axis_arms(0.0)
    # turned by as much the other way round
    urdf.joint('t', 'torso', 'base', (0, 0, -0.2), (0, 0, -1), (-1, 1))
    return urdf


def five_axis_arms():
    """Return a small robot, arms ahead at zero, that cannot lift them all the way sideways."""
    urdf = seven_axis_arms()
    for side, k in (('l', 1), ('r', -1)):
        for number in range(1, 8):
            del urdf.joints[f'{side}a{number}']
        inward = {1: (-1.5, -0.03), -1: (0.03, 1.5)}[k]
        lift = {1: (-0.3, 1.33), -1: (-1.33, 0.3)}[k]
        above = 'torso'
        for name, xyz, axis, limits in [
            ('shoulder_pitch', (0, 0.2 * k, 0.4), Y, (-2, 2)),
            ('shoulder_lift', (0, 0, 0), Z, lift),
            ('elbow_yaw', (0.21, 0.03 * k, 0), X, (-2, 2)),
            ('elbow', (0, 0, 0), Z, inward),
            ('wrist', (0.11, 0, 0), X, (-1.8, 1.8)),
        ]:
            urdf.joint(side + name, above, side + name, xyz, axis, limits)
            above = side + name
        urdf.boxes[above] = ((0.16, 0.08, 0.06), (0.08, 0, 0))
    return urdf
