# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The Python environment: ROS 2 wheels and all else pinned, or what a sourced ROS 2 lacks."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
import os
from pathlib import Path
import platform
import re
import shutil
import subprocess
import sys
import sysconfig

from puppet_setup import errata
from puppet_setup.checkout import Checkout, fingerprint, read_stamp, Stamp, write_stamp
from puppet_setup.environment import Environ, python_site, RosSource, tool_environment
from puppet_setup.process import Runner, SetupError

FREE_BYTES_NEEDED = 2 * 1000**3
COMPILERS = {'CC': ('cc', 'gcc', 'clang'), 'CXX': ('c++', 'g++', 'clang++')}
APT = 'Debian and Ubuntu: sudo apt install'

# Installed before the others: some have no wheel, and are built with these.
BUILD_BACKEND = re.compile(r'(setuptools|wheel)==')

# A change of one of these makes what was built with it unusable.
TOOLCHAIN = re.compile(r'(ros-|colcon-|catkin|empy|lark|numpy|setuptools)', re.IGNORECASE)

# Part of any ROS.
OF_ROS = re.compile(r'(ros-|colcon|empy|setuptools|wheel\b)')

# Imported once after the installation: shows that it is sound, and leaves compiled modules.
CHECKED_IMPORTS = 'import numba, rclpy, scipy.optimize, scipy.spatial, serial, viser, yaml'

# What few need, by its name for `./puppet setup --with`.
PARTS = {
    'film': ('av',),
    'c3d': ('ezc3d',),
    'fbx': ('ufbx',),
    'robots': ('mujoco==3.14.0', 'pycollada', 'xacro'),
    'cluster': ('distributed', 'pyarrow'),
    'peers': ('mink==1.2.0', 'mujoco==3.14.0'),
    'docs': ('mkdocs-material==9.7.7', 'mkdocstrings[python]==1.0.6', 'pymdown-extensions==12.0'),
}

PIP_STEP = r'^(Collecting|Processing|Requirement already satisfied)'
PIP_OPTIONS = ('--disable-pip-version-check', '--no-input', '--no-user', '--progress-bar', 'off')
NO_DEPENDENCIES = '--no-deps'
WHEELS_OPTIONS = (NO_DEPENDENCIES, '--no-compile', '--no-build-isolation')


@dataclass(frozen=True)
class Installation:
    """The Python environment of one checkout: of wheels, or on top of the sourced ROS."""

    checkout: Checkout
    ros: RosSource
    outer: Mapping[str, str]  # The user's environment variables

    @property
    def python(self) -> str:
        """Return the environment's interpreter."""
        return str(self.checkout.venv / 'bin' / 'python')

    @property
    def stamp_file(self) -> Path:
        """Return the file that says what is installed; it goes when the environment goes."""
        return self.checkout.venv / 'puppet.json'

    @property
    def colcon(self) -> str:
        """Return the build tool."""
        own = str(self.checkout.venv / 'bin' / 'colcon')
        return shutil.which('colcon') or own if self.ros.is_system else own

    def tools(self) -> Environ:
        """Return the environment variables for pip and colcon."""
        return tool_environment(self.outer, self.checkout, self.ros)

    def requirements(self, name: str) -> list[str]:
        """Return what is to be installed of 'runtime', 'test' or a part, for this Python."""
        if name in PARTS:
            return list(PARTS[name])
        kind = 'in' if self.ros.is_system else 'txt'
        lines = (self.checkout.pins / f'{name}.{kind}').read_text().splitlines()
        lines = [line for line in lines if line and not line.startswith('#')]
        if self.ros.is_system:
            colcon = name == 'runtime' and not shutil.which('colcon')
            return [
                line
                for line in lines
                if not OF_ROS.match(line) or colcon and line.startswith('colcon')
            ]
        version = f'{sys.version_info.major}.{sys.version_info.minor}'
        pins = (line.partition(' ; python_version in ') for line in lines)
        return [pin for pin, _, versions in pins if version in (versions or version)]

    def lists(self, with_tests: bool, parts: Collection[str]) -> list[str]:
        """Return the names of the lists to install; a part that is there stays."""
        there = PARTS.keys() & read_stamp(self.stamp_file).keys()
        return ['runtime', *(['test'] if with_tests else []), *sorted({*parts} | there)]

    def expected(self, with_tests: bool, parts: Collection[str] = ()) -> Stamp:
        """Return the stamp of a finished installation."""
        # The environment's programs hold its path.
        base = [_base_python(), sys.version, str(self.checkout.root)]
        if self.ros.is_system:
            prefixes = self.tools().get('AMENT_PREFIX_PATH', '').split(':')
            base += [
                prefix
                for prefix in prefixes
                if Path(prefix, 'share', 'std_msgs', 'package.xml').is_file()
            ]
        else:
            base.append(Path(errata.__file__).read_text())
        names = self.lists(with_tests, parts)
        stamp = {name: fingerprint(self.requirements(name)) for name in names}
        return stamp | {'base': fingerprint(base)}

    def toolchain(self) -> str:
        """Return a digest of what the packages are built with."""
        pins = [] if self.ros.is_system else self.requirements('runtime')
        return fingerprint([self.expected(False)['base'], *filter(TOOLCHAIN.match, pins)])

    def is_ready(self, with_tests: bool, parts: Collection[str] = ()) -> bool:
        """Tell whether everything is installed."""
        return self.expected(with_tests, parts).items() <= read_stamp(self.stamp_file).items()

    def prepare(self, runner: Runner, with_tests: bool, parts: Collection[str] = ()) -> None:
        """Make the environment, or bring it up to date; an interrupted one is made anew."""
        check_machine(self.checkout.root, self.ros.is_system)
        done, expected = read_stamp(self.stamp_file), self.expected(with_tests, parts)
        names = self.lists(with_tests, parts)
        if done.get('base') != expected['base']:
            done = {}
            self._make_venv(runner)
        self.stamp_file.unlink(missing_ok=True)
        for name in names:
            if done.get(name) != expected[name]:
                self._install(name, runner)
        write_stamp(self.stamp_file, done | expected)

    def _make_venv(self, runner: Runner) -> None:
        """Make an empty environment; what an interrupted set-up left goes first."""
        venv = self.checkout.venv
        shutil.rmtree(venv, ignore_errors=True)
        site = ['--system-site-packages'] if self.ros.is_system else []
        python = sys.executable if self.ros.is_system else _base_python()
        command = [python, '-I', '-m', 'venv', *site, str(venv)]
        runner.run('venv', 'making a Python environment', command, self.tools())
        (venv / 'COLCON_IGNORE').touch()  # it is full of package.xml files
        if not self.ros.is_system:
            (self.checkout.state / 'python').write_text(f'{python}\n')

    def _install(self, name: str, runner: Runner) -> None:
        """Install the packages of one list."""
        requirements = self.requirements(name)
        if self.ros.is_system:
            self._install_missing(name, requirements, runner)
            return
        pip = [self.python, '-I', '-m', 'pip', 'install', *PIP_OPTIONS, *WHEELS_OPTIONS]
        if name in PARTS:  # with what they need, in the versions of the tests
            pip.remove(NO_DEPENDENCIES)
            for pins in ('runtime', 'test'):
                pip += ['-c', str(self.checkout.pins / f'{pins}.txt')]
            title = f'installing {name}: {", ".join(requirements)}'
            runner.run(f'pip-{name}', title, [*pip, *requirements], self.tools())
            return
        backend = list(filter(BUILD_BACKEND.match, requirements))
        if backend:
            runner.run('pip-backend', 'installing setuptools', [*pip, *backend], self.tools())
        n = len(requirements)
        command = [*pip, '-r', str(self.checkout.pins / f'{name}.txt')]
        title = f'installing {n} packages ({name})'
        runner.run(f'pip-{name}', title, command, self.tools(), PIP_STEP, n)
        if name == 'runtime':
            errata.correct_wheels(self.checkout.venv, python_site(self.checkout.venv))
            command = [self.python, '-I', '-c', CHECKED_IMPORTS]
            runner.run('check', 'checking the installation', command, self.tools())

    def _install_missing(self, name: str, requirements: list[str], runner: Runner) -> None:
        """Install what this ROS lacks, without touching the numpy that it was built with."""
        look_up = [self.python, '-c', 'import numpy; print(f"numpy=={numpy.__version__}")']
        numpy = subprocess.run(
            look_up, env=self.tools(), text=True, capture_output=True, check=False
        )
        constraints = self.checkout.home / 'constraints.txt'
        constraints.write_text(numpy.stdout)
        pip = [self.python, '-m', 'pip', 'install', *PIP_OPTIONS, '-c', str(constraints)]
        title = f'installing what this ROS 2 lacks ({name})'
        try:
            runner.run(f'pip-{name}', title, [*pip, *requirements], self.tools())
        except SetupError as err:
            raise SetupError(
                f'{err}\nor install them with the system: rosdep install --from-paths src'
                ' --ignore-src'
            ) from err


def check_machine(folder: Path, has_ros: bool) -> None:
    """Raise SetupError, with the fix, for what the installation and the build lack."""
    system = f'{sys.platform} on {platform.machine()}'
    python = f'python{sys.version_info.major}.{sys.version_info.minor}'
    header = Path(sysconfig.get_path('include'), 'Python.h')
    free = shutil.disk_usage(folder).free
    if not has_ros:
        _require(
            system == 'linux on x86_64',
            f'the ROS 2 wheels exist only for Linux on x86_64, this is {system}; install ROS 2'
            ' Jazzy or Kilted, source its setup.bash and run the command again',
        )
        _require(
            platform.libc_ver()[0] == 'glibc',
            'the ROS 2 wheels need a Linux with glibc (not Alpine); use another system, or a'
            ' container of one',
        )
        _require(
            free >= FREE_BYTES_NEEDED,
            f'{folder}: {FREE_BYTES_NEEDED / 1e9:.0f} GB of free disk are needed,'
            f' {free / 1e9:.1f} GB are there; free some room',
        )
    _require(
        find_spec('ensurepip') and find_spec('venv'),  # some distributions split Python
        f'{sys.executable} cannot make environments; install its venv module'
        f' ({APT} {python}-venv)',
    )
    _require(
        header.is_file(),
        f'{header} is missing; install the headers of Python ({APT} {python}-dev)',
    )
    for variable, names in COMPILERS.items():
        wanted = os.environ.get(variable, '').split()[:1]
        _require(
            any(map(shutil.which, wanted or names)),
            f'no compiler found ({", ".join(wanted or names)}); install one ({APT}'
            f' build-essential){f", or unset {variable}" if wanted else ""}',
        )
    for tool in ('cmake', 'make'):
        _require(shutil.which(tool), f'no {tool} found; install it ({APT} {tool})')


def _require(holds: object, sentence: str) -> None:
    if not holds:
        raise SetupError(sentence)


def _base_python() -> str:
    """Return the interpreter itself, if this one is of some other environment."""
    return str(Path(sys.executable).resolve())
