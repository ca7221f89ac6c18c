# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What all device simulators share: commands in, replies and records out, faults of records."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Ints, quaternions, Quats
from puppet_driver.devices.flock_of_birds import full_scale_m, REP103_SIGNS

GIMBAL_LOCK = 1e-7  # cosine of Y below which Z and X are ambiguous


def device_positions(poses: Floats) -> Floats:
    """Return the positions of poses (..., 7) in the devices' axes."""
    return poses[..., :3] * REP103_SIGNS


def device_quaternions(poses: Floats) -> Quats:
    """Return the orientations of poses (..., 7) in the devices' axes."""
    return poses[..., 3:] * np.array((1.0, *REP103_SIGNS))


def angles_zyx(q: Quats) -> Floats:
    """Return angles about Z, the new Y and the new X [rad], shape (..., 3)."""
    m = quaternions.to_matrix(q)
    y = -np.arcsin(np.clip(m[..., 2, 0], -1.0, 1.0))
    # with Y upright only the sum or difference of the others counts: all of it is Z's
    is_locked = np.hypot(m[..., 0, 0], m[..., 1, 0]) < GIMBAL_LOCK
    z = np.where(
        is_locked, np.arctan2(-m[..., 0, 1], m[..., 1, 1]), np.arctan2(m[..., 1, 0], m[..., 0, 0])
    )
    x = np.where(is_locked, 0.0, np.arctan2(m[..., 2, 1], m[..., 2, 2]))
    return np.stack((z, y, x), axis=-1)


def record_words(
    name: str, poses: Floats, range_in: int, full_scale: float, step: int = 1
) -> Ints:
    """Return words of poses (..., 7) in an Ascension format such as MATRIX, rounded to `step`."""
    values = {
        'POSITION': lambda: device_positions(poses) / full_scale_m(range_in),
        'QUATERNION': lambda: device_quaternions(poses),
        'ANGLES': lambda: angles_zyx(device_quaternions(poses)) / np.pi,
        'MATRIX': lambda: np.swapaxes(
            quaternions.to_matrix(device_quaternions(poses)), -1, -2
        ).reshape(*poses.shape[:-1], 9),
    }
    parts = np.concatenate([values[part]() for part in name.split('/')], axis=-1)
    limit = full_scale / step
    # the highest positive word of two's complement is one less than full scale
    highest = limit - 1 if full_scale == 32768.0 else limit
    return np.clip(np.rint(parts * limit), -limit, highest).astype(np.int64) * step


OUTLIER_M = 0.3  # standard deviation per axis of a wild sample
OUTLIER_RAD = 0.5


@dataclass(frozen=True, slots=True)
class FaultRates:
    drop_out: float = 0.0  # That a record is not sent, per record
    outlier: float = 0.0  # That a sample is far off, per record

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 0.0 <= value <= 1.0:
                raise ConfigError(f'{name}: expected 0.0 <= value <= 1.0, got {value}')


class Faults:
    def __init__(self, rates: FaultRates, seed: int) -> None:
        self._rates = rates
        self._rng = np.random.default_rng((seed, 1))

    def add_outliers(self, poses: Floats) -> Floats:
        """Return poses (..., 7) of which some are far off."""
        if self._rates.outlier == 0.0:
            return poses
        wild = self._rng.random(poses.shape[:-1]) < self._rates.outlier
        thrown = poses.copy()
        n_wild = int(wild.sum())
        thrown[wild, :3] += self._rng.normal(0.0, OUTLIER_M, (n_wild, 3))
        turns = quaternions.exp(self._rng.normal(0.0, OUTLIER_RAD, (n_wild, 3)))
        thrown[wild, 3:] = quaternions.multiply(thrown[wild, 3:], turns)
        return thrown

    def drops(self, n_ticks: int, n_sensors: int) -> np.ndarray:
        """Return which records are not sent, bool, shape (n_ticks, n_sensors)."""
        if self._rates.drop_out == 0.0:
            return np.zeros((n_ticks, n_sensors), dtype=bool)
        return self._rng.random((n_ticks, n_sensors)) < self._rates.drop_out


class DeviceSimulator(ABC):
    """The emulated device on one line, sleeping."""

    def __init__(self) -> None:
        self.version = 0  # Changes whenever records of the same poses would
        self.is_streaming = False
        self.is_held_off = False  # Whether the host has sent XOFF
        self.n_poll_requests = 0
        self._pending = b''
        self._deaf_until_s = 0.0

    @property
    def is_sending(self) -> bool:
        """Whether records leave the device at each tick."""
        return self.is_streaming and not self.is_held_off

    def take_poll_requests(self) -> int:
        """Return how many requests for one set of records are unanswered; forget them."""
        n_poll_requests, self.n_poll_requests = self.n_poll_requests, 0
        return n_poll_requests

    def on_disconnect(self) -> None:
        """Forget a command cut short and answers not sent; the host has closed its port."""
        self._pending = b''
        self.n_poll_requests = 0

    def receive(self, data: bytes, now_s: float) -> bytes:
        """Obey the commands in `data` as far as they are complete; return the replies."""
        if now_s < self._deaf_until_s:
            return b''
        self._pending += data
        reply = b''
        while self._pending:
            length = self.command_length(self._pending)
            if length == 0:
                break
            command, self._pending = self._pending[:length], self._pending[length:]
            reply += self.obey(command, now_s)
        return reply

    @abstractmethod
    def command_length(self, pending: bytes) -> int:
        """Return the length of the first command, 0 if it is not complete yet."""

    @abstractmethod
    def obey(self, command: bytes, now_s: float) -> bytes:
        """Obey one command; return the reply."""

    @abstractmethod
    def encode(self, poses: Floats, start_tick: int) -> list[np.ndarray]:
        """
        Return the records of poses (n_ticks, sensors, 7) as the device now sends them.

        One array (n_ticks, record size) for each sensor that reports, in the order they are sent.
        """

    def packet(self, tick: int, records: Sequence[bytes], is_lost: Sequence[bool]) -> bytes:
        """Return what is sent at a tick, some records being lost."""
        return b''.join(record for record, lost in zip(records, is_lost) if not lost)


class LinePackets:
    """What a device sends at each tick, encoded by blocks; `columns` are its sensors among all."""

    def __init__(self, device: DeviceSimulator, columns: slice, faults: Faults) -> None:
        self._device, self._columns, self._faults = device, columns, faults
        self._start_tick, self._version = 0, -1
        self._poses: Floats = np.zeros((0, 0, 7))
        self._records: list[np.ndarray] = []
        self._lost = np.zeros((0, 0), dtype=bool)

    def load(self, start_tick: int, poses: Floats) -> None:
        """Set the poses (n_ticks, all sensors, 7) of the ticks from `start_tick` on."""
        self._start_tick, self._version = start_tick, -1
        self._poses = poses[:, self._columns]

    def prepare(self) -> None:
        """Encode the block, unless that has been done in the form that the host wants now."""
        if self._version != self._device.version:
            self._version = self._device.version
            self._records = self._device.encode(self._poses, self._start_tick)
            self._lost = self._faults.drops(len(self._poses), len(self._records))

    def burst(self, tick: int) -> bytes:
        """Return what the line sends at a tick of the block."""
        self.prepare()
        row = tick - self._start_tick
        records = [data[row].tobytes() for data in self._records]
        return self._device.packet(tick, records, self._lost[row])
