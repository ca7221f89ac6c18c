# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Programs as they are started: their environment, and silence when Ctrl-C meets an import."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
from xml.etree import ElementTree

import psutil
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_bringup.process_table import child_environment  # noqa: E402
from puppet_bringup.supervisor import describe_end, Supervisor  # noqa: E402
from puppet_core.io import ConfigError  # noqa: E402
from puppet_ros import process, program_start  # noqa: E402
from puppet_ros.process import (  # noqa: E402
    CHOICES,
    DOMAIN_GAIN,
    FIRST_UNICAST,
    free_domain,
    PARTICIPANT_GAIN,
    PORT_BASE,
    RANGE,
)

TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
PROFILES = 'FASTDDS_DEFAULT_PROFILES_FILE'
OLD_PROFILES = 'FASTRTPS_DEFAULT_PROFILES_FILE'
ONLY_HERE, PEERS, MIDDLEWARE = 'ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS', 'RMW_IMPLEMENTATION'
DEADLINE_S = 60.0
TALKER = (
    '-c',
    'import rclpy; from std_msgs.msg import String; rclpy.init(); '
    "node = rclpy.create_node('talker'); node.create_publisher(String, 'talk', 1); "
    "print('ready', flush=True); input()",
)


def test_children_compute_in_one_thread_and_share_no_memory():
    """Unless the caller says otherwise."""
    environ = child_environment({'HOME': '/home/x', 'OMP_NUM_THREADS': '2'}, ROS_DOMAIN_ID='7')
    assert environ[TRANSPORTS] == 'UDPv4' and RANGE not in environ
    assert environ['NUMBA_NUM_THREADS'] == '1' and environ['OMP_NUM_THREADS'] == '2'
    assert environ['HOME'] == '/home/x' and environ['ROS_DOMAIN_ID'] == '7'


@pytest.mark.parametrize('given', [{}, {RANGE: 'LOCALHOST'}])
def test_children_are_found_soon(given):
    """Their profile is installed, and announces them five times a second."""
    environ = child_environment(given)
    assert environ[PROFILES] == environ[OLD_PROFILES]
    root = ElementTree.fromstring(Path(environ[PROFILES]).read_text())
    names = {'d': 'http://www.eprosima.com'}
    (period,) = root.findall('.//d:leaseAnnouncement/d:nanosec', names)
    assert int(period.text or 0) <= 200_000_000


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        (TRANSPORTS, 'DEFAULT'),
        (TRANSPORTS, ''),
        (PROFILES, '/etc/dds.xml'),
        (OLD_PROFILES, '/etc/dds.xml'),
        ('ROS_DISCOVERY_SERVER', '10.0.0.2:11811'),
    ],
)
def test_who_has_chosen_how_to_send_is_not_overruled(name, value):
    environ = child_environment({name: value, RANGE: 'LOCALHOST'})
    assert environ[name] == value and environ[RANGE] == 'LOCALHOST'
    assert set(CHOICES) & environ.keys() == {name}


@pytest.mark.parametrize('other', ['rmw_cyclonedds_cpp', 'rmw_connextdds'])
def test_another_middleware_is_kept_to_this_machine_by_the_range(other):
    """It does not read the profile."""
    environ = child_environment({RANGE: 'LOCALHOST', MIDDLEWARE: other})
    assert environ[RANGE] == 'LOCALHOST' and not set(CHOICES) & environ.keys()


@pytest.mark.parametrize(
    ('given', 'profile'),
    [
        ({RANGE: 'LOCALHOST'}, 'loopback'),
        ({RANGE: 'LOCALHOST', PEERS: ''}, 'loopback'),
        ({ONLY_HERE: '1', PEERS: '10.0.0.2'}, 'loopback'),
        ({ONLY_HERE: '1'}, 'loopback'),
        ({RANGE: 'localhost'}, 'loopback'),  # rcl takes an unknown word for LOCALHOST
        ({RANGE: 'LOCALHOST', PEERS: '10.0.0.2'}, 'subnet'),
        ({RANGE: 'SUBNET'}, 'subnet'),
        ({RANGE: ''}, 'subnet'),
        ({ONLY_HERE: '0'}, 'subnet'),
        ({}, 'subnet'),
    ],
)
def test_the_range_of_discovery_chooses_the_profile(given, profile):
    environ = child_environment(given)
    assert Path(environ[PROFILES]).stem == profile
    if profile == 'subnet':
        assert environ.get(RANGE) == given.get(RANGE) and environ[TRANSPORTS] == 'UDPv4'
    else:  # what rmw_fastrtps would add shared memory for
        assert environ[RANGE] == 'SYSTEM_DEFAULT' and environ.get(ONLY_HERE, '0') == '0'


def test_a_profile_that_is_missing_is_reported(monkeypatch):
    """Without it whoever is to keep to this machine would not."""
    monkeypatch.setattr(process, 'LOOPBACK', Path('fastdds') / 'none.xml')
    with pytest.raises(ConfigError, match='none.xml: expected a profile'):
        child_environment({RANGE: 'LOCALHOST'})


@pytest.mark.ros
@pytest.mark.parametrize('chooses_itself', [False, True], ids=['child', 'recorder'])
def test_who_keeps_to_this_machine_has_no_shared_memory_and_no_other_address(
    chooses_itself, tmp_path
):
    """As the real middleware does it: rmw_fastrtps adds shared memory to the range LOCALHOST."""
    domain = free_domain()
    given = {'ROS_DOMAIN_ID': str(domain), RANGE: 'LOCALHOST'}
    if chooses_itself:
        words = ('-m', 'puppet_replay.record', str(tmp_path / 'a.mcap'))
        environ = {**_unchosen(), **given, 'PYTHONUNBUFFERED': '1'}
    else:
        words, environ = TALKER, child_environment(_unchosen(), **given)
    with subprocess.Popen(
        [sys.executable, *words],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as talker:
        killer = threading.Timer(DEADLINE_S, talker.kill)
        killer.start()
        try:
            assert talker.stdout.readline().startswith(('ready', 'puppet record: '))
            process = psutil.Process(talker.pid)
            addresses = {s.laddr.ip for s in _sockets(process) if s.laddr.port in _ports(domain)}
            assert addresses == {'127.0.0.1'}
            assert not [m.path for m in process.memory_maps() if '/fastrtps_' in m.path]
        finally:
            killer.cancel()
            talker.kill()


def _unchosen():
    chosen = {*CHOICES, ONLY_HERE, PEERS, MIDDLEWARE}
    return {name: value for name, value in os.environ.items() if name not in chosen}


def _sockets(process):
    """Return the sockets for UDP; psutil has renamed the function."""
    name = 'net_connections' if hasattr(process, 'net_connections') else 'connections'
    return getattr(process, name)('udp')


def _ports(domain):
    first = PORT_BASE + DOMAIN_GAIN * domain
    return range(first, first + FIRST_UNICAST + 32 * PARTICIPANT_GAIN)


INLINE = 'print("here", flush=True); signal.pause()'
SLEEP = f'{INLINE}\n'
RAISE = 'signal.raise_signal(signal.SIGINT)'
MAIN = 'def main():\n    return 0\n'


def _install(folder, text, group='puppet_commands'):
    info = folder / 'puppet_late-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: puppet_late\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text(f'[{group}]\nlate = late_module:main\n')
    (folder / 'late_module.py').write_text(f'import signal, sys\n{text}')
    program = folder / 'lib' / 'puppet_late' / 'late'
    program.parent.mkdir(parents=True)
    program.touch()
    return program


def _start(program, *words, before=None, is_blocked=False):
    def leave():
        # of a test run in the background a shell has it ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
        if is_blocked:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            os.kill(os.getpid(), signal.SIGINT)

    return subprocess.Popen(
        [sys.executable, program_start.__file__, str(program), *words],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=leave,
        env={**os.environ, 'PYTHONPATH': str(program.parents[2])},
    )


def _interrupted(process):
    with process:
        assert process.stdout.readline() == 'here\n'
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=DEADLINE_S)
    return process.returncode, said, complaints


@pytest.mark.parametrize(
    ('group', 'code'), [('puppet_graph', 0), ('puppet_commands', -2), ('console_scripts', -2)]
)
def test_ctrl_c_while_modules_are_imported_ends_it_without_a_word(tmp_path, group, code):
    program = _install(tmp_path, SLEEP + MAIN, group)
    assert _interrupted(_start(program)) == (code, '', '')


def test_a_program_of_the_graph_takes_no_ctrl_c_once_it_has_ended(tmp_path):
    text = f'import atexit\natexit.register(lambda: {RAISE})\n' + MAIN
    with _start(_install(tmp_path, text, 'puppet_graph')) as process:
        assert process.communicate(timeout=DEADLINE_S) == ('', '')
    assert process.returncode == 0


def test_ctrl_c_that_was_to_wait_ends_it_before_any_import(tmp_path):
    with _start(_install(tmp_path, SLEEP + MAIN), is_blocked=True) as process:
        assert process.communicate(timeout=DEADLINE_S) == ('', '')
    assert process.returncode == -signal.SIGINT


def test_a_running_program_gets_pythons_interrupt(tmp_path):
    text = (
        f'def main():\n    try:\n        {INLINE}\n'
        '    except KeyboardInterrupt:\n        print("interrupted")\n        return 5\n'
    )
    program = _install(tmp_path, text)
    assert _interrupted(_start(program)) == (5, 'interrupted\n', '')


def test_an_interrupt_that_a_program_does_not_expect_ends_it_without_a_word(tmp_path):
    program = _install(tmp_path, f'def main():\n    {INLINE}\n')
    assert _interrupted(_start(program)) == (-signal.SIGINT, '', '')


def test_other_errors_are_shown_as_ever(tmp_path):
    with _start(_install(tmp_path, 'def main():\n    raise ValueError("wrong")\n')) as process:
        _, complaints = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1 and complaints.endswith('ValueError: wrong\n')


@pytest.mark.parametrize('is_blocked', [False, True], ids=['open', 'blocked'])
def test_who_ignores_ctrl_c_goes_on_to(tmp_path, is_blocked):
    """As in the background of a script."""
    text = 'def main():\n    print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)\n'
    started = _start(_install(tmp_path, text), before=signal.SIG_IGN, is_blocked=is_blocked)
    with started as process:
        assert process.communicate(timeout=DEADLINE_S) == ('True\n', '')
    assert process.returncode == 0


def test_a_program_sees_its_own_name_arguments_and_folder(tmp_path):
    program = _install(tmp_path, 'def main():\n    print(*sys.argv, sys.path[0])\n    return 3\n')
    with _start(program, 'a', '--b') as process:
        said, _ = process.communicate(timeout=DEADLINE_S)
    assert said.split() == [str(program), 'a', '--b', str(program.parent)]
    assert process.returncode == 3


def test_a_child_that_is_stopped_early_says_nothing(tmp_path):
    """Of a graph that is ended while its nodes load."""
    program = _install(tmp_path, SLEEP + MAIN)
    heard = []
    environ = {**os.environ, 'PYTHONPATH': str(tmp_path)}
    with Supervisor(lambda _, line: heard.append(line), environ) as group:
        child = group.start('late', [str(program)])
    assert describe_end(child) == 'was ended by SIGINT'
    assert heard in ([], ['here'])
