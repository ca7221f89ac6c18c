# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Messages from node to node within a process: order, nesting, threads."""

import threading

from puppet_ros.node.streams import exchange_of, IntraProcessBus, share
import pytest
from rclpy.context import Context

pytestmark = pytest.mark.ros


def _chain(log: list[str]) -> IntraProcessBus:
    exchange = IntraProcessBus(('/a', '/b'))
    send = {topic: (lambda msg, t=topic: log.append(f'send {t} {msg}')) for topic in ('/a', '/b')}

    def on_a(msg: int) -> None:
        log.append(f'a {msg}')
        exchange.publish('/b', 10 * msg, send['/b'])

    exchange.subscribe('/a', on_a)
    exchange.subscribe('/b', lambda msg: log.append(f'b {msg}'))
    exchange.subscribe('/a', lambda msg: log.append(f'also a {msg}'))
    return exchange


def test_a_frame_runs_to_its_end_before_anything_is_sent_in_the_order_of_making() -> None:
    log: list[str] = []
    _chain(log).publish('/a', 1, lambda msg: log.append(f'send /a {msg}'))
    assert log == ['a 1', 'b 10', 'also a 1', 'send /a 1', 'send /b 10']


def test_a_failure_on_the_way_still_sends_and_leaves_nothing_behind() -> None:
    exchange, sent = IntraProcessBus(('/a',)), []
    failing = True

    def fail(msg: int) -> None:
        if failing:
            raise ValueError(msg)

    exchange.subscribe('/a', fail)
    with pytest.raises(ValueError, match='1'):
        exchange.publish('/a', 1, sent.append)
    failing = False
    exchange.publish('/a', 2, sent.append)
    assert sent == [1, 2]


def test_frames_of_two_threads_do_not_mix() -> None:
    exchange, seen = IntraProcessBus(('/a', '/b')), []
    barrier = threading.Barrier(2)

    def on_a(msg: tuple[int, int]) -> None:
        seen.append(('a', msg))
        exchange.publish('/b', msg, lambda sent: None)

    exchange.subscribe('/a', on_a)
    exchange.subscribe('/b', lambda msg: seen.append(('b', msg)))

    def work(who: int) -> None:
        barrier.wait()
        for i in range(500):
            exchange.publish('/a', (who, i), lambda sent: None)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 2000
    for first, second in zip(seen[::2], seen[1::2]):
        assert (first[0], second[0]) == ('a', 'b') and first[1] == second[1]


def test_only_the_contexts_that_share_it_and_its_topics_use_an_exchange() -> None:
    context, other, exchange = Context(), Context(), IntraProcessBus(('/a',))
    share(context, exchange)
    assert exchange_of(context, '/a') is exchange
    assert exchange_of(context, '/b') is None
    assert exchange_of(other, '/a') is None
