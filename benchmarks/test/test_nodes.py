# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The bench of the nodes: what it counts and refuses; not how fast they are here."""

import json
import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from benchmarks import nodes as bench_nodes  # noqa: E402,I100

pytestmark = pytest.mark.ros

PERFORMANCE = Path(__file__).parents[2] / 'test' / 'goldens' / 'performance.mcap'
DEADLINE_S = 300.0


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(
        [sys.executable, '-m', 'benchmarks.nodes', *words],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def test_every_node_is_timed_with_warm_and_with_cold_caches(tmp_path):
    target = tmp_path / 'nodes.json'
    done = run(str(PERFORMANCE), '--frames', '50', '--json', str(target))
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(target.read_text())
    assert list(report['nodes']) == [
        'pose_filter',
        'performer',
        'importance',
        'retarget, posture',
        'retarget',
    ]
    told = f'garbage collected {report["collections"]} times in 50 frames'
    assert report['collections'] <= 1 and told in done.stdout  # frames leave nothing to it
    for name, kinds in report['nodes'].items():
        assert name in done.stdout
        # a block of each kind, without the warm one's first frames
        assert {kind: times['n'] for kind, times in kinds.items()} == {
            'warm_us': bench_nodes.BLOCK - bench_nodes.SETTLING,
            'cold_us': bench_nodes.BLOCK,
        }
        assert all(0.0 < times['p50'] <= times['p90'] for times in kinds.values())


def test_a_bag_that_is_too_short_ends_in_a_line():
    done = run(str(PERFORMANCE), '--frames', '100000', '--evict-mb', '0')
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if 'puppet bench nodes' in line]
    assert 'expected 100000 frames behind the calibration, got ' in line


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (['no_such.mcap'], 'no_such.mcap: expected'),
        (['BAG', '--frames', '10'], '--frames: expected value >= 50, got 10'),
        (['BAG', '--evict-mb', 'nan'], '--evict-mb: expected 0 <= value <= 4096, got nan'),
        (['OTHER'], 'expected messages on /tracker/raw, got '),
        (['BAG', '--json', '.'], '--json: expected a file name, got the folder'),
    ],
    ids=['missing', 'frames', 'memory', 'topics', 'target'],
)
def test_bad_arguments_are_named(words, said, capsys, monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', '0')  # which main sets
    monkeypatch.setattr(signal, 'signal', lambda *_: None)
    bags = {'BAG': PERFORMANCE, 'OTHER': PERFORMANCE.parent / 'blubby_position.mcap'}
    assert bench_nodes.main([str(bags.get(word, word)) for word in words]) == 2
    assert said in capsys.readouterr().err
