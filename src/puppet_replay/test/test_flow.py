# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Frames on their way: none more than the window, and nodes that give nothing."""

from puppet_replay.play import Flow, WINDOW

CHAIN = ('/a', '/b', '/c')


def test_frames_between_all_nodes_count_together() -> None:
    flow = Flow(CHAIN)
    for i in range(WINDOW - 1):
        flow.sent(i)
    assert not flow.crowded()
    flow.sent(WINDOW)
    assert flow.crowded() == ['/b']
    flow.seen('/b', 3)
    assert flow.waiting('/b') == WINDOW - 4 and flow.waiting('/c') == 1
    flow.seen('/c', 3)
    assert not flow.crowded()


def test_a_node_that_gives_nothing_yet_can_say_how_far_it_is() -> None:
    flow = Flow(CHAIN)
    for i in range(WINDOW):
        flow.sent(i)
        flow.seen('/b', i)
    assert flow.crowded() == ['/c']
    flow.acknowledge('/c', flow.newest('/b'))
    assert not flow.crowded() and flow.waiting('/c') == 0


def test_lost_frames_are_not_waited_for_once_a_later_one_came() -> None:
    flow = Flow(CHAIN)
    for i in range(WINDOW):
        flow.sent(i)
    flow.seen('/b', WINDOW - 1)
    flow.seen('/c', WINDOW - 1)
    assert not flow.crowded(1)


def test_a_dead_node_is_given_up_until_it_is_heard_of() -> None:
    flow = Flow(CHAIN)
    for i in range(WINDOW):
        flow.sent(i)
    flow.give_up('/b')
    assert not flow.crowded()
    flow.seen('/b', 0)
    flow.sent(WINDOW)
    assert '/b' in flow.crowded()
