# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the machine must have before anything is set up on it."""

import os
from pathlib import Path
import platform
import shutil
import sys
import sysconfig

from puppet_setup.faults import SetupError

FREE_BYTES_NEEDED = 2 * 1000**3
MINIMUM_CMAKE = (3, 20)

APT = 'Debian and Ubuntu: sudo apt install'


def check_for_wheels(folder: Path) -> None:
    """
    Check what the ROS 2 wheels and the build of the messages need.

    Raises
    ------
    SetupError : for the first thing that is missing, with the fix.

    """
    machine = platform.machine()
    if sys.platform != 'linux' or machine != 'x86_64':
        raise SetupError('the ROS 2 wheels exist only for Linux on x86_64, this is'
                         f' {sys.platform} on {machine}; install ROS 2 Jazzy or Kilted, source'
                         ' its setup.bash and run the command again')
    if platform.libc_ver()[0] != 'glibc':
        raise SetupError('the ROS 2 wheels need a Linux with glibc (not Alpine); use another'
                         ' system, or a container of one')
    check_python()
    check_build_tools()
    free = shutil.disk_usage(folder).free
    if free < FREE_BYTES_NEEDED:
        raise SetupError(f'{folder}: {FREE_BYTES_NEEDED / 1e9:.0f} GB of free disk are needed,'
                         f' {free / 1e9:.1f} GB are there; free some room')


def check_python() -> None:
    """Check that this Python can make environments and build modules."""
    version = f'{sys.version_info.major}.{sys.version_info.minor}'
    try:
        import ensurepip  # noqa: F401  (left out by distributions that package it apart)
        import venv  # noqa: F401
    except ImportError as err:
        raise SetupError(f'{sys.executable} cannot make environments; install its venv module'
                         f' ({APT} python{version}-venv)') from err
    header = Path(sysconfig.get_path('include'), 'Python.h')
    if not header.is_file():
        raise SetupError(f'{header} is missing; install the headers of Python {version} ({APT}'
                         f' python{version}-dev)')


def check_build_tools() -> None:
    """Check for the compilers, cmake and make."""
    compilers = (('CC', 'C', ('cc', 'gcc', 'clang')), ('CXX', 'C++', ('c++', 'g++', 'clang++')))
    for variable, language, names in compilers:
        wanted = os.environ.get(variable)
        if not any(shutil.which(name) for name in ((wanted.split()[0],) if wanted else names)):
            raise SetupError(f'no {language} compiler found; install one ({APT}'
                             f' build-essential){f", or unset {variable}" if wanted else ""}')
    for tool in ('cmake', 'make'):
        if not shutil.which(tool):
            raise SetupError(f'no {tool} found; install it ({APT} {tool})')
