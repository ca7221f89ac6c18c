# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Ctrl-C as `ros2 launch` passes it on: twice, from the terminal and by itself, at any time.

PUPPET_STOPS=50 in the environment tries it as often.
"""

import os
import random
import signal
import subprocess
import threading

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_bringup.process_table import child_environment, command_line, prepared, SIM  # noqa: E402,I100
from puppet_core.io import ConfigError  # noqa: E402
from puppet_ros import config_files  # noqa: E402
from puppet_ros.process import free_domain  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DEADLINE_S = 60.0
LATEST_S = 5.0  # after the start; frames flow then, unless the machine is busy
BETWEEN_S = 0.4  # the two signals, at most
BLOCK = ('env', '--block-signal=INT')  # as the launch files begin
BAD = ('Traceback', '[ERROR]', '[FATAL]', 'terminate', 'Interrupt')


@pytest.mark.parametrize('number', range(int(os.environ.get('PUPPET_STOPS', '3'))))
def test_every_program_ends_with_0_and_without_complaint(number, mark, tmp_path):
    chance = random.Random(number)
    given = {'composed': str(number % 3 == 2).lower(), 'view': str(number % 2 == 1).lower()}
    domain = {'ROS_DOMAIN_ID': str(free_domain()), 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    environ, config = child_environment(os.environ, **domain), config_files.config_dir()
    running, after_s = {}, chance.uniform(0.0, LATEST_S)
    try:
        try:
            for process in prepared(SIM, {**given, 't_pose_s': '1'}, tmp_path):
                with (tmp_path / f'{process.name}.log').open('w') as log:
                    words = [*BLOCK, *command_line(process, config)]
                    running[process.name] = subprocess.Popen(
                        words, env=environ, stdout=log, stderr=log, start_new_session=True
                    )
        except ConfigError as err:
            pytest.skip(str(err))
        for pause_s in (after_s, chance.uniform(0.0, BETWEEN_S)):
            threading.Event().wait(pause_s)
            for child in running.values():
                child.send_signal(signal.SIGINT)
        codes = {name: child.wait(DEADLINE_S) for name, child in running.items()}
    finally:
        for child in running.values():
            child.kill()
    said = {name: (tmp_path / f'{name}.log').read_text() for name in running}
    bad = {name: text for name, text in said.items() if any(word in text for word in BAD)}
    assert not any(codes.values()) and not bad, f'after {after_s:.2f} s: {codes} {bad}'
