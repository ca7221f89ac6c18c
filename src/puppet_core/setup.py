# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Packaging of puppet_core."""

from setuptools import find_packages, setup

package_name = 'puppet_core'

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(exclude=['test']),
    package_data={package_name: ['py.typed']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=['setuptools'],
    extras_require={
        'c3d': ['ezc3d'],
        'fbx': ['ufbx'],
        'robots': ['mujoco', 'pycollada', 'xacro'],
        'test': ['pytest'],
    },
    zip_safe=False,
    maintainer='The puppet suite authors',
    maintainer_email='puppet-suite@users.noreply.github.com',
    description='The ROS-free core: rotations, skeleton, kinematics, characters and motion clips.',
    license='Apache-2.0',
)
