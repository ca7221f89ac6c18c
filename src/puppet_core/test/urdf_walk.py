# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics of a URDF straight from its text, as any reader of the format does it."""

from pathlib import Path
from xml.etree import ElementTree as Xml

import numpy as np
from transforms3d import affines, euler

HUMANOID = Path(__file__).resolve().parent / 'humanoid.urdf'


def floats(text):
    return np.array([float(word) for word in text.split()])


def origin(element):
    found = element.find('origin')
    if found is None:
        return np.eye(4)
    roll, pitch, yaw = floats(found.get('rpy', '0 0 0'))
    turned = euler.euler2mat(yaw, pitch, roll, 'rzyx')
    return affines.compose(floats(found.get('xyz', '0 0 0')), turned, np.ones(3))


def link_poses(text, angles, root=None):
    """Return the 4 x 4 pose of every link for the angles of joints by name."""
    robot = Xml.fromstring(text)
    children = {}
    for joint in robot.findall('joint'):
        children.setdefault(joint.find('parent').get('link'), []).append(joint)
    below = {j.find('child').get('link') for j in robot.findall('joint')}
    top = next(n for link in robot.findall('link') if (n := link.get('name')) not in below)
    poses, waiting = {top: np.eye(4) if root is None else root}, [top]
    while waiting:
        link = waiting.pop()
        for joint in children.get(link, []):
            step = np.eye(4)
            if joint.get('type') != 'fixed':
                axis = floats(joint.find('axis').get('xyz'))
                step[:3, :3] = euler.axangle2mat(axis, angles[joint.get('name')])
            child = joint.find('child').get('link')
            poses[child] = poses[link] @ origin(joint) @ step
            waiting.append(child)
    return poses


def limits(text):
    """Return (lower, upper) of every joint that turns, by name."""
    return {
        joint.get('name'): tuple(float(joint.find('limit').get(k)) for k in ('lower', 'upper'))
        for joint in Xml.fromstring(text).findall('joint')
        if joint.get('type') == 'revolute'
    }
