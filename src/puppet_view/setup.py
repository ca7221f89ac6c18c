# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Packaging of puppet_view."""

from setuptools import find_packages, setup

package_name = 'puppet_view'

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
    description='Views of performer and puppet: RViz markers, the browser, pictures and films.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'visualization = puppet_view.rviz.visualization_node:main',
            'puppet_view = puppet_view.browser.live_page:main',
            'view_clip = puppet_view.browser.view_command:main',
        ]
    },
)
