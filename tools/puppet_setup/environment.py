# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which ROS 2 is used, and the environment variables of the tools and the programs.

Set here directly: sourcing the setup scripts of a workspace takes longer than the programs' start.
"""

from collections.abc import Mapping
from dataclasses import dataclass
import os
from pathlib import Path
import re
import shutil
import sys

from puppet_setup.checkout import Checkout, fingerprint

Environ = dict[str, str]

SUPPORTED = ('jazzy', 'kilted')
WHEELS_DISTRO = 'jazzy'

PATH_VARIABLES = {
    *('AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH', 'LD_LIBRARY_PATH', 'PATH', 'PYTHONPATH')
}

# What a user sets for the programs, whatever ROS they run on.
KEPT_OF_ROS = re.compile(r'ROS_(DOMAIN_ID|AUTOMATIC_DISCOVERY_RANGE|STATIC_PEERS|LOG_DIR|HOME)$')

# Belongs to another ROS or another Python, and would lead the wheels astray.
FOREIGN = re.compile('PYTHON|AMENT_|COLCON_|_?ROS_|RMW_|CMAKE_PREFIX_PATH|VIRTUAL_ENV|CONDA_')

# pip's settings by which it would install something else, or somewhere else, than it is told to.
# Those that say where packages come from stay: proxies, indexes, certificates.
PIP_DETOURS = re.compile(
    r'PIP_(BUILD_CONSTRAINT|CONSTRAINT|DRY_RUN|EDITABLE|IGNORE_INSTALLED|NO_BINARY|ONLY_BINARY'
    r'|PREFIX|PYTHON|QUIET|REQUIRE_HASHES|REQUIRE_VIRTUALENV|REQUIREMENT|ROOT|TARGET|USER'
    r'|VERBOSE)$'
)

# Module folders of a merged install, for Debian's layout of Python and for others.
INSTALL_SITES = ('lib/{}/site-packages', 'lib/{}/dist-packages', 'local/lib/{}/dist-packages')

# The module, then its names, which may be modules of a package.
IMPORT = re.compile(r'^from (puppet_[\w.]+) import (\([^)]*\)|[^\n]*)', re.MULTILINE)
NAME = re.compile(r'\w+')
KEPT_CACHES = 3


@dataclass(frozen=True)
class RosSource:
    """A source of ROS 2: sourced by the user's shell, or the wheels."""

    distro: str
    is_system: bool
    notice: str = ''  # What the user should know about the choice; empty if it is the expected one


def choose_ros(environ: Mapping[str, str]) -> RosSource:
    """Return the source of ROS for this environment; PUPPET_ROS=wheels insists on the wheels."""
    distro = environ.get('ROS_DISTRO', '')
    if environ.get('PUPPET_ROS') == 'wheels' or not distro:
        return RosSource(WHEELS_DISTRO, is_system=False)
    folders = filter(None, environ.get('PYTHONPATH', '').split(':'))
    if distro not in SUPPORTED:
        notice = f'ROS 2 {distro} is sourced; supported are {" and ".join(SUPPORTED)}'
    elif not any(Path(folder, 'rclpy', '__init__.py').is_file() for folder in folders):
        notice = f'ROS_DISTRO is {distro}, but rclpy is not on PYTHONPATH'
    else:
        return RosSource(distro, is_system=True)
    return RosSource(WHEELS_DISTRO, False, f"{notice}; using the suite's own ROS 2 wheels")


def tool_environment(environ: Mapping[str, str], checkout: Checkout, ros: RosSource) -> Environ:
    """Return the variables for pip and colcon: ROS, but nothing of the suite."""
    # A shell may have taken over our own variables; pip would obey its own.
    result = {
        name: value
        for name, value in _without(environ, [str(checkout.state), str(checkout.source)]).items()
        if not PIP_DETOURS.match(name) and not value.startswith(f'{checkout.state}/')
    }
    result['PYTHONNOUSERSITE'] = '1'
    if ros.is_system:
        return result
    other_ros = list(filter(None, result.get('AMENT_PREFIX_PATH', '').split(':')))
    result = {
        name: value
        for name, value in _without(result, other_ros).items()
        if KEPT_OF_ROS.match(name) or not FOREIGN.match(name)
    }
    venv = checkout.venv
    result |= {
        'PYTHONNOUSERSITE': '1',
        # Away from the user's defaults for colcon.
        'COLCON_HOME': str(checkout.home / 'colcon'),
        'ROS_DISTRO': ros.distro,
        'ROS_PYTHON_VERSION': '3',
        'ROS_VERSION': '2',
        # The wheels' start-up hook has nothing to add to LD_LIBRARY_PATH.
        '_ROS_WHEELS_BOOTSTRAP_COMPLETE': '1',
        # For a ./puppet that one of our programs starts.
        'PUPPET_ROS': 'wheels',
    }
    result.setdefault('PATH', '/usr/bin:/bin')
    _prepend(result, 'AMENT_PREFIX_PATH', venv)
    _prepend(result, 'CMAKE_PREFIX_PATH', venv)
    _prepend(result, 'LD_LIBRARY_PATH', venv / 'lib', *wheel_libraries(venv))
    _prepend(result, 'PATH', venv / 'bin')
    return result


def program_environment(environ: Mapping[str, str], checkout: Checkout, ros: RosSource) -> Environ:
    """Return the variables for the programs of the suite."""
    result = tool_environment(environ, checkout, ros)
    install, site = checkout.install, python_site(checkout.venv)
    _prepend(result, 'AMENT_PREFIX_PATH', install)
    _prepend(result, 'CMAKE_PREFIX_PATH', install)
    _prepend(result, 'LD_LIBRARY_PATH', install / 'lib')
    if ros.is_system and site.is_dir():  # with the wheels, Python finds it by itself
        result['PYTHONPATH'] = f'{result["PYTHONPATH"]}:{site}'
    # Modules come from the sources, so that a change needs no build; the build folders hold the
    # packages' metadata, by which the installed programs find their entry points.
    folders = checkout.package_folders()
    packages = [folder for folder in folders if (folder / folder.name / '__init__.py').is_file()]
    metadata = [checkout.build / path.name for path in packages if (path / 'setup.py').is_file()]
    sites = (install / tail.format(_python()) for tail in INSTALL_SITES)
    _prepend(result, 'PYTHONPATH', *packages, *metadata, *filter(Path.is_dir, sites))
    home = writable_home(environ, checkout)
    defaults = {
        'NUMBA_CACHE_DIR': str(cache_folder(checkout, home)),
        'ROS_LOG_DIR': str(home / 'log' / 'ros'),
        # The arrays are small: more threads than one only cost time and memory.
        'OMP_NUM_THREADS': '1',
        'OPENBLAS_NUM_THREADS': '1',
    }
    return defaults | result


def python_site(prefix: Path) -> Path:
    """Return where a prefix holds the modules of this Python."""
    return prefix / 'lib' / _python() / 'site-packages'


def wheel_libraries(venv: Path) -> list[Path]:
    """Return the folders of libraries that the ROS 2 wheels brought along."""
    return sorted(python_site(venv).glob('ros_*.libs'))


def _python() -> str:
    return f'python{sys.version_info.major}.{sys.version_info.minor}'


def _prepend(environ: Environ, name: str, *folders: Path) -> None:
    """Put the folders at the front of a path list."""
    environ[name] = ':'.join(filter(None, [*map(str, folders), environ.get(name, '')]))


def _without(environ: Mapping[str, str], folders: list[str]) -> Environ:
    """Return the variables without the entries of path lists that are in one of the folders."""
    result = dict(environ)
    for name in PATH_VARIABLES & result.keys():
        entries = filter(None, result.pop(name).split(':'))
        kept = [
            path
            for path in entries
            if not any(f'{path}/'.startswith(f'{folder}/') for folder in folders)
        ]
        if kept:
            result[name] = ':'.join(kept)
    return result


def writable_home(environ: Mapping[str, str], checkout: Checkout) -> Path:
    """Return the folder for caches and logs: the user's own where the checkout is read-only."""
    if os.access(checkout.home, os.W_OK) or not checkout.home.exists():
        return checkout.home
    caches = environ.get('XDG_CACHE_HOME') or Path('~/.cache').expanduser()
    return Path(caches, 'puppet', fingerprint([str(checkout.home)]))


def cache_folder(checkout: Checkout, home: Path | None = None) -> Path:
    """
    Return the folder for numba's compiled kernels; make it, and remove old ones, if it is new.

    It is in `home`, by default the checkout's; a new one elsewhere begins with links to what is
    compiled there.

    numba compiles a function anew when its own file changes, but not when a function that it calls
    from another file does, nor when a number does that it has from there. So the folder is named
    after the contents of all files with kernels and of what those import.
    """
    parent = (home or checkout.home) / 'numba'
    folder = parent / _kernel_fingerprint(checkout)
    if folder.is_dir():
        os.utime(folder)
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    shared = checkout.home / 'numba' / folder.name
    for path in shared.rglob('*'):
        if folder != shared and path.is_file():
            link = folder / path.relative_to(shared)
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(path)
    by_age = sorted(parent.iterdir(), key=lambda path: path.stat().st_mtime)
    for old in by_age[:-KEPT_CACHES]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def _kernel_fingerprint(checkout: Checkout) -> str:
    """Return a digest of every source file that has kernels, and of what those import."""
    modules = {}
    for package in checkout.package_folders():
        for path in (package / package.name).rglob('*.py'):
            name = '.'.join(path.relative_to(package).with_suffix('').parts)
            modules[name.removesuffix('.__init__')] = path.read_bytes()
    wanted = [name for name, content in modules.items() if has_kernel(content)]
    compiled = set(wanted)
    while wanted:
        imports = IMPORT.findall(modules[wanted.pop()].decode())
        names = {module for module, _ in imports}
        names |= {f'{module}.{name}' for module, rest in imports for name in NAME.findall(rest)}
        found = modules.keys() & names - compiled
        compiled |= found
        wanted += found
    return fingerprint(part for name in sorted(compiled) for part in (name, modules[name]))


def has_kernel(content: bytes) -> bool:
    """Return whether a module has functions that are compiled."""
    return b'@kernel' in content or b'@njit' in content
