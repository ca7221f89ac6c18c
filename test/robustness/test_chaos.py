# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A short fault run of real processes: one fault of each main kind, then Ctrl-C.

How soon the graph recovers is for `./puppet stress chaos` on a machine that does nothing else;
here it must recover at all, with finite joint states and no jump, the cause must be named, and no
node may fall or process be left behind.
"""

import json
import signal
import subprocess
import sys
import threading

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from robustness.chaos.report import ALWAYS_NAMED  # noqa: E402,I100

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DEADLINE_S = 400.0  # a first compilation of the kernels fits
# each comes once in the first round
FAULTS = ('kill', 'unplug', 'hostile')


def test_the_graph_gets_over_a_fault_of_each_kind(tmp_path):
    """Ctrl-C ends the run with its table, its report and no process."""
    report = tmp_path / 'chaos.json'
    run = subprocess.Popen(
        [
            sys.executable,
            '-m',
            'robustness.chaos.command',
            '--seed',
            '3',
            '--minutes',
            '10',
            '--faults',
            ','.join(FAULTS),
            '--json',
            str(report),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    patience = threading.Timer(DEADLINE_S, run.kill)
    patience.start()
    said = []
    try:
        assert run.stderr is not None
        for line in run.stderr:
            said.append(line)
            if sum('recovered' in told for told in said) == len(FAULTS):
                run.send_signal(signal.SIGINT)
                break
        shown, rest = run.communicate()
    finally:
        patience.cancel()
        run.kill()
    text = ''.join([*said, rest, shown])
    assert run.returncode == 130, text
    found = json.loads(report.read_text())
    assert {fault['kind'] for fault in found['faults']} == set(FAULTS), text
    for fault in found['faults']:
        assert fault['failure'] == '' and fault['fallen'] == [], text
        assert fault['recovery'] is not None, text
        assert fault['frames'] > 0 and fault['not_finite'] == 0, text
        assert fault['largest']['ratio'] <= 1.0, text  # no jump
        if fault['kind'] in ALWAYS_NAMED:  # a full machine may be felt during the others
            assert fault['named'], text
    assert found['left'] == [] and 'left running: nothing' in shown, text
