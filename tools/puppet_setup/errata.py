# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Corrections of the ROS 2 wheels, without which messages cannot be built with them.

The wheels keep paths of their build machine's Python in their CMake files. They also lack the
script by which colcon recognises an installation of ROS.
"""

from pathlib import Path
import re
import sysconfig

BUILD_MACHINE_INCLUDE = re.compile(r'/opt/python/cp\d+-cp\d+/include/python3\.\d+')
BUILD_MACHINE_SITE = re.compile(r'/opt/python/cp\d+-cp\d+/lib/python3\.\d+/site-packages')

LOCAL_SETUP = """\
# Written by ./puppet: makes the ROS 2 wheels of this environment usable in a shell.
prefix='{prefix}'
export AMENT_PREFIX_PATH="$prefix${{AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}}"
export CMAKE_PREFIX_PATH="$prefix${{CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}}"
export LD_LIBRARY_PATH="{libraries}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
export PATH="$prefix/bin:$PATH"
export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
unset prefix
"""


def correct_wheels(venv: Path, site: Path) -> None:
    """Correct the files in the environment; doing it twice changes nothing."""
    include = sysconfig.get_path('include')
    for path in sorted((venv / 'share').rglob('*.cmake')):
        text = path.read_text()
        corrected = BUILD_MACHINE_SITE.sub(lambda _: str(site), text)
        corrected = BUILD_MACHINE_INCLUDE.sub(lambda _: include, corrected)
        if corrected != text:
            path.write_text(corrected)
    libraries = ':'.join(map(str, [venv / 'lib', *sorted(site.glob('ros_*.libs'))]))
    script = LOCAL_SETUP.format(prefix=venv, libraries=libraries)
    for shell in ('sh', 'bash', 'zsh'):
        (venv / f'local_setup.{shell}').write_text(script)
