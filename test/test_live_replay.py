# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A bag played to the real graph, fast, and recorded, against its deterministic replay.

Its performer carries a box: sensors on the box and on the table are on their way, too.
"""

from collections.abc import Iterator
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from ament_index_python.packages import get_package_prefix  # noqa: E402,I100
import numpy as np  # noqa: E402
from puppet_core.math import quaternions  # noqa: E402
from puppet_core.procedural.carry import BOX_SIZE_M  # noqa: E402
from puppet_driver.emulator import cli as emulator  # noqa: E402
from puppet_replay.pipeline import read_settings  # noqa: E402
from puppet_replay.replay import replay  # noqa: E402
from puppet_ros.bags import BagReader, class_of  # noqa: E402
from puppet_ros.messages import posture_msg  # noqa: E402
from puppet_ros.messages.raw_header import stamp_ns  # noqa: E402
from puppet_ros.process import free_domain  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DEADLINE_S = 300.0
TAIL_S = 10.0  # after which a recorder that has not written the last frame did not hear it
TAIL = 20  # frames at the end that it may not hear, and cannot count: what nodes keep
ROUNDING = 1e-9  # the same code on the same machine
TOPICS = (
    '/tracker/filtered',
    '/performer/posture',
    '/importance',
    '/joint_states',
    '/puppet/posture',
    '/retarget/status',
)
SETTINGS = {'layout': 'carry', 'environment': 'carry', 'character': 'sally'}
BY_THE_CLOCK = ('solve_time_us',)


@pytest.fixture
def environ():
    """Return the environment of processes that only hear each other."""
    try:
        get_package_prefix('puppet_replay')
    except LookupError:
        pytest.skip('puppet_replay is not installed')
    return dict(
        os.environ,
        ROS_DOMAIN_ID=str(free_domain()),
        PYTHONUNBUFFERED='1',
        ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST',
    )


def start(module: str, *words: str, environ: dict[str, str]) -> subprocess.Popen[str]:
    """Start a program of the suite."""
    return subprocess.Popen(
        [sys.executable, '-m', module, *words],
        env=environ,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def lines_until(process: subprocess.Popen[str], word: str) -> Iterator[str]:
    """Yield the lines of a process up to one with a word in it; it is ended after a while."""
    assert process.stdout is not None
    end = threading.Timer(DEADLINE_S, process.kill)
    end.start()
    try:
        for line in process.stdout:
            yield line
            if word in line:
                return
    finally:
        end.cancel()


def numbers_of(msg: Any) -> dict[str, Any]:
    """Return the fields of a message that do not depend on the wall clock."""
    return {
        name: getattr(msg, name)
        for name in msg.get_fields_and_field_types()
        if name not in BY_THE_CLOCK
    }


def require_equal(live: Any, told: Any) -> None:
    """Compare two messages field by field, within rounding."""
    for (name, one), other in zip(numbers_of(live).items(), numbers_of(told).values()):
        if (
            hasattr(one, '__len__')
            and not isinstance(one, str)
            and len(one)
            and not isinstance(one[0], str)
        ):
            np.testing.assert_allclose(one, other, rtol=0.0, atol=ROUNDING, err_msg=name)
        else:
            assert one == other or one != one, name


def not_heard(said: str, topic: str) -> tuple[int, int]:
    """Return how many messages the recorder says it came too late for, and lost afterwards."""
    words = next(line for line in said.splitlines() if f'  {topic}' in line)
    counts = [re.search(rf'(\d+) {what}', words) for what in ('published before', 'lost')]
    before, lost = (int(count[1]) if count else 0 for count in counts)
    return before, lost


def frames_of(path: Path, topic: str) -> dict[int, bytes]:
    """Return the messages of a topic by their stamps."""
    with BagReader(path) as reader:
        return {stamp_ns(message.data): message.data for message in reader.messages([topic])}


def until_recorded(path: Path, last_ns: int) -> None:
    """Wait until a bag that still grows has the last frame on every topic, but not for ever."""
    deadline_s = time.monotonic() + TAIL_S
    while time.monotonic() < deadline_s:
        if all(last_ns in frames_of(path, topic) for topic in TOPICS):
            return


def palms_off_the_box(data: bytes) -> float:
    """Return how far Sally's palms are from the sides of her box, the greater one [m]."""
    posture = posture_msg.posture_of(data).posture
    names, positions, orientations = posture.props
    row = names.index('box')
    palms = posture.end_effectors[:2] - positions[row]
    palms = quaternions.rotate(quaternions.conjugate(orientations[row]), palms)
    return float(np.max(np.abs(np.abs(palms[:, 1]) - 0.5 * BOX_SIZE_M[1])))


def test_live_replay_loses_nothing_and_equals_the_deterministic_one(tmp_path, environ):
    """Issue: equal within float rounding, no frame lost at rate 5."""
    bag, live, told = (tmp_path / f'{name}.mcap' for name in ('in', 'live', 'told'))
    words = ['--script', 'carry', '--export', str(bag), '--rate-hz', '60', '--export-s', '12']
    assert emulator.main([*words, '--drop-out', '0.01']) == 0
    record = start('puppet_replay.record', str(live), environ=environ)
    words = ['replay', '--bag', str(bag), '--rate', '5']
    words += [f'{name}:={value}' for name, value in SETTINGS.items()]
    graph = start('puppet_bringup.up', *words, environ=environ)
    try:
        said = ''.join(lines_until(graph, 'finished:'))
        assert 'finished: 720 frames' in said, said
        until_recorded(live, max(frames_of(bag, '/tracker/raw')))
        graph.wait(DEADLINE_S)  # the bag is played
    finally:
        for process in (graph, record):
            process.send_signal(signal.SIGINT)
        ends = [process.communicate(timeout=DEADLINE_S)[0] for process in (graph, record)]
    assert (graph.returncode, record.returncode) == (0, 130), ends
    report = replay(bag, told, read_settings(short=SETTINGS))
    assert not any(warning.startswith('importance: ') for warning in report.warnings)
    with BagReader(told) as reader:
        kinds = dict(reader.topics)
    for topic in TOPICS:
        alive, expected = frames_of(live, topic), frames_of(told, topic)
        # what a starved recorder did not hear it counts; all else came out of the nodes
        before, lost = not_heard(ends[1], topic)
        missing = sorted(set(expected) - set(alive))
        tail = sum(stamp > max(alive) for stamp in missing)
        assert set(alive) <= set(expected) and tail <= TAIL, (topic, ends[1])
        assert len(missing) == before + lost + tail, (
            topic,
            [sorted(expected).index(stamp) for stamp in missing],
            tail,
            ends,
        )
        assert missing[:before] == sorted(expected)[:before], topic
        kind = class_of(kinds[topic])
        for stamp, data in alive.items():
            require_equal(
                deserialize_message(data, kind), deserialize_message(expected[stamp], kind)
            )
    carried = frames_of(told, '/puppet/posture')
    assert max(map(palms_off_the_box, [carried[stamp] for stamp in sorted(carried)[-60:]])) < 0.01
