# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One pseudo-terminal with a stable name, as the transport between an emulated device and a host.

What is sent while nobody has the port open is lost, as on a wire; what a slow host does not
read is dropped instead of piling up. Nothing here ever blocks.

"""

import fcntl
import os
from pathlib import Path
import select
import struct
import termios
import tty

from puppet_core.io import ConfigError

MAX_BACKLOG_BYTES = 3600  # unread bytes at which sending pauses; 0.4 s of a full line
READ_BYTES = 4096


class PtyTransport:
    """
    A pseudo-terminal behind a symbolic link.

    Parameters
    ----------
    link : Path
        Name under which the host finds the port; an old link is replaced, a file is not.

    Raises
    ------
    ConfigError : if the link cannot be made.

    """

    def __init__(self, link: Path) -> None:
        self.link = link
        self.dropped_bytes = 0
        self._is_choked = False
        self._master, slave = os.openpty()
        self._slave_name = os.ttyname(slave)
        tty.setraw(slave)
        # a terminal that has been open once reports when it is not
        os.close(slave)
        os.set_blocking(self._master, False)
        self._poll = select.poll()
        self._poll.register(self._master, select.POLLHUP)
        self.is_open = False
        try:
            _replace_link(link, self._slave_name)
        except OSError as err:
            os.close(self._master)
            raise ConfigError(f'{link}: expected a place for a link, got {err.strerror}') from err

    def fileno(self) -> int:
        """Return the descriptor, for select; meaningful while `is_open`."""
        return self._master

    def look(self) -> bool:
        """See whether a host has the port open; return whether that is news."""
        was_open, self.is_open = self.is_open, not self._poll.poll(0)
        if self.is_open and not was_open:
            self._is_choked = False
            try:
                # what the last host did not read is not the new one's
                termios.tcflush(self._master, termios.TCOFLUSH)
            except termios.error:
                pass
        return self.is_open != was_open

    def receive(self) -> bytes:
        """Return what the host has sent, empty if nothing or gone."""
        try:
            return os.read(self._master, READ_BYTES)
        except OSError:
            return b''

    def send(self, data: bytes) -> None:
        """Send to the host, or drop what it does not take."""
        if not self.is_open or self._is_choked:
            self.dropped_bytes += len(data)
            return
        try:
            n_sent = os.write(self._master, data)
        except OSError:
            n_sent = 0
        self.dropped_bytes += len(data) - n_sent

    def check_backlog(self) -> None:
        """See how much the host has not read; to be called a few times a second."""
        if not self.is_open:
            return
        try:
            slave = os.open(self._slave_name, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:
            return  # a host that forbids others to open the port
        try:
            unread = fcntl.ioctl(slave, termios.FIONREAD, struct.pack('i', 0))
            self._is_choked = struct.unpack('i', unread)[0] > MAX_BACKLOG_BYTES
        except OSError:
            pass
        finally:
            os.close(slave)

    def close(self) -> None:
        """Close the port: the host sees the end of the line, and the link is removed."""
        os.close(self._master)
        if self.link.is_symlink() and os.readlink(self.link) == self._slave_name:
            self.link.unlink()


def _replace_link(link: Path, target: str) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.is_symlink():
        link.unlink()
    link.symlink_to(target)
