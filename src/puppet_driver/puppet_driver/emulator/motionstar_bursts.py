# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The data packets of an emulated MotionStar, their records encoded a block of ticks at a time."""

import numpy as np
from puppet_core.arrays import Floats
from puppet_driver.birdnet import encode_packet, Message
from puppet_driver.birdnet_records import BAD_SAMPLE
from puppet_driver.emulator.faults import Faults
from puppet_driver.emulator.motionstar_device import MotionStarDevice


class MotionStarBursts:
    """
    Encoder of one device.

    Parameters
    ----------
    device : MotionStarDevice
        Says which formats the host has chosen, and numbers the packets.
    columns : slice
        The device's sensors among all.
    faults : Faults
        What goes wrong on the way; a record that drops out is sent as a bad sample.

    """

    def __init__(self, device: MotionStarDevice, columns: slice, faults: Faults) -> None:
        self._device = device
        self._columns = columns
        self._faults = faults
        self._records: list[tuple[int, np.ndarray]] = []
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
            self._encode()

    def burst(self, tick: int) -> bytes:
        """Return the data packet of a tick of the block."""
        self.prepare()
        row = tick - self._start_tick
        body = b''.join(
            data[row].tobytes() for report_rate, data in self._records if tick % report_rate == 0
        )
        header = self._device.next_header(
            Message.DATA, tick / self._device.rate_hz, error=self._device.data_error
        )
        return self._faults.garble(encode_packet(header, body))

    def _encode(self) -> None:
        assert self._poses is not None
        records = self._device.encode(self._poses, self._start_tick)
        drops = self._faults.drops(len(self._poses), len(records))
        for data, lost in zip(records, drops.T):
            data[lost, 1] |= BAD_SAMPLE << 4
        rates = (unit.report_rate for unit in self._device.reporting_units)
        self._records = list(zip(rates, records))
