# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The order of tests side by side."""

from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

from puppet_setup.test_order import spread
import pytest

PROGRAMS = Path('/checkout/test')
SHORT = [Path(f'/checkout/src/test_{i}.py') for i in range(40)]
LONG = [PROGRAMS / f'test_{i}.py' for i in range(5)]


def _items(paths: list[Path]) -> list[SimpleNamespace]:
    return [SimpleNamespace(path=path, name=f'test_{k}') for path in paths for k in range(3)]


def test_programs_are_spread_and_files_stay_whole() -> None:
    """Before each file of programs, and after the last one, are several others."""
    items = _items(SHORT + LONG)
    found = spread(items, PROGRAMS)
    assert sorted(map(id, found)) == sorted(map(id, items))
    files = [path for path, _ in groupby(found, key=lambda item: item.path)]
    assert sorted(files) == sorted(SHORT + LONG)
    for path in files:
        own = [item.name for item in found if item.path == path]
        assert own == ['test_0', 'test_1', 'test_2']
    places = [files.index(path) for path in LONG]
    assert places == sorted(places)
    ends = [-1, *places, len(files)]
    assert min(b - a for a, b in zip(ends, ends[1:])) > 4


@pytest.mark.parametrize('paths', [[], SHORT, LONG], ids=['none', 'short', 'long'])
def test_of_one_kind_the_order_stays(paths: list[Path]) -> None:
    items = _items(paths)
    assert spread(items, PROGRAMS) == items
