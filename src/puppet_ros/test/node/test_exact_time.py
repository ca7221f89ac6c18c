# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""exact_time: pairs on equal stamps, bounded, nothing lost uncounted."""

from puppet_ros.node.exact_time import ExactTimeSynchronizer
import pytest

pytestmark = pytest.mark.ros


def test_pairs_come_out_whichever_side_is_first():
    join = ExactTimeSynchronizer()
    assert join.push_left(1, 'l1') is None
    assert join.push_right(1, 'r1') == ('l1', 'r1')
    assert join.push_right(2, 'r2') is None
    assert join.push_left(2, 'l2') == ('l2', 'r2')
    assert join.unmatched == [0, 0]


def test_messages_older_than_a_pair_are_counted_and_dropped():
    join = ExactTimeSynchronizer()
    for stamp in (1, 2, 3):
        join.push_left(stamp, stamp)
    join.push_right(2, 2)
    assert join.unmatched == [1, 0]
    assert join.push_right(3, 3) == (3, 3)


def test_dead_partner_costs_bounded_memory():
    join = ExactTimeSynchronizer(capacity=4)
    for stamp in range(100):
        join.push_left(stamp, stamp)
    assert join.unmatched == [96, 0]


def test_repeated_stamp_keeps_the_newer_and_counts_the_older():
    join = ExactTimeSynchronizer()
    join.push_left(1, 'old')
    join.push_left(1, 'new')
    assert join.push_right(1, 'r') == ('new', 'r')
    assert join.unmatched == [1, 0]


def test_clock_set_back_does_not_block_the_join():
    join = ExactTimeSynchronizer(capacity=4)
    for stamp in range(1000, 1004):
        join.push_left(stamp, stamp)
    assert [join.push_left(i, i) or join.push_right(i, i) for i in range(5)] == [
        (i, i) for i in range(5)
    ]


def test_random_order_and_loss_pairs_every_stamp_that_came_twice(rng):
    join = ExactTimeSynchronizer(capacity=64)
    kept_left = [i for i in range(500) if rng.random() > 0.1]
    kept_right = [i for i in range(500) if rng.random() > 0.1]
    arrivals = [(i + rng.uniform(0, 3), 0, i) for i in kept_left]
    arrivals += [(i + rng.uniform(0, 3), 1, i) for i in kept_right]
    # in order within each side, as topics are
    for side in (0, 1):
        times = sorted(a[0] for a in arrivals if a[1] == side)
        own = [a for a in arrivals if a[1] != side]
        stamps = sorted(a[2] for a in arrivals if a[1] == side)
        arrivals = own + [(t, side, s) for t, s in zip(times, stamps)]
    push = (join.push_left, join.push_right)
    pairs = [push[side](stamp, stamp) for _, side, stamp in sorted(arrivals)]
    found = {pair[0] for pair in pairs if pair}
    assert found == set(kept_left) & set(kept_right)
    alone = [len(kept_left) - len(found), len(kept_right) - len(found)]
    push[0](1000, 1000), push[1](1000, 1000)
    assert join.unmatched == alone
