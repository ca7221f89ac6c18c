# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Packaging of puppet_clips."""

from setuptools import find_packages, setup

package_name = 'puppet_clips'

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
    extras_require={'test': ['pytest']},
    zip_safe=False,
    maintainer='The puppet suite authors',
    maintainer_email='puppet-suite@users.noreply.github.com',
    description='Commands over motion clips: retarget, batch, characters, reports.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'puppet_clip = puppet_clips.cli:main',
            'calibrate = puppet_clips.calibrate.calibrate_command:main',
        ]
    },
)
