# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The file of the last posture: what was written is read, what is not whole is refused."""

import os
from pathlib import Path

import numpy as np
from puppet_core.io import InputFileError
from puppet_core.math import quaternions as qb
from puppet_retarget.retarget_model import (
    LastPosture,
    LastPostureFile,
    MAX_AGE_S,
    read_last_posture,
    take_up,
)
import pytest

NAMES = tuple(f'joint_{i}' for i in range(45))
NOW_NS = 5_000_000_000_000


def random_last(rng: np.random.Generator) -> LastPosture:
    """Return a posture."""
    rotations = qb.normalize(rng.normal(size=(16, 4)))
    return LastPosture(rng.normal(size=3), rotations, rng.normal(size=45) * 10.0)


def assert_same(found: LastPosture, expected: LastPosture) -> None:
    """Assert that all numbers are equal."""
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a, b)


def test_the_last_one_written_is_read(tmp_path: Path, rng: np.random.Generator) -> None:
    """While the writer lives, and it need not end well."""
    path = tmp_path / 'new' / 'x.posture'
    kept = LastPostureFile(path, NAMES)
    with pytest.raises(FileNotFoundError, match='no posture yet'):
        read_last_posture(path, NAMES, NOW_NS)
    for k in range(5):
        last = random_last(rng)
        kept.write(NOW_NS + k, *last)
        assert_same(read_last_posture(path, NAMES, NOW_NS + k), last)


def test_a_record_that_is_damaged_leaves_the_one_before(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """Any byte of any record: one of the two is read, or nothing, never a mixture."""
    path = tmp_path / 'x.posture'
    kept = LastPostureFile(path, NAMES)
    first, second = random_last(rng), random_last(rng)
    kept.write(NOW_NS, *first)
    kept.write(NOW_NS, *second)
    whole = path.read_bytes()
    half = 48 + (len(whole) - 48) // 2  # the second one is in the first place
    for at in rng.integers(48, len(whole), 200):
        path.write_bytes(
            whole[:at] + bytes([whole[at] ^ 1 << int(rng.integers(8))]) + whole[at + 1 :]
        )
        assert_same(read_last_posture(path, NAMES, NOW_NS), first if at < half else second)


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        (lambda data: b'', 'a last posture, got something else'),
        (lambda data: b'not one' * 500, 'a last posture, got something else'),
        (lambda data: data[:-8], 'bytes, got'),
        (lambda data: data + b'x', 'bytes, got'),
        (lambda data: data[:48] + b'1' * (len(data) - 48), 'a record with its checksum'),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, rng, change, text: str) -> None:
    path = tmp_path / 'x.posture'
    LastPostureFile(path, NAMES).write(NOW_NS, *random_last(rng))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputFileError, match=text):
        read_last_posture(path, NAMES, NOW_NS)


def test_other_joints_old_ones_and_nonsense_are_refused(tmp_path: Path, rng) -> None:
    path = tmp_path / 'x.posture'
    kept, last = LastPostureFile(path, NAMES), random_last(rng)
    kept.write(NOW_NS, *last)
    with pytest.raises(InputFileError, match='joints of this character, .* got others'):
        read_last_posture(path, NAMES[:-1], NOW_NS)
    for later_s in (MAX_AGE_S + 1.0, -1.0):
        with pytest.raises(InputFileError, match='a posture of the last 24 h'):
            read_last_posture(path, NAMES, NOW_NS + int(later_s * 1e9))
    for name, value in (('root', np.nan), ('rotations', 2.0), ('angles', np.inf)):
        bad = last._replace(**{name: np.full_like(getattr(last, name), value)})
        kept.write(NOW_NS, *bad)
        with pytest.raises(InputFileError, match='finite numbers and unit quaternions'):
            read_last_posture(path, NAMES, NOW_NS)


def test_only_one_node_writes_a_file(tmp_path: Path, rng) -> None:
    """Of two graphs with one folder the second keeps none, and the first one's stays."""
    path, last = tmp_path / 'x.posture', random_last(rng)
    kept = LastPostureFile(path, NAMES)
    kept.write(NOW_NS, *last)
    with pytest.raises(OSError, match='one that another node writes'):
        take_up(path, NAMES, NOW_NS)
    kept.write(NOW_NS, *last)
    kept.close()
    assert_same(take_up(path, NAMES, NOW_NS)[1], last)


@pytest.mark.parametrize('kind', ['pipe', 'folder'])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / 'x.posture'
    os.mkfifo(path) if kind == 'pipe' else path.mkdir()
    with pytest.raises(InputFileError, match=f'got a .*{kind}'):
        read_last_posture(path, NAMES, NOW_NS)
