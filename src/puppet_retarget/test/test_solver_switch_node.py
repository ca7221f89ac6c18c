# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The parameter `solver` of a process that runs, changed by the service, over real topics."""

from collections.abc import Iterator
from pathlib import Path
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_msgs.msg import Importance, RetargetStatus  # noqa: E402,I100
from puppet_msgs.msg import Posture as PostureMsg  # noqa: E402
from puppet_retarget.importance.environment import load_environment  # noqa: E402
from puppet_retarget.importance.estimator import ImportanceConfig  # noqa: E402
from puppet_retarget.importance.importance_model import ImportanceModel  # noqa: E402
from puppet_retarget.importance.self_interaction import SelfInteractionConfig  # noqa: E402
from puppet_ros.messages import posture_msg  # noqa: E402
from puppet_ros.messages.importance_msg import ImportanceWriter  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from rcl_interfaces.msg import Parameter, ParameterValue  # noqa: E402
from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.node import Node  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

pytestmark = pytest.mark.ros

DEADLINE_S = 120.0  # the process compiles, if nothing is cached
CONFIG = Path(__file__).resolve().parents[3] / 'config'
FLOOR = CONFIG / 'environments' / 'floor.yaml'
TICK_S = 1.0 / 120.0
FRAMES = 90  # with each solver: more than the easing takes
FASTEST_ROOT_M_S, FASTEST_JOINT_RAD_S = 8.0, 40.0


class Stage:
    """What stands before and behind the process: performer, importance and listener."""

    def __init__(self, context: Any, postures: Any) -> None:
        self.node = Node('stage', context=context)
        self.executor = make_executor(context)
        self.executor.add_node(self.node)
        self.postures, self.index = postures, 0
        self.near = ImportanceModel(
            load_environment(FLOOR), ImportanceConfig(), SelfInteractionConfig()
        )
        self.writer = ImportanceWriter(('floor',), 'world')
        create = self.node.create_publisher
        self.captured = create(PostureMsg, '/performer/posture', qos.STREAM)
        self.weighed = create(Importance, '/importance', qos.STREAM)
        self.angles: dict[int, Any] = {}
        self.roots: dict[int, Any] = {}
        self.solvers: dict[int, tuple[str, bool]] = {}
        listen = self.node.create_subscription
        listen(JointState, '/joint_states', self._on_joints, qos.JOINT_STATES)
        listen(PostureMsg, '/puppet/posture', self._on_puppet, qos.STREAM)
        listen(RetargetStatus, '/retarget/status', self._on_status, qos.STREAM)
        self.client = self.node.create_client(SetParameters, '/retarget/set_parameters')

    def _on_joints(self, msg: JointState) -> None:
        stamp = msg.header.stamp
        self.angles[stamp.sec * 10**9 + stamp.nanosec] = np.array(msg.position)

    def _on_puppet(self, msg: PostureMsg) -> None:
        record = posture_msg.from_msg(msg)
        self.roots[record.stamp_ns] = record.posture.root_position.copy()

    def _on_status(self, msg: RetargetStatus) -> None:
        self.solvers[msg.frame_index] = (msg.solver, msg.easing)

    def wait(self, is_done: Any) -> None:
        """Spin until a condition holds."""
        deadline = time.monotonic() + DEADLINE_S
        while not is_done():
            assert time.monotonic() < deadline
            self.executor.spin_once(timeout_sec=0.01)

    def frame(self) -> None:
        """Send one frame and wait for what comes of it."""
        self.index += 1
        posture = self.postures(self.index)
        record = posture_msg.from_msg(posture)
        near = self.near.step(record.stamp_ns, record.posture, record.segments)
        self.captured.publish(posture)
        self.weighed.publish(self.writer.fill(record.stamp_ns, record.frame_index, *near))
        self.wait(
            lambda: (
                self.index in self.solvers
                and record.stamp_ns in self.roots
                and record.stamp_ns in self.angles
            )
        )

    def choose(self, solver: str) -> None:
        """Set the parameter by its service."""
        value = ParameterValue(type=4, string_value=solver)
        request = SetParameters.Request(parameters=[Parameter(name='solver', value=value)])
        future = self.client.call_async(request)
        self.wait(future.done)
        assert future.result().results[0].successful


@pytest.fixture
def stage(ros_context: Any, postures: Any, tmp_path: Path) -> Iterator[Stage]:
    """Yield a stage whose retarget process answers."""
    made = Stage(ros_context, postures)
    log = (tmp_path / 'log').open('w')
    process = subprocess.Popen(
        [
            sys.executable,
            '-m',
            'puppet_retarget.retarget_node',
            '--ros-args',
            '-p',
            f'environment:={FLOOR}',
            '-p',
            f'character:={CONFIG / "characters/sally.yaml"}',
        ],
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    try:
        made.wait(
            lambda: (
                made.client.service_is_ready()
                and made.captured.get_subscription_count()
                and made.weighed.get_subscription_count()
                and made.node.count_publishers('/joint_states')
            )
        )
        yield made
    finally:
        process.terminate()
        process.wait(timeout=20.0)
        log.close()
        made.executor.shutdown()
        made.node.destroy_node()


def test_solver_is_switched_in_a_process_that_runs_without_a_jump(stage: Stage) -> None:
    for solver in ('importance_based', 'rate_control', 'importance_based'):
        stage.choose(solver)
        for _ in range(FRAMES):
            stage.frame()
        assert stage.solvers[stage.index] == (solver, False)
    angles = np.array([stage.angles[stamp] for stamp in sorted(stage.angles)])
    roots = np.array([stage.roots[stamp] for stamp in sorted(stage.roots)])
    assert len(angles) == len(roots) == 3 * FRAMES
    assert np.abs(np.diff(angles, axis=0)).max() < FASTEST_JOINT_RAD_S * TICK_S
    assert np.linalg.norm(np.diff(roots, axis=0), axis=1).max() < FASTEST_ROOT_M_S * TICK_S
    for start in (FRAMES, 2 * FRAMES):
        # its first frame is the last one of the solver before
        np.testing.assert_allclose(angles[start], angles[start - 1], atol=1e-6)
        np.testing.assert_allclose(roots[start], roots[start - 1], atol=1e-9)
