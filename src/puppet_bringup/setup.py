# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Packaging of puppet_bringup; all but its files is in setup.cfg."""

from pathlib import Path

from setuptools import setup

share = Path('share/puppet_bringup')
folders = (Path(name).rglob('*.*') for name in ('launch', 'config'))
# links of an earlier build may lead nowhere
files = [path for paths in folders for path in paths if path.is_file()]
setup(
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/puppet_bringup']),
        (str(share), ['package.xml']),
        *((str(share / path.parent), [str(path)]) for path in files if path.suffix != '.pyc'),
    ]
)
