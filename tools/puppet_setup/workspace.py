# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The build of the packages with colcon: only of those whose build inputs changed."""

from collections.abc import Iterator
from pathlib import Path
import re
import shutil

from puppet_setup.checkout import Checkout
from puppet_setup.environment import Environ
from puppet_setup.phase import PhaseRunner, Progress
from puppet_setup.stamps import fingerprint, read_stamp, Stamp, write_stamp

FINISHED = re.compile(r'Finished <<<')

# What the build of a pure Python package reads; its modules are only linked to.
PYTHON_INPUTS = ('package.xml', 'setup.cfg', 'setup.py')

# Folders outside a package that it installs.
OUTER_FOLDERS = {'puppet_bringup': ('launch', 'config')}

# Ours steps aside where ROS has it.
OPTIONAL_PACKAGE = 'tf2_msgs'


class Workspace:
    """The packages of a checkout and their build."""

    def __init__(self, checkout: Checkout, toolchain: str, environ: Environ) -> None:
        self._checkout = checkout
        self._environ = environ
        self._stamp_file = checkout.home / 'build.json'
        folders = [folder for folder in checkout.package_folders()
                   if folder.name != OPTIONAL_PACKAGE or not _has_package(environ, folder.name)]
        self._expected: Stamp = {
            folder.name: fingerprint([toolchain, *self._inputs(folder)]) for folder in folders}
        self._expected['toolchain'] = toolchain

    def pending(self) -> list[str]:
        """Return the packages that must be built."""
        done = read_stamp(self._stamp_file)
        return [name for name, stamp in self._expected.items()
                if name != 'toolchain' and done.get(name) != stamp]

    def build(self, runner: PhaseRunner, python: str, colcon: str) -> None:
        """Build what is pending."""
        done = read_stamp(self._stamp_file)
        if done.get('toolchain') != self._expected['toolchain'] or done.keys() - self._expected:
            self._stamp_file.unlink(missing_ok=True)
            for folder in (self._checkout.build, self._checkout.install):
                shutil.rmtree(folder, ignore_errors=True)
        names = self.pending()
        for name in names:
            _remove_dangling_links(self._checkout.install / 'share' / name)
        where = self._checkout
        command = [
            colcon, '--log-base', str(where.logs / 'colcon'), 'build', '--merge-install',
            '--symlink-install', '--base-paths', str(where.source),
            '--build-base', str(where.build), '--install-base', str(where.install),
            '--packages-select', *names,
            '--cmake-args', '-DBUILD_TESTING=OFF', '-DCMAKE_BUILD_TYPE=Release',
            f'-DPython3_EXECUTABLE={python}', '--no-warn-unused-cli',
        ]
        runner.run(command, self._environ, Progress(_title(names), FINISHED, len(names)), 'build')
        write_stamp(self._stamp_file, self._expected)

    def _inputs(self, package: Path) -> Iterator[bytes | str]:
        """Yield what the build of a package reads, and the names of what it links to."""
        if not (package / 'CMakeLists.txt').is_file():
            for name in PYTHON_INPUTS:
                path = package / name
                yield path.read_bytes() if path.is_file() else ''
            return
        outer = (self._checkout.root / name for name in OUTER_FOLDERS.get(package.name, ()))
        for folder in (package, *outer):
            for path in sorted(folder.rglob('*')):
                inside = path.relative_to(folder).parts
                if '__pycache__' in inside or inside[0] == 'test' or path.is_dir():
                    continue
                yield str(path.relative_to(self._checkout.root))
                if folder == package and path.suffix != '.py':
                    yield path.read_bytes()


def _has_package(environ: Environ, name: str) -> bool:
    """Tell whether the ROS in this environment has the package."""
    prefixes = environ.get('AMENT_PREFIX_PATH', '').split(':')
    return any(Path(prefix, 'share', name, 'package.xml').is_file()
               for prefix in prefixes if prefix)


def _remove_dangling_links(folder: Path) -> None:
    """Remove links to files that are no more."""
    for path in list(folder.rglob('*')):
        if path.is_symlink() and not path.exists():
            path.unlink()


def _title(names: list[str]) -> str:
    """Return what the user reads."""
    return f'building {names[0]}' if len(names) == 1 else f'building {len(names)} packages'
