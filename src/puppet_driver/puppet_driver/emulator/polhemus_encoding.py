# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Poses to the bytes of Polhemus records, with any items, ASCII or binary."""

from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats, quaternions
from puppet_driver.devices import ASCII_WIDTH, REP103_SIGNS
from puppet_driver.devices import polhemus as records
from puppet_driver.emulator.flock_simulator import device_quaternions

MAX_ASCII = 999.99
LOCKED = 1e-6  # cosine of the elevation


class RecordExtras(NamedTuple):
    """What records hold beside the pose."""

    command: int = ord('C')
    """The command that LIBERTY's records answer."""

    status: int = records.NO_ERROR
    """Error character."""

    is_pressed: bool = False
    """Whether the stylus' button is."""

    start_tick: int = 0
    """Frame count of the first record."""

    rate_hz: float = 120.0
    """Records a second."""


def encode_records(
    layout: records.RecordLayout,
    station: int,
    poses: Floats,
    metres_per_unit: float,
    extras: RecordExtras,
) -> np.ndarray:
    """
    Return the records of one station.

    Parameters
    ----------
    layout : RecordLayout
        Which items, and how they are written.
    station : int
        Number of the station, from 1.
    poses : ndarray, shape (n, 7)
        Position [m] and unit quaternion (w, x, y, z), REP-103 axes of the transmitter.
    metres_per_unit : float
        Scale of positions [m].
    extras : RecordExtras
        The rest.

    Returns
    -------
    data : ndarray of uint8, shape (n, record size)

    """
    n = len(poses)
    data = np.empty((n, layout.record_bytes), dtype=np.uint8)
    data[:, : len(layout.header)] = [choice[0] for choice in layout.header]
    is_fastrak = layout.status_at == 2
    data[:, layout.station_at] = ord('0') + station if is_fastrak else station
    data[:, layout.status_at] = extras.status
    if not is_fastrak:
        data[:, layout.station_at + 1] = extras.command
    for item, at in zip(layout.items, layout.item_places):
        if item.n_values:
            values = _values(item, poses, metres_per_unit)
            field = _decimals(values, item.decimals) if layout.is_ascii else _floats(values)
        else:
            field = _field(item, layout.size_of(item), n, extras)
        data[:, at : at + field.shape[1]] = field
    return data


def _values(item: records.Item, poses: Floats, metres_per_unit: float) -> Floats:
    q = device_quaternions(poses[:, 3:])
    if item is records.POSITION:
        return poses[:, :3] * REP103_SIGNS / metres_per_unit
    if item is records.QUATERNION:
        return q
    matrix = quaternions.to_matrix(q)
    if item is records.EULER:
        return np.degrees(_angles(matrix))
    return matrix[:, records.COSINES.index(item)]


def _angles(matrix: Floats) -> Floats:
    azimuth = np.arctan2(matrix[:, 1, 0], matrix[:, 0, 0])
    elevation = -np.arcsin(np.clip(matrix[:, 2, 0], -1.0, 1.0))
    roll = np.arctan2(matrix[:, 2, 1], matrix[:, 2, 2])
    # pointing straight up or down, azimuth and roll are the same turn
    is_locked = np.hypot(matrix[:, 0, 0], matrix[:, 1, 0]) < LOCKED
    azimuth = np.where(is_locked, np.arctan2(-matrix[:, 0, 1], matrix[:, 1, 1]), azimuth)
    return np.stack((azimuth, elevation, np.where(is_locked, 0.0, roll)), axis=-1)


def _floats(values: Floats) -> np.ndarray:
    return np.ascontiguousarray(values, dtype='<f4').view(np.uint8)


def _decimals(values: Floats, decimals: int) -> np.ndarray:
    text = ''.join(
        f'{v:{ASCII_WIDTH}.{decimals}f}' for v in np.clip(values, -MAX_ASCII, MAX_ASCII).flat
    )
    return np.frombuffer(text.encode(), dtype=np.uint8).reshape(len(values), -1)


def _field(item: records.Item, size: int, n: int, extras: RecordExtras) -> np.ndarray:
    if item.constant:
        return np.tile(np.frombuffer(item.constant, dtype=np.uint8), (n, 1))
    if size == 1:
        return np.full((n, 1), ord('1' if extras.is_pressed else '0'), dtype=np.uint8)
    ticks = np.arange(extras.start_tick, extras.start_tick + n)
    words = {
        records.STYLUS: np.full(n, int(extras.is_pressed)),
        records.FRAME_COUNT: ticks,
        records.TIME_STAMP: np.rint(1000.0 * ticks / extras.rate_hz),
    }[item]
    return words.astype('<u4').reshape(n, 1).view(np.uint8)
