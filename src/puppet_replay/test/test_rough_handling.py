# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a hurried hand does: closed terminals, full disks, outputs over inputs, stops in a gap."""

import os
from pathlib import Path
import resource
import shutil
import signal
import subprocess
import sys
import threading

from bag_samples import recorded
from puppet_core.io import InputFileError
from puppet_replay import replay
from puppet_replay.golden_bags import changes, keep_topics
from puppet_replay.play import PlayNode
from puppet_ros.bags import BagReader, BagWriter
from puppet_ros.process import free_domain
from puppet_ros.testing import DEADLINE_S, isolated_context
import pytest

RECORD = (sys.executable, '-m', 'puppet_replay.record')
FEW_BYTES = 500  # less than an empty bag has
HOUR_NS = 3600 * 10**9


@pytest.fixture
def walk(tmp_path):
    return recorded(tmp_path / 'walk.mcap', 0.5)


@pytest.fixture
def environment():
    return {**os.environ, 'ROS_DOMAIN_ID': str(free_domain())}


@pytest.mark.ros
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_recording_that_is_ended_is_whole(tmp_path, environment, number):
    """Also by a terminal that was closed; its folder need not be there."""
    path = tmp_path / 'later' / 'bag'
    with subprocess.Popen(
        [*RECORD, str(path)], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert 'Ctrl-C ends' in process.stdout.readline()
        process.send_signal(number)
        assert process.wait(DEADLINE_S) == (130 if number == signal.SIGINT else 0)
    with BagReader(path) as reader:
        assert reader.warnings == []


@pytest.mark.ros
def test_a_full_disk_is_named_with_the_file(tmp_path, environment):
    """A folder beside a recording is not in its way."""
    (tmp_path / 'x').mkdir()
    words = [*RECORD, str(tmp_path / 'a.mcap'), '--duration', '0.1']
    options = {'env': environment, 'capture_output': True, 'text': True, 'timeout': DEADLINE_S}
    assert subprocess.run(words, **options).returncode == 0
    (tmp_path / 'a.mcap').unlink()

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (FEW_BYTES, FEW_BYTES))

    done = subprocess.run(words, preexec_fn=fill, **options)
    assert done.returncode == 1 and 'Traceback' not in done.stderr
    assert f'{tmp_path / "a.mcap"}: File too large; the messages written' in done.stderr


def test_a_replay_never_writes_into_its_bag(walk, tmp_path, capsys):
    """Not over a file in the folder, nor beside it."""
    folder = tmp_path / 'bag'
    folder.mkdir()
    inside = Path(shutil.copy(walk, folder / 'bag_0.mcap'))
    before = inside.read_bytes()
    for name in ('bag_0.mcap', 'bag_1.mcap'):
        assert replay.main([str(folder), str(folder / name)]) == 2
        assert 'output: expected a path other than the bag' in capsys.readouterr().err
    assert inside.read_bytes() == before and len(list(folder.iterdir())) == 1


@pytest.mark.ros
def test_a_player_stops_in_a_gap(walk, tmp_path):
    """An hour without messages is told, and does not keep it from ending."""
    with BagReader(walk) as reader, BagWriter(tmp_path / 'gap.mcap') as writer:
        for i, message in enumerate(reader.messages(['/tracker/raw'])):
            writer.write(*message._replace(log_ns=message.log_ns + (i >= 3) * HOUR_NS))
    told = []
    stopping = threading.Event()

    def tell(line):
        told.append(line)
        stopping.set()

    with isolated_context() as context, BagReader(tmp_path / 'gap.mcap') as reader:
        node = PlayNode(reader, '', False, tell, context=context)
        thread = threading.Thread(target=node.play, args=(1.0, stopping.is_set), daemon=True)
        thread.start()
        thread.join(DEADLINE_S)
        assert not thread.is_alive()
        assert told == ['nothing in the bag for 3600 s: waits 3600 s']
        assert node.flow.counts['/tracker/raw'] == 3


@pytest.mark.ros
@pytest.mark.parametrize(
    ('definition', 'type_hash', 'is_told'),
    [
        ('string data\nint32 more\n', '', True),
        ('string data\n', 'RIHS01_00', True),
        (None, None, False),
    ],
)
def test_other_versions_beside_the_input_are_reported(
    walk, tmp_path, definition, type_hash, is_told
):
    """They are played as they are; those of the input are refused."""
    kind = 'std_msgs/msg/String'
    with BagReader(walk) as reader, BagWriter(tmp_path / 'a.mcap') as writer:
        writer.add_topic('/lab', kind, definition=definition, type_hash=type_hash)
        for message in reader.messages():
            writer.write(*message)
        writer.write('/lab', kind, reader.end_ns, bytes(12))
    told = []
    with isolated_context() as context, BagReader(tmp_path / 'a.mcap') as reader:
        PlayNode(reader, '', False, told.append, context=context)
    start = '/lab is played as it was recorded'
    assert [line.startswith(start) for line in told] == [True] * is_told


@pytest.mark.parametrize('topics', [(), ('/joint_state',), ('/tracker/raw', '/x')])
def test_goldens_of_nothing_are_refused(walk, tmp_path, topics):
    """A misspelt topic would be compared with nothing, and always be as before."""
    with pytest.raises(InputFileError, match='expected messages on .*there are /t'):
        keep_topics(walk, tmp_path / 'kept.mcap', topics)
    assert not (tmp_path / 'kept.mcap').exists()


def test_a_damaged_golden_can_be_updated(walk, tmp_path):
    """It counts as none; a damaged result does not."""
    golden = tmp_path / 'golden.mcap'
    assert changes(golden, walk) is None
    golden.write_bytes(b'damaged')
    assert changes(golden, walk) is None
    with pytest.raises(InputFileError, match=r'golden\.mcap'):
        changes(walk, golden)
