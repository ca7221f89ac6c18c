# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The environment variables of the tools and the programs.

Set here directly: sourcing the setup scripts of a workspace takes longer than the programs' start.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
import sys

from puppet_setup.checkout import Checkout, python_site
from puppet_setup.numba_cache import cache_folder
from puppet_setup.ros_source import RosSource

Environ = dict[str, str]

PYTHON_VERSION = (sys.version_info.major, sys.version_info.minor)

PATH_VARIABLES = {'AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH', 'LD_LIBRARY_PATH', 'PATH',
                  'PYTHONPATH'}

# What a user sets for the programs, whatever ROS they run on.
KEPT_ROS_VARIABLES = ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_STATIC_PEERS',
                      'ROS_LOG_DIR', 'ROS_HOME')

# Belongs to another ROS or another Python, and would lead the wheels astray.
FOREIGN_PREFIXES = ('PYTHON', 'AMENT_', 'COLCON_', 'ROS_', '_ROS_', 'RMW_', 'CMAKE_PREFIX_PATH',
                    'VIRTUAL_ENV', 'CONDA_')

# pip's settings by which it would install something else, or somewhere else, than it is told to.
# Those that say where packages come from stay: proxies, indexes, certificates.
PIP_DETOURS = ('PIP_BUILD_CONSTRAINT', 'PIP_CONSTRAINT', 'PIP_DRY_RUN', 'PIP_EDITABLE',
               'PIP_IGNORE_INSTALLED', 'PIP_NO_BINARY', 'PIP_ONLY_BINARY', 'PIP_PREFIX',
               'PIP_PYTHON', 'PIP_QUIET', 'PIP_REQUIRE_HASHES', 'PIP_REQUIRE_VIRTUALENV',
               'PIP_REQUIREMENT', 'PIP_ROOT', 'PIP_TARGET', 'PIP_USER', 'PIP_VERBOSE')


def tool_environment(environ: Mapping[str, str], checkout: Checkout, ros: RosSource) -> Environ:
    """Return the variables for pip and colcon: ROS, but nothing of the suite."""
    # A shell may have taken over our own variables; pip would obey its own.
    result = _without(environ, (str(checkout.state), str(checkout.source)))
    result = {name: value for name, value in result.items()
              if name not in PIP_DETOURS and not value.startswith(f'{checkout.state}/')}
    result['PYTHONNOUSERSITE'] = '1'
    if ros.is_system:
        return result
    other_ros = tuple(entry for entry in result.get('AMENT_PREFIX_PATH', '').split(':') if entry)
    result = {name: value for name, value in _without(result, other_ros).items()
              if name in KEPT_ROS_VARIABLES or not name.startswith(FOREIGN_PREFIXES)}
    venv = checkout.venv
    libraries = [venv / 'lib', *sorted(python_site(venv, PYTHON_VERSION).glob('ros_*.libs'))]
    return result | {
        'AMENT_PREFIX_PATH': str(venv),
        # Away from the user's defaults for colcon.
        'COLCON_HOME': str(checkout.home / 'colcon'),
        'CMAKE_PREFIX_PATH': str(venv),
        'LD_LIBRARY_PATH': _path_list([*libraries, result.get('LD_LIBRARY_PATH', '')]),
        'PATH': _path_list([venv / 'bin', result.get('PATH', '/usr/bin:/bin')]),
        'PYTHONNOUSERSITE': '1',
        'ROS_DISTRO': ros.distro,
        'ROS_PYTHON_VERSION': '3',
        'ROS_VERSION': '2',
        # The wheels' start-up hook has nothing to add to LD_LIBRARY_PATH.
        '_ROS_WHEELS_BOOTSTRAP_COMPLETE': '1',
        # For a ./puppet that one of our programs starts.
        'PUPPET_ROS': 'wheels',
    }


def program_environment(environ: Mapping[str, str], checkout: Checkout,
                        ros: RosSource) -> Environ:
    """Return the variables for the programs of the suite."""
    result = tool_environment(environ, checkout, ros)
    install = checkout.install
    for name, folder in (('AMENT_PREFIX_PATH', install), ('CMAKE_PREFIX_PATH', install),
                         ('LD_LIBRARY_PATH', install / 'lib')):
        result[name] = _path_list([folder, result.get(name, '')])
    own_site = python_site(checkout.venv, PYTHON_VERSION)
    packages = [folder for folder in checkout.package_folders()
                if (folder / folder.name / '__init__.py').is_file()]
    result['PYTHONPATH'] = _path_list([
        # Modules come from the sources, so that a change needs no build; the build folders hold
        # the packages' metadata, by which the installed programs find their entry points.
        *packages,
        *(checkout.build / folder.name for folder in packages if (folder / 'setup.py').is_file()),
        *_install_sites(install),
        result.get('PYTHONPATH', ''),
        # With the wheels, Python finds this one by itself.
        *([own_site] if ros.is_system and own_site.is_dir() else []),
    ])
    defaults = {
        'NUMBA_CACHE_DIR': str(cache_folder(checkout)),
        'ROS_LOG_DIR': str(checkout.logs / 'ros'),
        # The arrays are small: more threads than one only cost time and memory.
        'OMP_NUM_THREADS': '1',
        'OPENBLAS_NUM_THREADS': '1',
    }
    return defaults | result


def _without(environ: Mapping[str, str], folders: tuple[str, ...]) -> Environ:
    """Return the variables without the entries of path lists that are in one of the folders."""
    result = dict(environ)
    for name in PATH_VARIABLES & result.keys():
        kept = [entry for entry in result[name].split(':') if entry
                and not any(f'{entry}/'.startswith(f'{folder}/') for folder in folders)]
        result[name] = ':'.join(kept)
        if not kept:
            del result[name]
    return result


def _install_sites(install: Path) -> list[Path]:
    """Return the module folders of the install, for Debian's layout of Python and for others."""
    version = f'python{PYTHON_VERSION[0]}.{PYTHON_VERSION[1]}'
    tails = (f'lib/{version}/site-packages', f'lib/{version}/dist-packages',
             f'local/lib/{version}/dist-packages')
    return [install / tail for tail in tails if (install / tail).is_dir()]


def _path_list(entries: Iterable[Path | str]) -> str:
    """Join the entries that are not empty by colons."""
    return ':'.join(str(entry) for entry in entries if str(entry))
