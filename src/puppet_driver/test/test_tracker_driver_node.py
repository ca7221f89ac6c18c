# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The driver node on real topics, with the emulator behind real pseudo-terminals."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402,I100
from driver_graph import Graph  # noqa: E402
from lifecycle_msgs.msg import State  # noqa: E402
from puppet_core.io import ConfigError  # noqa: E402
from puppet_driver import tracker_driver_node  # noqa: E402
from puppet_driver.errors import LinkError  # noqa: E402
from puppet_ros.messages import from_tracker_frame  # noqa: E402
from puppet_ros.node.streams import pose_row  # noqa: E402
from rclpy.lifecycle import TransitionCallbackReturn  # noqa: E402

pytestmark = pytest.mark.ros

MAX_LATENCY_S = 2.0  # an age, not a date; how long it takes is the demo's figure


def test_node_by_itself_publishes_frames_transforms_poses_and_diagnostics(emulator, graph):
    options = {'transmitter.position_m': [1.0, 2.0, 3.0], 'transmitter.rpy_deg': [0.0, 0.0, 90.0]}
    run = graph(emulator(), pose_array='all', **options)
    assert run.spin_until(run.has(120))
    assert run.state() == State.PRIMARY_STATE_ACTIVE
    frames = [from_tracker_frame(m) for _, m in run.frames]
    assert frames[0].sensors[0] == 'pelvis' and len(frames[0].sensors) == 14
    # on a starved machine a line may be too late for its frame, which then says so
    whole = [not f.status.any() for f in frames]
    assert sum(whole) > 30
    assert all(np.isfinite(f.positions).all() == w for f, w in zip(frames, whole))
    assert np.diff([f.stamp_ns for f in frames]).min() > 0
    latency_s = [(at_ns - f.stamp_ns) * 1e-9 for (at_ns, _), f in zip(run.frames, frames)]
    assert 0.0 < np.median(latency_s) < MAX_LATENCY_S
    # best effort: a starved listener may miss one
    steps = np.diff([m.frame_index for _, m in run.frames])
    assert steps.min() == 1 and np.median(steps) == 1

    transform = run.transforms['/tf_static'][-1].transforms[0]
    assert (transform.header.frame_id, transform.child_frame_id) == ('world', 'transmitter')
    place, turn = transform.transform.translation, transform.transform.rotation
    np.testing.assert_allclose([place.x, place.y, place.z], [1.0, 2.0, 3.0])
    np.testing.assert_allclose([turn.w, turn.x, turn.y, turn.z], [0.5**0.5, 0, 0, 0.5**0.5])
    names = [t.child_frame_id for t in run.transforms['/tf'][-1].transforms]
    assert names[:2] == ['tracker/pelvis', 'tracker/chest']
    assert len(run.transforms['/tf']) < 0.4 * len(run.frames)

    by_stamp = {(m.header.stamp.sec, m.header.stamp.nanosec): m for _, m in run.frames}
    both = [
        (array, by_stamp[key])
        for array in run.arrays
        if (key := (array.header.stamp.sec, array.header.stamp.nanosec)) in by_stamp
    ]
    assert both and both[0][0].header.frame_id == 'transmitter'
    rows = np.array([pose_row(pose) for pose in both[0][0].poses])
    positions, quaternions = rows[:, :3], rows[:, 3:]
    frame = from_tracker_frame(both[0][1])
    np.testing.assert_array_equal(positions, frame.positions)
    np.testing.assert_array_equal(quaternions, frame.quaternions)

    assert run.spin_until(lambda: run.values().get('sensor pelvis') == 'ok')
    port = str(run.node.config.ports[0])
    assert run.values()[f'{port} state'] == 'streaming'
    named = {'rate_hz', 'drops', 'last_error', f'{port} resyncs', 'stalls'}
    named |= {'clock_jitter_ms', 'latency_ms_p50', 'late_records'}
    named |= {f'sensor {name}' for name in run.node.config.sensors}
    assert named <= set(run.values())
    assert run.spin_until(lambda: run.values()['clock_tracking'] == 'True')
    assert float(run.values()['device_rate_hz']) == pytest.approx(120.0, rel=0.02)


def test_a_silent_device_is_an_error_that_names_the_port_and_then_passes(emulator, graph):
    server = emulator()
    device = server.lines[0].device
    deaf, device.receive = device.receive, lambda data, now_s: b''
    run = graph(server, reply_timeout_s=0.1)
    assert run.spin_until(lambda: run.level() == DiagnosticStatus.ERROR)
    assert str(server.lines[0].pty.link) in run.diagnostics[-1].status[0].message
    device.receive = deaf
    assert run.spin_until(lambda: run.level() == DiagnosticStatus.OK)


def test_lifecycle_opens_streams_stops_and_closes(emulator, graph):
    server = emulator()
    run = graph(server, autostart=False, pose_array='valid')

    def topics():
        return sorted(publisher.topic_name for publisher in run.node.publishers)

    before = topics()
    made = sorted([*before, '/tracker/raw', '/tracker/raw_poses', '/tf', '/tf_static'])
    assert run.node.trigger_configure() == TransitionCallbackReturn.SUCCESS
    assert topics() == made and not any(line.pty.is_open for line in server.lines)
    assert run.node.trigger_activate() == TransitionCallbackReturn.SUCCESS
    assert run.spin_until(run.has(10)) and topics() == made
    assert run.node.trigger_deactivate() == TransitionCallbackReturn.SUCCESS
    assert run.spin_until(lambda: not any(line.device.is_streaming for line in server.lines))
    port = str(run.node.config.ports[0])
    assert run.spin_until(
        lambda: run.diagnostics and run.values().get(f'{port} state') == 'closed'
    )
    assert run.values()['sensor pelvis'] == 'unknown'
    assert run.node.trigger_activate() == TransitionCallbackReturn.SUCCESS
    n_frames = len(run.frames)
    assert run.spin_until(run.has(n_frames + 10))
    # streaming is noticed anew, and no frame has a stamp of before
    assert run.spin_until(lambda: int(run.values().get(f'{port} starts', 0)) >= 2)
    stamps_ns = [from_tracker_frame(m).stamp_ns for _, m in run.frames]
    assert stamps_ns == sorted(stamps_ns)
    assert run.node.trigger_deactivate() == TransitionCallbackReturn.SUCCESS
    assert run.node.trigger_cleanup() == TransitionCallbackReturn.SUCCESS and topics() == before
    assert run.node.trigger_shutdown() == TransitionCallbackReturn.SUCCESS
    assert run.node.reader is None


def test_an_impossible_configuration_ends_the_node_before_it_starts(emulator, ros_context):
    with pytest.raises(ConfigError, match='ports: expected 3 or more lines'):
        Graph(ros_context, emulator(2))


def test_a_sensor_that_stops_is_named_and_so_is_its_return(emulator, graph):
    server = emulator()
    run = graph(server)
    assert run.spin_until(lambda: run.level() == DiagnosticStatus.OK)
    device = server.lines[1].device
    unit = device.sensor_units[2]
    unit.has_sensor = False
    device.version += 1
    name = run.node.config.sensors[7]
    assert run.spin_until(lambda: f'no samples of {name}' in run.message())
    assert run.level() == DiagnosticStatus.WARN
    assert run.values()[f'sensor {name}'].startswith('missing for')
    unit.has_sensor = True
    device.version += 1
    assert run.spin_until(lambda: run.values()[f'sensor {name}'] == 'ok')


def test_parameters_that_mean_nothing_to_the_device_are_named_once(graph, emulator, monkeypatch):
    # the bench gives this one to all devices
    options = {'point_mode': True, 'range_in': 72, 'auto_configure_pause_s': 0.6}
    run = graph(emulator(), autostart=False, device='mock', **options)
    said = []
    monkeypatch.setattr(run.node, 'get_logger', lambda: SimpleNamespace(warning=said.append))
    assert run.node.trigger_configure() == TransitionCallbackReturn.SUCCESS
    monkeypatch.undo()
    assert said == ['point_mode, range_in: set, but ignored by a mock']
    assert run.spin_until(
        lambda: run.diagnostics and run.values()['ignored_parameters'] == 'point_mode, range_in'
    )


def test_failed_configuration_leaves_the_node_unconfigured_and_says_why(
    emulator, graph, monkeypatch
):
    def refuse(*_):
        raise LinkError('port: expected a device, got none')

    monkeypatch.setattr(tracker_driver_node, 'make_reader', refuse)
    run = graph(emulator(), autostart=False)
    assert run.node.trigger_configure() == TransitionCallbackReturn.FAILURE
    assert run.state() == State.PRIMARY_STATE_UNCONFIGURED
    assert run.spin_until(lambda: run.message() == 'port: expected a device, got none')
    assert run.level() == DiagnosticStatus.ERROR
    monkeypatch.undo()
    assert run.node.trigger_configure() == TransitionCallbackReturn.SUCCESS


def test_a_reader_that_breaks_leaves_the_node_inactive_and_says_why(emulator, graph, monkeypatch):
    monkeypatch.setattr(threading, 'excepthook', lambda _: None)
    run = graph(emulator())
    assert run.spin_until(run.has(5))

    def fail(*_):
        raise RuntimeError('a defect')

    run.node.reader.assembler.take = fail
    assert run.spin_until(lambda: run.state() == State.PRIMARY_STATE_INACTIVE)
    assert run.spin_until(lambda: run.message() == 'reading ended: RuntimeError: a defect')
    assert run.level() == DiagnosticStatus.ERROR
    del run.node.reader.assembler.take
    assert run.node.trigger_activate() == TransitionCallbackReturn.SUCCESS
    assert run.spin_until(run.has(5))
