# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One set-up at a time, whatever happens to a process."""

from pathlib import Path
import signal
import subprocess
import sys

from puppet_setup.lock import exclusive

TOOLS = Path(__file__).resolve().parents[1]
HOLDER = f"""
import sys
sys.path.insert(0, {str(TOOLS)!r})
from pathlib import Path
from puppet_setup.lock import exclusive
with exclusive(Path(sys.argv[1])):
    print('held', flush=True)
    sys.stdin.readline()
"""


def start_holder(path: Path) -> subprocess.Popen[str]:
    """Start a process that takes the lock and holds it until it is told to end."""
    return subprocess.Popen([sys.executable, '-c', HOLDER, str(path)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_second_waits_for_the_first_and_says_so(tmp_path: Path) -> None:
    """Then it goes on."""
    path = tmp_path / 'lock'
    with exclusive(path):
        second = start_holder(path)
        assert 'waiting' in second.stderr.readline()
    assert second.stdout.readline() == 'held\n'
    second.communicate('\n')
    assert second.returncode == 0


def test_lock_ends_with_a_killed_process(tmp_path: Path) -> None:
    """Nobody has to clean up."""
    first = start_holder(tmp_path / 'lock')
    assert first.stdout.readline() == 'held\n'
    first.send_signal(signal.SIGKILL)
    first.communicate()
    with exclusive(tmp_path / 'lock'):
        pass
