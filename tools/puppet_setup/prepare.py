# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From a checkout to programs that can be started: does what is missing, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from puppet_setup.checkout import Checkout
from puppet_setup.environment import Environ, program_environment
from puppet_setup.lock import exclusive
from puppet_setup.phase import PhaseRunner, say
from puppet_setup.ros_source import choose
from puppet_setup.system_packages import SystemEnvironment
from puppet_setup.wheels import WheelEnvironment
from puppet_setup.workspace import Workspace


@dataclass(frozen=True)
class Prepared:
    """A checkout that is ready."""

    checkout: Checkout
    python: str
    """The interpreter of the programs."""
    environ: Environ
    """Their environment."""


def prepare(root: Path, environ: Mapping[str, str], with_tests: bool) -> Prepared:
    """
    Set up and build what is not yet, or no longer, up to date.

    Raises
    ------
    SetupError : if that fails.

    """
    ros = choose(environ)
    if ros.notice:
        say(ros.notice)
    checkout = Checkout(root, ros.flavour)
    source: WheelEnvironment | SystemEnvironment
    if ros.is_system:
        source = SystemEnvironment(checkout, ros, environ)
    else:
        source = WheelEnvironment(checkout, ros, environ)
    if not _is_ready(source, with_tests):
        with exclusive(checkout.state / 'lock') as lock:
            (checkout.state / 'COLCON_IGNORE').touch()
            runner = PhaseRunner(checkout.logs, checkout.root, (lock,))
            # Asked again: another process may have done it since.
            if not source.is_ready(with_tests):
                source.prepare(runner, with_tests)
            workspace = _workspace(source)
            if workspace.pending():
                workspace.build(runner, str(source.python), source.colcon)
    return Prepared(checkout, str(source.python), program_environment(environ, checkout, ros))


def _workspace(source: WheelEnvironment | SystemEnvironment) -> Workspace:
    """Return the workspace as it is now."""
    return Workspace(source.checkout, source.toolchain(), source.tools())


def _is_ready(source: WheelEnvironment | SystemEnvironment, with_tests: bool) -> bool:
    """Tell whether nothing needs to be done."""
    return source.is_ready(with_tests) and not _workspace(source).pending()
