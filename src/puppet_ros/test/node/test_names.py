# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One node of a name on a domain, as real processes."""

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.ros

DEADLINE_S = 60.0
PROGRAM = """
import sys
from puppet_core.io import Row
from puppet_ros.node import NODE_OPTIONS, ParameterTable, spin_node
from rclpy.node import Node

class Named(Node):
    def __init__(self):
        super().__init__('named', **NODE_OPTIONS)
        ParameterTable(self, (Row('a', 1),), dict)
        self.create_timer(0.01, lambda: print('up', flush=True))

sys.exit(spin_node(Named, sys.argv[1:]))
"""


@pytest.fixture
def start(ros_context):
    running = []

    def run(*words):
        command = [sys.executable, '-c', PROGRAM, *words]
        pipe = subprocess.PIPE
        running.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.communicate()


def test_a_second_node_of_a_name_is_refused_while_the_first_lives(start):
    first = start()
    assert first.stdout.readline() == 'up\n'
    second = start()
    said, complaint = second.communicate(timeout=DEADLINE_S)
    assert (second.returncode, said) == (2, '')
    assert complaint.startswith('/named: expected no other such node on domain ')
    assert f'process {first.pid}; end it' in complaint and len(complaint.splitlines()) == 1
    first.kill()  # which no discovery hears of for seconds
    assert start().stdout.readline() == 'up\n'


@pytest.mark.parametrize(
    'words', [['--allow-second'], ['--ros-args', '-r', '__ns:=/other']], ids=['allowed', 'other']
)
def test_a_second_node_starts_if_it_is_allowed_or_has_another_name(start, words):
    assert start().stdout.readline() == 'up\n'
    second = start(*words)
    assert second.stdout.readline() == 'up\n'
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=DEADLINE_S)
    assert second.returncode == 0
