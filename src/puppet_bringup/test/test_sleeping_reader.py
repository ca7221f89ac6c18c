# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A process that does not run for a while: what was sent meanwhile is there when it wakes."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_bringup.process_table import child_environment  # noqa: E402,I100
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.testing import DEADLINE_S, isolated_context  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

pytestmark = pytest.mark.ros

TOPIC = '/frames'
NUMBERS = 1100  # in a message: 9 kB, as the largest streams of the graph
MESSAGES = qos.STREAM.depth
READER = f"""
import rclpy
from puppet_ros.node import qos
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node('reader')
node.create_subscription(
    JointState, '{TOPIC}', lambda m: print(m.header.stamp.sec, flush=True), qos.STREAM
)
rclpy.spin(node)
"""


class Reader:
    """The process, and what it says that it heard."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, '-c', READER],
            env=child_environment(os.environ),
            text=True,
            stdout=subprocess.PIPE,
        )
        self.heard = queue.Queue()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def close(self):
        self.process.kill()
        self.process.wait()
        self._thread.join()

    def hears(self, number, seconds=DEADLINE_S):
        found = []
        end = time.monotonic() + seconds
        while number not in found and (left := end - time.monotonic()) > 0.0:
            try:
                found.append(self.heard.get(timeout=left))
            except queue.Empty:
                break
        return found

    def _listen(self):
        for line in self.process.stdout:
            self.heard.put(int(line))


@pytest.fixture
def publisher():
    """Yield a publisher of frames, on a domain that children are told of."""
    with isolated_context() as context:
        node = rclpy.create_node('writer', context=context)
        yield node.create_publisher(JointState, TOPIC, qos.STREAM)


@pytest.fixture
def reader(publisher):
    reader = Reader()
    yield reader
    reader.close()


def send(publisher, number):
    message = JointState(position=[0.0] * NUMBERS)
    message.header.stamp.sec = number
    publisher.publish(message)


def test_a_reader_that_was_stopped_has_all_that_a_node_keeps(publisher, reader):
    """By default the system keeps twelve such messages, of all topics together."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        send(publisher, 0)
        if reader.hears(0, 0.1):
            break
    else:
        pytest.fail('the reader was not connected')
    reader.process.send_signal(signal.SIGSTOP)
    numbers = list(range(1, MESSAGES + 1))
    for number in numbers:
        send(publisher, number)
    reader.process.send_signal(signal.SIGCONT)
    assert [n for n in reader.hears(MESSAGES) if n > 0] == numbers
