# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Waiting for a calibration, taking one on request, and keeping the old one on failure."""

from dataclasses import replace

from benchmarks.synthetic_recording import exchanged
from motion_samples import ADULT, EXACT, LAYOUT, make_recording, plain_frame
import numpy as np
from puppet_core.io import CalibrationError
from puppet_core.math import quaternions as qb
from puppet_performer.parameters import PerformerConfig
from puppet_performer.performer_model import MOTION, PerformerModel
import pytest

TURN = np.array([0.1, -0.4, 0.9])
CONFIG = PerformerConfig(calibration_duration_s=0.2)


def _model(virtual, config=CONFIG):
    model = PerformerModel(virtual.character, virtual.layout, config, lambda: 'today')
    model.place_tracker(virtual.p_world_tracker, virtual.q_world_tracker)
    return model


def _run(model, virtual, frames, drift_m=0.0):
    root, rotations = virtual.t_pose()
    outcomes = []
    for i in range(frames):
        model.step(virtual.frame(root + [drift_m * i, 0.0, 0.0], rotations))
        if model.outcome is not None:
            outcomes.append(model.outcome)
    return outcomes


def test_still_t_pose_calibrates_by_itself_and_postures_follow(virtual):
    model, pose = _model(virtual), virtual.t_pose()
    results, texts = [], []
    for _ in range(60):
        results.append(model.step(virtual.frame(*pose)) is not None)
        texts += [model.outcome.text] if model.outcome is not None else []
    assert texts == [''] and not any(results[:20]) and all(results[30:])
    assert model.calibration is not None and model.calibration.date == 'today'


def test_sensor_on_a_thing_is_in_the_posture_in_world(virtual):
    layout = replace(virtual.layout, props=('box', 'lost'))
    model = PerformerModel(virtual.character, layout, CONFIG, lambda: 'today')
    model.place_tracker(virtual.p_world_tracker, virtual.q_world_tracker)
    _run(model, virtual, 40)
    frame, place, turn = virtual.frame(*virtual.t_pose()), np.array([1.0, 2.0, 0.5]), qb.exp(TURN)
    back = qb.conjugate(virtual.q_world_tracker)
    rows = {
        'positions': qb.rotate(back, place - virtual.p_world_tracker),
        'quaternions': qb.multiply(back, turn),
        **dict.fromkeys(('linear_velocities', 'angular_velocities'), np.zeros(3)),
        'status': 0,
    }
    more = {name: np.concatenate((getattr(frame, name), [row])) for name, row in rows.items()}
    props = model.step(frame._replace(sensors=(*frame.sensors, 'box'), **more)).posture.props
    assert props.names == ('box', 'lost') and np.isnan(props.positions[1]).all()
    np.testing.assert_allclose(props.positions[0], place, atol=1e-12)
    np.testing.assert_allclose(props.orientations[0], turn, atol=1e-12)


def test_moving_performer_is_waited_for(virtual):
    model = _model(virtual)
    assert _run(model, virtual, 100, drift_m=0.02) == []
    assert model.calibration is None
    assert _run(model, virtual, 40)[-1].calibration is not None


def test_still_pose_that_is_no_t_pose_is_reported_and_waited_for(virtual):
    model = _model(virtual)
    root, rotations = virtual.t_pose()
    for arm, sign in ((4, -1.0), (7, 1.0)):
        rotations[arm] = [np.cos(np.pi / 4), sign * np.sin(np.pi / 4), 0.0, 0.0]
    texts = []
    for _ in range(80):
        model.step(virtual.frame(root, rotations))
        if model.outcome is not None:
            texts.append(model.outcome)
    assert len(texts) >= 2
    assert all(t.calibration is None and 'T-pose' in t.text for t in texts)
    assert _run(model, virtual, 40)[-1].calibration is not None


def test_nothing_happens_unasked_when_not_automatic(virtual):
    model = _model(virtual, replace(CONFIG, auto_calibrate=False))
    assert _run(model, virtual, 60) == []
    model.request_calibration(0.1)
    assert _run(model, virtual, 20)[0].requested


def test_failed_request_keeps_the_calibration_in_force(virtual):
    model = _model(virtual)
    _run(model, virtual, 40)
    before = model.calibration
    model.request_calibration(0.2)
    outcome = _run(model, virtual, 40, drift_m=0.02)[0]
    assert outcome.requested
    assert 'hold the pose still' in outcome.text
    assert model.calibration is before


def test_postures_go_on_while_a_request_records(virtual):
    model = _model(virtual)
    _run(model, virtual, 40)
    model.request_calibration(0.2)
    assert model.step(virtual.frame(*virtual.t_pose())) is not None
    assert _run(model, virtual, 40)[0].requested


def test_cancelled_request_leaves_nothing(virtual):
    model = _model(virtual)
    _run(model, virtual, 40)
    model.request_calibration(0.2)
    model.cancel_request()
    assert _run(model, virtual, 60) == []


def test_unplaced_tracker_gives_nothing(virtual):
    model = PerformerModel(virtual.character, virtual.layout, CONFIG, lambda: '')
    assert model.step(virtual.frame(*virtual.t_pose())) is None
    assert not model.is_placed


def test_moved_tracker_keeps_the_calibration(virtual):
    """The mounting does not depend on where the tracker stands."""
    model = _model(virtual)
    _run(model, virtual, 40)
    virtual.p_world_tracker = virtual.p_world_tracker + 1.0
    model.place_tracker(virtual.p_world_tracker, virtual.q_world_tracker)
    estimate = model.step(virtual.frame(*virtual.t_pose()))
    np.testing.assert_allclose(estimate.posture.root_position, virtual.place, atol=1e-9)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'performer': 'sally'}, 'one of random, got one of sally'),
        ({'sensors': tuple('abcdefghijklmn')}, 'sensors of layout default14'),
        (
            {'segments': LAYOUT.segments[::-1]},
            'expected pelvis on the pelvis .* got the right_foot',
        ),
    ],
    ids=['other performer', 'other sensors', 'other segments'],
)
def test_foreign_calibration_is_refused(virtual, change, message):
    calibration = replace(virtual.calibrate(), **change)
    with pytest.raises(CalibrationError, match=message):
        _model(virtual).use(calibration)


def _play(model, take):
    """Feed a recording in world; return the outcomes."""
    recording, outcomes = take.recording, []
    for k, poses in enumerate(zip(recording.positions, recording.rotations)):
        model.step(plain_frame(k, LAYOUT.sensors, *poses, (k + 1) * 33_333_333))
        if model.outcome is not None:
            outcomes.append(model.outcome)
    return outcomes


def _asked_for_motion():
    model = PerformerModel(ADULT, LAYOUT, PerformerConfig(), lambda: 'now')
    model.place_tracker(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    model.request_calibration(26.0, MOTION)
    return model


def test_requested_motion_gives_lengths_that_are_used():
    take, model = make_recording(21, EXACT, 30.0), _asked_for_motion()
    (outcome,) = _play(model, take)
    assert outcome.requested and outcome.calibration is model.calibration
    assert np.max(take.length_errors(outcome.calibration)) < 1e-6


def test_motion_with_exchanged_sensors_is_refused_and_changes_nothing():
    take, model = make_recording(22, EXACT, 30.0), _asked_for_motion()
    before = replace(take.calibrate().calibration, date='before')
    model.use(before)
    swapped = exchanged(take.recording, LAYOUT, 'left_foot', 'right_foot')
    (outcome,) = _play(model, take._replace(recording=swapped))
    assert outcome.calibration is None
    assert 'left_foot and right_foot seem to be exchanged' in outcome.text
    assert model.calibration is before
