# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The other end of a standby: asks it for programs, which are then children as others are.

Only on Linux, where a process can take over its grandchildren; elsewhere, and whenever the
standby does not answer, programs are to be started in the usual way.

"""

import array
from collections.abc import Mapping, Sequence
import contextlib
import ctypes
import json
import os
from pathlib import Path
import select
import signal
import socket
import subprocess
import sys
from typing import IO

READY = b'ready'
ANSWER_TIMEOUT_S = 2.0  # a fork takes some 20 ms; the usual start more than a second
MAX_ANSWER = 64
END_TIMEOUT_S = 3.0
_PR_SET_CHILD_SUBREAPER = 36


class ForkedProcess:
    """A child that somebody else has forked for us; as subprocess.Popen, as far as needed."""

    def __init__(self, pid: int, stdout: IO[str]) -> None:
        self.pid = pid
        self.stdout: IO[str] | None = stdout
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        if self._code is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self._code = -signal.SIGKILL  # gone without our knowing
            else:
                self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def send_signal(self, number: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


class Standby:
    """
    Starts a standby, and asks it for programs.

    Parameters
    ----------
    programs : sequence of str
        Names of installed programs.
    environ : mapping
        Environment of the programs.

    """

    def __init__(self, programs: Sequence[str], environ: Mapping[str, str]) -> None:
        self._programs = tuple(programs)
        self._is_ready = False
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._popen = subprocess.Popen(
                [sys.executable, '-m', 'puppet_bringup.standby', str(theirs.fileno()),
                 *self._programs],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=dict(environ), pass_fds=(theirs.fileno(),), start_new_session=True,
            )  # fmt: skip
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    @property
    def is_ready(self) -> bool:
        """Whether it has loaded everything and lives."""
        if not self._is_ready and _is_readable(self._requests, 0.0):
            with contextlib.suppress(OSError):
                self._is_ready = self._requests.recv(MAX_ANSWER) == READY
        return self._is_ready and self._popen.poll() is None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._popen.poll() is not None

    def start(self, command: Sequence[str]) -> ForkedProcess | None:
        """Return a new child that runs a command line; None if the standby cannot do that."""
        if Path(command[0]).name not in self._programs or not self.is_ready:
            return None
        reading, writing = os.pipe()
        permission, permit = os.pipe()  # a child that is told of too late must not begin
        pid = 0
        try:
            theirs = array.array('i', [writing, permission])
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, theirs)
            self._requests.sendmsg([json.dumps(list(command)).encode()], [rights])
            if _is_readable(self._requests, ANSWER_TIMEOUT_S):
                pid = int(self._requests.recv(MAX_ANSWER) or 0)
                os.write(permit, b'x')
        except (OSError, ValueError):
            pid = 0
        finally:
            for number in (writing, permission, permit):
                os.close(number)
        if pid:
            return ForkedProcess(pid, open(reading, encoding='utf-8', errors='replace'))
        os.close(reading)
        self.close()  # a late answer must not be taken for that to another request
        return None

    def close(self) -> None:
        """End the standby; what it has started goes on."""
        self._is_ready = False
        self._requests.close()
        try:
            self._popen.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()


def make_standby(programs: Sequence[str], environ: Mapping[str, str]) -> Standby | None:
    """Return a standby, or None where there cannot be one."""
    return Standby(programs, environ) if sys.platform == 'linux' else None


def _is_readable(channel: socket.socket, timeout_s: float) -> bool:
    if channel.fileno() < 0:
        return False
    return bool(select.select([channel], (), (), timeout_s)[0])
