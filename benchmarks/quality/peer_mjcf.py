# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A skeleton as MJCF text, the model format of MuJoCo, for peers that solve on it.

Bodies are the segments in their order, the root with a free joint, the others with a ball
joint, so that the coordinates are the root's position and sixteen quaternions (w, x, y, z):
the suite's own. Palm and sole centres are sites. Masses are all the same, as nothing falls.
"""

from xml.etree import ElementTree as Xml

from puppet_core.body import END_EFFECTORS, LIMB_SEGMENTS, PARENTS, SEGMENTS, Skeleton
from puppet_core.math import Vec3


def mjcf_text(skeleton: Skeleton, name: str) -> str:
    """Return the MJCF of a skeleton: 16 bodies, 15 ball joints, 4 sites."""
    model = Xml.Element('mujoco', model=name)
    bodies: list[Xml.Element] = []
    for segment, parent, offset in zip(SEGMENTS, PARENTS, skeleton.offsets):
        above = bodies[parent] if bodies else Xml.SubElement(model, 'worldbody')
        body = Xml.SubElement(above, 'body', name=segment, pos=_numbers(offset))
        kind = 'ball' if bodies else 'free'
        Xml.SubElement(body, 'joint', name=f'{segment}_joint', type=kind)
        Xml.SubElement(body, 'inertial', pos='0 0 0', mass='1', diaginertia='1 1 1')
        bodies.append(body)
    ends = zip(END_EFFECTORS, LIMB_SEGMENTS[:, 2], skeleton.interaction_points)
    for end, segment, point in ends:
        Xml.SubElement(bodies[segment], 'site', name=site_name(end), pos=_numbers(point))
    return Xml.tostring(model, encoding='unicode')


def site_name(end_effector: str) -> str:
    """Return what the palm or sole centre is called in the model."""
    return f'{end_effector}_point'


def _numbers(vector: Vec3) -> str:
    return ' '.join(repr(float(value)) for value in vector)
