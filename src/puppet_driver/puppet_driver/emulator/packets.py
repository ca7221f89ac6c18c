# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The bytes that one emulated line sends at each tick, encoded a block at a time."""

import numpy as np
from puppet_core.math import Floats
from puppet_driver.emulator.faults import Faults
from puppet_driver.emulator.server import DeviceSimulator


class LinePackets:
    """
    Encoder of one line.

    Parameters
    ----------
    device : DeviceSimulator
        Encodes in the form that the host has chosen.
    columns : slice
        The line's sensors among all.
    faults : Faults
        What goes wrong on the way.

    """

    def __init__(self, device: DeviceSimulator, columns: slice, faults: Faults) -> None:
        self._device = device
        self._columns = columns
        self._faults = faults
        self._packets: list[bytes] = []
        self._start_tick = 0
        self._poses: Floats | None = None
        self._version = -1

    def load(self, start_tick: int, poses: Floats) -> None:
        """Take the poses (n_ticks, all sensors, 7) of the ticks from `start_tick` on."""
        self._start_tick = start_tick
        self._poses = poses[:, self._columns]
        self._version = -1

    def prepare(self) -> None:
        """Encode the block, unless that has been done in the form that the host wants now."""
        if self._version != self._device.version:
            self._version = self._device.version
            self._packets = self._encode()

    def burst(self, tick: int) -> bytes:
        """Return what the line sends at a tick of the block."""
        self.prepare()
        return self._packets[tick - self._start_tick]

    def _encode(self) -> list[bytes]:
        assert self._poses is not None
        records = self._device.encode(self._poses, self._start_tick)
        if not records:  # no unit has a sensor
            return [b''] * len(self._poses)
        drops = self._faults.drops(len(self._poses), len(records))
        whole = np.concatenate(records, axis=1)
        packets = [row.tobytes() for row in whole]
        for tick in np.flatnonzero(drops.any(axis=1)):
            kept = (r[tick].tobytes() for r, lost in zip(records, drops[tick]) if not lost)
            packets[tick] = b''.join(kept)
        return [self._faults.corrupt(burst) for burst in packets]
