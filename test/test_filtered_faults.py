# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the pose filter makes of a driver's faults: emulator, driver and filter on real topics.

The filtered poses are finite or declared lost, and from one frame to the next they move no
further than the performer at its fastest and the noise allow, unless the frame says that the
pose does not continue.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
import threading
import time
from typing import Any

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from faulty_transport import FaultyTransport  # noqa: E402
from puppet_core import named_files  # noqa: E402
from puppet_core.body import load_character  # noqa: E402,I100
from puppet_core.math import quaternions as quaternion_batch  # noqa: E402
from puppet_core.procedural.motion_loop import LoopedMotion  # noqa: E402
from puppet_core.procedural.performer import procedural_motion  # noqa: E402
from puppet_core.sensor_frames import (  # noqa: E402
    FILTER_LOST,
    FILTER_OK,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
    FilteredFrame,
)
from puppet_driver.devices import flock_of_birds as flock  # noqa: E402
from puppet_driver.emulator.emulator import build_server, EmulatorConfig, measured_poses  # noqa: E402
from puppet_driver.emulator.performer import NoiseLevels  # noqa: E402
from puppet_driver.emulator.simulator import Faults  # noqa: E402
from puppet_driver.tracker_driver_node import TrackerDriverNode  # noqa: E402
from puppet_filter.parameters import PoseFilterConfig  # noqa: E402
from puppet_filter.pose_filter import warm_up  # noqa: E402
from puppet_filter.pose_filter_node import FILTERED_TOPIC, PoseFilterNode  # noqa: E402
from puppet_filter.sensor_update import LEAP_M, LEAP_RAD  # noqa: E402
from puppet_msgs.msg import PoseFrame  # noqa: E402
from puppet_ros.messages import from_pose_frame  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

pytestmark = pytest.mark.ros

NOMINAL_RATE_HZ = 120.0
SENSORS = ('pelvis', 'chest', 'left_hand', 'right_hand', 'left_foot', 'right_foot')
N_FAULTY = 3  # sensors on the line with the faults, the first ones
UNPLUGGED_S, SILENT_S, NOISY_S, MISSING_S, HELD_OFF_S = 3.0, 1.0, 1.0, 0.8, 0.3
BIT_ERROR_RATE = 0.01
NOISE, QUIET = NoiseLevels(), NoiseLevels(0.0, 0.0, 0.0, 0.0)
MOST_SLACK_S = 0.25  # stamps that may be wrong by more say nothing of how far a pose went
SIGMAS = 6.0  # of the noise, as the filter's gate
# what the end of a gap may add without a word, and the noise of three axes
LIMITS = np.array(
    [
        LEAP_M + 1e-3 * SIGMAS * np.sqrt(3.0) * np.hypot(NOISE.white_mm, NOISE.slow_mm),
        LEAP_RAD + np.radians(SIGMAS * np.sqrt(3.0) * np.hypot(NOISE.white_deg, NOISE.slow_deg)),
    ]
)  # [m], [rad]
STALL_STEP_S = 0.002


class StallMeter:
    """
    Measures how long a thread of this process was kept from running, by the machine or by others.

    For limits that hold on any machine only with what the machine itself was late by. A context:
    it measures between its beginning and its end.
    """

    def __init__(self) -> None:
        self.worst_s = 0.0  # the longest that the thread was woken too late so far [s]
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._measure, name='stall meter', daemon=True)

    def __enter__(self) -> 'StallMeter':
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _measure(self) -> None:
        is_over = False
        before_s = time.monotonic()
        while not is_over:
            is_over = self._is_over.wait(STALL_STEP_S)
            now_s = time.monotonic()
            self.worst_s = max(self.worst_s, now_s - before_s - STALL_STEP_S)
            before_s = now_s


class Run:
    """The nodes, the emulator, and the frames that came out."""

    def __init__(self, context: Any, folder: Path) -> None:
        body = load_character(named_files.character_file('performer'))
        looped = LoopedMotion(procedural_motion(body, NOMINAL_RATE_HZ, t_pose_s=0.5), 0)
        config = EmulatorConfig(
            (folder / 'line0', folder / 'line1'), sensors=SENSORS, noise=NOISE, restart_after_s=0.0
        )
        self.config = config
        self.fastest = fastest(config, looped)
        self.server = build_server(config, looped)
        self.server.lines = tuple(
            line._replace(pty=FaultyTransport(line.pty, seed=i))
            for i, line in enumerate(self.server.lines)
        )
        self.cable, self.device = self.server.lines[0].pty, self.server.lines[0].device
        self.server.start()
        given = {
            'ports': [str(link) for link in config.links],
            'sensors': list(SENSORS),
            'auto_configure_pause_s': 0.3,
        }
        overrides = [Parameter(k, value=v) for k, v in given.items()]
        self.nodes = [
            TrackerDriverNode(context=context, parameter_overrides=overrides),
            PoseFilterNode(context=context),
            rclpy.create_node('lab', context=context),
        ]
        self.frames: list[FilteredFrame] = []
        self.nodes[-1].create_subscription(
            PoseFrame, FILTERED_TOPIC, lambda m: self.frames.append(from_pose_frame(m)), qos.STREAM
        )
        self.executor = make_executor(context)
        for node in self.nodes:
            self.executor.add_node(node)

    def close(self) -> None:
        """Stop everything."""
        self.executor.shutdown()
        for node in self.nodes:
            node.destroy_node()
        self.server.stop()
        self.server.close()

    def spin_until(self, condition: Callable[[], bool]) -> bool:
        """Spin until a condition holds or a deadline passes."""
        return spin_until(self.executor, condition)

    def last(self, seconds: float) -> None:
        """Let something last."""
        until = time.monotonic() + seconds
        assert self.spin_until(lambda: time.monotonic() >= until)

    def recover(self, name: str) -> None:
        """Wait until all sensors are measured again, and a little longer."""
        since_ns = time.time_ns()
        assert self.spin_until(
            lambda: bool(
                self.frames
                and self.frames[-1].stamp_ns > since_ns
                and (self.frames[-1].status == FILTER_OK).all()
            )
        ), name
        self.last(0.1)

    def unplug(self) -> None:
        """Take the port away and bring it back."""
        self.cable.is_plugged = False
        self.last(UNPLUGGED_S)
        self.cable.is_plugged = True

    def silence(self) -> None:
        """Let no byte pass."""
        self.cable.is_cut = True
        self.last(SILENT_S)
        self.cable.is_cut = False

    def noise(self) -> None:
        """Turn one bit in a hundred."""
        self.cable.bit_error_rate = BIT_ERROR_RATE
        self.last(NOISY_S)
        self.cable.bit_error_rate = 0.0

    def half_a_record(self) -> None:
        """Cut one burst short."""
        self.cable.keep_of_next = 7
        assert self.spin_until(lambda: self.cable.keep_of_next < 0)

    def missing_sensor(self) -> None:
        """Take the line's last sensor off its unit and put it back."""
        unit = self.device.sensor_units[-1]
        unit.has_sensor, self.device.version = False, self.device.version + 1
        self.last(MISSING_S)
        unit.has_sensor, self.device.version = True, self.device.version + 1

    def stuck_xoff(self) -> None:
        """Let the device have heard an XOFF that nobody said."""
        self.device.receive(flock.XOFF, time.monotonic())
        self.last(HELD_OFF_S)


FAULTS = (
    Run.unplug,
    Run.silence,
    Run.noise,
    Run.half_a_record,
    Run.missing_sensor,
    Run.stuck_xoff,
)


def fastest(config: EmulatorConfig, looped: LoopedMotion) -> np.ndarray:
    """Return the highest true speed [m/s] and rate [rad/s] of each sensor, shape (n, 2)."""
    config = replace(config, noise=QUIET)
    source = measured_poses(config, looped, Faults(config.faults, config.seed))
    # once round, and over the seam
    poses = source.block(0, len(looped.motion.root_positions) + 2)
    ways, turns = steps(poses[..., :3], poses[..., 3:])
    return config.rate_hz * np.array([ways.max(axis=0), turns.max(axis=0)]).T


def steps(positions: np.ndarray, quaternions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how far each sensor moves [m] and turns [rad] from frame to frame."""
    turns = quaternion_batch.multiply(
        quaternion_batch.conjugate(quaternions[:-1]), quaternions[1:]
    )
    return (
        np.linalg.norm(np.diff(positions, axis=0), axis=-1),
        np.linalg.norm(quaternion_batch.log(turns), axis=-1),
    )


def follows(frames: list[FilteredFrame]) -> np.ndarray:
    """Return which frames but the first are the next after the one before, shape (n - 1,)."""
    return np.diff(np.array([frame.frame_index for frame in frames], dtype=np.int64)) == 1


def excess(frames: list[FilteredFrame], speeds: np.ndarray, slack_s: float) -> np.ndarray:
    """
    Return how much further than at a speed the output moves, the most of all [m], [rad].

    Stamps may be wrong by the slack.

    Steps from or to a lost sensor, and to a frame that says that the pose does not continue,
    are left out, and those over a frame that this listener has missed, which may have said so.
    """
    status = np.array([frame.status for frame in frames])
    continues = (status[1:] < FILTER_REINITIALISED) & (status[:-1] != FILTER_LOST)
    continues &= follows(frames)[:, None]
    moved = steps(
        np.array([frame.positions for frame in frames]),
        np.array([frame.quaternions for frame in frames]),
    )
    dt = np.diff([frame.stamp_ns for frame in frames])[:, None] * 1e-9 + slack_s
    beyond = np.array(moved) - dt * speeds.T[:, None]
    return np.max(np.where(continues, beyond, -np.inf), axis=(1, 2))


def assert_complete(frames: list[FilteredFrame]) -> None:
    """Check that all numbers are finite, or all NaN where the sensor is declared lost."""
    for frame in frames:
        lost = frame.status == FILTER_LOST
        for values in (
            frame.positions,
            frame.quaternions,
            frame.linear_velocities,
            frame.angular_velocities,
            frame.covariances,
            frame.twist_covariances,
        ):
            assert np.isfinite(values[~lost]).all() and np.isnan(values[lost]).all()
    status = np.array([frame.status for frame in frames])
    returns = (status[:-1] == FILTER_LOST) & (status[1:] != FILTER_LOST)
    after_loss = status[1:][returns & follows(frames)[:, None]]
    assert (after_loss == FILTER_REINITIALISED).all()


@pytest.fixture
def run(tmp_path):
    """Yield a running graph on a domain of this process."""
    warm_up()
    with isolated_context() as context:
        run = Run(context, tmp_path)
        yield run
        run.close()


def test_filtered_poses_stay_finite_and_do_not_jump_without_saying_so(run):
    run.recover('start')
    gate = PoseFilterConfig()
    anyone = np.tile([gate.gate_jump_speed_m_s, gate.gate_jump_rate_rad_s], (len(SENSORS), 1))
    seen: dict[str, np.ndarray] = {}
    for fault in FAULTS:
        begin = len(run.frames) - 1
        with StallMeter() as meter:
            fault(run)
            run.recover(fault.__name__)
        # after a gap stamps are arrivals, which both the emulator and the driver may delay;
        # else they are right within a period even where ticks are read together
        slack_s = 1.0 / NOMINAL_RATE_HZ + 2.0 * meter.worst_s
        frames = run.frames[begin:]
        assert_complete(frames)
        # a wrong bit may look like any motion that a body is capable of
        speeds = anyone if fault is Run.noise else run.fastest
        beyond = excess(frames, speeds, slack_s)
        assert slack_s > MOST_SLACK_S or (beyond < LIMITS).all(), (fault.__name__, slack_s)
        seen[fault.__name__] = np.bincount(
            np.concatenate([frame.status[:N_FAULTY] for frame in frames]), minlength=5
        )
    for name in ('unplug', 'silence', 'missing_sensor'):
        assert seen[name][FILTER_LOST] > 0 and seen[name][FILTER_REINITIALISED] > 0, name
    assert seen['noise'][FILTER_REJECTED] > 0
    others = np.array([frame.status[N_FAULTY:] for frame in run.frames])
    assert np.mean(others == FILTER_OK) > 0.9
    indices = np.array([frame.frame_index for frame in run.frames], dtype=np.int64)
    assert np.diff(indices).min() > 0
    assert follows(run.frames).mean() > 0.5  # even on a starved machine; else 1
