# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Reading without a byte, which warms the caches before a tick, changes nothing else."""

from collections.abc import Callable, Iterator

import numpy as np
import phased_bytes
from phased_bytes import ADDRESSES, RANGE_IN, smooth_poses
import polhemus_bytes
from puppet_core.parameter_rows import build_config, check_values
from puppet_driver import reader_run
from puppet_driver.driver import make_reader, warm_up
from puppet_driver.frame_assembler import FrameAssembler
from puppet_driver.frame_queue import QueuedFrame
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig
from puppet_driver.record_stream import PhasedRecordStream
from puppet_driver.tracker import RehearsingStream
import pytest

N_TICKS = 40
Made = tuple[Callable[[], RehearsingStream], list[bytes]]


def _phased() -> Made:
    poses = smooth_poses(np.random.default_rng(5), N_TICKS, len(ADDRESSES))
    return lambda: PhasedRecordStream(ADDRESSES, RANGE_IN), phased_bytes.records_of(poses)


def _framed(name: str) -> Made:
    layout = polhemus_bytes.LAYOUTS[name]()
    poses = polhemus_bytes.poses_of(N_TICKS, len(layout.stations))
    return lambda: polhemus_bytes.open_stream(layout), polhemus_bytes.records_of(layout, poses)


STREAMS: dict[str, Callable[[], Made]] = {
    'phased': _phased,
    'framed': lambda: _framed('fastrak'),
    'ascii': lambda: _framed('fastrak_ascii'),
}


@pytest.mark.parametrize('name', STREAMS)
def test_rehearsed_streams_decode_the_same(name):
    """Between any two reads: within records, while one is held, after damage."""
    make, records = STREAMS[name]()
    rng = np.random.default_rng(3)
    data = b''.join(records)
    cuts = np.sort(rng.choice(len(data), 200, replace=False)).tolist()
    reads = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)])]
    reads[20] = reads[20][1:]
    plain, rehearsed, period_ns = make(), make(), 8_333_333
    assembled, other = (FrameAssembler((len(ADDRESSES),), 120.0, 0.02) for _ in range(2))
    n_records = 0
    for i, read in enumerate(reads):
        arrival_ns = period_ns * N_TICKS * i // len(reads)
        n_records += plain.feed_bytes(read, arrival_ns)
        assert rehearsed.feed_bytes(read, arrival_ns) == plain.batch.count
        count = plain.batch.count
        for field in ('ordinals', 'stamps_ns', 'poses'):
            own, others = (getattr(s.batch, field)[:count] for s in (plain, rehearsed))
            assert own.tobytes() == others.tobytes()
        assert assembled.add(0, plain.batch) == other.add(0, rehearsed.batch)
        rehearsed.rehearse()
        assert rehearsed.batch.count == other.add(0, rehearsed.batch) == 0
        assert rehearsed.counters == plain.counters
        assert rehearsed.is_holding == plain.is_holding
        assert assembled.take(arrival_ns) == other.take(arrival_ns)
        assert assembled.stamp_ns == other.stamp_ns and assembled.counters == other.counters
    assert n_records > N_TICKS


@pytest.fixture
def reader(emulator: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple]:
    """Yield a reader of an emulator, its frames, and after which it rehearsed its first line."""
    warm_up()
    ports = [str(line.pty.link) for line in emulator().lines]
    values = check_values(DRIVER_ROWS, {'ports': ports})
    frames: list[int] = []
    rehearsals: list[int] = []
    made = make_reader(
        build_config(DriverConfig, values), lambda frame: frames.append(frame.frame_index),
        lambda *news: None,
    )
    rehearse = PhasedRecordStream.rehearse

    def counted(stream: PhasedRecordStream) -> None:
        if stream is made.lines[0].stream:
            rehearsals.append(made.assembler.frame_index)
        rehearse(stream)

    monkeypatch.setattr(PhasedRecordStream, 'rehearse', counted)
    made.start()
    yield made, frames, rehearsals
    made.stop()
    assert made.failure is None


def test_a_reader_rehearses_once_between_two_frames(reader, wait_until):
    _, frames, rehearsals = reader
    assert wait_until(lambda: len(frames) > 60 and len(rehearsals) > 30)
    assert np.diff(rehearsals).min() >= 1


def test_no_rehearsal_keeps_a_frame_waiting(reader, wait_until, monkeypatch):
    """Even if one is due at every turn: all that was read is on its way by then."""
    made, frames, rehearsals = reader
    assert wait_until(lambda: len(frames) > 30)
    rehearse, found, put = PhasedRecordStream.rehearse, [], made.queue.put
    handed: list[int] = []

    def looked(stream: PhasedRecordStream) -> None:
        if handed:
            found.append((made.assembler.is_collecting, made.assembler.frame_index - handed[-1]))
        rehearse(stream)

    def noted(frame: QueuedFrame) -> None:
        handed.append(frame.frame_index)
        put(frame)

    monkeypatch.setattr(made.queue, 'put', noted)
    monkeypatch.setattr(PhasedRecordStream, 'rehearse', looked)
    monkeypatch.setattr(reader_run, 'REHEARSAL_NS', 10**9)
    assert wait_until(lambda: len(found) > 60)
    assert set(found) == {(False, 0)}


def test_ticks_that_follow_at_once_are_not_rehearsed(reader, wait_until, monkeypatch):
    monkeypatch.setattr(reader_run, 'LEAST_PERIOD_NS', 10**9)
    _, frames, rehearsals = reader
    assert wait_until(lambda: len(frames) > 60)
    before = len(rehearsals)
    assert wait_until(lambda: len(frames) > 120)
    assert len(rehearsals) <= before + 1
