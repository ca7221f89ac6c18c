# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Causes of faults on programs that stand in for the graph's."""

import os
import sys
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_bringup.graph_run import EMULATOR, READY_MARK  # noqa: E402
from puppet_bringup.respawner import News  # noqa: E402
from puppet_bringup.supervisor import Supervisor  # noqa: E402
from robustness.chaos.causes import Stage  # noqa: E402,I100
from robustness.chaos.schedule import Fault, PULLED, STOPPED, UNPLUG  # noqa: E402

DEADLINE_S = 60.0
HOLD_S = 0.3
FAILING = (
    f'import signal, sys\nprint("{READY_MARK}", flush=True)\n'
    'signal.signal(signal.SIGINT, lambda *_: sys.exit(3))\nsignal.pause()'
)


@pytest.fixture
def group():
    """Return a supervisor that ends with the test."""
    with Supervisor(lambda name, line: None, os.environ) as supervisor:
        yield supervisor


@pytest.mark.parametrize('way', [STOPPED, PULLED])
def test_a_tracker_that_ends_with_an_error_comes_back_once_and_is_told(group, way):
    deadline = time.monotonic() + DEADLINE_S
    node = cast(Any, SimpleNamespace(create_publisher=lambda *_: None))
    stage = Stage(group, [(EMULATOR, [sys.executable, '-c', FAILING])], node)
    respawner = stage.respawner
    respawner.start(EMULATOR)
    first = group.child(EMULATOR)
    while not first.lines and time.monotonic() < deadline:
        os.sched_yield()
    news: list[News] = []
    for _ in stage.cause(Fault(UNPLUG, way, HOLD_S, 0.0, 0.0)):
        news += respawner.tick()
        assert time.monotonic() < deadline
    later = time.monotonic() + 2.0 * HOLD_S  # longer than the first delay
    while time.monotonic() < later:
        news += respawner.tick()
    assert [n.exit_code is None for n in news] == [False, True]
    assert group.child(EMULATOR).exit_code is None
