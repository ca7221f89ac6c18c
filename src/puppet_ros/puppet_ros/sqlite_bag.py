# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A file of rosbag2's sqlite3 storage, read in the order of log times (no ROS)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
import sqlite3
from typing import Any, NamedTuple

from puppet_core.errors import InputFileError
from puppet_core.io.files import require_file

MAGIC = b'SQLite format 3\0'
# What makes SQLite take in what its writer left beside the file, by the ending of that.
COMPLETING = {'-wal': 'PRAGMA wal_checkpoint(TRUNCATE)', '-journal': 'SELECT * FROM sqlite_master'}


class SqliteTopic(NamedTuple):
    """A row of the table of topics."""

    number: int
    name: str
    type: str  # noqa: A003
    qos: str
    type_hash: str


class SqliteBag:
    """
    A .db3 file that is open for reading.

    Parameters
    ----------
    path : Path
        The file.
    name : Path, optional
        What errors call it, if this is an unpacked copy.

    Raises
    ------
    InputFileError : if it cannot be read, now or later.

    """

    def __init__(self, path: Path, name: Path | None = None) -> None:
        self.path = path if name is None else name
        self.topics: list[SqliteTopic] = []
        self.definitions: dict[str, str] = {}
        self.counts: dict[int, int] = {}
        self.warnings: list[str] = []
        try:
            require_file(path)
            with open(path, 'rb') as stream:
                head = stream.read(len(MAGIC))
        except OSError as err:
            raise InputFileError(path, 'a readable file', err.strerror or str(err)) from err
        if head != MAGIC:
            got = 'an empty file' if not head else 'other bytes'
            raise InputFileError(self.path, 'an SQLite file', got)
        _require_closed(path, self.path)
        # Immutable: nothing is written beside it, no journal of a dead writer is played.
        uri = f'{path.resolve().as_uri()}?mode=ro&immutable=1'
        self._database = sqlite3.connect(uri, uri=True)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def span(self) -> tuple[int, int]:
        """Return the least and the greatest log time [ns]; zeros without messages."""
        rows = self._rows('SELECT min(timestamp), max(timestamp) FROM messages')
        start_ns, end_ns = next(iter(rows))
        return start_ns or 0, end_ns or 0

    def messages(self, numbers: Sequence[int]) -> Iterator[tuple[int, int, int, bytes]]:
        """Yield log time, place, number of the topic and data of messages of some topics."""
        marks = ', '.join('?' * len(numbers))
        query = (
            'SELECT timestamp, id, topic_id, data FROM messages '
            f'WHERE topic_id IN ({marks}) ORDER BY timestamp, id'
        )
        for log_ns, place, topic, data in self._rows(query, numbers):
            if not isinstance(data, bytes) or not isinstance(log_ns, int):
                got = f'{data!r:.20} at {log_ns!r:.20}'
                raise InputFileError(self.path, 'messages as bytes with log times', got)
            yield log_ns, place, topic, data

    def _open(self) -> None:
        kinds = dict(self._rows('SELECT name, type FROM sqlite_master'))
        for name in ('topics', 'messages'):
            if kinds.get(name) != 'table':  # a view may compute for ever
                got = f'a {kinds[name]}' if name in kinds else 'none'
                raise InputFileError(self.path, f"rosbag2's table of {name}", got)
        columns = {row[1] for row in self._rows('PRAGMA table_info(topics)')}
        wanted = ('offered_qos_profiles', 'type_description_hash')  # of later versions
        extra = ', '.join(name if name in columns else "''" for name in wanted)
        self.topics = [
            SqliteTopic(number, str(name), str(kind), str(qos or ''), str(type_hash or ''))
            for number, name, kind, qos, type_hash
            in self._rows(f'SELECT id, name, type, {extra} FROM topics ORDER BY id')
        ]
        if kinds.get('message_definitions') == 'table':
            query = 'SELECT topic_type, encoding, encoded_message_definition ' \
                    'FROM message_definitions'
            for kind, encoding, text in self._rows(query):
                if encoding == 'ros2msg':
                    self.definitions[str(kind)] = str(text)
        query = 'SELECT topic_id, count(*) FROM messages GROUP BY topic_id'
        self.counts = dict(self._rows(query))
        unknown = self.counts.keys() - {topic.number for topic in self.topics}
        if unknown:
            count = sum(self.counts.pop(number) for number in unknown)
            self.warnings.append(f'{count} messages of unknown topics are left out')

    def _rows(self, query: str, values: Sequence[int] = ()) -> Iterator[Any]:
        try:
            yield from self._database.execute(query, list(values))
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as err:
            raise InputFileError(self.path, "rosbag2's tables, undamaged", str(err)) from err


def _require_closed(path: Path, name: Path) -> None:
    """Refuse a file that lacks what its writer left in a journal beside it."""
    for ending in COMPLETING:
        journal = path.with_name(path.name + ending)
        if journal.exists() and journal.stat().st_size:
            raise InputFileError(
                name, 'a recording that was ended', f'messages in {journal.name} as well',
                hint=f'complete it: sqlite3 {path.name} "{COMPLETING[ending]}"',
            )  # fmt: skip
