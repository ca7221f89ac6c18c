# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The performer's kernels one by one."""

from numba import njit
import numpy as np
from puppet_core.body import Character
from puppet_core.sensor_frames import FILTER_LOST, FILTER_OK, FILTER_REINITIALISED
from puppet_performer.posture import blend
from puppet_performer.posture.blend import JUMPED, KNOWN_SOURCE, SAME, SWITCHED
from puppet_performer.posture.state import (
    ABSENT,
    CHANGED,
    fresh_state,
    INFERRED,
    MEASURED,
    nearest_carrier,
    read_sensors,
    RESTARTED,
    ROOT,
    TIMES,
)
import pytest

HOLD, FADE, BACK = 0.2, 1.0, 0.4
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


@pytest.fixture
def state(adult: Character) -> np.ndarray:
    """Return a state of which nothing was measured, shape (1,)."""
    state = fresh_state(adult.skeleton)
    state['times'] = (HOLD, FADE, BACK)
    state['sensors']['row'][0, [0, 6, 9]] = [1, 0, 2]
    state['p_world_tracker'] = 1.0
    return state


# Records are arguments of kernels alone; these pass them on.


@njit
def _decay(age: float, source: int, times: np.ndarray) -> float:
    return blend.decay(age, source, times[0])


@njit
def _advance(source: int, restarted: bool, dt: float, states: np.ndarray) -> int:
    return blend.advance(source, restarted, states[0].slots[0], dt)


@njit
def _read(positions, rotations, linear, angular, status, states):  # type: ignore[no-untyped-def]
    read_sensors(positions, rotations, linear, angular, status, states[0])


@njit
def _carrier(segment: int, states: np.ndarray) -> int:
    return nearest_carrier(segment, states[0])


@njit
def _blend_rotation(target, last, source, states):  # type: ignore[no-untyped-def]
    return blend.blend_rotation(target, last, source, False, 0, states[0])


@njit
def _blend_point(target, last, change, states):  # type: ignore[no-untyped-def]
    return blend.blend_point(target, last, change, ROOT, states[0])


def test_difference_decays_from_one_to_zero_smoothly() -> None:
    times, ages = np.array([(HOLD, FADE, BACK)], dtype=TIMES), np.linspace(0.0, 1.5, 301)
    for source, end in ((0, BACK), (INFERRED, HOLD + FADE)):
        left = np.array([_decay(age, source, times) for age in ages])
        assert left[0] == 1.0
        assert np.all(left[ages >= end] == 0.0)
        assert np.max(np.abs(np.diff(left))) < 0.03  # 5 ms of a 0.4 s blend


@pytest.mark.parametrize('source', [INFERRED, 3])
def test_times_of_zero_mean_at_once(source: int) -> None:
    assert _decay(0.0, source, np.zeros(1, dtype=TIMES)) == 0.0


def test_slot_notices_a_change_of_source(state: np.ndarray) -> None:
    assert _advance(4, True, 0.0, state) == SAME  # the first value is no change
    assert _advance(4, False, 0.1, state) == SAME
    assert _advance(INFERRED, False, 0.1, state) == SWITCHED
    assert _advance(INFERRED, False, 0.1, state) == SAME
    assert state['slots']['age'][0, 0] == pytest.approx(0.1)
    assert _advance(INFERRED, True, 0.1, state) == JUMPED
    assert _advance(4, False, 0.1, state) == KNOWN_SOURCE
    assert _advance(5, False, 0.1, state) == SWITCHED


def test_rotation_leaves_where_it_was_and_arrives_at_the_target(state: np.ndarray) -> None:
    target, last = (-0.6, 0.0, 0.8, 0.0), (0.0, 1.0, 0.0, 0.0)
    state['slots']['source'][0, 0] = 4
    out = np.array(_blend_rotation(target, last, 5, state))
    np.testing.assert_allclose(np.abs(out), [0.0, 1.0, 0.0, 0.0], atol=1e-12)
    state['slots']['age'][0, 0] = BACK
    out = np.array(_blend_rotation(target, tuple(out.tolist()), 5, state))
    assert abs(out @ target) == pytest.approx(1.0)


def test_point_leaves_where_it_was_and_arrives_at_the_target(state: np.ndarray) -> None:
    target, last = (0.0, 0.0, 0.0), (1.0, 2.0, 3.0)
    state['slots']['source'][0, ROOT] = CHANGED
    assert _blend_point(target, last, SWITCHED, state) == last
    state['slots']['age'][0, ROOT] = 0.5 * BACK
    np.testing.assert_allclose(_blend_point(target, last, SAME, state), [0.5, 1.0, 1.5])


def test_rows_reach_their_segments_with_their_quality(state: np.ndarray) -> None:
    status = np.array([FILTER_OK, FILTER_REINITIALISED, FILTER_LOST], dtype=np.uint8)
    positions, zeros = np.arange(9.0).reshape(3, 3), np.zeros((3, 3))
    _read(positions, np.tile(IDENTITY, (3, 1)), zeros, zeros, status, state)
    quality = state['sensors']['quality'][0]
    assert quality[[0, 6, 9, 1]].tolist() == [RESTARTED, MEASURED, ABSENT, ABSENT]
    np.testing.assert_array_equal(state['sensors']['position'][0, 0], [4.0, 5.0, 6.0])


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('which', range(4))
def test_row_that_is_not_finite_is_absent(state: np.ndarray, bad: float, which: int) -> None:
    arrays = [np.zeros((3, 3)), np.tile(IDENTITY, (3, 1)), np.zeros((3, 3)), np.zeros((3, 3))]
    arrays[which][1, 1] = bad
    _read(*arrays, np.zeros(3, dtype=np.uint8), state)
    assert state['sensors']['quality'][0, 0] == ABSENT
    assert np.all(np.isfinite(state['sensors']['orientation']))


def test_carrier_is_the_nearest_measured_towards_the_root(state: np.ndarray) -> None:
    assert _carrier(6, state) == -1
    state['sensors']['quality'][0, 2] = MEASURED
    assert _carrier(6, state) == 2
    state['sensors']['quality'][0, 6] = MEASURED
    assert _carrier(6, state) == 6
