# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a solver may be given, and what is dropped before it (SPEC 6)."""

import numpy as np
from puppet_core import quaternion_batch
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE, RADIUS
from puppet_retarget.solvers.input_check import is_usable
import pytest

JIT_AND_PY = pytest.mark.parametrize('run', [is_usable, is_usable.py_func], ids=['jit', 'py'])


@pytest.fixture
def given(rng: np.random.Generator) -> list[np.ndarray]:
    """Return a good root, segments, rotations and rows."""
    rows = rng.uniform(size=(4, 8))
    return [
        rng.normal(size=3), rng.normal(size=(16, 3)),
        quaternion_batch.normalize(rng.normal(size=(16, 4))), rows,
    ]  # fmt: skip


@JIT_AND_PY
def test_ordinary_input_is_usable(run, given: list[np.ndarray]) -> None:
    assert run(*given)


@JIT_AND_PY
@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf, 1e150])
@pytest.mark.parametrize(
    ('which', 'place'),
    [(0, (1,)), (1, (15, 2)), (2, (3, 0)), (3, (0, IMPORTANCE)), (3, (3, RADIUS)),
     (3, (2, GOAL + 1))],
    ids=['root', 'segment', 'rotation', 'importance', 'radius', 'goal'],
)  # fmt: skip
def test_one_bad_number_is_enough(run, given, which: int, place: tuple, bad: float) -> None:
    given[which][place] = bad
    assert not run(*given)


@JIT_AND_PY
def test_rotation_that_is_none_is_refused(run, given: list[np.ndarray]) -> None:
    given[2][7] = 0.0
    assert not run(*given)


def test_rotations_a_little_off_unit_length_pass(given: list[np.ndarray]) -> None:
    """A sender that rounds to single precision."""
    given[2] *= 1.0 + 1e-6
    assert is_usable(*given)


@pytest.mark.parametrize('value', [-0.01, 1.01])
def test_importance_outside_zero_to_one_is_refused(given, value: float) -> None:
    given[3][1, IMPORTANCE] = value
    assert not is_usable(*given)
