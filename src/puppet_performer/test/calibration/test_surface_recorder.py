# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Touched surface points: a stylus that rests, slides, strays; a performer who sways."""

from motion_samples import plain_frame
import numpy as np
from puppet_core.body.kinematics import forward_kinematics
from puppet_core.body.skeleton import SEGMENT_INDEX, SEGMENTS
from puppet_core.body.surface import N_ROUND, N_SAMPLES, surface_samples
from puppet_core.io import ConfigError
from puppet_core.math import quaternions
from puppet_core.sensor_frames import FILTER_LOST, FILTER_OK, FILTER_PREDICTED
from puppet_performer.surface import (
    as_samples,
    describe,
    mirrored,
    Place,
    segments_to_touch,
    stylus_tip,
    SurfaceRecorder,
    TouchConfig,
)
import pytest

PERIOD_NS = 8_333_333  # 120 Hz
CONFIG = TouchConfig(rest_s=0.1)
REST_FRAMES = 14  # the first that span 0.1 s
EXACT_M = 1e-9
LIFTED = np.array([0.0, 0.0, 0.05])


class Bench:
    def __init__(self, character, rng, segments=('left_hand',), config=CONFIG):
        self.expected = surface_samples(character.skeleton, character.capsules)
        self.recorder = SurfaceRecorder(segments, self.expected, config)
        self.offsets = character.skeleton.offsets.copy()
        self.vectors = rng.normal(size=(16, 3)) * 0.5
        self.rate = rng.normal(size=(16, 3)) * 0.01
        self.frame = 0

    def step(self, segment, local):
        self.frame += 1
        rotations = quaternions.exp(self.vectors + self.frame * self.rate)
        root = np.array([0.5, 0.01 * self.frame, 1.0])
        q, p, tip = np.empty((16, 4)), np.empty((16, 3)), None
        forward_kinematics(self.offsets, root, rotations, q, p)
        if local is not None:
            tip = p[segment] + quaternions.rotate(q[segment], local)
        return self.recorder.step(self.frame * PERIOD_NS, rotations, p, tip)

    def hold(self, segment, local, frames=REST_FRAMES):
        touches = [self.step(segment, local) for _ in range(frames)]
        return [touch for touch in touches if touch is not None]


@pytest.fixture
def bench(adult_character, rng):
    return Bench(adult_character, rng)


HAND = SEGMENT_INDEX['left_hand']


def test_all_points_of_segments_are_recorded_while_the_performer_sways(adult_character, rng):
    bench = Bench(adult_character, rng, ('head', 'left_hand'))
    measured = bench.expected + rng.normal(size=bench.expected.shape) * 0.003
    while bench.recorder.place is not None:
        segment, row = bench.recorder.place
        touches = bench.hold(segment, measured[segment, row])
        assert [t.place for t in touches] == [(segment, row)]
        assert not bench.hold(segment, measured[segment, row] + LIFTED, 2)
    assert bench.recorder.n_done == bench.recorder.n_total == 2 * N_SAMPLES
    points = bench.recorder.complete()
    assert list(points) == ['head', 'left_hand']
    for name, rows in points.items():
        np.testing.assert_allclose(rows, measured[SEGMENT_INDEX[name]], atol=EXACT_M)


def test_a_moving_tip_does_not_rest(bench):
    point, slide = bench.expected[HAND, 0], np.array([0.0, 0.02, 0.0]) / 120.0
    assert not [t for i in range(60) if (t := bench.step(HAND, point + i * slide))]
    assert bench.hold(HAND, point)


def test_one_rest_is_one_point_until_the_tip_is_lifted(bench):
    point = bench.expected[HAND, 0]
    assert len(bench.hold(HAND, point, 10 * REST_FRAMES)) == 1
    bench.step(HAND, point + LIFTED)
    assert len(bench.hold(HAND, point, 2 * REST_FRAMES)) == 1
    assert bench.recorder.n_done == 2


def test_the_next_segment_needs_a_lift_too(adult_character, rng):
    bench = Bench(adult_character, rng, ('left_hand', 'left_forearm'))
    for row in range(N_SAMPLES):
        bench.hold(HAND, bench.expected[HAND, row])
        if row < N_SAMPLES - 1:
            bench.step(HAND, bench.expected[HAND, row] + LIFTED)
    assert bench.recorder.place == (SEGMENT_INDEX['left_forearm'], 0)
    last = bench.expected[HAND, -1]
    assert not bench.hold(HAND, last, 5 * REST_FRAMES)


def test_a_rest_far_from_the_body_part_is_refused_once(bench):
    point = bench.expected[HAND, 0]
    touches = bench.hold(HAND, point + [0.0, 0.0, 0.3], 5 * REST_FRAMES)
    assert [t.accepted for t in touches] == [False]
    assert touches[0].off_m == pytest.approx(0.3, abs=EXACT_M)
    assert bench.recorder.n_done == 0
    assert bench.hold(HAND, point)[0].accepted


@pytest.mark.parametrize('lost', [None, np.full(3, np.nan)], ids=['none', 'nan'])
def test_a_lost_stylus_ends_the_rest(bench, lost):
    point = bench.expected[HAND, 0]
    assert not bench.hold(HAND, point, REST_FRAMES - 2)
    bench.step(HAND, lost)
    assert not bench.hold(HAND, point, REST_FRAMES - 2)
    assert bench.hold(HAND, point, 2)


def test_time_that_runs_back_ends_the_rest(bench):
    point = bench.expected[HAND, 0]
    bench.hold(HAND, point, REST_FRAMES - 2)
    bench.frame -= 5
    assert not bench.hold(HAND, point, REST_FRAMES - 1)


@pytest.mark.parametrize(
    ('segments', 'text'), [(('tail',), 'got .tail.'), (('head', 'head'), 'twice')]
)
def test_impossible_segments_are_refused(adult_character, rng, segments, text):
    with pytest.raises(ConfigError, match=text):
        Bench(adult_character, rng, segments)


@pytest.mark.parametrize('name', ['rest_s', 'max_off_m'])
@pytest.mark.parametrize('value', [0.0, -1.0, np.nan])
def test_impossible_limits_are_refused(name, value):
    with pytest.raises(ConfigError, match=name):
        TouchConfig(**{name: value})


def _frame(rng, status):
    turn = quaternions.normalize(rng.normal(size=(2, 4)))
    frame = plain_frame(1, ('chest', 'stylus'), rng.normal(size=(2, 3)), turn)
    return frame._replace(status=np.array([FILTER_OK, status], dtype=np.uint8))


def test_the_tip_is_the_end_of_the_chain_from_world_to_stylus(rng):
    frame = _frame(rng, FILTER_OK)
    q, p = quaternions.normalize(rng.normal(size=4)), rng.normal(size=3)
    ends = [stylus_tip(frame, 'stylus', tip, p, q) for tip in (np.zeros(3), np.eye(3)[2])]
    q_world = quaternions.multiply(q, frame.quaternions[1])
    axis = quaternions.rotate(q_world, np.eye(3)[2])
    np.testing.assert_allclose(ends[1] - ends[0], axis, atol=EXACT_M)
    origin = p + quaternions.rotate(q, frame.positions[1])
    np.testing.assert_allclose(ends[0], origin, atol=EXACT_M)


@pytest.mark.parametrize('status', [FILTER_PREDICTED, FILTER_LOST])
def test_a_tip_that_was_not_measured_is_none(rng, status):
    identity = np.array([1.0, 0.0, 0.0, 0.0])
    assert stylus_tip(_frame(rng, status), 'stylus', np.zeros(3), np.zeros(3), identity) is None
    assert stylus_tip(_frame(rng, 0), 'pen', np.zeros(3), np.zeros(3), identity) is None


def test_left_limbs_can_stand_for_right_ones(adult_character):
    samples = surface_samples(adult_character.skeleton, adult_character.capsules)
    points = {name: samples[SEGMENT_INDEX[name]] for name in ('head', 'left_foot')}
    both = as_samples(mirrored(points))
    right = SEGMENT_INDEX['right_foot']
    np.testing.assert_allclose(both[right], samples[right], atol=EXACT_M)
    assert np.count_nonzero(np.isfinite(both)) == 3 * N_SAMPLES * 3


def test_segments_that_are_there_or_mirrored_are_not_asked_for():
    chosen = ('head', 'left_hand', 'right_hand', 'chest')
    assert segments_to_touch(chosen, ['chest'], False) == ('head', 'left_hand', 'right_hand')
    assert segments_to_touch(chosen, [], True) == ('head', 'left_hand', 'chest')


def test_every_point_has_its_own_words():
    texts = {describe(Place(s, r)) for s in range(len(SEGMENTS)) for r in range(N_SAMPLES)}
    assert len(texts) == len(SEGMENTS) * N_SAMPLES
    place = Place(SEGMENT_INDEX['right_foot'], 2 * N_ROUND)
    assert describe(place) == 'right_foot: ring 3 of 8 from the heel, top'
