# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Latency of a bag that is recorded live from a real node, and of one with known log times."""

import json
from pathlib import Path
import time

from graph_messages import items_of, moments, write_items
import numpy as np
from plain_reader import plain_messages
from puppet_core.drawing import styled
from puppet_core.sensor_frames import SensorFrame
from puppet_filter.pose_filter_node import PoseFilterNode
from puppet_msgs.msg import TrackerFrame
from puppet_replay.plots import command as plot_command
from puppet_replay.plots.drawings import draw_latency
from puppet_replay.plots.reading import PlotBag
from puppet_replay.record import RecordNode
from puppet_ros.bags import BagReader, BagWriter
from puppet_ros.messages.sensor_msg import TrackerFrameWriter
from puppet_ros.node import qos
from puppet_ros.testing import isolated_context, spin_until
import pytest
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

pytestmark = pytest.mark.ros

N = 60
HOPS_MS = {
    '/tracker/raw': 2.0,
    '/tracker/filtered': 0.5,
    '/importance': 3.0,
    '/joint_states': 1.25,
    '/puppet/posture': 1.5,
    '/retarget/status': 1.75,
}
ORDER = ('/tracker/raw', '/tracker/filtered', '/importance')


def known_bag(path: Path) -> Path:
    items = []
    for moment in moments(N):
        for item in items_of(moment):
            if item.topic == '/tf':
                continue
            before = ORDER if item.topic not in ORDER else ORDER[: ORDER.index(item.topic)]
            late_ms = sum(HOPS_MS[topic] for topic in {*before, item.topic})
            late_ms += 40.0 * (item.topic == '/retarget/status' and moment.index == 9)
            items.append(item._replace(log_ns=item.log_ns + round(1e6 * late_ms)))
    return write_items(path, items)


def rows_of(bag: Path, report: Path) -> dict[str, dict[str, float]]:
    words = [str(bag), '--what', 'latency', str(report.with_suffix('.png')), '--json', str(report)]
    assert plot_command.main(words) == 0
    plots = json.loads(report.read_text())['plots']
    return {row['name']: row for row in plots['latency']['series']}


def test_known_delays_are_found(tmp_path: Path) -> None:
    """Since the stamp, and since what each topic is made from; the posture is not in this bag."""
    rows = rows_of(known_bag(tmp_path / 'a.mcap'), tmp_path / 'a.json')
    assert rows['/tracker/raw since the stamp']['p50_ms'] == pytest.approx(2.0)
    assert rows['/importance since the stamp']['p99_ms'] == pytest.approx(5.5)
    assert rows['/importance since /tracker/filtered']['max_ms'] == pytest.approx(3.0)
    assert rows['/joint_states since /importance']['mean_ms'] == pytest.approx(1.25)
    late = rows['/retarget/status since /importance']
    assert late['p50_ms'] == pytest.approx(1.75) and late['max_ms'] == pytest.approx(41.75)
    assert all(row['count'] == N for row in rows.values())


def test_titles_tell_the_percentiles_of_what_is_drawn(tmp_path: Path) -> None:
    with BagReader(known_bag(tmp_path / 'a.mcap')) as reader, styled():
        figure = draw_latency(PlotBag(reader).latencies(), 'a.mcap')
    titles = [axes.get_title(loc='left') for axes in figure.axes]
    assert '/tracker/raw   p50 2.00  p99 2.00  max 2.00 ms' in titles
    late = next(title for title in titles if title.startswith('/retarget/status'))
    assert late.endswith('max 41.75 ms') and '\nsince /importance   p50 1.75' in late


def test_a_live_recording_tells_how_late_the_filter_is(tmp_path: Path) -> None:
    """Frames stamped now go through the real filter; the recorder notes when each arrives."""
    bag = tmp_path / 'live.mcap'
    with isolated_context() as context, BagWriter(bag, growing=True) as writer:
        source, node = Node('source', context=context), PoseFilterNode(context=context)
        publisher = source.create_publisher(TrackerFrame, '/tracker/raw', qos.STREAM)
        recorder = RecordNode(writer, ['/tracker/raw', '/tracker/filtered'], context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        message = TrackerFrameWriter('transmitter')

        def publish() -> None:
            frame = SensorFrame(
                time.time_ns(),
                0,
                ('head',),
                np.zeros((1, 3)),
                np.array([[1.0, 0.0, 0.0, 0.0]]),
                np.zeros(1),
                np.zeros(1, np.uint8),
            )
            publisher.publish(message.fill(frame))
            recorder.poll()

        done = spin_until(
            executor, lambda: recorder.counts.get('/tracker/filtered', 0) >= N, before=publish
        )
        executor.shutdown()
    assert done
    rows = rows_of(bag, tmp_path / 'a.json')
    filtered = plain_messages(bag, '/tracker/filtered')
    ages_ms = np.array([1e-6 * (m.log_ns - m.stamp_ns) for m in filtered])
    row = rows['/tracker/filtered since the stamp']
    assert row['max_ms'] == pytest.approx(ages_ms.max())
    assert row['p50_ms'] == pytest.approx(np.percentile(ages_ms, 50)) and row['min_ms'] > 0.0
    assert 0.0 < rows['/tracker/filtered since /tracker/raw']['mean_ms'] < row['mean_ms']


@pytest.mark.parametrize('kind', ['importance', 'filter', 'latency'])
def test_one_frame_is_enough(kind: str, tmp_path: Path) -> None:
    report = tmp_path / 'a.json'
    words = ['--what', kind, '--from', '0.1', '--to', '0.107', str(tmp_path / 'a.png')]
    bag = known_bag(tmp_path / 'a.mcap')
    assert plot_command.main([str(bag), *words, '--json', str(report)]) == 0
    assert json.loads(report.read_text())['plots'][kind]['series'][0]['count'] == 1


def test_a_message_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its bytes end too early, or its rows are not as many as they should be."""
    items = [item for moment in moments(3) for item in items_of(moment)]
    for damage in (lambda data: data[:60], lambda data: data[:6]):
        worse = [i._replace(data=damage(i.data)) if i.topic == '/importance' else i for i in items]
        bag = write_items(tmp_path / 'a.mcap', worse)
        assert plot_command.main([str(bag), '--what', 'importance', str(tmp_path / 'a.png')]) == 2
        assert 'a.mcap: /importance: expected messages' in capsys.readouterr().err
    assert plot_command.main([str(bag), '--what', 'latency', str(tmp_path / 'b.png')]) == 2
    assert 'a.mcap: /importance: expected messages that can be read' in capsys.readouterr().err
