# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Flat message fields as numpy rows, without copying, and the one change of quaternion order."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import NO_PROPS, Props
from puppet_core.io import PuppetError
from puppet_core.math import Floats, Quats

Number = TypeVar('Number', bound=np.generic)
STAMP_UNIT_NS = 1_000_000_000
MAX_MESSAGE_BYTES = 1 << 20  # of streams, some kB; many are kept until their partners come


class MessageError(PuppetError, ValueError):
    """A message whose arrays do not have the documented layout."""


def require_size(data: bytes, name: str) -> None:
    """Raise MessageError for the bytes of a message that is far too large for a stream."""
    if len(data) > MAX_MESSAGE_BYTES:
        raise MessageError(f'{name}: expected up to {MAX_MESSAGE_BYTES} bytes, got {len(data)}')


def float_rows(name: str, field: Any, n: int, width: int) -> Floats:
    """Return a float64 message field as a view, shape (n, width), or raise MessageError."""
    if len(field) != n * width:
        raise MessageError(f'{name}: expected {n} x {width} numbers, got {len(field)}')
    return np.asarray(field, np.float64).reshape(n, width)


def props(name: str, names: list[str], positions: Any, orientations: Any) -> Props:
    """Return things that move, of a list of names and fields NAME_positions, NAME_orientations."""
    n = len(names)
    places = float_rows(f'{name}_positions', positions, n, 3)
    turns = float_rows(f'{name}_orientations', orientations, n, 4)
    return Props(tuple(names), places, wxyz(turns)) if n else NO_PROPS


def bytes_row(name: str, field: Any, n: int) -> NDArray[np.uint8]:
    """Return a uint8 message field as a view of shape (n,); raise as `float_rows` does."""
    if len(field) != n:
        raise MessageError(f'{name}: expected {n} values, got {len(field)}')
    return np.asarray(field, np.uint8)


def wxyz(xyzw_rows: NDArray[Number]) -> NDArray[Number]:
    """Return rows (n, 4) of message quaternions in the numerics' order, contiguous copy."""
    return np.roll(xyzw_rows, 1, axis=1)


def xyzw(quaternions: Quats) -> Quats:
    """Return quaternions (n, 4) in the order of messages, contiguous copy."""
    return np.roll(quaternions, -1, axis=1)


def stamp_ns(stamp: Any) -> int:
    """Return a builtin_interfaces Time as integer nanoseconds; raise as `checked_ns` does."""
    return checked_ns(stamp.sec, stamp.nanosec)


def checked_ns(seconds: int, nanoseconds: int) -> int:
    """
    Return the parts of a stamp as integer nanoseconds.

    Raises MessageError for a time that rclpy takes for none: before zero, or with a whole second
    and more in its nanoseconds.
    """
    if seconds < 0 or nanoseconds >= STAMP_UNIT_NS:
        raise MessageError(
            f'stamp: expected s >= 0 and ns < 1000000000, got {seconds} s {nanoseconds} ns'
        )
    return seconds * STAMP_UNIT_NS + nanoseconds


def write_stamp(ns: int, stamp: Any) -> None:
    """Write integer nanoseconds into a builtin_interfaces Time."""
    stamp.sec, stamp.nanosec = divmod(ns, STAMP_UNIT_NS)
