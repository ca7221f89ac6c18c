# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Frames wait in order, a bounded number of them, and a slow consumer holds up nobody."""

from collections.abc import Callable
import threading

import numpy as np
from puppet_driver.frames.line_reader import FrameQueue, QueuedFrame
import pytest

NOTHING = np.zeros(0)


def frame(index: int) -> QueuedFrame:
    """Return a frame without sensors."""
    return QueuedFrame(index, index, index, NOTHING, NOTHING, NOTHING)


class Consumer:
    """Keeps the indices of what it is given, once it is let."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.may_go_on = threading.Event()
        self.is_busy = threading.Event()

    def take(self, one: QueuedFrame) -> None:
        """Wait to be let, then keep it."""
        self.is_busy.set()
        self.may_go_on.wait(10.0)
        self.seen.append(one.frame_index)


@pytest.mark.parametrize('slow_s', [0.0, 10.0], ids=['other_thread', 'same_thread'])
def test_frames_are_handed_on_in_order(wait_until: Callable[..., bool], slow_s: float):
    consumer = Consumer()
    consumer.may_go_on.set()
    queue = FrameQueue(consumer.take, 8, slow_s)
    queue.start()
    for i in range(100):
        queue.put(frame(i))
        assert wait_until(lambda: len(queue) < 8)
    queue.stop()
    assert consumer.seen == list(range(100)) and queue.dropped == 0


@pytest.mark.parametrize('capacity', [1, 4, 32])
def test_the_oldest_go_when_the_consumer_is_held_up(capacity):
    consumer = Consumer()
    queue = FrameQueue(consumer.take, capacity, slow_s=0.0)
    queue.start()
    queue.put(frame(0))
    assert consumer.is_busy.wait(10.0)
    for i in range(1, 101):
        queue.put(frame(i))
    assert len(queue) == capacity and queue.deepest == capacity
    assert queue.dropped == 100 - capacity
    consumer.may_go_on.set()
    queue.stop()
    assert consumer.seen == [0, *range(101 - capacity, 101)]


def test_a_prompt_consumer_is_called_in_the_thread_that_puts():
    threads: list[int] = []
    queue = FrameQueue(lambda _: threads.append(threading.get_ident()), slow_s=10.0)
    queue.start()
    queue.put(frame(0))
    assert threads == [threading.get_ident()]
    queue.stop()


def test_a_consumer_that_was_slow_once_is_left_to_the_other_thread(wait_until):
    threads: list[int] = []
    is_slow = threading.Event()
    is_slow.set()

    def take(_: QueuedFrame) -> None:
        threads.append(threading.get_ident())
        if is_slow.is_set():
            threading.Event().wait(0.02)

    queue = FrameQueue(take, slow_s=0.01)
    queue.start()
    queue.put(frame(0))
    queue.put(frame(1))
    assert wait_until(lambda: len(threads) == 2)
    assert threads[0] == threading.get_ident() != threads[1]
    is_slow.clear()
    # prompt for long enough, it is called directly again
    n_frames = 2

    def is_direct() -> bool:
        nonlocal n_frames
        queue.put(frame(n_frames))
        n_frames += 1
        return threads[-1] == threading.get_ident()

    assert wait_until(is_direct)
    queue.stop()


def test_what_the_consumer_raises_is_kept(monkeypatch, wait_until):
    monkeypatch.setattr(threading, 'excepthook', lambda _: None)

    def refuse(_: QueuedFrame) -> None:
        raise RuntimeError('enough')

    queue = FrameQueue(refuse, slow_s=0.0)
    queue.start()
    queue.put(frame(0))
    assert wait_until(lambda: isinstance(queue.failure, RuntimeError))
    queue.stop()


def test_stopping_twice_or_before_starting_is_harmless():
    queue = FrameQueue(Consumer().take)
    queue.stop()
    queue.start()
    queue.stop()
    queue.stop()


def test_an_ended_queue_hands_nothing_on_whoever_puts():
    seen: list[QueuedFrame] = []
    queue = FrameQueue(seen.append, slow_s=10.0)
    queue.start()
    queue.stop()
    queue.put(frame(0))
    assert not seen and len(queue) == 0


def test_a_queue_that_is_held_up_forgets_what_waits_at_its_end(wait_until):
    consumer = Consumer()
    queue = FrameQueue(consumer.take, 8, slow_s=0.0)
    queue.start()
    queue.put(frame(0))
    assert consumer.is_busy.wait(10.0)
    queue.put(frame(1))
    assert not queue.stop(0.01)
    consumer.may_go_on.set()
    assert wait_until(lambda: not queue.is_alive)
    assert consumer.seen == [0]
