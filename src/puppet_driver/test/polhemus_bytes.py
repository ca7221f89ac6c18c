# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Polhemus streams as a line would carry them, whole and damaged, for several tests."""

import numpy as np
from phased_bytes import smooth_poses
from puppet_driver.devices import polhemus
from puppet_driver.devices.decoding import Reach
from puppet_driver.emulator.polhemus_simulator import encode_records

RATE_HZ = 120.0
N_STATIONS = 4
REACH = Reach(RATE_HZ)
MODELS = {
    'fastrak': polhemus.Fastrak,
    'fastrak_ascii': polhemus.FastrakAscii,
    'liberty': polhemus.Liberty,
    'patriot': polhemus.Patriot,
}


def open_stream(name, n_stations=N_STATIONS):
    n_stations = min(n_stations, MODELS[name].max_stations)
    return polhemus.PolhemusStream(MODELS[name].layout, n_stations, REACH)


def poses_of(n_ticks, n_stations=N_STATIONS, seed=7):
    """Return poses (n_ticks, n_stations, 7) of sensors that stay within reach."""
    poses = smooth_poses(np.random.default_rng(seed), n_ticks, n_stations)
    # back and forth, so that a long stream does not leave the room
    swing = 0.4 * np.sin(np.arange(n_ticks) / 40.0)[:, None, None]
    poses[..., :3] = 0.5 * np.arange(n_stations)[:, None] + swing + 0.001 * np.cos(poses[..., :3])
    return poses


def records_of(name, poses):
    """Return the records of poses (n_ticks, stations, 7) in the order they are sent."""
    layout = MODELS[name].layout
    items = (
        polhemus.LIBERTY_ITEMS
        if issubclass(MODELS[name], polhemus.Liberty)
        else polhemus.FASTRAK_ITEMS
    )
    columns = [
        encode_records(layout, items, i + 1, poses[:, i], polhemus.METRES_PER_CENTIMETRE)
        for i in range(poses.shape[1])
    ]
    return [column[tick].tobytes() for tick in range(len(poses)) for column in columns]


def keys(records):
    return [(record.ordinal, record.pose) for record in records]


def received(stream, chunks):
    return keys([record for data in chunks for record in stream.feed(data)] + stream.flush())


def damage(rng, data, size):
    """
    Lose, insert and repeat bytes, singly and in runs, at random places two records apart.

    Runs of as many bytes as a record has are not lost: the halves at both sides would make a
    perfect record, as would a loss and an insertion in the same one. Return what arrives, and
    the places in `data` whose byte is lost or before which something is inserted.
    """
    steps = rng.integers(2 * size, 16 * size, len(data) // (9 * size))
    places = 1 + steps.cumsum()
    places = places[places < len(data) - size]
    n_places = len(places)
    kinds = rng.integers(0, 5, n_places)
    sizes = rng.integers(1, 120, n_places)
    pieces, at, hit = [], 0, []
    for place, kind, n in zip(places.tolist(), kinds.tolist(), sizes.tolist()):
        pieces.append(data[at:place])
        at = place
        hit.append(place)
        if kind == 0:
            at += 1
        elif kind == 1:
            at = place + 1 + n % (size - 1)
            hit.extend(range(place, at))
        elif kind == 2:
            pieces.append(data[place - 1 : place])
        elif kind == 3:
            pieces.append(rng.bytes(1))
        else:
            pieces.append(rng.bytes(n))
    pieces.append(data[at:])
    return b''.join(pieces), np.array(hit)
