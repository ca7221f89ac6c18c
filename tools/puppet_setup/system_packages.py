# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The Python packages that a sourced ROS 2 lacks, in an environment on top of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
import re
import shutil
import subprocess
import sys

from puppet_setup.checkout import Checkout
from puppet_setup.environment import Environ, tool_environment
from puppet_setup.faults import SetupError
from puppet_setup.machine import check_build_tools, check_python
from puppet_setup.phase import PhaseRunner, Progress, say
from puppet_setup.ros_source import RosSource
from puppet_setup.stamps import fingerprint, read_stamp, Stamp, write_stamp

# Part of any ROS, or checked by itself.
OF_ROS = re.compile(r'(ros-|colcon|empy|setuptools|wheel\b)')
NAME = re.compile(r'[A-Za-z0-9._-]+')

# Prints "name version" of the distributions that are there, for names in the arguments.
LOOK_UP = """\
import sys
from importlib import metadata
for name in sys.argv[1:]:
    try:
        print(name, metadata.version(name))
    except metadata.PackageNotFoundError:
        pass
"""


@dataclass(frozen=True)
class SystemEnvironment:
    """The sourced ROS, and an environment with what it lacks, if it lacks something."""

    checkout: Checkout
    ros: RosSource
    outer: Mapping[str, str]
    """The user's environment variables, with the sourced ROS in them."""

    @property
    def python(self) -> Path:
        """Return the interpreter that the programs run on."""
        own = self.checkout.venv / 'bin' / 'python'
        return own if self._made.is_file() else Path(sys.executable)

    @property
    def colcon(self) -> str:
        """Return the build tool."""
        return shutil.which('colcon') or str(self.checkout.venv / 'bin' / 'colcon')

    @property
    def _made(self) -> Path:
        """Return the file that says that the environment was made to its end."""
        return self.checkout.venv / 'COLCON_IGNORE'

    def tools(self) -> Environ:
        """Return the environment variables for pip and colcon."""
        return tool_environment(self.outer, self.checkout, self.ros)

    def toolchain(self) -> str:
        """Return a digest of what the packages are built with."""
        prefixes = self.tools().get('AMENT_PREFIX_PATH', '').split(':')
        of_ros = [prefix for prefix in prefixes
                  if Path(prefix, 'share', 'std_msgs', 'package.xml').is_file()]
        return fingerprint([sys.version, str(self.checkout.root), *of_ros])

    def is_ready(self, with_tests: bool) -> bool:
        """Tell whether the packages were looked for and are there."""
        return all(read_stamp(self._stamp(name)) == self._expected(name)
                   for name in _lists(with_tests))

    def prepare(self, runner: PhaseRunner, with_tests: bool) -> None:
        """Look for the packages and install those that are missing."""
        check_build_tools()
        for name in _lists(with_tests):
            wanted = self._wanted(name)
            there = self._installed([_name(line) for line in wanted] + ['numpy'])
            missing = [line for line in wanted if _name(line) not in there]
            if missing:
                self._install(name, missing, there, runner)
            write_stamp(self._stamp(name), self._expected(name))

    def _install(self, name: str, missing: list[str], there: Stamp, runner: PhaseRunner) -> None:
        """Install packages, without touching the numpy that ROS was built with."""
        say(f'this ROS 2 lacks the Python packages {", ".join(map(_name, missing))}; installing'
            f' them in {self.checkout.venv}')
        if not self._made.is_file():
            check_python()
            shutil.rmtree(self.checkout.venv, ignore_errors=True)
            runner.run([sys.executable, '-I', '-m', 'venv', '--system-site-packages',
                        str(self.checkout.venv)], self.tools(),
                       Progress('making a Python environment'), 'venv')
            self._made.touch()
        constraints = self.checkout.home / 'constraints.txt'
        constraints.write_text(f'numpy=={there["numpy"]}\n' if 'numpy' in there else '')
        command = [str(self.python), '-m', 'pip', 'install', '--disable-pip-version-check',
                   '--no-input', '--no-user', '--progress-bar', 'off', '-c', str(constraints),
                   *missing]
        try:
            runner.run(command, self.tools(),
                       Progress(f'installing {len(missing)} packages ({name})'), f'pip-{name}')
        except SetupError as err:
            raise SetupError(f'{err}\nor install them with the system: rosdep install'
                             ' --from-paths src --ignore-src') from err

    def _wanted(self, name: str) -> list[str]:
        """Return the requirements in the list that are no part of ROS."""
        lines = (self.checkout.pins / f'{name}.in').read_text().splitlines()
        lines = [line for line in lines if line and not line.startswith('#')]
        wanted = [line for line in lines if not OF_ROS.match(line)]
        if name == 'runtime' and not shutil.which('colcon'):
            wanted += [line for line in lines if line.startswith('colcon')]
        return wanted

    def _installed(self, names: list[str]) -> Stamp:
        """Return the versions of the packages that are there."""
        done = subprocess.run([str(self.python), '-c', LOOK_UP, *names], env=self.tools(),
                              capture_output=True, text=True, check=True)
        return dict(line.split(' ', 1) for line in done.stdout.splitlines())

    def _expected(self, name: str) -> Stamp:
        return {'toolchain': self.toolchain(), 'wanted': fingerprint(self._wanted(name))}

    def _stamp(self, name: str) -> Path:
        return self.checkout.home / f'packages-{name}.json'


def _lists(with_tests: bool) -> tuple[str, ...]:
    """Return the names of the lists to look at."""
    return ('runtime', 'test') if with_tests else ('runtime',)


def _name(requirement: str) -> str:
    """Return the package's name in a requirement."""
    match = NAME.match(requirement)
    return match.group() if match else requirement
