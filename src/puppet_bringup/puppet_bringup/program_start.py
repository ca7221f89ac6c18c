# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`program_start.py PREFIX/lib/PACKAGE/PROGRAM [ARGUMENTS]`: runs a program as its own file does.

Or the main() of a module that is not installed: `program_start.py MODULE [ARGUMENTS]`.

But a Ctrl-C while its modules are imported, or one that the program does not take care of, ends
the process without a word, where Python would print in which line it was. Whoever runs this file
may block SIGINT before, which then waits until it is taken care of. `./puppet` runs it by its
path: it uses only the standard library itself.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
import signal
import sys
from types import TracebackType

GROUP = 'console_scripts'
SUITE = 'puppet_'  # how the names of its packages begin


def main() -> int | str | None:
    """Load the program with SIGINT at its default action, and run it with Python's."""
    is_ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN  # in a script's background
    if not is_ignored:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    sys.argv = sys.argv[1:]
    del sys.path[0]  # the folder of this file
    if '/' in sys.argv[0]:
        program = Path(sys.argv[0])
        sys.path.insert(0, str(program.parent))
        run = load(program)
    else:
        run = import_module(sys.argv[0]).main
    sys.excepthook = show_unless_interrupt
    if not is_ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


def show_unless_interrupt(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print what ends this process; after an interrupt Python ends it by SIGINT."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def is_program(path: Path) -> bool:
    """Return whether this is an installed program of the suite, by where it is."""
    return path.parent.name.startswith(SUITE) and path.parent.parent.name == 'lib'


def load(program: Path) -> Callable[[], int | str | None]:
    points = distribution(program.parent.name).entry_points
    return next(p for p in points if p.group == GROUP and p.name == program.name).load()


if __name__ == '__main__':
    sys.exit(main())
