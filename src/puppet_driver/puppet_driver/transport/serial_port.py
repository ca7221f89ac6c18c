# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A serial port, opened by pyserial and read from its descriptor without delay."""

import errno
import os
import termios

from puppet_driver.errors import LinkError
import serial

_OPEN_PROBLEMS = {
    errno.ENOENT: ('a serial port', 'no such file; plug the device in or check the name'),
    errno.EACCES: ('permission to open it', 'none; add the user to the group that owns the port'),
    errno.EPERM: ('permission to open it', 'none; add the user to the group that owns the port'),
    errno.ENOTTY: ('a serial port', 'another kind of file'),
    errno.EISDIR: ('a serial port', 'a folder'),
    errno.ENXIO: ('a connected device', 'none behind this port'),
    errno.ENODEV: ('a connected device', 'none behind this port'),
    errno.EIO: ('a working port', 'an input/output error'),
}
MAX_READ_BYTES = 4096  # what a tty hands over at once
_BUSY = ('a free port', 'one that another program holds; close that program')
_IN_USE = (errno.EBUSY, errno.EAGAIN, errno.EWOULDBLOCK)


class SerialPort:
    """An open port; 8N1, raw, not shared; LinkError if it cannot be opened or is in use."""

    def __init__(self, name: str, baud_rate_bps: int) -> None:
        self.name = name
        port = serial.Serial()
        port.port = name
        port.baudrate = baud_rate_bps
        port.timeout = 0
        port.exclusive = True
        # RTS high and then low resets an Ascension unit
        port.rts = False
        try:
            port.open()
        except serial.SerialException as err:
            raise LinkError(_open_text(name, err)) from err
        except (ValueError, OSError, termios.error) as err:
            raise LinkError(f'{name}: expected a serial port, got {err}') from err
        self._port = port
        self._descriptor = port.fileno()
        try:
            port.set_low_latency_mode(True)
        except (OSError, ValueError, NotImplementedError):
            pass  # pseudo-terminals and most USB adapters have no such switch
        try:
            self.discard_input()
        except LinkError:  # gone right after it was opened
            self.close()
            raise

    def fileno(self) -> int:
        return self._descriptor

    def read(self) -> bytes:
        """Return what has arrived; LinkError if the device has gone."""
        try:
            data = os.read(self._descriptor, MAX_READ_BYTES)
        except BlockingIOError:
            return b''
        except OSError as err:
            raise LinkError(f'{self.name}: expected data, got {err.strerror}') from err
        if not data:
            raise LinkError(f'{self.name}: expected a connected device, got the end of the line')
        return data

    def write(self, data: bytes) -> None:
        """Send a short command; LinkError if it cannot be sent whole at once."""
        try:
            n_bytes = os.write(self._descriptor, data) if data else 0
        except OSError as err:
            raise LinkError(f'{self.name}: expected to send, got {err.strerror}') from err
        if n_bytes != len(data):
            raise LinkError(f'{self.name}: expected to send {len(data)} bytes, sent {n_bytes}')

    def discard_input(self) -> None:
        try:
            termios.tcflush(self._descriptor, termios.TCIFLUSH)
        except termios.error as err:
            raise LinkError(f'{self.name}: expected a connected device, got {err}') from err

    def close(self) -> None:
        """Close the port; a device that has gone is no obstacle."""
        try:
            self._port.close()
        except (OSError, termios.error, serial.SerialException):
            pass


def _open_text(name: str, err: serial.SerialException) -> str:
    # pyserial chains the errno of the open call, but words a refused lock without one
    code = err.errno if err.errno is not None else 0
    is_busy = code in _IN_USE or 'exclusively lock' in str(err)
    expected, got = _BUSY if is_busy else _OPEN_PROBLEMS.get(code, ('a serial port', str(err)))
    return f'{name}: expected {expected}, got {got}'
