# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Stamps of streams: jumps back, rate limits, pairs, one publisher at a time."""

import numpy as np
from puppet_ros.node.stamps import (
    BACK_NS,
    ClockJumpDetector,
    ExactTimeSynchronizer,
    MOST_LOST,
    PublisherCheck,
    RateLimit,
    TAKEOVER_NS,
)
import pytest

pytestmark = pytest.mark.ros

TICK_NS = 8_333_333


def test_jitter_and_repetition_are_no_jump():
    watch = ClockJumpDetector()
    stamps = [10 * TICK_NS, 12 * TICK_NS, 11 * TICK_NS, 11 * TICK_NS, 13 * TICK_NS]
    assert not any(watch.went_back(stamp) for stamp in stamps)


def test_a_jump_is_reported_once_and_time_goes_on_from_there():
    watch = ClockJumpDetector()
    watch.went_back(10 * BACK_NS)
    assert not watch.went_back(9 * BACK_NS)  # just not
    assert watch.went_back(9 * BACK_NS - 1)
    assert not watch.went_back(9 * BACK_NS)
    assert watch.went_back(0)


def _passed(limit, times_ns):
    return np.flatnonzero([limit.passes(int(t)) for t in times_ns])


@pytest.mark.parametrize(('rate_hz', 'every'), [(60.0, 2), (30.0, 4), (20.0, 6), (120.0, 1)])
def test_divisor_of_the_stream_takes_every_nth(rate_hz, every):
    passed = _passed(RateLimit(rate_hz), np.arange(240) * TICK_NS)
    assert set(np.diff(passed)) == {every}


def test_jitter_does_not_make_it_uneven():
    rng = np.random.default_rng(20261120)
    times = np.arange(1200) * TICK_NS + rng.uniform(-1e6, 1e6, size=1200)
    assert set(np.diff(_passed(RateLimit(60.0), times))) == {2}


def test_rate_is_never_exceeded():
    rng = np.random.default_rng(20261120)
    times = np.cumsum(rng.exponential(3e6, size=5000))
    passed = times[_passed(RateLimit(30.0), times)]
    assert len(passed) <= 30.0 * (times[-1] - times[0]) * 1e-9 + 2


def test_late_one_makes_nobody_hurry():
    limit = RateLimit(10.0)
    assert limit.passes(0)
    assert limit.passes(550_000_000)
    assert not limit.passes(600_000_000)


def test_clock_set_back_starts_anew():
    limit = RateLimit(10.0)
    assert limit.passes(10**12)
    assert limit.passes(0)


def test_zero_lets_nothing_pass():
    limit = RateLimit(0.0)
    assert not limit.is_open
    assert not limit.passes(0)


PERIOD_NS = 8_333_333
START_NS = 1_000_000_000_000


class Publisher:
    """Numbered frames with the stamps of their time."""

    def __init__(self, index=0, shift_ns=0):
        self.index, self._shift_ns = index, shift_ns

    def frame(self, now_ns):
        self.index += 1
        return now_ns + self._shift_ns, self.index


def take(check, stamp_ns, index, now_ns):
    is_taken = check.takes(stamp_ns, index, now_ns)
    if is_taken:
        check.follow(stamp_ns, index, now_ns)
    return is_taken


def run(check, publishers, n_frames, now_ns):
    """Return which messages were taken, shape (n_frames, n_publishers)."""
    return np.array(
        [
            [take(check, *publisher.frame(at), at) for publisher in publishers]
            for at in range(now_ns, now_ns + n_frames * PERIOD_NS, PERIOD_NS)
        ]
    )


@pytest.mark.parametrize('shift_ns', [3_000_000, -2_500_000])
@pytest.mark.parametrize('ahead', [-100_000, -300, -7, -2, -1, 0, MOST_LOST + 1, 300, 100_000])
def test_a_second_publisher_is_refused_and_named(ahead, shift_ns):
    """Wherever its numbers are; all of the first one's frames are taken."""
    check = PublisherCheck('/tracker/raw')
    first = Publisher(200_000)
    assert run(check, [first], 50, START_NS).all()
    now_ns = START_NS + 50 * PERIOD_NS
    taken = run(check, [first, Publisher(first.index + ahead, shift_ns)], 240, now_ns)
    assert taken[:, 0].all() and not taken[:, 1].any()
    (said,) = check.causes(now_ns + 240 * PERIOD_NS)
    assert 'another publisher' in said and ': 240 ' in said and said.endswith('messages refused')
    assert not check.causes(now_ns + 240 * PERIOD_NS)


def test_the_second_takes_over_when_the_first_dies():
    """Within the time of a takeover, and keeps the place when the first comes again."""
    check = PublisherCheck('/tracker/raw')
    first, second = Publisher(200_000), Publisher(0)
    run(check, [first, second], 60, START_NS)
    now_ns = START_NS + 60 * PERIOD_NS
    taken = run(check, [second], 120, now_ns)[:, 0]
    n_waits = int(np.argmax(taken))
    assert n_waits * PERIOD_NS <= TAKEOVER_NS + PERIOD_NS and taken[n_waits:].all()
    taken = run(check, [first, second], 120, now_ns + 120 * PERIOD_NS)
    assert taken[:, 1].all() and not taken[:, 0].any()


@pytest.mark.parametrize('step_s', [-7200.0, -3.0, -0.3, 0.4, 2.0, 7200.0])
def test_a_clock_that_steps_does_not_end_a_stream(step_s):
    check = PublisherCheck('/tracker/raw')
    publisher = Publisher()
    run(check, [publisher], 60, START_NS)
    now_ns = START_NS + 60 * PERIOD_NS
    publisher._shift_ns = int(step_s * 1e9)
    assert run(check, [publisher], 60, now_ns).all()
    causes = check.causes(now_ns + 60 * PERIOD_NS)
    if step_s < -0.5:
        assert causes == [f'clock stepped back by {-step_s:.1f} s on /tracker/raw']
    elif step_s >= 2.0:
        assert causes[0].startswith('clock stepped forward by')


@pytest.mark.parametrize('seed', range(20))
def test_a_lone_publisher_that_stands_still_is_not_refused(seed):
    """
    A busy machine: the device misses ticks, bytes are late, frames are lost and come all at once.

    All of it a hundred times as often as anywhere; one frame in 4000 may then be refused, but not
    those after it.
    """
    rng = np.random.default_rng(seed)
    check, publisher, sent, at = PublisherCheck('/t'), Publisher(), START_NS, START_NS
    held_until, refused = at, 0
    for k in range(4000):
        missed = int(rng.integers(1, 40)) if k > 20 and rng.random() < 0.02 else 0
        lost = int(rng.integers(1, 20)) if k > 20 and rng.random() < 0.02 else 0
        publisher.index += lost
        sent += (1 + lost + missed) * PERIOD_NS
        if rng.random() < 0.02:  # the subscriber sleeps
            held_until = sent + int(rng.uniform(0.0, 20.0) * PERIOD_NS)
        late = rng.uniform(0.0, 0.9) if k > 20 and rng.random() < 0.02 else 0.0  # its first byte
        at = max(at + 50_000, held_until, sent + int((late + rng.exponential(0.1)) * PERIOD_NS))
        stamp_ns, index = publisher.frame(
            sent + int((late + rng.uniform(-0.05, 0.05)) * PERIOD_NS)
        )
        refused += not take(check, stamp_ns, index, at)
    assert refused <= 1


def test_frames_without_numbers_are_taken():
    """Of a publisher that is not the suite's; and a message that is sent again."""
    check = PublisherCheck('/t')
    assert all(take(check, START_NS + k * PERIOD_NS, 0, k * PERIOD_NS) for k in range(100))
    check = PublisherCheck('/t')
    assert all(take(check, START_NS, 7, k * PERIOD_NS) for k in range(100))


def test_silence_is_named():
    check = PublisherCheck('/t')
    assert not check.causes(START_NS)  # nothing came yet: the node waits
    take(check, START_NS, 1, START_NS)
    assert not check.causes(START_NS + 900_000_000)
    assert check.causes(START_NS + 2_100_000_000) == ['no input on /t for 2.1 s']


def test_unreadable_message_does_not_take_the_place():
    """Neither that of nobody nor the next one of a stream."""
    check, publisher = PublisherCheck('/t'), Publisher()
    assert check.takes(START_NS, 2**63, START_NS)
    assert run(check, [publisher], 50, START_NS).all()
    now_ns = START_NS + 50 * PERIOD_NS
    assert check.takes(now_ns, publisher.index + 1, now_ns)
    assert run(check, [publisher], 50, now_ns).all()
    assert not check.causes(now_ns + 50 * PERIOD_NS)


def test_dead_partner_costs_bounded_memory():
    join = ExactTimeSynchronizer(capacity=4)
    for stamp in range(100):
        join.push_left(stamp, stamp)
    assert join.unmatched == [96, 0]


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
