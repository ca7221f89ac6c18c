# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of puppet_driver: an emulator on pseudo-terminals, sessions, graphs."""

from driver_session import Session, wait
from puppet_core import named_files
from puppet_core.body import load_character
from puppet_core.procedural.motion_loop import LoopedMotion
from puppet_core.procedural.performer import procedural_motion
from puppet_driver.emulator.emulator import build_server, EmulatorConfig
from puppet_driver.emulator.performer import NoiseLevels
import pytest

QUIET = NoiseLevels(0.0, 0.0, 0.0, 0.0)


@pytest.fixture
def wait_until():
    return wait


@pytest.fixture(scope='session')
def performance():
    body = load_character(named_files.character_file('performer'))
    return LoopedMotion(procedural_motion(body, 120.0, t_pose_s=0.5), 0)


@pytest.fixture
def emulator(tmp_path, performance):
    servers = []

    def start(n_lines=3, **options):
        links = tuple(tmp_path / f'line{i}' for i in range(n_lines))
        options.setdefault('noise', QUIET)
        server = build_server(EmulatorConfig(links=links, **options), performance)
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()
        server.close()


@pytest.fixture
def session():
    sessions = []

    def start(*arguments, **options):
        sessions.append(Session(*arguments, **options))
        return sessions[-1]

    yield start
    for one in sessions:
        one.stop()


@pytest.fixture
def graph(ros_context):
    from driver_graph import Graph

    graphs = []

    def make(server, **options):
        graphs.append(Graph(ros_context, server, **options))
        return graphs[-1]

    yield make
    for one in graphs:
        one.close()
