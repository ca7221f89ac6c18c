# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One driver node through every fault in turn, on real topics and pseudo-terminals.

The node is never restarted, its frames' indices go on, and each fault leaves its mark in the
counters and no other. How long each recovery took is printed; that it takes a second at most is
checked in test_recovery.py, by a clock that no busy computer can hold up.
"""

from collections.abc import Callable
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402,I100
from driver_graph import Graph  # noqa: E402
from lifecycle_msgs.msg import State  # noqa: E402
from puppet_driver.devices import flock_of_birds as flock  # noqa: E402
from puppet_driver.devices.line import LineStatus  # noqa: E402
from puppet_driver.emulator.server import EmulatorServer  # noqa: E402

pytestmark = pytest.mark.ros

SENSORS = ('pelvis', 'chest', 'left_hand', 'right_hand', 'left_foot', 'right_foot')
N_LINES = 2
RECORD_BYTES = 15
UNPLUGGED_S, SILENT_S, NOISY_S, MISSING_S = 3.0, 0.7, 1.0, 0.5
BIT_ERROR_RATE = 0.01


class FaultRun:
    """The node, the emulator, and the clock on the wall."""

    def __init__(self, run: Graph, server: EmulatorServer) -> None:
        self.run, self.server = run, server
        self.cable, self.device = server.lines[0].pty, server.lines[0].device
        self.recoveries: dict[str, float] = {}
        self.reader = run.node.reader

    @property
    def line(self) -> LineStatus:
        """Return the state of the line that has the faults."""
        return self.run.node.reader.lines[0].status

    def last(self, seconds: float) -> None:
        """Let a fault last."""
        until = time.monotonic() + seconds
        assert self.run.spin_until(lambda: time.monotonic() >= until)

    def until_given_up(self) -> None:
        """Wait until the driver has noticed, however busy the computer is, that nothing comes."""
        assert self.run.spin_until(lambda: not self.run.node.reader.lines[0].has_records)

    def recover(self, name: str, since_s: float | None = None) -> None:
        """Wait until a frame that began after now is whole; note how long that took."""
        since_ns = time.time_ns()
        since_s = time.monotonic() if since_s is None else since_s

        def is_whole() -> bool:
            if not self.run.frames:
                return False
            stamp = self.run.frames[-1][1].header.stamp
            is_new = stamp.sec * 10**9 + stamp.nanosec > since_ns
            return is_new and not np.any(self.run.frames[-1][1].status)

        assert self.run.spin_until(is_whole), name
        self.recoveries[name] = time.monotonic() - since_s

    def outage(self, name: str, seconds: float, fault: str, value: object) -> None:
        """Let nothing pass for some time."""
        starts, sound = self.line.starts, getattr(self.cable, fault)
        setattr(self.cable, fault, value)
        self.until_given_up()
        assert self.run.spin_until(lambda: self.run.level() == DiagnosticStatus.ERROR)
        assert str(self.cable.link) in self.run.message()
        self.last(seconds)
        assert self.line.error.startswith(str(self.cable.link))
        setattr(self.cable, fault, sound)
        self.recover(name)
        # at a wrong speed a record may come by chance
        assert self.line.starts == starts + 1 or fault == 'baud_rate_bps'

    def noise(self) -> None:
        """Turn one bit in a hundred."""
        before, stalls = self.line, self.reader.stalls
        n_sent = self.cable.n_sent
        self.cable.bit_error_rate = BIT_ERROR_RATE
        self.last(NOISY_S)
        self.cable.bit_error_rate = 0.0
        self.recover('bit errors')
        n_sent = self.cable.n_sent - n_sent
        after = self.line
        lost = after.counters.discarded_bytes - before.counters.discarded_bytes
        assert after.starts == before.starts
        assert after.counters.resyncs > before.counters.resyncs
        assert 0 < lost < n_sent
        accounted = lost + RECORD_BYTES * (after.counters.records - before.counters.records)
        # what is under way at either end, a few packets; what piled up in a stall is not counted
        most = 12 * len(SENSORS) * RECORD_BYTES
        assert abs(accounted - n_sent) < most or self.reader.stalls > stalls

    def half_a_record(self) -> None:
        """Cut one burst short."""
        before = self.line
        self.cable.keep_of_next = RECORD_BYTES // 2
        assert self.run.spin_until(lambda: self.cable.keep_of_next < 0)
        self.recover('half a record')
        assert self.run.spin_until(lambda: self.line.counters.resyncs > before.counters.resyncs)
        after = self.line
        assert after.starts == before.starts
        assert after.counters.resyncs == before.counters.resyncs + 1
        lost = after.counters.discarded_bytes - before.counters.discarded_bytes
        assert lost == RECORD_BYTES // 2

    def missing_sensor(self) -> None:
        """Take a sensor off its unit and put it back."""
        before = self.line
        unit = self.device.sensor_units[1]
        missing = self.reader.assembler.missing_by_row
        n_missing = int(missing[1])
        unit.has_sensor, self.device.version = False, self.device.version + 1
        assert self.run.spin_until(
            lambda: (
                float(self.run.frames[-1][1].ages_s[1]) > MISSING_S
                and int(missing[1]) > n_missing + 30
            )
        )
        assert self.run.frames[-1][1].status[1] == 1
        assert not np.any(np.delete(self.run.frames[-1][1].status, 1))
        unit.has_sensor, self.device.version = True, self.device.version + 1
        self.recover('sensor missing')
        assert self.line.starts == before.starts
        assert self.line.counters.resyncs == before.counters.resyncs

    def stuck_xoff(self) -> None:
        """Let the device have heard an XOFF that nobody said."""
        starts = self.line.starts
        since_s = time.monotonic()
        self.device.receive(flock.XOFF, since_s)
        assert self.run.spin_until(lambda: bool(np.any(self.run.frames[-1][1].status)))
        self.recover('XOFF stuck, from its beginning', since_s)
        assert self.line.starts == starts + 1


@pytest.fixture
def fault_run(emulator: Callable[..., EmulatorServer], graph: Callable[..., Graph]) -> FaultRun:
    """Return a node that streams whole frames."""
    server = emulator(N_LINES, sensors=SENSORS, is_faulty=True, restart_after_s=0.0)
    run = graph(server, sensors=list(SENSORS))
    assert run.spin_until(run.has(60))
    return FaultRun(run, server)


def test_every_fault_is_survived_said_and_over_when_it_ends(fault_run):
    run = fault_run.run
    fault_run.outage('unplugged for 3 s', UNPLUGGED_S, 'is_plugged', False)
    fault_run.outage('silence', SILENT_S, 'is_cut', True)
    fault_run.noise()
    fault_run.half_a_record()
    fault_run.outage('wrong speed', SILENT_S, 'baud_rate_bps', 9600)
    fault_run.missing_sensor()
    fault_run.stuck_xoff()
    for name, seconds in fault_run.recoveries.items():
        print(f'{name}: {seconds:.2f} s')
    assert run.node.reader is fault_run.reader and fault_run.reader.failure is None
    assert run.state() == State.PRIMARY_STATE_ACTIVE
    indices = [message.frame_index for _, message in run.frames]
    assert np.diff(np.array(indices, dtype=np.int64)).min() > 0
    stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for _, m in run.frames]
    assert np.diff(stamps).min() > 0
    for _, message in run.frames:
        is_nan = np.isnan(np.reshape(message.poses, (-1, 7))[:, 0])
        np.testing.assert_array_equal(is_nan, np.array(message.status) == 1)
    other = fault_run.reader.lines[1].status
    assert (other.starts, other.counters.resyncs, other.counters.rejected_records) == (1, 0, 0)
    assert run.spin_until(lambda: run.level() == DiagnosticStatus.OK)
