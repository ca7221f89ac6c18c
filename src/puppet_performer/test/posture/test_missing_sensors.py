# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Sensors of a moving performer that drop at random, or come and go all the time."""

from dataclasses import replace
from typing import NamedTuple

from motion_samples import CONFIG, estimator_of, walk_and_clap
import numpy as np
from puppet_core.body.character import load_character
from puppet_core.body.posture import general_end_effectors
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX, Skeleton
from puppet_core.math import quaternions
from puppet_core.math.arrays import Quats, Vec3s
from puppet_core.procedural.performer import procedural_motion
from puppet_core.sensor_frames import FILTER_LOST, FILTER_REINITIALISED
from puppet_performer.posture.limbs import LEVER_M
from puppet_performer.posture.segments import INFERRED_SPEED_RAD_S, TURN_SPEED_RAD_S
from puppet_performer.sensor_layout import load_layout
from puppet_performer.synthetic_recording import known_calibration, sensor_frames, TRACKER_M
import pytest

LAYOUTS = sorted(path.stem for path in (CONFIG / 'layouts').glob('*.yaml'))
RATE_HZ = 120.0
N_FRAMES = 600


class Played(NamedTuple):
    """A motion as estimated."""

    q: Quats
    p: Vec3s
    points: Vec3s


def _layout(name):
    return load_layout(CONFIG / f'layouts/{name}.yaml')


def _play(motion, layout, lost, skeleton, calibration=None, says_back=False):
    """Return what is estimated; `lost` is true where a sensor is not there, shape (n, s)."""
    estimator = estimator_of(skeleton, layout, calibration)
    rows, before = [], False
    for frame, gone in zip(sensor_frames(motion, layout), lost):
        back = FILTER_REINITIALISED * (before & ~gone) if says_back else 0  # as a filter does
        status = np.where(gone, FILTER_LOST, back).astype(np.uint8)
        before = gone
        estimate = estimator.step(frame._replace(status=status))
        values = estimate.q_world, estimate.p_world, estimate.posture.end_effectors
        rows.append([np.array(x) for x in values])
    return Played(*(np.array(column) for column in zip(*rows)))


def _random_losses(rng, n, sensors):
    """Return sensors that are there for a second and gone for 0.3 s, on average."""
    lost = np.zeros((n, sensors), dtype=bool)
    for i in range(1, n):
        rate = np.where(lost[i - 1], 1.0 / 0.3, 1.0)
        lost[i] = lost[i - 1] ^ (rng.uniform(size=sensors) < rate / RATE_HZ)
    return lost


def _turn_speeds(q):
    turned = quaternions.log(quaternions.multiply(quaternions.conjugate(q[:-1]), q[1:]))
    return np.linalg.norm(turned, axis=2) * RATE_HZ


def _speeds(played):
    """Return the highest speeds of joints and points [m/s], and of segments [rad/s]."""
    moved = [np.linalg.norm(np.diff(x, axis=0), axis=2).max() for x in (played.p, played.points)]
    return max(moved) * RATE_HZ, _turn_speeds(played.q).max()


@pytest.mark.parametrize('name', LAYOUTS)
def test_random_losses_never_make_a_jump(name, rng):
    """
    Nothing moves faster than the performer, the easing and the limb's turns together.

    A segment's own speed, that of a difference of at most pi eased in 0.3 s (smoothstep: 1.5
    times the mean), and the speed limit of the turns; what was eased is a root half a metre off.
    """
    motion, layout = walk_and_clap(N_FRAMES), _layout(name)
    lost = _random_losses(rng, motion.n_frames, len(layout.sensors))
    own = _speeds(Played(*motion.world_segments(), motion.end_effectors))
    speed, turn_speed = _speeds(_play(motion, layout, lost, motion.skeleton))
    assert speed < own[0] + 7.0
    assert turn_speed < own[1] + 1.5 * np.pi / 0.3 + TURN_SPEED_RAD_S


@pytest.mark.parametrize('name', LAYOUTS)
def test_sensors_that_are_back_tell_what_they_told(name, rng):
    motion, layout = walk_and_clap(N_FRAMES), _layout(name)
    lost = _random_losses(rng, motion.n_frames, len(layout.sensors))
    lost[-240:] = False
    broken = _play(motion, layout, lost, motion.skeleton)
    whole = _play(motion, layout, np.zeros_like(lost), motion.skeleton)
    np.testing.assert_allclose(broken.p[-1], whole.p[-1], atol=1e-9)
    np.testing.assert_allclose(broken.points[-1], whole.points[-1], atol=1e-9)


def test_lost_upper_arm_leaves_the_hand_where_it_is():
    """Hand and forearm tell the elbow: nothing but the arm's twist is lost."""
    motion, layout = walk_and_clap(N_FRAMES), _layout('default14')
    lost = np.zeros((motion.n_frames, len(layout.sensors)), dtype=bool)
    lost[60:, layout.sensors.index('left_upper_arm')] = True
    played = _play(motion, layout, lost, motion.skeleton)
    _, truth = motion.world_segments()
    np.testing.assert_allclose(played.p[120:], truth[120:], atol=1e-3)
    np.testing.assert_allclose(played.points[:, :4], motion.end_effectors[:, :4], atol=1e-9)


def test_lost_pelvis_is_carried_by_the_head_of_six():
    motion, layout = walk_and_clap(N_FRAMES), _layout('six_point')
    lost = np.zeros((motion.n_frames, 6), dtype=bool)
    lost[240:] = np.array(layout.sensors) == 'pelvis'
    played = _play(motion, layout, lost, motion.skeleton)
    _, truth = motion.world_segments()
    head = SEGMENT_INDEX['head']
    np.testing.assert_allclose(played.p[300:, head], truth[300:, head], atol=1e-9)


def test_without_any_sensor_the_root_is_held():
    motion, layout = walk_and_clap(N_FRAMES), _layout('six_point')
    lost = np.zeros((motion.n_frames, 6), dtype=bool)
    lost[240:] = True
    played = _play(motion, layout, lost, motion.skeleton)
    np.testing.assert_array_equal(played.p[240:, 0], np.tile(played.p[239, 0], (360, 1)))
    # and all is held before it fades
    np.testing.assert_allclose(played.p[255], played.p[240], atol=0.01)
    assert np.linalg.norm(played.p[-1] - played.p[240], axis=1).max() > 0.1


def test_hand_through_its_own_shoulder_whips_no_elbow_round():
    """There nothing tells where the elbow is: its segments turn no faster than people's do."""
    motion, layout = walk_and_clap(N_FRAMES), _layout('six_point')
    start, hand = SEGMENT_INDEX['left_upper_arm'], layout.sensors.index('left_hand')
    frames = sensor_frames(motion, layout)[:60]
    shoulder = motion.world_segments()[1][30, start]
    beside = layout.mountings[hand] - np.array(TRACKER_M) + [0.005, 0.0, 0.0]
    for i, frame in enumerate(frames):
        frame.positions[hand] = shoulder + beside + [0.0, 0.02 * (30 - i), 0.0]
        frame.quaternions[hand] = [1.0, 0.0, 0.0, 0.0]
    estimator = estimator_of(motion.skeleton, layout)
    q = np.array([np.array(estimator.step(frame).q_world) for frame in frames])
    turned = _turn_speeds(q)
    trunk = turned[:, SEGMENT_INDEX['chest']].max()
    assert turned[:, start].max() < trunk + INFERRED_SPEED_RAD_S + TURN_SPEED_RAD_S
    assert turned[:, start + 1].max() < trunk + 2.0 * INFERRED_SPEED_RAD_S + TURN_SPEED_RAD_S


@pytest.mark.parametrize('scale', [1.0, 1.03])
def test_wrong_lengths_leave_hands_and_feet_where_they_are(scale):
    """
    End-effector data wins: to 0.1 mm for bent limbs, though every limb is too long.

    The sensors are calibrated on the wrong body, as a T-pose does. Along a limb that is nearly
    straight the angles tell more, and leave a few millimetres of an error of centimetres.
    """
    character, layout = load_character(CONFIG / 'characters/performer.yaml'), _layout('default14')
    motion = procedural_motion(character, 30.0)
    own = motion.skeleton
    stretch = np.ones((16, 1))
    stretch[[5, 6, 8, 9, 11, 12, 14, 15]] = scale
    wrong = Skeleton(own.offsets * stretch, own.interaction_points)
    moved = (own.rest_positions() - wrong.rest_positions())[layout.segments]
    calibration = known_calibration(layout)
    calibration = replace(calibration, positions=calibration.positions + moved)
    lost = np.zeros((motion.n_frames, 14), dtype=bool)
    played = _play(motion, layout, lost, wrong, calibration)
    ends = general_end_effectors(wrong, played.q, played.p)[:, :4]
    left = np.linalg.norm(ends - played.points[:, :4], axis=2)
    bent = _levers(played.p) > 1.05 * LEVER_M
    assert np.all((bent.mean(axis=0) > 0.1) & (bent.mean(axis=0) < 0.9))
    assert left[bent].max() < 1e-4
    assert np.sqrt(np.mean(left**2)) < 3e-4
    assert left.max() < 5e-3
    assert _speeds(played)[1] < 1.2 * _speeds(Played(*motion.world_segments(), ends))[1] + 1.0


def _levers(p):
    """Return how far elbows and knees are off the line of their limb, shape (n, 4) [m]."""
    shoulders, elbows, wrists = (p[:, LIMB_SEGMENTS[:, k]] for k in range(3))
    across = np.cross(elbows - shoulders, wrists - shoulders)
    return np.linalg.norm(across, axis=2) / np.linalg.norm(wrists - shoulders, axis=2)


N_FLICKER = 480
FLICKER = slice(60, 440)
N_PATTERNS = 6
# A loss after another one may begin where the body is not yet where it was seen.
WORSE, WORSE_M = 1.4, 0.03
CARRIED_M = 0.15  # more than a pelvis that a chest carries that does not flicker
EASING_M_S = 2.0  # of the losses here; the root is never half a metre off
TRUNK_TOO_M_S = 5.0  # of those of trunk and leg at once


def _play_flicker(name, names, lost):
    """
    Return joints and end-effectors, shape (n, 24, 3) [m].

    `lost` has shape (n,), or (n, k) for each of the k `names` its own.
    """
    motion, layout = walk_and_clap(N_FLICKER), _layout(name)
    gone = np.zeros((N_FLICKER, len(layout.sensors)), dtype=bool)
    gone[:, list(map(layout.sensors.index, names))] = lost.reshape(N_FLICKER, -1)
    played = _play(motion, layout, gone, motion.skeleton, says_back=True)
    return np.concatenate((played.p, played.points), axis=1)


def _patterns(rng):
    """Return regular losses, and ones whose lengths are random, from a frame to half a second."""
    index = np.arange(N_FLICKER)
    patterns = [index % (seen + lost) < lost for seen, lost in ((1, 1), (2, 2), (6, 30))]
    for _ in range(N_PATTERNS):
        means = np.exp(rng.uniform(0.0, np.log(60.0), 2))
        spans = np.ceil(rng.exponential(means, (N_FLICKER, 2))).astype(int)
        patterns.append(np.repeat(np.tile([False, True], N_FLICKER), spans.ravel())[:N_FLICKER])
    for pattern in patterns:
        pattern[: FLICKER.start] = pattern[FLICKER.stop :] = False
    return patterns


def _error(played, whole):
    return float(np.linalg.norm(played - whole, axis=2).max())


def _speed(played):
    return float(np.linalg.norm(np.diff(played, axis=0), axis=2).max()) * RATE_HZ


@pytest.mark.parametrize('names', [('pelvis',), ('left_hand', 'right_hand'), ('left_foot',)])
@pytest.mark.parametrize('layout', ['default14', 'six_point'])
def test_flicker_is_hardly_worse_than_loss(layout, names, rng):
    index = np.arange(N_FLICKER)
    whole = _play_flicker(layout, names, index < 0)
    always = max(
        _error(_play_flicker(layout, names, index >= start), whole) for start in range(60, 440, 60)
    )
    for lost in _patterns(rng):
        played = _play_flicker(layout, names, lost)
        assert _error(played, whole) < WORSE * always + WORSE_M
        assert _speed(played) < _speed(whole) + EASING_M_S


@pytest.mark.parametrize('seen, lost', [(1, 1), (2, 2), (10, 3)])
def test_chest_that_flickers_carries_a_lost_pelvis(seen, lost):
    names, index = ('pelvis', 'chest'), np.arange(N_FLICKER)
    gone = np.zeros((N_FLICKER, 2), dtype=bool)
    whole = _play_flicker('default14', names, gone)
    gone[FLICKER, 0] = True
    always = _play_flicker('default14', names, gone)
    gone[FLICKER, 1] = (index % (seen + lost) < lost)[FLICKER]
    played = _play_flicker('default14', names, gone)
    assert _error(played, whole) < _error(always, whole) + CARRIED_M
    assert _speed(played) < _speed(whole) + EASING_M_S


def test_foot_that_is_back_does_not_leap_as_its_leg_flickers(rng):
    """The hip is elsewhere than it seems to the leg: pelvis and chest come and go, too."""
    names = ('pelvis', 'chest', 'left_shank', 'left_thigh', 'left_foot')
    whole = _play_flicker('default14', names, np.zeros(N_FLICKER, dtype=bool))
    for _ in range(N_PATTERNS):
        gone = rng.permuted(np.array(_patterns(rng)), axis=0)[: len(names)].T
        assert _speed(_play_flicker('default14', names, gone)) < _speed(whole) + TRUNK_TOO_M_S
