# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Markers of a tracker: where sensors are, where they came from, what the filter took away."""

from filter_samples import make_frame
import numpy as np
from puppet_core.marker_spec import LINES_SHAPE, TEXT_SHAPE
from puppet_core.math import quaternions
from puppet_core.sensor_frames import (
    FILTER_LOST,
    FILTER_OK,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
    FilteredFrame,
)
from puppet_filter.tracker_markers_node import (
    AXES,
    AXIS_M,
    LOOKS,
    NAMES,
    RED_M,
    residual_colours,
    RESIDUAL_GAIN,
    RESIDUALS,
    STATUS,
    TrackerMarkers,
    TRAIL_S,
    TRAILS,
)
import pytest

STEP_NS = 50_000_000


@pytest.fixture
def shown():

    def make(index, places, status=FILTER_OK, residual_m=0.0):
        places = np.array(places, dtype=float)
        n = len(places)
        states = np.broadcast_to(np.array(status, dtype=np.uint8), (n,)).copy()
        places[states == FILTER_LOST] = np.nan
        turns = quaternions.exp(np.tile([0.0, 0.0, 0.5 * np.pi], (n, 1)))
        turns[states == FILTER_LOST] = np.nan
        raw = make_frame(index, places + [residual_m, 0.0, 0.0], turns, index * STEP_NS)
        rest = [np.zeros((n, 3))] * 2 + [np.zeros((n, 6, 6))]
        frame = FilteredFrame(index * STEP_NS, index, raw.sensors, places, turns, *rest, states)
        return frame, raw

    return make


def of(namespace, markers):
    return [m for m in markers if m.namespace == namespace]


def test_sensor_has_ball_axes_and_name(shown):
    markers = TrackerMarkers().step(*shown(1, [[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]]))
    assert {m.namespace for m in markers} == {STATUS, AXES, NAMES, RESIDUALS}
    assert [m.text for m in of(NAMES, markers)] == ['s0', 's1']
    np.testing.assert_array_equal(of(STATUS, markers)[0].position, [1.0, 2.0, 3.0])
    (axes,) = of(AXES, markers)
    assert axes.shape == LINES_SHAPE and len(axes.points) == len(axes.colours) == 2 * 3 * 2
    # a quarter turn about z: x points along y, and is red
    np.testing.assert_allclose(axes.points[1] - axes.points[0], [0.0, AXIS_M, 0.0], atol=1e-12)
    assert np.argmax(axes.colours[0, :3]) == 0 and np.argmax(axes.colours[4, :3]) == 2
    name = of(NAMES, markers)[0]
    assert name.shape == TEXT_SHAPE and name.position[2] > 3.0 + 0.5 * name.size[2]
    assert 0.0 < name.size[0] < name.size[2]  # a space is narrower than letters are high


@pytest.mark.parametrize(
    ('status', 'word'),
    [
        (FILTER_OK, 's0'),
        (FILTER_PREDICTED, 's0: predicted'),
        (FILTER_REJECTED, 's0: rejected'),
        (FILTER_REINITIALISED, 's0: new'),
        (FILTER_LOST, 's0: lost'),
    ],
)
def test_status_tells_by_colour_and_word(shown, status, word):
    markers = TrackerMarkers()
    markers.step(*shown(1, [[1.0, 0.0, 0.0]]))
    drawn = markers.step(*shown(2, [[1.1, 0.0, 0.0]], status))
    assert of(NAMES, drawn)[0].text == word
    assert of(STATUS, drawn)[0].colour == LOOKS[status][0]
    assert len(set(LOOKS.values())) == 5


def test_lost_sensor_stays_where_it_was_last_without_axes(shown):
    markers = TrackerMarkers()
    assert markers.step(*shown(1, [[1.0, 0.0, 0.0]], FILTER_LOST)) == ()
    markers.step(*shown(2, [[1.0, 0.0, 0.0]]))
    drawn = markers.step(*shown(3, [[5.0, 0.0, 0.0]], FILTER_LOST))
    np.testing.assert_array_equal(of(STATUS, drawn)[0].position, [1.0, 0.0, 0.0])
    assert not of(AXES, drawn) and not of(RESIDUALS, drawn)


def test_trail_is_the_way_of_the_last_while_fading(shown):
    markers = TrackerMarkers()
    for k in range(90):
        drawn = markers.step(*shown(k, [[0.01 * k, 0.0, 1.0]]))
    (trail,) = of(TRAILS, drawn)
    steps = round(TRAIL_S * 1e9 / STEP_NS)
    assert len(trail.points) == 2 * steps
    xs = 0.01 * np.arange(89 - steps, 90)
    np.testing.assert_allclose(trail.points[0::2, 0], xs[:-1])
    np.testing.assert_allclose(trail.points[1::2, 0], xs[1:])
    opacity = trail.colours[:, 3]
    assert opacity[0] == 0.0 and opacity[-1] == 1.0 and np.all(np.diff(opacity) >= 0.0)


def test_trail_leaves_out_gaps_and_jumps(shown):
    markers = TrackerMarkers()
    states = [0, 0, FILTER_LOST, FILTER_REINITIALISED, 0, FILTER_REINITIALISED, 0]
    for k, status in enumerate(states):
        drawn = markers.step(*shown(k, [[float(k), 0.0, 0.0]], status))
    (trail,) = of(TRAILS, drawn)
    assert trail.points[:, 0].tolist() == [0.0, 1.0, 3.0, 4.0, 5.0, 6.0]


def test_residual_is_drawn_longer_from_filtered_towards_raw(shown):
    drawn = TrackerMarkers().step(*shown(1, [[1.0, 0.0, 0.0]], residual_m=2e-3))
    (lines,) = of(RESIDUALS, drawn)
    np.testing.assert_allclose(lines.points, [[1.0, 0.0, 0.0], [1.0 + 2e-3 * RESIDUAL_GAIN, 0, 0]])
    colours = residual_colours(np.array([2e-3 / RED_M]))
    np.testing.assert_allclose(lines.colours, np.repeat(colours, 2, 0))


def test_residual_turns_from_green_to_red():
    colours = residual_colours(np.array([0.0, 0.5, 1.0, 9.0]))
    assert np.argmax(colours[0, :3]) == 1 and np.argmax(colours[2, :3]) == 0
    assert np.all(np.diff(colours[:, 0]) >= 0.0) and np.all(np.diff(colours[1:, 1]) <= 0.0)
    np.testing.assert_array_equal(colours[2], colours[3])


def test_other_or_no_raw_frame_draws_no_residuals(shown):
    frame, _ = shown(1, [[1.0, 0.0, 0.0]])
    for raw in (None, make_frame(1, np.zeros((2, 3)))):
        assert not of(RESIDUALS, TrackerMarkers().step(frame, raw))


def test_other_sensors_and_a_reset_begin_anew(shown):
    markers = TrackerMarkers()
    markers.step(*shown(1, [[0.0, 0.0, 0.0]]))
    assert not of(TRAILS, markers.step(*shown(2, [[0.0, 0.0, 0.0]] * 2)))
    markers.step(*shown(3, [[0.0, 0.0, 0.0]] * 2))
    markers.reset()
    assert not of(TRAILS, markers.step(*shown(4, [[0.0, 0.0, 0.0]] * 2)))


def test_markers_are_finite_and_numbered_once(shown):
    """A marker with NaN, or a number used twice, is an error in RViz."""
    markers = TrackerMarkers()
    for k in range(4):
        states = [FILTER_OK, FILTER_LOST, FILTER_OK]
        states[k % 3] = FILTER_LOST
        drawn = markers.step(*shown(k, np.ones((3, 3)) * k, states))
    for m in drawn:
        for values in (m.position, m.orientation, m.size, m.colour, m.points, m.colours):
            assert np.all(np.isfinite(values))
    keys = [(m.namespace, m.identifier) for m in drawn]
    assert len(set(keys)) == len(keys)
