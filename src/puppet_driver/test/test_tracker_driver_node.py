# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The driver node on real topics, with the emulator behind real pseudo-terminals."""

from collections.abc import Callable, Iterator
import os
import time

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402,I100
from lifecycle_msgs.msg import State  # noqa: E402
from puppet_core.errors import ConfigError  # noqa: E402
from puppet_driver.emulator.faults import FaultRates  # noqa: E402
from puppet_driver.emulator.pty_server import PtyServer  # noqa: E402
from puppet_driver.tracker_driver_node import OUTPUT_TOPIC, TrackerDriverNode  # noqa: E402
from puppet_msgs.msg import TrackerFrame  # noqa: E402
from puppet_ros import qos, tracker_frame  # noqa: E402
from puppet_ros.spin import make_executor  # noqa: E402
from rclpy.lifecycle import TransitionCallbackReturn  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

pytestmark = pytest.mark.ros

DEADLINE_S = 60.0
MAX_LATENCY_S = 2.0  # an age, not a date; how long it takes is the demo's figure


class Graph:
    """A driver node, a listener, and an executor for both."""

    def __init__(self, context: 'rclpy.Context', server: PtyServer, **options: object) -> None:
        ports = [str(line.pty.link) for line in server.lines]
        overrides = {'ports': ports, 'auto_configure_pause_s': 0.3, **options}
        self.node = TrackerDriverNode(
            context=context,
            parameter_overrides=[Parameter(k, value=v) for k, v in overrides.items()],
        )
        self.frames: list[tuple[int, TrackerFrame]] = []
        self.diagnostics: list[DiagnosticArray] = []
        self.transforms: dict[str, list[TFMessage]] = {'/tf': [], '/tf_static': []}
        self.listener = rclpy.create_node('listener', context=context)
        self.listener.create_subscription(
            TrackerFrame, OUTPUT_TOPIC, lambda m: self.frames.append((time.time_ns(), m)),
            qos.STREAM,
        )  # fmt: skip
        self.listener.create_subscription(
            DiagnosticArray, '/diagnostics', self.diagnostics.append, 10
        )
        for topic, profile in (('/tf', qos.TRANSFORMS), ('/tf_static', qos.STATIC_TRANSFORMS)):
            self.listener.create_subscription(
                TFMessage, topic, self.transforms[topic].append, profile
            )
        self._executor = make_executor(context)
        self._executor.add_node(self.node)
        self._executor.add_node(self.listener)

    def spin_until(self, condition: Callable[[], bool]) -> bool:
        """Spin until a condition holds or a deadline has passed."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition() and time.monotonic() < deadline:
            self._executor.spin_once(timeout_sec=0.05)
        return condition()

    def has(self, n_frames: int) -> Callable[[], bool]:
        """Return a condition: so many more frames have come."""
        wanted = len(self.frames) + n_frames
        return lambda: len(self.frames) >= wanted

    def level(self) -> bytes:
        """Return the level of the last diagnostics."""
        return self.diagnostics[-1].status[0].level if self.diagnostics else b''

    def values(self) -> dict[str, str]:
        """Return the keys of the last diagnostics."""
        return {v.key: v.value for v in self.diagnostics[-1].status[0].values}

    def close(self) -> None:
        """Destroy everything."""
        self._executor.shutdown()
        self.node.destroy_node()
        self.listener.destroy_node()


@pytest.fixture
def ros_context() -> Iterator['rclpy.Context']:
    """Yield an initialised context of its own, on a domain of this process."""
    context = rclpy.Context()
    rclpy.init(args=[], context=context, domain_id=1 + os.getpid() % 100)
    yield context
    rclpy.try_shutdown(context=context)


@pytest.fixture
def graph(ros_context) -> Iterator[Callable[..., Graph]]:
    """Yield a function that makes a graph, closed afterwards."""
    graphs: list[Graph] = []

    def make(server: PtyServer, **options: object) -> Graph:
        graphs.append(Graph(ros_context, server, **options))
        return graphs[-1]

    yield make
    for one in graphs:
        one.close()


def test_node_by_itself_streams_whole_stamped_frames(emulator, graph):
    run = graph(emulator())
    assert run.spin_until(run.has(60))
    frames = [tracker_frame.from_msg(m) for _, m in run.frames]
    assert frames[0].sensors[0] == 'pelvis' and len(frames[0].sensors) == 14
    # on a starved machine a line may be too late for its frame, which then says so
    whole = [not f.status.any() for f in frames]
    assert sum(whole) > 30
    assert all(np.isfinite(f.positions).all() == w for f, w in zip(frames, whole))
    assert np.diff([f.stamp_ns for f in frames]).min() > 0
    latency_s = [(at_ns - f.stamp_ns) * 1e-9 for (at_ns, _), f in zip(run.frames, frames)]
    assert 0.0 < np.median(latency_s) < MAX_LATENCY_S
    assert run.frames[0][1].header.frame_id == 'transmitter'


def test_frame_indices_count_every_frame(emulator, graph):
    run = graph(emulator())
    assert run.spin_until(run.has(30))
    steps = np.diff([m.frame_index for _, m in run.frames])
    # best effort: a starved listener may miss one
    assert steps.min() == 1 and np.median(steps) == 1


def test_transmitter_is_announced_where_the_parameters_say(emulator, graph):
    options = {'transmitter.position_m': [1.0, 2.0, 3.0], 'transmitter.rpy_deg': [0.0, 0.0, 90.0]}
    run = graph(emulator(), **options)
    assert run.spin_until(lambda: bool(run.transforms['/tf_static']))
    transform = run.transforms['/tf_static'][-1].transforms[0]
    assert (transform.header.frame_id, transform.child_frame_id) == ('world', 'transmitter')
    place, turn = transform.transform.translation, transform.transform.rotation
    np.testing.assert_allclose([place.x, place.y, place.z], [1.0, 2.0, 3.0])
    np.testing.assert_allclose([turn.w, turn.x, turn.y, turn.z], [0.5**0.5, 0, 0, 0.5**0.5])


def test_sensors_are_on_tf_slower_than_the_frames(emulator, graph):
    run = graph(emulator())
    assert run.spin_until(run.has(120))
    frames = [t.child_frame_id for t in run.transforms['/tf'][-1].transforms]
    assert frames[:2] == ['tracker/pelvis', 'tracker/chest']
    assert len(run.transforms['/tf']) < 0.4 * len(run.frames)


def test_transforms_can_be_switched_off(emulator, graph):
    run = graph(emulator(), transforms_rate_hz=0.0)
    assert run.spin_until(run.has(60))
    assert not run.transforms['/tf']


def test_diagnostics_tell_rate_ports_and_drops(emulator, graph):
    run = graph(emulator())
    assert run.spin_until(lambda: run.level() == DiagnosticStatus.OK)
    values = run.values()
    port = str(run.node.config.ports[0])
    assert values[f'{port} state'] == 'streaming'
    assert {'rate_hz', 'drops', 'last_error', f'{port} resyncs'} <= set(values)


def test_a_silent_device_is_an_error_that_names_the_port_and_then_passes(emulator, graph):
    server = emulator()
    device = server.lines[0].device
    deaf, device.receive = device.receive, lambda data, now_s: b''
    run = graph(server, reply_timeout_s=0.1)
    assert run.spin_until(lambda: run.level() == DiagnosticStatus.ERROR)
    assert str(server.lines[0].pty.link) in run.diagnostics[-1].status[0].message
    device.receive = deaf
    assert run.spin_until(lambda: run.level() == DiagnosticStatus.OK)


def test_a_missing_sensor_is_a_row_of_nan(emulator, graph):
    run = graph(emulator(faults=FaultRates(drop_out=0.05)))
    assert run.spin_until(run.has(120))
    frames = [tracker_frame.from_msg(m) for _, m in run.frames]
    assert any(f.status.any() for f in frames)
    assert all((np.isnan(f.positions[:, 0]) == (f.status == 1)).all() for f in frames)
    assert all((f.ages_s >= 0.0).all() for f in frames)


def test_lifecycle_opens_streams_stops_and_closes(emulator, graph):
    server = emulator()
    run = graph(server, autostart=False)
    assert run.node.trigger_configure() == TransitionCallbackReturn.SUCCESS
    assert not any(line.pty.is_open for line in server.lines)
    assert run.node.trigger_activate() == TransitionCallbackReturn.SUCCESS
    assert run.spin_until(run.has(10))
    assert run.node.trigger_deactivate() == TransitionCallbackReturn.SUCCESS
    assert run.spin_until(lambda: not any(line.device.is_streaming for line in server.lines))
    assert run.node.trigger_activate() == TransitionCallbackReturn.SUCCESS
    assert run.spin_until(run.has(10))
    assert run.node.trigger_deactivate() == TransitionCallbackReturn.SUCCESS
    assert run.node.trigger_cleanup() == TransitionCallbackReturn.SUCCESS
    assert run.node.trigger_shutdown() == TransitionCallbackReturn.SUCCESS
    assert run.node.reader is None


def test_an_impossible_configuration_ends_the_node_before_it_starts(emulator, ros_context):
    with pytest.raises(ConfigError, match='ports: expected 3 or more lines'):
        Graph(ros_context, emulator(2))


def test_state_is_active_after_starting_by_itself(emulator, graph):
    run = graph(emulator())
    assert run.spin_until(run.has(5))
    assert run.node._state_machine.current_state[0] == State.PRIMARY_STATE_ACTIVE
