# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a solver may be given, and what is dropped before it."""

import numpy as np
from puppet_core.math import quaternions
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE, RADIUS
from puppet_retarget.importance.self_interaction import (
    CONTACT_WIDTH,
    DISPLACEMENT,
    FIRST_CONTACT,
    MAX_CONTACTS,
    SAMPLE,
    SELF_DEPTH,
    SELF_IMPORTANCE,
    SELF_PLACE,
    SELF_ROW,
    SHARE,
    WEIGHT,
)
from puppet_retarget.solvers.discontinuity import is_usable
import pytest

LAST_USED = FIRST_CONTACT + (MAX_CONTACTS - 2) * CONTACT_WIDTH
JIT_AND_PY = pytest.mark.parametrize('run', [is_usable, is_usable.py_func], ids=['jit', 'py'])


@pytest.fixture
def given(rng: np.random.Generator) -> list[np.ndarray]:
    """Return a good root, segments, rotations and rows; every other contact is in use."""
    rows = rng.uniform(size=(4, 8))
    self_rows = rng.uniform(size=(8, SELF_ROW))
    contacts = self_rows[:, FIRST_CONTACT:].reshape(8, MAX_CONTACTS, CONTACT_WIDTH)
    contacts[..., SAMPLE] = rng.integers(0, 640, (8, MAX_CONTACTS))
    contacts[0, 0, SAMPLE], contacts[7, -2, SAMPLE] = 0.0, 639.0
    contacts[:, 1::2, SAMPLE] = -1.0
    return [
        rng.normal(size=3),
        rng.normal(size=(16, 3)),
        quaternions.normalize(rng.normal(size=(16, 4))),
        rows,
        self_rows,
    ]


@JIT_AND_PY
def test_ordinary_input_is_usable(run, given: list[np.ndarray]) -> None:
    assert run(*given)


@JIT_AND_PY
@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf, 1e150])
@pytest.mark.parametrize(
    ('which', 'place'),
    [
        (0, (1,)),
        (1, (15, 2)),
        (2, (3, 0)),
        (3, (0, IMPORTANCE)),
        (3, (3, RADIUS)),
        (3, (2, GOAL + 1)),
        (4, (7, SELF_IMPORTANCE)),
        (4, (2, SELF_PLACE)),
        (4, (0, SELF_DEPTH)),
        (4, (7, LAST_USED + SAMPLE)),
        (4, (0, FIRST_CONTACT + WEIGHT)),
        (4, (1, LAST_USED + DISPLACEMENT + 2)),
        (4, (5, FIRST_CONTACT + SHARE)),
    ],
    ids=[
        'root',
        'segment',
        'rotation',
        'importance',
        'radius',
        'goal',
        'self importance',
        'place',
        'depth',
        'sample',
        'weight',
        'displacement',
        'share',
    ],
)
def test_one_bad_number_is_enough(run, given, which: int, place: tuple, bad: float) -> None:
    given[which][place] = bad
    assert not run(*given)


@pytest.mark.parametrize('value', [-0.01, 1.01])
def test_importance_outside_zero_to_one_is_refused(given, value: float) -> None:
    given[3][1, IMPORTANCE] = value
    assert not is_usable(*given)


@JIT_AND_PY
@pytest.mark.parametrize(
    ('column', 'value'),
    [
        (SELF_IMPORTANCE, -0.01),
        (SELF_IMPORTANCE, 1.01),
        (SELF_PLACE, 1.01),
        (SELF_DEPTH, -0.01),
        (FIRST_CONTACT + SAMPLE, 640.0),
        (FIRST_CONTACT + SAMPLE, -2.0),
        (FIRST_CONTACT + SAMPLE, -0.5),
        (FIRST_CONTACT + SAMPLE, 3.5),
        (FIRST_CONTACT + WEIGHT, -0.01),
        (FIRST_CONTACT + SHARE, 1.01),
        (FIRST_CONTACT + SHARE, -0.01),
        (FIRST_CONTACT + DISPLACEMENT, -200.0),
    ],
)
def test_self_interaction_out_of_range_is_refused(run, given, column: int, value: float) -> None:
    """A sample is an index: solvers would read outside of their arrays."""
    given[4][3, column] = value
    assert not run(*given)
