# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Packaging of puppet_filter."""

from setuptools import find_packages, setup

package_name = 'puppet_filter'

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
    description='Kalman filter of the tracker sensors and measurement of their noise.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'pose_filter = puppet_filter.pose_filter_node:main',
            'measure_noise = puppet_filter.measure_noise:main',
            'tracker_markers = puppet_filter.tracker_markers_node:main',
        ]
    },
)
