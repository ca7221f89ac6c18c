# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One publisher is followed while it lives, whatever others and the clock do."""

import numpy as np
from puppet_ros.input_watch import InputWatch, MOST_LOST, TAKEOVER_NS
import pytest

PERIOD_NS = 8_333_333
START_NS = 1_000_000_000_000


class Publisher:
    """Numbered frames with the stamps of their time."""

    def __init__(self, index: int = 0, shift_ns: int = 0) -> None:
        self.index, self._shift_ns = index, shift_ns

    def frame(self, now_ns: int) -> tuple[int, int]:
        """Return stamp and index of the next frame."""
        self.index += 1
        return now_ns + self._shift_ns, self.index


def take(watch: InputWatch, stamp_ns: int, index: int, now_ns: int) -> bool:
    """Return whether a message was taken; it could be read."""
    is_taken = watch.takes(stamp_ns, index, now_ns)
    if is_taken:
        watch.follow(stamp_ns, index, now_ns)
    return is_taken


def run(watch: InputWatch, publishers: list[Publisher], n_frames: int, now_ns: int) -> np.ndarray:
    """Return which messages were taken, shape (n_frames, n_publishers)."""
    return np.array([
        [take(watch, *publisher.frame(at), at) for publisher in publishers]
        for at in range(now_ns, now_ns + n_frames * PERIOD_NS, PERIOD_NS)
    ])  # fmt: skip


@pytest.mark.parametrize('shift_ns', [3_000_000, -2_500_000])
@pytest.mark.parametrize(
    'ahead', [-100_000, -300, -7, -2, -1, 0, 1, 2, 3, 9, 40, 200, 300, 100_000]
)
def test_a_second_publisher_is_refused_and_named(ahead: int, shift_ns: int) -> None:
    """Wherever its numbers are; all of the first one's frames are taken."""
    watch = InputWatch('/tracker/raw')
    first = Publisher(200_000)
    assert run(watch, [first], 50, START_NS).all()
    now_ns = START_NS + 50 * PERIOD_NS
    taken = run(watch, [first, Publisher(first.index + ahead, shift_ns)], 240, now_ns)
    assert taken[:, 0].all() and not taken[:, 1].any()
    (said,) = watch.causes(now_ns + 240 * PERIOD_NS)
    assert 'another publisher' in said and ': 240 ' in said and said.endswith('messages refused')
    assert ('of a clock that stutters' in said) == (0 < ahead <= MOST_LOST)
    assert not watch.causes(now_ns + 240 * PERIOD_NS)


def test_a_clock_that_stutters_is_not_taken_for_a_publisher_alone() -> None:
    """The number is the next one, but stamp and arrival are too early for it."""
    watch = InputWatch('/tracker/raw')
    publisher = Publisher(100)
    run(watch, [publisher], 50, START_NS)
    watch.causes(START_NS)
    at = START_NS + 49 * PERIOD_NS + PERIOD_NS * 3 // 10
    assert not take(watch, *publisher.frame(at), at)
    (said,) = watch.causes(at)
    assert said == (
        'stamps on /tracker/raw that do not fit their numbers, of a clock that stutters or '
        'another publisher: 1 messages refused'
    )


@pytest.mark.parametrize('ahead', [-3, -2, -1, 0, 1, 2, 3])
@pytest.mark.parametrize('shift_ns', [1_000_000, 3_000_000, 7_000_000])
@pytest.mark.parametrize('is_there_first', [True, False])
def test_two_publishers_are_not_mixed_when_they_overtake_each_other(
    ahead: int, shift_ns: int, is_there_first: bool
) -> None:
    """Arrivals of two with nearly the same numbers cross; the stamps tell them apart."""
    rng = np.random.default_rng(5)
    messages = []
    for who in (0, 1):
        for k in range(60 * who * is_there_first, 560):
            stamp_ns = START_NS + k * PERIOD_NS + who * shift_ns
            at = stamp_ns + int(rng.uniform(0.0, 2e6))
            messages.append((at, who, stamp_ns, 5000 + k + who * ahead))
    messages.sort()
    watch = InputWatch('/tracker/raw')
    taken = np.array([
        (who, k) for k, (at, who, stamp_ns, index) in enumerate(messages)
        if take(watch, stamp_ns, index, at)
    ])  # fmt: skip
    # one of them: who it is may change while nothing is known of it, or if the stamps of the
    # other one are nearly those that come next
    late = taken[taken[:, 1] >= 120, 0]
    assert len(late) >= 470 and (late == late[0]).all()
    if is_there_first and 2 * shift_ns < PERIOD_NS:
        assert (taken[:, 0] == 0).all() and len(taken) == 560


@pytest.mark.parametrize('ahead', [0, 1, 2])
def test_a_faster_publisher_with_the_next_numbers_is_refused(ahead: int) -> None:
    """Five of its messages come between two of the first one's."""
    watch, first = InputWatch('/t'), Publisher(200_000)
    assert run(watch, [first], 50, START_NS).all()
    second = Publisher(first.index + ahead)
    for k in range(50, 290):
        at = START_NS + k * PERIOD_NS
        assert take(watch, *first.frame(at), at)
        for part in range(1, 6):
            assert not take(watch, *second.frame(at + part * PERIOD_NS // 6),
                            at + part * PERIOD_NS // 6)  # fmt: skip


def test_the_second_takes_over_when_the_first_dies() -> None:
    """Within the time of a takeover, and keeps the place when the first comes again."""
    watch = InputWatch('/tracker/raw')
    first, second = Publisher(200_000), Publisher(0)
    run(watch, [first, second], 60, START_NS)
    now_ns = START_NS + 60 * PERIOD_NS
    taken = run(watch, [second], 120, now_ns)[:, 0]
    n_waits = int(np.argmax(taken))
    assert n_waits * PERIOD_NS <= TAKEOVER_NS + PERIOD_NS and taken[n_waits:].all()
    taken = run(watch, [first, second], 120, now_ns + 120 * PERIOD_NS)
    assert taken[:, 1].all() and not taken[:, 0].any()


@pytest.mark.parametrize('step_s', [-7200.0, -3.0, -0.3, 0.4, 2.0, 7200.0])
def test_a_clock_that_steps_does_not_end_a_stream(step_s: float) -> None:
    watch = InputWatch('/tracker/raw')
    publisher = Publisher()
    run(watch, [publisher], 60, START_NS)
    now_ns = START_NS + 60 * PERIOD_NS
    publisher._shift_ns = int(step_s * 1e9)
    assert run(watch, [publisher], 60, now_ns).all()
    causes = watch.causes(now_ns + 60 * PERIOD_NS)
    if step_s < -0.5:
        assert causes == [f'clock stepped back by {-step_s:.1f} s on /tracker/raw']
    elif step_s >= 2.0:
        assert causes[0].startswith('clock stepped forward by')


def test_lost_frames_and_jitter_are_of_the_same_stream() -> None:
    """Any number of lost ones, up to a silence; stamps off by a fifth of a period."""
    rng = np.random.default_rng(3)
    watch, publisher, at = InputWatch('/t'), Publisher(), START_NS
    for k in range(3000):
        lost = int(rng.integers(1, 25)) if k > 20 and rng.random() < 0.1 else 0
        publisher.index += lost
        at += (1 + lost) * PERIOD_NS
        stamp_ns, index = publisher.frame(at + int(rng.uniform(-0.2, 0.2) * PERIOD_NS))
        assert take(watch, stamp_ns, index, at)
    assert not watch.causes(at)


@pytest.mark.parametrize('step_s', [0.0, -0.3, -0.02, 0.005, 0.1, 0.3, 3.0])
def test_a_lone_publisher_loses_nothing(step_s: float) -> None:
    """Arrivals in bursts, lost frames, a clock that steps, another rate."""
    rng = np.random.default_rng(4)
    watch, publisher, sent, at = InputWatch('/t'), Publisher(), START_NS, START_NS
    for k in range(3000):
        lost = int(rng.integers(1, 20)) if k % 200 > 100 and rng.random() < 0.1 else 0
        publisher.index += lost
        sent += (1 + lost) * (PERIOD_NS if k < 2000 else 2 * PERIOD_NS)
        steps = k in (500, 1000, 1600)
        publisher._shift_ns += int(step_s * 1e9) if steps else 0
        delay_ns = 0 if steps or k in (499, 999, 1599) else rng.exponential(0.5 * PERIOD_NS)
        at = max(at + 1000, sent + int(delay_ns))
        stamp_ns, index = publisher.frame(sent + int(rng.uniform(-0.1, 0.1) * PERIOD_NS))
        assert take(watch, stamp_ns, index, at), k


@pytest.mark.parametrize('seed', range(20))
def test_a_lone_publisher_that_stands_still_is_not_refused(seed: int) -> None:
    """
    A busy machine: the device misses ticks, bytes are late, frames are lost and come all at once.

    All of it a hundred times as often as anywhere; one frame in 4000 may then be refused, but not
    those after it.

    """
    rng = np.random.default_rng(seed)
    watch, publisher, sent, at = InputWatch('/t'), Publisher(), START_NS, START_NS
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
        refused += not take(watch, stamp_ns, index, at)
    assert refused <= 1


def test_frames_without_numbers_are_taken() -> None:
    """Of a publisher that is not the suite's; and a message that is sent again."""
    watch = InputWatch('/t')
    assert all(take(watch, START_NS + k * PERIOD_NS, 0, k * PERIOD_NS) for k in range(100))
    watch = InputWatch('/t')
    assert all(take(watch, START_NS, 7, k * PERIOD_NS) for k in range(100))


def test_silence_is_named() -> None:
    watch = InputWatch('/t')
    assert not watch.causes(START_NS)  # nothing came yet: the node waits
    take(watch, START_NS, 1, START_NS)
    assert not watch.causes(START_NS + 900_000_000)
    assert watch.causes(START_NS + 2_100_000_000) == ['no input on /t for 2.1 s']


def test_what_cannot_be_read_does_not_take_the_place() -> None:
    """Neither that of nobody nor the next one of a stream."""
    watch, publisher = InputWatch('/t'), Publisher()
    assert watch.takes(START_NS, 2**63, START_NS)
    assert run(watch, [publisher], 50, START_NS).all()
    now_ns = START_NS + 50 * PERIOD_NS
    assert watch.takes(now_ns, publisher.index + 1, now_ns)
    assert run(watch, [publisher], 50, now_ns).all()
    assert not watch.causes(now_ns + 50 * PERIOD_NS)
