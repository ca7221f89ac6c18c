# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The latency bench end to end: what its file holds, in all forms; not how fast it is here."""

import json
import os
from pathlib import Path
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from ament_index_python.packages import get_package_prefix  # noqa: E402,I100
from benchmarks.latency.figures import PERCENTILES  # noqa: E402
from benchmarks.latency.relay import frame_of, SIZES  # noqa: E402
from puppet_bringup.monitor import STAGES  # noqa: E402
from puppet_core.io import defaults  # noqa: E402
from puppet_filter.parameters import (
    load_tuning,  # noqa: E402
    ROWS,  # noqa: E402
)
from puppet_filter.pose_filter_node import PoseFilterStage  # noqa: E402
from puppet_ros.bags import BagReader  # noqa: E402
from puppet_ros.messages import TrackerFrameReader  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DURATION_S, RATE_HZ = 1.0, 100.0
DEADLINE_S = 300.0
GOLDENS = Path(__file__).parents[2] / 'test' / 'goldens'
FOR_A_WHILE = """
import os, subprocess, sys, threading
from benchmarks.latency.relay import running_first
def classes():
    return [os.sched_getscheduler(int(name)) for name in os.listdir('/proc/self/task')]
n_files, ended = len(os.listdir('/proc/self/fd')), threading.Event()
with running_first() as refused:
    threading.Thread(target=ended.wait).start()
    print('refused' if refused else '')
    print(classes())
child = [sys.executable, '-c', 'import os; print(os.sched_getscheduler(0))']
told = subprocess.run(child, capture_output=True, text=True).stdout.strip()
print(classes(), told, len(os.listdir('/proc/self/fd')) - n_files)
ended.set()
"""


def test_figures_of_all_forms(tmp_path):
    try:
        get_package_prefix('puppet_bringup')
    except LookupError:
        pytest.skip('puppet_bringup is not installed')
    target = tmp_path / 'latency.json'
    words = ['--duration', str(DURATION_S), '--hops', '1', '--rates', str(RATE_HZ)]
    done = subprocess.run(
        [sys.executable, '-m', 'benchmarks.latency.bench', *words, '--json', str(target)],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(target.read_text())
    assert report['all'] == {
        '100_hz_1_puppets': {form: report[form] for form in ('separate', 'composed')},
        '100_hz': {'relays': report['relays']},
    }
    titles = {
        'separate': 'separate, 1 puppet',
        'composed': 'composed, 1 puppet',
        'relays': 'relays',
    }
    for form, title in titles.items():
        found = report[form]
        # a full machine may lose frames; they are counted, and come from a device of that rate
        assert 0.5 * DURATION_S < found['frames'] / RATE_HZ < 1.5 * (DURATION_S + 1.0)
        assert 0 <= found['lost'] < found['frames'] and found['cpu_percent'] > 0.0
        times = found['end_to_end_ms']
        assert list(times) == list(PERCENTILES)
        assert 0.0 < times['p50'] <= times['p99'] <= times['p99_9'] <= times['max']
        assert list(found['hops']) == (list(STAGES.values()) if form == 'separate' else [])
        if form != 'relays':
            assert found['late_bytes_ms'].keys() == {'p50', 'p99'}
        assert f'{title}, 100 Hz: {found["frames"]} frames' in done.stdout


def test_relays_send_as_much_as_the_graph():
    sent: dict[str, list[bytes]] = {}
    for bag in ('performance.mcap', 'graph.mcap'):
        with BagReader(GOLDENS / bag) as reader:
            for message in reader.messages():
                sent.setdefault(message.topic, []).append(message.data)
    stage = PoseFilterStage(load_tuning(defaults(ROWS)))
    raw = TrackerFrameReader()
    filtered = stage.step(raw.read(sent['/tracker/raw'][-1]), raw.frame_id)
    assert filtered is not None
    sent['/tracker/filtered'] = [stage.data(filtered)]
    for way, (topic, size) in enumerate(SIZES.items()):
        assert len(frame_of(way)) == pytest.approx(size, abs=16)
        lengths = [len(data) for data in sent.get(topic, [frame_of(way)])]
        assert min(lengths) - 16 <= size <= max(lengths) + 16


def test_a_program_that_ran_first_for_a_while_is_as_before_afterwards():
    """All its threads, also one that began meanwhile, its children, and its open files."""
    done = subprocess.run(
        [sys.executable, '-c', FOR_A_WHILE], capture_output=True, text=True, cwd=GOLDENS.parents[1]
    )
    assert not done.stderr
    refused, within, afterwards = done.stdout.splitlines()
    assert refused == 'refused' or set(json.loads(within)) == {os.SCHED_FIFO}
    before = os.sched_getscheduler(0)
    policies, *own = afterwards.rsplit(' ', 2)
    assert set(json.loads(policies)) == {before} and own == [str(before), '0']
