# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From a checkout to programs that can be started: does what is missing, and nothing else."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
import re
import shutil

from puppet_setup.checkout import Checkout, exclusive, fingerprint, read_stamp, Stamp, write_stamp
from puppet_setup.environment import choose_ros, Environ, program_environment
from puppet_setup.install import Installation
from puppet_setup.process import report, Runner, SetupError

# What the build of a pure Python package reads; its modules are only linked to.
PYTHON_INPUTS = ('package.xml', 'setup.cfg', 'setup.py')

# Of their files each is linked to.
LINKED_FOLDERS = ('launch', 'config')

AMENT_INDEX = Path('share', 'ament_index', 'resource_index', 'packages')

# Ours steps aside where ROS has it.
OPTIONAL_PACKAGE = 'tf2_msgs'


# Others break CMake, search paths, or the first lines of programs.
PLAIN_PATH = re.compile(r'[\w./+,@=~-]+', re.ASCII)


@dataclass(frozen=True)
class Prepared:
    """A checkout that is ready."""

    checkout: Checkout
    python: str  # The interpreter of the programs
    environ: Environ  # Their environment


def prepare(
    root: Path, environ: Mapping[str, str], with_tests: bool, parts: Collection[str] = ()
) -> Prepared:
    """Set up and build what is not up to date; raise SetupError if that fails."""
    if not PLAIN_PATH.fullmatch(str(root)):
        raise SetupError(
            f'{root}: expected a path of ASCII letters, digits and ./+,@=~_- only, for CMake and '
            'the programs; move the checkout, for example to ~/puppet'
        )
    ros = choose_ros(environ)
    if ros.notice:
        report(ros.notice)
    checkout = Checkout(root, ros.distro if ros.is_system else 'wheels')
    installation = Installation(checkout, ros, environ)
    if not installation.is_ready(with_tests, parts) or pending(installation):
        with exclusive(checkout.state / 'lock') as lock:
            (checkout.state / 'COLCON_IGNORE').touch()
            runner = Runner(checkout.logs, checkout.root, (lock,))
            # Asked again: another process may have done it since.
            if not installation.is_ready(with_tests, parts):
                installation.prepare(runner, with_tests, parts)
            if pending(installation):
                build(installation, runner)
    return Prepared(checkout, installation.python, program_environment(environ, checkout, ros))


def pending(installation: Installation) -> list[str]:
    """Return the packages that must be built: those whose build inputs changed."""
    done = read_stamp(_stamp_file(installation.checkout))
    return [
        name
        for name, stamp in build_stamp(installation).items()
        if name != 'toolchain' and done.get(name) != stamp
    ]


def build(installation: Installation, runner: Runner) -> None:
    """Build what is pending, with colcon."""
    checkout, expected = installation.checkout, build_stamp(installation)
    done = read_stamp(_stamp_file(checkout))
    if done.get('toolchain') != expected['toolchain'] or done.keys() - expected:
        for folder in (checkout.build, checkout.install):
            shutil.rmtree(folder, ignore_errors=True)
    names = pending(installation)
    # links to files that are no more, or of another kind of package
    for name in names:
        shutil.rmtree(checkout.install / 'share' / name, ignore_errors=True)
        (checkout.install / AMENT_INDEX / name).unlink(missing_ok=True)
    command = [
        *(installation.colcon, '--log-base', str(checkout.logs / 'colcon'), 'build'),
        *('--merge-install', '--symlink-install', '--base-paths', str(checkout.source)),
        *('--build-base', str(checkout.build), '--install-base', str(checkout.install)),
        *('--packages-select', *names),
        *('--cmake-args', '-DBUILD_TESTING=OFF', '-DCMAKE_BUILD_TYPE=Release'),
        *(f'-DPython3_EXECUTABLE={installation.python}', '--no-warn-unused-cli'),
    ]
    title = f'building {", ".join(names) if len(names) < 3 else f"{len(names)} packages"}'
    n = len(names)
    runner.run('build', title, command, installation.tools(), '^Finished <<<', n)
    write_stamp(_stamp_file(checkout), expected)


def build_stamp(installation: Installation) -> Stamp:
    """Return the stamp of a finished build: a fingerprint of each package's inputs."""
    checkout, toolchain = installation.checkout, installation.toolchain()
    prefixes = installation.tools().get('AMENT_PREFIX_PATH', '').split(':')
    has_optional = any(
        Path(prefix, 'share', OPTIONAL_PACKAGE, 'package.xml').is_file()
        for prefix in prefixes
        if prefix
    )
    return {'toolchain': toolchain} | {
        folder.name: fingerprint([toolchain, *_inputs(checkout, folder)])
        for folder in checkout.package_folders()
        if folder.name != OPTIONAL_PACKAGE or not has_optional
    }


def _stamp_file(checkout: Checkout) -> Path:
    # In the install folder, so that it goes when that goes.
    return checkout.install / 'puppet.json'


def _inputs(checkout: Checkout, package: Path) -> Iterator[bytes | str]:
    """Yield what the build of a package reads, and the names of what it links to."""
    if not (package / 'CMakeLists.txt').is_file():
        for name in PYTHON_INPUTS:
            path = package / name
            yield path.read_bytes() if path.is_file() else ''
        for folder in LINKED_FOLDERS:
            files = (package / folder).rglob('*.*')
            yield from sorted(str(path) for path in files if path.suffix != '.pyc')
        return
    for path in sorted(package.rglob('*')):
        if path.is_file():
            yield str(path.relative_to(checkout.root))
            yield path.read_bytes()
