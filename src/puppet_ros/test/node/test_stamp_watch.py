# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Time that jumps back is told from messages that overtake each other."""

from puppet_ros.node.clock import BACK_NS, ClockJumpDetector

TICK_NS = 8_333_333


def test_time_that_goes_on_has_not_jumped() -> None:
    watch = ClockJumpDetector()
    assert not any(watch.went_back(k * TICK_NS) for k in range(300))


def test_jitter_and_repetition_are_no_jump() -> None:
    watch = ClockJumpDetector()
    stamps = [10 * TICK_NS, 12 * TICK_NS, 11 * TICK_NS, 11 * TICK_NS, 13 * TICK_NS]
    assert not any(watch.went_back(stamp) for stamp in stamps)


def test_a_jump_is_told_once_and_time_goes_on_from_there() -> None:
    watch = ClockJumpDetector()
    watch.went_back(10 * BACK_NS)
    assert not watch.went_back(9 * BACK_NS)  # just not
    assert watch.went_back(9 * BACK_NS - 1)
    assert not watch.went_back(9 * BACK_NS)
    assert watch.went_back(0)


def test_what_came_late_does_not_hide_a_jump() -> None:
    """Small steps back do not add up: the latest stamp counts, not the last."""
    watch = ClockJumpDetector()
    told = [watch.went_back((10 - k) * BACK_NS // 4) for k in range(6)]
    assert told == [False] * 5 + [True]
