# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The importance of one distance, Shin2002 eqs. 4.2 to 4.4."""

from puppet_retarget.importance.estimator import importance
import pytest

JIT_AND_PY = pytest.mark.parametrize('run', [importance, importance.py_func], ids=['jit', 'py'])


@JIT_AND_PY
@pytest.mark.parametrize(
    ('d_bar', 'wanted'), [(0.0, 1.0), (0.25, 0.84375), (0.5, 0.5), (0.75, 0.15625), (1.0, 0.0)]
)
def test_eq_4_4_is_a_cubic_ease(run, d_bar: float, wanted: float) -> None:
    """2 d^3 - 3 d^2 + 1 by hand."""
    assert run(0.6 * d_bar, 0.0, 0.1, 0.6) == pytest.approx(wanted, abs=1e-15)


@JIT_AND_PY
def test_fast_approach_is_clamped_at_one(run) -> None:
    """Errata 1: a negative predicted distance must not lower the cubic again."""
    assert run(0.1, -10.0, 0.1, 0.6) == 1.0
    assert run(0.1, -1e9, 0.1, 0.6) == 1.0


def test_eq_4_2_predicts_by_lambda() -> None:
    assert importance(0.2, 1.0, 0.1, 0.6) == pytest.approx(importance(0.3, 0.0, 0.1, 0.6))
    assert importance(0.2, 1.0, 0.0, 0.6) == importance(0.2, 0.0, 0.0, 0.6)
