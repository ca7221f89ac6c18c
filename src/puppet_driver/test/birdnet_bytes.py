# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Records of data packets written and read apart from the product, and packets of them."""

from typing import NamedTuple

import numpy as np
from phased_bytes import smooth_poses
from puppet_driver.devices import birdnet
from puppet_driver.devices.flock_of_birds import full_scale_m, POSITION_QUATERNION
from puppet_driver.devices.motionstar import BirdnetStream
from puppet_driver.emulator.motionstar_simulator import encode_records, MotionStarSimulator


class Record(NamedTuple):
    address: int  # On the bus, 1 to 127
    code: int  # A key of FORMATS, or NO_DATA, THROUGH_DATA or BAD_SAMPLE
    words: tuple[int, ...] = ()  # Signed 16-bit numbers
    buttons: int | None = None  # Two bytes, None if they are not sent


def encode_record(record):
    has_buttons = record.buttons is not None
    head = bytes(
        (
            record.address | (birdnet.BUTTONS_FLAG if has_buttons else 0),
            record.code << 4 | len(record.words),
        )
    )
    tail = (
        record.buttons.to_bytes(birdnet.BUTTON_BYTES, 'big') if record.buttons is not None else b''
    )
    return head + np.asarray(record.words, dtype='>i2').tobytes() + tail


ADDRESSES = (2, 3, 4, 5, 6)
RANGE_IN = 144
SCALE_M = full_scale_m(RANGE_IN)
FIRST_SEQUENCE = 0x86F0  # on the way, sequence numbers look like heads of records
# half a count of the words, for positions [m] and for quaternions
POSITION_TOL_M, QUATERNION_TOL = 0.51 * SCALE_M / 32767.0, 6e-5


def unit_of(address, code=POSITION_QUATERNION, setup=0):
    unit = MotionStarSimulator(1, address, RANGE_IN).units[address]
    return unit._replace(format_byte=birdnet.setup_byte(code), setup=setup)


def packets_of(poses, code=POSITION_QUATERNION, setup=0):
    """Return the data packets of poses (n_ticks, n_sensors, 7), sequence numbers and all."""
    records = [
        encode_records(unit_of(address, code, setup), poses[:, i], RANGE_IN)
        for i, address in enumerate(ADDRESSES[: poses.shape[1]])
    ]
    return [
        birdnet.encode_packet(
            birdnet.Header(
                birdnet.Message.DATA, 0, (FIRST_SEQUENCE + tick) & 0xFFFF, tick // 120, tick % 120
            ),
            b''.join(record[tick].tobytes() for record in records),
        )
        for tick in range(len(poses))
    ]


def new_stream(**options):
    return BirdnetStream(ADDRESSES, (SCALE_M,) * len(ADDRESSES), **options)


def sample_poses(n_ticks, n_sensors=len(ADDRESSES), seed=5):
    """Return seeded poses (n_ticks, n_sensors, 7) within the range."""
    return smooth_poses(np.random.default_rng(seed), n_ticks, n_sensors)


N_TICKS = 40
TRUTH = sample_poses(N_TICKS)
PACKETS = packets_of(TRUTH)
N_SENSORS = len(ADDRESSES)


def received(stream, chunks):
    return [record for chunk in chunks for record in stream.feed(chunk)] + stream.flush()


SENT = {(r.ordinal, r.pose) for r in received(new_stream(), PACKETS)}


def all_sent(records):
    return {(r.ordinal, r.pose) for r in records} <= SENT


def split(data, cuts):
    places = [0, *sorted({c % (len(data) + 1) for c in cuts}), len(data)]
    return [data[a:b] for a, b in zip(places, places[1:])]
