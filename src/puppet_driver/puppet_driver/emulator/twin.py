# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What an emulated device is to the emulator: the interface that a new twin implements.

A twin is described by bytes alone, as the driver's side is: it obeys commands, answers, and
turns poses into records. Ports, threads, clocks and performers live elsewhere.

"""

from typing import Protocol

import numpy as np
from puppet_core.arrays import Floats


class DeviceTwin(Protocol):
    """The emulated device on one line."""

    @property
    def is_sending(self) -> bool:
        """Whether records leave the device at each tick."""

    @property
    def report_every(self) -> int:
        """How many ticks there are from record to record."""

    @property
    def version(self) -> int:
        """Return a number that changes whenever records of the same poses would."""

    def receive(self, data: bytes, now_s: float) -> bytes:
        """Obey the commands in `data` as far as they are complete; return the replies."""

    def take_points(self) -> int:
        """Return how many requests for one set of records are unanswered; forget them."""

    def hang_up(self) -> None:
        """Forget a command cut short and answers not sent; the host has closed its port."""

    def encode(self, poses: Floats, start_tick: int) -> list[np.ndarray]:
        """
        Return the records of some ticks as the device now sends them.

        Parameters
        ----------
        poses : ndarray, shape (n_ticks, sensors, 7)
            Position [m] and unit quaternion (w, x, y, z), REP-103 axes of the transmitter.
        start_tick : int
            Number of the first tick.

        Returns
        -------
        records : list of ndarray of uint8, shape (n_ticks, record size)
            One array for each sensor that reports, in the order they are sent.

        """
