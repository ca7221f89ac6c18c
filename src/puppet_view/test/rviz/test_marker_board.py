# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One message for all that is due, and never more of them than the rate allows."""

import numpy as np
from puppet_core.marker_spec import text_marker
from puppet_view.rviz.markers import MarkerBoard
import pytest

TICK_NS = 8_333_333
SECOND_NS = 1_000_000_000
BALL = text_marker('range_balls', 0, '', np.zeros(3), 0.1)


@pytest.mark.parametrize('rate_hz', [5.0, 20.0, 30.0])
@pytest.mark.parametrize('frame_ns', [TICK_NS, TICK_NS // 3, 31_000_000])
def test_messages_never_exceed_the_rate(rate_hz: float, frame_ns: int) -> None:
    """Frames at any speed and the environment's turns, over twenty seconds."""
    board, sent, environments = MarkerBoard(rate_hz), 0, 0
    next_tick = 400_000_000
    for now_ns in range(0, 20 * SECOND_NS, frame_ns):
        due = board.frame(now_ns)
        sent += due
        environments += due and board.take_environment()
        if now_ns >= next_tick:
            next_tick += SECOND_NS
            alone = board.tick(now_ns)
            sent += alone
            environments += alone and board.take_environment()
    assert sent <= 20.0 * rate_hz + 1
    assert sent >= 0.7 * min(20.0 * rate_hz, 20 * SECOND_NS / frame_ns)
    assert environments >= 19


def test_environment_is_sent_alone_where_nothing_else_comes() -> None:
    board = MarkerBoard(20.0)
    for k in range(5):
        assert board.tick(k * SECOND_NS) and board.take_environment()
        assert not board.take_environment()


def test_balls_wait_for_the_next_message_and_go_once() -> None:
    board = MarkerBoard(20.0)
    board.put_balls(5, (BALL,))
    assert board.take_balls() == (5, (BALL,))
    assert board.take_balls() == (0, ())


def test_rate_zero_draws_nothing() -> None:
    board = MarkerBoard(0.0)
    assert not board.frame(0) and not board.tick(SECOND_NS) and not board.wants_balls(0)
    assert not board.take_environment()
