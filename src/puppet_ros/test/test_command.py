# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Exit codes of commands, and what they say."""

from puppet_core.io import CalibrationError, ConfigError
from puppet_ros.command import run_command
import pytest
import rclpy

pytestmark = pytest.mark.ros


@pytest.mark.parametrize(
    ('error', 'code', 'said'),
    [
        (ConfigError('a.yaml:3: expected x'), 2, 'name: a.yaml:3: expected x\n'),
        (CalibrationError('moved'), 1, 'name: moved\n'),
        (OSError('no space'), 1, 'name: no space\n'),
        (RuntimeError('no context'), 1, 'name: no context\n'),
        (KeyboardInterrupt(), 130, 'name: interrupted; nothing\n'),
        (SystemExit(0), 0, ''),
        (SystemExit(2), 2, ''),
    ],
)
def test_what_goes_wrong_is_a_line_and_a_code(error, code, said, capsys):
    def command() -> int:
        raise error

    assert run_command('name', command, 'nothing') == code
    assert capsys.readouterr().err == said


def test_what_goes_well_returns_its_code_and_ros_is_shut_down():
    def command() -> int:
        rclpy.init(args=[])
        return 7

    assert run_command('name', command, 'nothing') == 7
    assert not rclpy.ok()


def test_a_bug_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        run_command('name', lambda: 1 // 0, 'nothing')
