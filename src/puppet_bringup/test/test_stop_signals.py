# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What ends a command that runs a graph."""

import signal
import subprocess
import sys

import pytest

DEADLINE_S = 60.0
COMMAND = (
    sys.executable,
    '-c',
    'from puppet_bringup.supervisor import stop_on_signals\n'
    'stopping = stop_on_signals()\nprint("here", flush=True)\n'
    f'print(stopping.wait({DEADLINE_S}))',
)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_lets_it_end_by_itself(number):
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == 'here\n'
        process.send_signal(number)
        assert process.communicate(timeout=DEADLINE_S)[0] == 'True\n'
    assert process.returncode == 0


def test_nohup_is_respected():
    asks = 'import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, flush=True)'
    command = (*COMMAND[:2], COMMAND[2].replace('print("here", flush=True)', asks))
    with subprocess.Popen(
        ['nohup', *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == 'True\n'
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=DEADLINE_S)[0] == 'True\n'
