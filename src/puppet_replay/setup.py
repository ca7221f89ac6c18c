# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Packaging of puppet_replay."""

from setuptools import find_packages, setup

package_name = 'puppet_replay'

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(exclude=['test']),
    package_data={package_name: ['py.typed'], f'{package_name}.compare': ['*.jinja']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    zip_safe=False,
    maintainer='The puppet suite authors',
    maintainer_email='puppet-suite@users.noreply.github.com',
    description='Bags of the puppet graph: record, replay, compare.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'play = puppet_replay.play:main',
            'record = puppet_replay.record:main',
            'replay = puppet_replay.replay:main',
            'compare = puppet_replay.compare.command:main',
            'plot = puppet_replay.plots.command:main',
        ],
        # of the module's own name, so that -p and conftest.py may name it as well
        'pytest11': ['puppet_replay.pytest_plugin = puppet_replay.pytest_plugin'],
    },
)
