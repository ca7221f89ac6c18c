# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A process that has everything loaded, from which programs that died start again at once.

Loading interpreter, libraries and compiled kernels takes a node one to two seconds. This
process has done so for all programs it was told about, and then waits: for each request it
forks, and the child runs the program's entry point as its script would. It makes no node and
starts no thread, so that a fork is sound. Beside its own thread there are only the two that
rclpy's tracing library (LTTng) brings, which sleep without any lock while nobody traces.

A child is forked twice, so that it belongs to whoever asked, a subreaper, and can be waited
for and ends with it as other children do.

"""

import array
from collections.abc import Callable, Sequence
import contextlib
import gc
from importlib import import_module
from importlib.metadata import entry_points
import json
import os
from pathlib import Path
import signal
import socket
import sys

from puppet_bringup.pipeline import preload_module
from puppet_bringup.standby_client import READY
from puppet_bringup.supervisor import die_with_parent

GROUP = 'console_scripts'
MAX_REQUEST = 1 << 20  # bytes of a command line

Main = Callable[[], object]


def main(argv: Sequence[str] | None = None) -> int:
    """Load programs, say so on a socket, and fork for each request until it is closed."""
    number, *names = sys.argv[1:] if argv is None else argv
    boss = os.getppid()
    die_with_parent(boss)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asked for it ends it
    with socket.socket(fileno=int(number)) as requests:
        import_module('rclpy')
        of_tracing = _count_threads()
        mains = load(names)
        if _count_threads() > of_tracing:
            return 1  # a library has started threads, which a fork would lose
        gc.collect()
        gc.freeze()  # the collector would copy every page that it looks at
        requests.sendall(READY)
        serve(requests, mains, boss)
    return 0


def _count_threads() -> int:
    return len(os.listdir('/proc/self/task'))


def load(names: Sequence[str]) -> dict[str, Main]:
    """Return the entry points of installed programs, their modules warmed up."""
    found = {}
    for point in entry_points(group=GROUP):
        if point.name in names:
            found[point.name] = point.load()
            preload_module(point.module)
    return found


def serve(requests: socket.socket, mains: dict[str, Main], boss: int) -> None:
    """
    Fork for each request, a command line with two descriptors; answer with the child's id.

    Parameters
    ----------
    requests : socket
        Has the requests, and gets the answers.
    mains : dict
        Entry points by program.
    boss : int
        Id of the process that asks, which becomes the parent of what was forked.

    """
    while True:
        data, descriptors = receive(requests)
        if not data:
            return
        command = json.loads(data)
        reading, writing = os.pipe()
        middle = os.fork()
        if middle == 0:
            os.close(reading)
            _fork_again(requests, writing, descriptors, command, mains, boss)
        for number in (writing, *descriptors):
            os.close(number)
        os.waitpid(middle, 0)
        with os.fdopen(reading, 'rb') as stream:
            requests.sendall(stream.read())


def receive(requests: socket.socket) -> tuple[bytes, list[int]]:
    """Return one request and the descriptors that came with it; nothing at the end."""
    data, ancillary, _, _ = requests.recvmsg(MAX_REQUEST, socket.CMSG_SPACE(8))
    numbers = array.array('i')
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers.frombytes(content[: len(content) - len(content) % numbers.itemsize])
    return data, list(numbers)


def _fork_again(
    requests: socket.socket, writing: int, descriptors: list[int], command: list[str],
    mains: dict[str, Main], boss: int,
) -> None:  # fmt: skip
    """In the child: fork what becomes the program once that is permitted, tell its id, end."""
    middle = os.getpid()
    pid = os.fork()
    if pid:
        os.write(writing, str(pid).encode())
        os._exit(0)
    os.close(writing)
    requests.close()
    code = 1
    try:
        os.setsid()
        while os.getppid() == middle:
            os.sched_yield()
        die_with_parent(boss)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        output, permission = descriptors
        if os.read(permission, 1):  # nothing where the answer came too late
            for number in (1, 2):
                os.dup2(output, number)
            for number in descriptors:
                os.close(number)
            sys.argv = list(command)
            code = _exit_code(mains[Path(command[0]).name])
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _exit_code(run: Main) -> int:
    """Run a program; return its exit code as the interpreter would."""
    try:
        code = run()
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    print(code, file=sys.stderr)
    return 1


if __name__ == '__main__':
    sys.exit(main())
