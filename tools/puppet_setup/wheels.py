# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The Python environment made of pinned wheels, ROS 2 among them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
import re
import shutil
import sys

from puppet_setup import mends
from puppet_setup.checkout import Checkout, python_site
from puppet_setup.environment import Environ, PYTHON_VERSION, tool_environment
from puppet_setup.machine import check_for_wheels
from puppet_setup.phase import PhaseRunner, Progress
from puppet_setup.ros_source import RosSource
from puppet_setup.stamps import fingerprint, read_stamp, Stamp, write_stamp

# Installed before the others: some have no wheel, and are built with these.
BUILD_BACKEND = re.compile(r'(setuptools|wheel)==')

# A change of one of these makes what was built with it unusable.
TOOLCHAIN = re.compile(r'(ros-|colcon-|catkin|empy|lark|numpy|setuptools)', re.IGNORECASE)

# Imported once after the installation: shows that it is sound, and leaves compiled modules.
CHECKED_IMPORTS = 'import numba, rclpy, scipy.optimize, scipy.spatial, serial, viser, yaml'

PIP_STEP = re.compile(r'(Collecting|Processing|Requirement already satisfied)')
PIP_OPTIONS = ('--disable-pip-version-check', '--no-input', '--no-deps', '--no-compile',
               '--no-build-isolation', '--no-user', '--progress-bar', 'off')


@dataclass(frozen=True)
class WheelEnvironment:
    """The environment of one checkout."""

    checkout: Checkout
    ros: RosSource
    outer: Mapping[str, str]
    """The user's environment variables."""

    @property
    def python(self) -> Path:
        """Return the environment's interpreter."""
        return self.checkout.venv / 'bin' / 'python'

    @property
    def colcon(self) -> str:
        """Return the build tool."""
        return str(self.checkout.venv / 'bin' / 'colcon')

    def tools(self) -> Environ:
        """Return the environment variables for pip and colcon."""
        return tool_environment(self.outer, self.checkout, self.ros)

    def pins(self, name: str) -> list[str]:
        """Return the pinned packages in the list 'runtime' or 'test', for this Python."""
        version = f'{PYTHON_VERSION[0]}.{PYTHON_VERSION[1]}'
        lines = (self.checkout.pins / f'{name}.txt').read_text().splitlines()
        pins = (line.partition(' ; python_version in ') for line in lines
                if line and not line.startswith('#'))
        return [pin for pin, _, versions in pins if version in (versions or version)]

    def toolchain(self) -> str:
        """Return a digest of what the packages are built with."""
        base = self._expected('runtime')
        tools = [line for line in self.pins('runtime') if TOOLCHAIN.match(line)]
        return fingerprint([base['python'], base['root'], base['mends'], *tools])

    def is_ready(self, with_tests: bool) -> bool:
        """Tell whether everything pinned is installed."""
        return all(self._read(name) == self._expected(name) for name in _lists(with_tests))

    def prepare(self, runner: PhaseRunner, with_tests: bool) -> None:
        """Make the environment, or bring it up to date."""
        check_for_wheels(self.checkout.root)
        made, wanted = self._read('runtime'), self._expected('runtime')
        if self._unfinished.exists() or any(made.get(key) != wanted[key]
                                            for key in ('python', 'root')):
            self._make(runner)
        for name in _lists(with_tests):
            if self._read(name) != self._expected(name):
                self._install(name, runner)

    def _make(self, runner: PhaseRunner) -> None:
        """Make an empty environment; what an interrupted set-up left goes first."""
        shutil.rmtree(self.checkout.venv, ignore_errors=True)
        runner.run([_base_python(), '-I', '-m', 'venv', str(self.checkout.venv)], self.tools(),
                   Progress('making a Python environment'), 'venv')
        (self.checkout.state / 'python').write_text(f'{_base_python()}\n')

    def _install(self, name: str, runner: PhaseRunner) -> None:
        """Install the packages of one list."""
        self._stamp(name).unlink(missing_ok=True)
        self._unfinished.touch()
        pins = self.pins(name)
        pip = [str(self.python), '-I', '-m', 'pip', 'install', *PIP_OPTIONS]
        backend = [line for line in pins if BUILD_BACKEND.match(line)]
        if backend:
            runner.run([*pip, *backend], self.tools(), Progress('installing setuptools'),
                       'pip-backend')
        progress = Progress(f'installing {len(pins)} packages ({name})', PIP_STEP, len(pins))
        runner.run([*pip, '-r', str(self.checkout.pins / f'{name}.txt')], self.tools(),
                   progress, f'pip-{name}')
        if name == 'runtime':
            mends.apply_mends(self.checkout.venv, python_site(self.checkout.venv, PYTHON_VERSION))
            runner.run([str(self.python), '-I', '-c', CHECKED_IMPORTS], self.tools(),
                       Progress('checking the installation'), 'check')
        self._unfinished.unlink()
        write_stamp(self._stamp(name), self._expected(name))

    @property
    def _unfinished(self) -> Path:
        """Return the file that says that an installation began and did not end."""
        return self.checkout.venv / 'puppet-unfinished'

    def _expected(self, name: str) -> Stamp:
        """Return the stamp of a finished installation of the list."""
        return {
            'mends': fingerprint([Path(mends.__file__).read_bytes()]),
            'pins': fingerprint(self.pins(name)),
            'python': f'{_base_python()} {sys.version}',
            # The environment's programs hold its path.
            'root': str(self.checkout.root),
        }

    def _read(self, name: str) -> Stamp:
        return read_stamp(self._stamp(name))

    def _stamp(self, name: str) -> Path:
        # In the environment, so that it goes when that goes.
        return self.checkout.venv / f'puppet-{name}.json'


def _lists(with_tests: bool) -> tuple[str, ...]:
    """Return the names of the lists to install."""
    return ('runtime', 'test') if with_tests else ('runtime',)


def _base_python() -> str:
    """Return the interpreter itself, if this one is of some other environment."""
    return str(Path(sys.executable).resolve())
