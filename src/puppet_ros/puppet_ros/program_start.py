# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How every program of the suite begins, with nothing but the standard library.

Installed programs call `main`; others run this file, with SIGINT blocked: `program_start.py
PREFIX/lib/PACKAGE/PROGRAM ..`, or `program_start.py MODULE ..` for one that is not installed.
Ctrl-C during imports ends the process without a word, programs of the graph with exit code 0.
"""

from collections.abc import Callable
import hashlib
from importlib import import_module
from importlib.metadata import distribution, EntryPoint
from importlib.util import find_spec
import os
from pathlib import Path
import shutil
import signal
import sys
from types import TracebackType

GRAPH, COMMANDS = 'puppet_graph', 'puppet_commands'  # groups of entry points in setup.cfg
GROUPS = (GRAPH, COMMANDS, 'console_scripts')  # the last are those of other packages
SUITE = 'puppet_'  # how the names of its packages begin
STOPS = (signal.SIGINT, signal.SIGTERM)
CACHE_VARIABLE = 'NUMBA_CACHE_DIR'
KERNELS = tuple(f'puppet_{name}' for name in ('core', 'filter', 'performer', 'retarget', 'edit'))
KEPT_CACHES = 3


def main() -> int | str | None:
    """Run the program whose path is the first word of the command line; return its exit code."""
    program = Path(sys.argv[0])
    point = entry_of(program) if os.sep in sys.argv[0] else None
    is_of_graph = point is not None and point.group == GRAPH
    is_ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN  # in a script's background
    if is_of_graph:
        for number in STOPS:
            signal.signal(number, lambda *_: os._exit(0))
    elif not is_ignored:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    share_cache()
    run: Callable[[], int | str | None]
    try:
        run = import_module(sys.argv[0]).main if point is None else point.load()
    except ModuleNotFoundError as err:
        hint = 'README.md, "On a machine with ROS 2", says how to install it'
        return f'{program.name}: expected the Python module {err.name}, found none; {hint}'
    sys.excepthook = show_unless_interrupt
    if not is_of_graph and not is_ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = run()
    if is_of_graph:  # the last moments of Python, which takes its handlers away
        for number in STOPS:
            signal.signal(number, signal.SIG_IGN)
    return code


def share_cache() -> None:
    """
    Let numba keep what it compiles in one folder for all programs, unless the user chose one.

    numba does not see that a function it calls changed, so each state of the packages has its own.
    """
    if os.environ.get(CACHE_VARIABLE):
        return
    digest = hashlib.sha256()
    for spec in filter(None, map(find_spec, KERNELS)):
        for path in sorted(Path(str(spec.origin)).parent.rglob('*.py')):
            found = path.stat()
            digest.update(f'{path} {found.st_size} {found.st_mtime_ns}'.encode())
    parent = Path(os.environ.get('XDG_CACHE_HOME') or Path('~/.cache').expanduser()) / 'puppet'
    folder = parent / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        by_age = sorted(parent.iterdir(), key=lambda path: path.stat().st_mtime)
    except OSError:
        return  # numba looks for another place
    for old in by_age[:-KEPT_CACHES]:
        shutil.rmtree(old, ignore_errors=True)
    os.environ[CACHE_VARIABLE] = str(folder)


def show_unless_interrupt(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print what ends this process; after an interrupt Python ends it by SIGINT."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def is_program(path: Path) -> bool:
    """Return whether this is an installed program of the suite, by where it is."""
    return path.parent.name.startswith(SUITE) and path.parent.parent.name == 'lib'


def entry_of(program: Path) -> EntryPoint:
    points = distribution(program.absolute().parent.name).entry_points
    known = (p for group in GROUPS for p in points if p.group == group)
    return next(p for p in known if p.name == program.name)


if __name__ == '__main__':
    del sys.argv[0], sys.path[0]  # this file and its folder
    if os.sep in sys.argv[0]:
        sys.path.insert(0, str(Path(sys.argv[0]).parent))
    sys.exit(main())
