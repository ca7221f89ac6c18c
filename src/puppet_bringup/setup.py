# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Packaging of puppet_bringup; all but its files is in setup.cfg."""

from pathlib import Path

from setuptools import setup

share = Path('share/puppet_bringup')
files = [path for folder in ('launch', 'config') for path in Path(folder).rglob('*.*')]
setup(
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/puppet_bringup']),
        (str(share), ['package.xml']),
        *((str(share / path.parent), [str(path)]) for path in files if path.suffix != '.pyc'),
    ]
)
