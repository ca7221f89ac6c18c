# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How a command that runs the graph ends when the system refuses something."""

import errno
import signal
import threading

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_bringup.graph_run import EXIT_FAILED, run_graph_command  # noqa: E402,I100


@pytest.mark.parametrize(
    ('err', 'text'),
    [
        (FileNotFoundError(errno.ENOENT, 'No such file', '/a/b'), '/a/b: No such file'),
        (OSError(errno.ENOSPC, 'No space left'), 'No space left'),
        (TimeoutError('no answer\nwithin 5 s'), 'no answer within 5 s'),
        (TimeoutError(), 'TimeoutError'),
    ],
)
def test_a_refusal_is_one_line_that_says_what_is_known(err, text, capsys, monkeypatch):
    def run(_: threading.Event) -> int:
        raise err

    monkeypatch.setattr(signal, 'signal', lambda *_: None)
    assert run_graph_command('puppet demo', run) == EXIT_FAILED
    assert capsys.readouterr().err == f'puppet demo: {text}\n'
