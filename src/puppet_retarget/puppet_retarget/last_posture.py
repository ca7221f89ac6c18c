# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The last posture that a puppet took, kept in a file for a node that is started again.

The file is mapped into memory and written with every frame, 10 us, so a process that is killed
loses nothing that it published. Two records take turns, each with its checksum: one that was
being written is not believed, and the one before is there. A second node, of another graph that
was given the same folder, is kept from it by a lock that ends with the process.

"""

from collections.abc import Sequence
from contextlib import suppress
import errno
import fcntl
import hashlib
from pathlib import Path
from typing import IO, NamedTuple
import zlib

import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3
from puppet_core.atomic_file import write_bytes
from puppet_core.errors import InputFileError
from puppet_core.io.files import require_file
from puppet_core.posture_check import MAX_COORDINATE_M, UNIT_TOL

MAGIC = b'puppet posture 1'
MAX_AGE_S = 86400.0  # robots hold for as long as nothing comes
BOOT_ID = Path('/proc/sys/kernel/random/boot_id')  # steady time begins anew with each
MAX_ANGLE_RAD = 1e6  # finite, and adding to it still means something
_DIGEST_SIZE = 32
_HEAD_SIZE = len(MAGIC) + _DIGEST_SIZE
_CHECKSUM_SIZE = 8


class LastPosture(NamedTuple):
    """What was published last."""

    root: Vec3
    """Root position, shape (3,) [m]."""

    rotations: Quats
    """Joint rotations, shape (16, 4)."""

    angles: Floats
    """Joint angles in the order of their names, shape (n,) [rad]."""


class LastPostureFile:
    """
    The file of one puppet, written from now on.

    Parameters
    ----------
    path : Path
        Replaced by a new file.
    joint_names : sequence of str
        Of the angles.

    Raises
    ------
    InputFileError : if something that is no file is there.
    OSError : if it cannot be written, or another one writes it.

    """

    def __init__(self, path: Path, joint_names: Sequence[str]) -> None:
        with suppress(FileNotFoundError):
            require_file(path)  # a pipe without a reader would hold the node
        self._sequence = 0
        self._lock = _lock(path)
        dtype = _record(len(joint_names))
        # with its zeros, so that no frame needs room on a disk that is full by then
        write_bytes(path, _head(joint_names) + bytes(2 * dtype.itemsize))
        store = np.memmap(path, np.uint8, 'r+')
        self._records = store[_HEAD_SIZE:].view(dtype)
        self._bytes = [store[a:a + dtype.itemsize].data for a in (
            _HEAD_SIZE, _HEAD_SIZE + dtype.itemsize
        )]  # fmt: skip

    def close(self) -> None:
        """Let another one write it."""
        self._lock.close()

    def write(self, now_ns: int, root: Vec3, rotations: Quats, angles: Floats) -> None:
        """
        Keep a posture.

        Parameters
        ----------
        now_ns : int
            Steady time of this machine [ns].
        root, rotations, angles : ndarray
            As of `LastPosture`.

        """
        self._sequence += 1
        slot = self._sequence % 2
        record = self._records[slot]
        record['checksum'] = 0
        record['sequence'], record['written_ns'] = self._sequence, now_ns
        record['root'], record['rotations'], record['angles'] = root, rotations, angles
        record['checksum'] = _checksum(self._bytes[slot])


def read_last_posture(path: Path, joint_names: Sequence[str], now_ns: int) -> LastPosture:
    """
    Return the posture in a file.

    Parameters
    ----------
    path : Path
        The file.
    joint_names : sequence of str
        Of the joints that are to go on from there.
    now_ns : int
        Steady time of this machine [ns].

    Raises
    ------
    InputFileError : if it is damaged, of other joints or another run of the system, or old.
    OSError : if there is no file, or no posture in it yet, or it cannot be read.

    """
    dtype = _record(len(joint_names))
    require_file(path)
    with path.open('rb') as source:
        data = source.read(_HEAD_SIZE + 2 * dtype.itemsize + 1)
    if not data.startswith(MAGIC):
        raise InputFileError(path, 'a last posture', 'something else')
    if data[:_HEAD_SIZE] != _head(joint_names):
        raise InputFileError(path, 'joints of this character, kept since the system started',
                             'others')  # fmt: skip
    if len(data) != _HEAD_SIZE + 2 * dtype.itemsize:
        raise InputFileError(path, f'{_HEAD_SIZE + 2 * dtype.itemsize} bytes', f'{len(data)}')
    if not any(data[_HEAD_SIZE:]):  # of a node that ended before its first frame
        raise FileNotFoundError(errno.ENOENT, 'no posture yet', str(path))
    records = np.frombuffer(data, dtype, offset=_HEAD_SIZE)
    whole = [r for r in records if r['sequence'] > 0 and r['checksum'] == _checksum(r.tobytes())]
    if not whole:
        raise InputFileError(path, 'a record with its checksum', 'none')
    last = max(whole, key=lambda record: int(record['sequence']))
    age_s = (now_ns - int(last['written_ns'])) * 1e-9
    if not 0.0 <= age_s <= MAX_AGE_S:
        raise InputFileError(path, f'a posture of the last {MAX_AGE_S / 3600.0:.0f} h',
                             f'one of {age_s:.0f} s ago')  # fmt: skip
    found = LastPosture(*(last[name].copy() for name in LastPosture._fields))
    if not _is_sound(found):
        raise InputFileError(path, 'finite numbers and unit quaternions', 'others')
    return found


def take_up(
    path: Path, joint_names: Sequence[str], now_ns: int
) -> tuple[LastPostureFile, LastPosture | None, str]:
    """
    Return a new file in the place of an old one, what that held, and why it was refused or ''.

    Parameters
    ----------
    path, joint_names, now_ns : Path, sequence of str, int
        As of `read_last_posture`.

    Raises
    ------
    InputFileError : if something that is no file is there.
    OSError : if it cannot be written, or another one writes it.

    """
    last, refusal = None, ''
    try:
        last = read_last_posture(path, joint_names, now_ns)
    except FileNotFoundError:
        pass  # the first start
    except InputFileError as err:
        refusal = str(err)
    except OSError as err:
        refusal = f'{path}: expected a readable file, got {err.strerror}'
    kept = LastPostureFile(path, joint_names)
    if last is not None:
        # still there for the next start if this one ends before its first frame
        kept.write(now_ns, *last)
    return kept, last, refusal


def _is_sound(posture: LastPosture) -> bool:
    # every comparison is false for NaN
    squares = np.einsum('ij,ij->i', posture.rotations, posture.rotations)
    return bool(
        (np.abs(posture.root) <= MAX_COORDINATE_M).all()
        and (np.abs(squares - 1.0) <= UNIT_TOL).all()
        and (np.abs(posture.angles) <= MAX_ANGLE_RAD).all()
    )


def _record(n_angles: int) -> np.dtype:
    return np.dtype([
        ('checksum', '<u8'), ('sequence', '<u8'), ('written_ns', '<i8'), ('root', '<f8', 3),
        ('rotations', '<f8', (16, 4)), ('angles', '<f8', n_angles),
    ])  # fmt: skip


def _head(joint_names: Sequence[str]) -> bytes:
    boot = BOOT_ID.read_text() if BOOT_ID.exists() else ''
    return MAGIC + hashlib.sha256('\n'.join((boot, *joint_names)).encode()).digest()


def _lock(path: Path) -> IO[bytes]:
    """Return an open file beside another, locked until it is closed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f'{path.name}.lock')
    if beside.exists():
        require_file(beside)
    lock = beside.open('ab')
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise OSError(errno.EBUSY, 'one that another node writes') from None
    return lock


def _checksum(record: bytes | memoryview) -> int:
    return zlib.crc32(record[_CHECKSUM_SIZE:]) + 1  # zeros are no record
