# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What rests on objects: in range, and by the names of the objects."""

import numpy as np
from puppet_retarget.importance.rests import (
    are_rests,
    MAX_RESTS,
    no_rests,
    REST_OBJECT,
    rests_of_objects,
)
import pytest

NAMES = 'floor', 'stool', 'wall', 'table'


@pytest.fixture
def make_rests(rng):
    """Return a maker of random rests, each on one of NAMES."""

    def make(n):
        rests = no_rests()
        objects, segments = rng.integers(0, len(NAMES), n), rng.integers(0, 16, n)
        rests[:n] = np.transpose([objects, segments, rng.random(n), rng.normal(size=n)])
        return rests

    return make


@pytest.mark.parametrize('run', [are_rests, are_rests.py_func], ids=['jit', 'py'])
def test_numbers_out_of_range_are_no_rests(run, make_rests, rng):
    """Whichever it is; what stands behind those in use does not matter."""
    for n in (0, 1, 7, MAX_RESTS):
        rests = make_rests(n)
        rests[n + 1 :] = np.nan
        assert run(rests, len(NAMES))
        for bad in (np.nan, np.inf, -np.inf, 1e9, -1e9):
            place = int(rng.integers(0, n)) if n else 0, int(rng.integers(0, 4))
            other = rests.copy()
            other[place] = bad
            assert not run(other, len(NAMES)) or n == 0 and place[1] != REST_OBJECT


def test_rests_are_on_the_objects_of_their_names(make_rests, rng):
    """In any order of objects; those on objects that are not there are left out."""
    for _ in range(20):
        rests = make_rests(int(rng.integers(0, MAX_RESTS + 1)))
        others = tuple(rng.permutation(NAMES)[: rng.integers(0, 5)])
        found = rests_of_objects(rests, NAMES, others)
        assert are_rests(found, len(others))

        def named(rests, names):
            used = rests[rests[:, REST_OBJECT] >= 0.0]
            return [(names[int(row[REST_OBJECT])], *row[1:]) for row in used]

        kept = [row for row in named(rests, NAMES) if row[0] in others]
        assert named(found, others) == kept
