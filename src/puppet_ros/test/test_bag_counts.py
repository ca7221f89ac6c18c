# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a bag says of its messages is held against what is read of it."""

from pathlib import Path
import shutil
import sqlite3

from puppet_core.io import InputFileError
from puppet_ros.bags import BagReader, BagWriter
import pytest
from rosbags.rosbag2 import CompressionMode, StoragePlugin
from test_bags import MESSAGES, write_with_rosbags

pytestmark = pytest.mark.ros

TEXT = bytes([0, 1, 0, 0, 2, 0, 0, 0, 97, 0])
TOLD = '5 of 7 messages on /x'


def written(path: Path) -> Path:
    with BagWriter(path) as writer:
        for i in range(5):
            writer.write('/x', 'std_msgs/msg/String', i, TEXT)
    return path


def changed(folder: Path, old: str, new: str) -> Path:
    path = written(folder) / 'metadata.yaml'
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return folder


def sqlite_bag(folder: Path, *commands: str) -> Path:
    write_with_rosbags(folder, StoragePlugin.SQLITE3, CompressionMode.NONE)
    path = next(folder.glob('*.db3'))
    with sqlite3.connect(path) as database:
        for command in commands:
            database.execute(command)
    database.close()
    return path


def test_messages_that_the_metadata_counts_and_no_file_has_are_told(tmp_path: Path) -> None:
    with BagReader(changed(tmp_path / 'bag', 'message_count: 5', 'message_count: 7')) as reader:
        assert [TOLD in line for line in reader.warnings] == [True]
        assert len(list(reader.messages())) == 5


def test_a_file_that_the_metadata_names_twice_is_refused(tmp_path: Path) -> None:
    line = '  - bag_0.mcap\n'
    bag = changed(tmp_path / 'bag', line, line + line)
    with (
        pytest.raises(InputFileError, match='each file once, got bag_0.mcap twice'),
        BagReader(bag),
    ):
        pass


def test_a_file_that_was_cut_lacks_what_the_metadata_counts(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'bag', growing=True) as writer:
        for message in MESSAGES[:30]:
            writer.write(*message)
        writer.flush()
        kept = (tmp_path / 'bag' / 'bag_0.mcap').stat().st_size
        for message in MESSAGES[30:]:
            writer.write(*message)
    path = tmp_path / 'bag' / 'bag_0.mcap'
    path.write_bytes(path.read_bytes()[:kept])
    with BagReader(tmp_path / 'bag') as reader:
        assert any('29 of 39 messages on /frames' in line for line in reader.warnings)
        assert any('1 of 2 messages on /text' in line for line in reader.warnings)
        assert list(reader.messages()) == MESSAGES[:30]


def test_sqlite_messages_of_unknown_topics_are_counted(tmp_path: Path) -> None:
    path = sqlite_bag(
        tmp_path / 'bag',
        'UPDATE messages SET topic_id = 77 WHERE id <= 3',
        'UPDATE messages SET topic_id = 78 WHERE id = 4',
    )
    with BagReader(path) as reader:
        assert reader.warnings == [f'{path}: 4 messages of unknown topics are left out']
        assert len(list(reader.messages())) == len(MESSAGES) - 4


@pytest.mark.parametrize('name', ['messages', 'topics'])
def test_an_sqlite_view_is_no_table(tmp_path: Path, name: str) -> None:
    path = sqlite_bag(
        tmp_path / 'bag',
        f'DROP TABLE {name}',
        f"""
        CREATE VIEW {name} AS WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM r)
        SELECT id, 1 AS topic_id, id AS timestamp, x'00' AS data FROM r
    """,
    )
    with pytest.raises(InputFileError, match="rosbag2's tables"), BagReader(path):
        pass


def test_a_journal_of_a_change_is_taken_in_as_its_hint_says(tmp_path: Path) -> None:
    """A writer that was killed while it changed the file left it half changed."""
    path = sqlite_bag(tmp_path / 'bag')
    database = sqlite3.connect(path, isolation_level=None)
    database.execute('PRAGMA cache_size = 1')
    database.execute('PRAGMA cache_spill = 1')
    database.execute('BEGIN EXCLUSIVE')
    database.execute(
        'CREATE TABLE more AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL '
        'SELECT i + 1 FROM r WHERE i < 999) SELECT hex(zeroblob(500)) FROM r'
    )
    killed = tmp_path / 'killed.db3'
    shutil.copy(path, killed)
    shutil.copy(f'{path}-journal', f'{killed}-journal')
    database.execute('ROLLBACK')
    database.close()
    with (
        pytest.raises(InputFileError, match=r'complete it: sqlite3 killed\.db3 "(.*)"') as told,
        BagReader(killed),
    ):
        pass
    command = str(told.value).split('"')[1]
    assert 'wal' not in command
    database = sqlite3.connect(killed)
    database.execute(command).fetchall()
    database.close()
    with BagReader(killed) as reader:
        assert list(reader.messages()) == MESSAGES
