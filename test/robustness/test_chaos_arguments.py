# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of puppet stress chaos that are refused before anything starts."""

import signal

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from robustness.chaos import command as chaos  # noqa: E402,I100


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        (['--minutes', '0'], '--minutes: expected value > 0'),
        (['--minutes', 'nan'], '--minutes: expected value > 0'),
        (['--seed', '-1'], '--seed: expected value >= 0'),
        (['--faults', 'fire'], "got 'fire'"),
        (['--faults', 'clock'], 'expected --sim-time'),
        (['--character', 'nobody'], 'nobody'),
        (['--json', '/proc/x/y.json'], '--json'),
    ],
)
def test_bad_arguments_are_exit_code_2_and_one_line(words, text, capsys, monkeypatch):
    monkeypatch.setattr(signal, 'signal', lambda *_: None)
    assert chaos.main(words) == 2
    error = capsys.readouterr().err
    assert text in error and len(error.splitlines()) == 1
