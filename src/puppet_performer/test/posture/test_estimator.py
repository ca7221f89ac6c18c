# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Sensors to posture: the truth without noise; sensors that come and go; a body that leaps."""

from dataclasses import replace
from typing import NamedTuple

from benchmarks.synthetic_recording import known_calibration, sensor_frames, TRACKER_M
from motion_samples import ADULT, estimator_of, LAYOUT, walk_and_clap
import numpy as np
from puppet_core import named_files
from puppet_core.body.character import load_character
from puppet_core.body.motion_measures import FASTEST_M_S, FASTEST_RAD_S, PERFORMER_RATIO
from puppet_core.body.posture import general_end_effectors
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.math import quaternions
from puppet_core.math.arrays import Quats, Vec3s
from puppet_core.procedural.performer import procedural_motion
from puppet_core.sensor_frames import FILTER_LOST, FILTER_PREDICTED, FILTER_REINITIALISED
from puppet_performer.posture.estimator import (
    LEAP_FRAMES,
    PostureConfig,
    STATUS_INFERRED,
    STATUS_MEASURED,
    STATUS_STALE,
    step_posture,
    warm_up,
)
from puppet_performer.posture.limbs import LEVER_M
from puppet_performer.posture.segments import INFERRED_SPEED_RAD_S, TURN_SPEED_RAD_S
from puppet_performer.sensor_layout import load_layout, SensorLayout
import pytest
from virtual_performer import (
    make_virtual,
    random_character,
    random_posture,
    rotation_errors,
    VirtualPerformer,
)

EXACT_TOL = 1e-9  # position [m] and rotation [rad], without noise


@pytest.mark.parametrize('repeat', range(3))
def test_random_motion_of_a_random_skeleton_is_recovered(repeat):
    rng = np.random.default_rng(repeat)
    character = random_character(rng, ADULT) if repeat else ADULT
    virtual = VirtualPerformer(rng, character, LAYOUT, rng.uniform(-3.0, 3.0))
    estimator = virtual.estimator()
    for _ in range(4):
        root, rotations = random_posture(rng, virtual.place)
        estimate = estimator.step(virtual.frame(root, rotations))
        q, p, points = virtual.truth(root, rotations)
        assert np.max(rotation_errors(estimate.posture.rotations, rotations)) < EXACT_TOL
        assert np.max(rotation_errors(estimate.q_world, q)) < EXACT_TOL
        np.testing.assert_allclose(estimate.posture.root_position, root, atol=EXACT_TOL)
        np.testing.assert_allclose(estimate.p_world, p, atol=EXACT_TOL)
        np.testing.assert_allclose(estimate.posture.end_effectors, points, atol=EXACT_TOL)


def test_flipped_quaternions_change_nothing(virtual, rng):
    """Errata 11: -q is q, also in the signs that are published."""
    poses = [random_posture(rng, virtual.place) for _ in range(5)]
    results = []
    for flips in (False, True):
        estimator = virtual.estimator()
        for pose in poses:
            frame = virtual.frame(*pose)
            if flips:
                signs = rng.choice([-1.0, 1.0], size=(14, 1))
                frame = frame._replace(quaternions=frame.quaternions * signs)
            estimate = estimator.step(frame)
        results.append(np.array(estimate.posture.rotations))
    np.testing.assert_allclose(results[0], results[1], atol=EXACT_TOL)


def test_published_signs_are_continuous(virtual):
    root, rotations = virtual.t_pose()
    estimator, last = virtual.estimator(), None
    for angle in np.linspace(0.0, 4.0 * np.pi, 200):
        rotations[0] = [np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle)]
        now = np.array(estimator.step(virtual.frame(root, rotations)).posture.rotations)
        assert last is None or np.min(np.sum(now * last, axis=1)) > 0.99
        last = now


def test_noise_stays_of_its_own_size(virtual, rng):
    """
    Sensor noise in, posture noise out: no amplification beyond the lever arms.

    2 mm and 0.5 degrees RMS an axis; a palm is at most 12 cm from its sensor (1 mm), a segment
    angle is its sensor's own.
    """
    estimator = virtual.estimator()
    root, rotations = random_posture(rng, virtual.place)
    _, _, points = virtual.truth(root, rotations)
    errors = []
    for _ in range(300):
        frame = virtual.frame(root, rotations, (0.002, np.radians(0.5)), rng)
        errors.append(estimator.step(frame).posture.end_effectors - points)
    rms = np.sqrt(np.mean(np.square(errors), axis=(0, 2)))
    assert np.all(rms[:4] < 0.0025)
    assert np.all(rms < 0.005)


def test_velocities_are_those_of_the_rigid_segments(virtual, rng):
    """Independent computation: central differences of a body that turns and drifts as one."""
    root, rotations = random_posture(rng, virtual.place)
    omega, drift, h = rng.normal(size=3), rng.normal(size=3), 1e-5
    frame = virtual.frame(root, rotations)
    inverse = quaternions.conjugate(virtual.q_world_tracker)
    p_world = quaternions.rotate(virtual.q_world_tracker, frame.positions)
    p_world = p_world + virtual.p_world_tracker
    frame.linear_velocities[:] = quaternions.rotate(inverse, drift + np.cross(omega, p_world))
    frame.angular_velocities[:] = quaternions.rotate(inverse, omega)
    estimate = virtual.estimator().step(frame)
    _, _, points = virtual.truth(root, rotations)
    turn = quaternions.exp(h * omega)
    ahead = quaternions.rotate(turn, points) + h * drift
    back = quaternions.rotate(quaternions.conjugate(turn), points) - h * drift
    expected = (ahead - back) / (2.0 * h)
    np.testing.assert_allclose(estimate.posture.end_effector_velocities, expected, atol=1e-6)


def test_end_effectors_come_from_positions_not_angles(virtual):
    """A shifted hand sensor moves the palm though no angle changed."""
    root, rotations = virtual.t_pose()
    estimator = virtual.estimator()
    before = np.array(estimator.step(virtual.frame(root, rotations)).posture.end_effectors)
    frame = virtual.frame(root, rotations)
    inverse = quaternions.conjugate(virtual.q_world_tracker)
    row = frame.sensors.index('left_hand')
    frame.positions[row] += quaternions.rotate(inverse, np.array([0.0, 0.0, 0.1]))
    estimate = estimator.step(frame)
    moved = estimate.posture.end_effectors - before
    np.testing.assert_allclose(moved[0], [0.0, 0.0, 0.1], atol=EXACT_TOL)
    np.testing.assert_allclose(moved[1:], 0.0, atol=EXACT_TOL)


def test_spine_leans_to_where_the_chest_is(virtual, rng):
    """A torso that bends anywhere: all joints but none of the spine's twist are told."""
    root, rotations = virtual.t_pose()
    rotations[1:3] = quaternions.exp(rng.normal(size=(2, 3)) * 0.4)
    _, p, _ = virtual.truth(root, rotations)
    estimate = virtual.estimator().step(virtual.frame(root, rotations))
    np.testing.assert_allclose(estimate.p_world, p, atol=EXACT_TOL)


def test_rows_may_come_in_another_order_and_with_strangers(virtual, rng):
    root, rotations = random_posture(rng, virtual.place)
    frame = virtual.frame(root, rotations)
    order = rng.permutation(14)
    fields = 'positions', 'quaternions', 'linear_velocities', 'angular_velocities', 'status'
    shuffled = frame._replace(
        sensors=tuple(frame.sensors[i] for i in order),
        **{name: np.ascontiguousarray(getattr(frame, name)[order]) for name in fields},
    )
    estimate = virtual.estimator().step(shuffled)
    _, p, _ = virtual.truth(root, rotations)
    np.testing.assert_allclose(estimate.p_world, p, atol=EXACT_TOL)


@pytest.mark.parametrize(
    'names',
    [('pelvis', 'left_hand', 'right_hand', 'left_foot', 'right_foot'), SEGMENTS],
    ids=['five', 'sixteen'],
)
def test_other_layouts_put_measured_segments_right(rng, names):
    segments = np.array([SEGMENT_INDEX[n] for n in names])
    layout = SensorLayout('other', names, segments, np.zeros((len(names), 3)))
    virtual = make_virtual(yaw=0.5, layout=layout)
    root, rotations = random_posture(rng, virtual.place)
    estimate = virtual.estimator().step(virtual.frame(root, rotations))
    q, _, points = virtual.truth(root, rotations)
    products = np.abs(np.sum(estimate.q_world[segments] * q[segments], axis=1))
    np.testing.assert_allclose(products, 1.0, atol=1e-12)
    np.testing.assert_allclose(estimate.posture.end_effectors[:4], points[:4], atol=EXACT_TOL)


def test_frames_find_every_kernel_compiled(virtual):
    """After the warm-up no frame of a live-like run compiles anything."""
    warm_up(virtual.character.skeleton)
    before = tuple(step_posture.signatures)
    estimator = virtual.estimator()
    for _ in range(20):
        estimator.step(virtual.frame(*virtual.t_pose()))
    assert tuple(step_posture.signatures) == before


PERIOD_S = 8_333_333e-9
SETTLE_FRAMES = 200  # longer than hold, fade and return together


def _lose(frame, *names):
    for name in names:
        row = frame.sensors.index(name)
        frame.positions[row] = frame.quaternions[row] = np.nan
        frame.status[row] = FILTER_LOST
    return frame


def test_lost_sensor_holds_then_fades_without_a_jump(virtual, rng):
    pose = random_posture(rng, virtual.place)
    estimator, hand = virtual.estimator(), SEGMENT_INDEX['left_hand']
    last = np.array(estimator.step(virtual.frame(*pose)).posture.rotations[hand])
    held = last.copy()
    for step in range(SETTLE_FRAMES):
        estimate = estimator.step(_lose(virtual.frame(*pose), 'left_hand'))
        now = np.array(estimate.posture.rotations[hand])
        assert 2.0 * np.arccos(min(abs(now @ last), 1.0)) < 0.05
        if step * PERIOD_S < 0.2:
            assert abs(now @ held) > 1.0 - 1e-9
            assert estimate.status[hand] == STATUS_STALE
        last = now
    np.testing.assert_allclose(np.abs(now), [1.0, 0.0, 0.0, 0.0], atol=1e-9)
    assert estimate.status[hand] == STATUS_INFERRED


@pytest.mark.parametrize(
    'names', [('pelvis',), ('chest',), ('left_foot', 'left_shank'), LAYOUT.sensors]
)
def test_sensors_that_go_and_return_never_jump(virtual, rng, names):
    """A still body: nothing moves faster than easing needs, and all is exact in the end."""
    root, rotations = random_posture(rng, virtual.place)
    estimator = virtual.estimator()
    _, p, points = virtual.truth(root, rotations)
    last = None
    for step in range(3 * SETTLE_FRAMES):
        frame = virtual.frame(root, rotations)
        if SETTLE_FRAMES <= step < 2 * SETTLE_FRAMES:
            _lose(frame, *names)
        elif step == 2 * SETTLE_FRAMES:  # as a filter says it
            frame.status[[frame.sensors.index(name) for name in names]] = FILTER_REINITIALISED
        estimate = estimator.step(frame)
        now = np.concatenate((estimate.p_world, estimate.posture.end_effectors))
        assert np.all(np.isfinite(now))
        assert last is None or np.max(np.linalg.norm(now - last, axis=1)) < 0.08
        last = now
    np.testing.assert_allclose(estimate.p_world, p, atol=EXACT_TOL)
    np.testing.assert_allclose(estimate.posture.end_effectors, points, atol=EXACT_TOL)


@pytest.mark.parametrize('names', [('left_hand',), ('pelvis', 'left_upper_arm', 'right_foot')])
def test_loss_right_after_a_leap_does_not_carry_the_leap_on(virtual, rng, names):
    """A whole body that is elsewhere at once, then loses sensors, stays where it is."""
    estimator, pose = virtual.estimator(), random_posture(rng, virtual.place)
    for _ in range(2):
        estimator.step(virtual.frame(*virtual.t_pose()))
    estimate = estimator.step(virtual.frame(*pose))
    last = np.concatenate((estimate.p_world, estimate.posture.end_effectors))
    for step in range(2 * SETTLE_FRAMES):
        frame = virtual.frame(*pose)
        estimate = estimator.step(_lose(frame, *names) if step < SETTLE_FRAMES else frame)
        now = np.concatenate((estimate.p_world, estimate.posture.end_effectors))
        assert np.max(np.linalg.norm(now - last, axis=1)) < 0.02
        last = now


def test_lost_pelvis_does_not_turn_on(virtual):
    """A trunk that twists at 3 rad/s loses the pelvis in its last frame of motion, and stands."""
    root, rotations = virtual.t_pose()
    estimator, twist = virtual.estimator(), 0.5 * 3.0 * PERIOD_S
    last = 30
    for step in range(last + SETTLE_FRAMES):
        now, half = np.array(rotations), 0.5 * twist * min(step, last)
        for segment in (SEGMENT_INDEX['spine'], SEGMENT_INDEX['chest']):
            now[segment] = [np.cos(half), 0.0, 0.0, np.sin(half)]
        frame = virtual.frame(root, now)
        estimate = estimator.step(frame if step < last else _lose(frame, 'pelvis'))
        turned = 2.0 * np.arccos(min(abs(estimate.posture.rotations[0] @ now[0]), 1.0))
        assert turned < 2.0 * twist + EXACT_TOL


@pytest.mark.parametrize('gap_ns', [2_000_000_000, -2_000_000_000], ids=['gap', 'back'])
def test_gap_in_the_stamps_is_eased(virtual, gap_ns):
    """Far away, the body is what it was, elsewhere."""
    root, rotations = virtual.t_pose()
    estimator = virtual.estimator()
    before = np.array(estimator.step(virtual.frame(root, rotations)).p_world)
    near, far = np.array([0.05, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])
    frame = virtual.frame(root + near, rotations)
    estimate = estimator.step(frame._replace(stamp_ns=frame.stamp_ns + gap_ns))
    np.testing.assert_allclose(estimate.p_world, before, atol=EXACT_TOL)
    frame = virtual.frame(root + far, rotations)
    estimate = estimator.step(frame._replace(stamp_ns=frame.stamp_ns + 2 * gap_ns))
    np.testing.assert_allclose(estimate.p_world, before + far, atol=EXACT_TOL)


def test_status_says_how_a_segment_is_known(virtual):
    estimator = virtual.estimator()
    frame = virtual.frame(*virtual.t_pose())
    frame.status[frame.sensors.index('left_foot')] = FILTER_PREDICTED
    status = estimator.step(frame).status
    assert status[SEGMENT_INDEX['pelvis']] == STATUS_MEASURED
    assert status[SEGMENT_INDEX['head']] == status[SEGMENT_INDEX['spine']] == STATUS_INFERRED
    assert status[SEGMENT_INDEX['left_foot']] == STATUS_STALE


def test_new_times_apply_while_running(virtual):
    root, rotations = virtual.t_pose()
    rotations[SEGMENT_INDEX['left_hand']] = quaternions.exp(np.array([1.0, 0.0, 0.0]))
    estimator = virtual.estimator()
    estimator.step(virtual.frame(root, rotations))
    estimator.configure(PostureConfig(hold_s=0.0, fade_s=0.01, return_s=0.0))
    for _ in range(4):
        estimate = estimator.step(_lose(virtual.frame(root, rotations), 'left_hand'))
    hand = estimate.posture.rotations[SEGMENT_INDEX['left_hand']]
    np.testing.assert_allclose(hand, [1.0, 0.0, 0.0, 0.0], atol=EXACT_TOL)


@pytest.mark.parametrize(
    'field, bad',
    [
        ('positions', np.nan),
        ('quaternions', np.inf),
        ('linear_velocities', -np.inf),
        ('angular_velocities', np.nan),
    ],
)
def test_row_that_is_not_finite_counts_as_lost(virtual, field, bad):
    estimator = virtual.estimator()
    estimator.step(virtual.frame(*virtual.t_pose()))
    frame = virtual.frame(*virtual.t_pose())
    getattr(frame, field)[frame.sensors.index('left_hand'), 1] = bad
    estimate = estimator.step(frame)
    assert estimate.status[SEGMENT_INDEX['left_hand']] == STATUS_STALE
    for values in (estimate.p_world, estimate.q_world, estimate.posture.end_effector_velocities):
        assert np.all(np.isfinite(values))


LEAP_M = PERFORMER_RATIO * FASTEST_M_S * LEAP_FRAMES * PERIOD_S
LEAP_RAD = PERFORMER_RATIO * FASTEST_RAD_S * LEAP_FRAMES * PERIOD_S
N_BEFORE, N_AFTER = 20, 80  # frames
N_LOST = 5, 30  # so many before the leap and after it
LOST = ('left_hand', 'right_foot')
OFF_M = 0.03  # of each sensor, so that lengths are not those of the skeleton
SLOW_M = 0.08  # in a frame: what easing needs
SINKS_M = 0.08  # as the segments are eased each by itself; the pelvis goes down by 0.2


def _moved(root, rotations, way, turn):
    rotations = rotations.copy()
    rotations[0] = quaternions.multiply(turn, rotations[0])
    return quaternions.rotate(turn, root) + way, rotations


def _motion(rng, pose):
    root, rotations = pose
    speed, turning = rng.normal(size=3), rng.normal(size=(len(rotations), 3))
    times = PERIOD_S * np.arange(N_BEFORE + N_AFTER)
    return [
        (root + t * speed, quaternions.multiply(rotations, quaternions.exp(t * turning)))
        for t in times
    ]


def _displaced(frame):
    """Let all sensors but the pelvis' be elsewhere on their segments than calibrated."""
    offsets = OFF_M * np.sin(np.arange(3 * len(frame.sensors))).reshape(-1, 3)
    offsets[frame.sensors.index('pelvis')] = 0.0
    frame.positions[:] += quaternions.rotate(frame.quaternions, offsets)
    return frame


def _numbers(estimate):
    posture = estimate.posture
    return (
        estimate.p_world,
        estimate.q_world,
        posture.root_position,
        posture.rotations,
        posture.end_effectors,
        posture.end_effector_velocities,
    )


@pytest.mark.parametrize(
    'way, angle',
    [([-0.5, 0.3, 0.0], -1.0), ([1.3 * LEAP_M, 0.0, 0.0], 0.0), ([0.0, 0.0, 0.0], 1.3 * LEAP_RAD)],
)
@pytest.mark.parametrize('has_lost', [False, True])
def test_a_leap_changes_nothing_but_the_place(virtual, rng, way, angle, has_lost):
    """All that comes after is as if he had always been there, sensors missing or not."""
    turn = quaternions.exp(np.array([0.0, 0.0, angle]))
    leaping, steady = virtual.estimator(), virtual.estimator()
    poses = _motion(rng, random_posture(rng, virtual.place))
    # a turn is about the pelvis, which stays where it is
    pivot = poses[N_BEFORE][0] - quaternions.rotate(turn, poses[N_BEFORE][0])
    there = [_moved(*pose, np.array(way) + pivot, turn) for pose in poses]
    for k in range(N_BEFORE + N_AFTER):
        frame = _displaced(virtual.frame(*there[k]))
        virtual.frame_index -= 1
        before = _displaced(virtual.frame(*poses[k]))
        if k == N_BEFORE:
            frame.status[:] = FILTER_REINITIALISED
        if has_lost and -N_LOST[0] <= k - N_BEFORE < N_LOST[1]:
            for each in (frame, before):
                _lose(each, *set(LOST) & set(each.sensors))
        of_leaping = leaping.step(before if k < N_BEFORE else frame)
        of_steady = steady.step(frame)
        if k < N_BEFORE:
            continue
        for ours, theirs in zip(_numbers(of_leaping), _numbers(of_steady)):
            if ours.shape[-1] == 4:
                ours = ours * np.sign(np.sum(ours * theirs, axis=-1))[..., None]
            np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_a_pelvis_that_is_back_is_eased(virtual):
    """Its filter begins anew, however far from where the chest had carried it."""
    root, rotations = virtual.t_pose()
    estimator, pelvis = virtual.estimator(), virtual.layout.sensors.index('pelvis')
    chest = SEGMENT_INDEX['chest']
    before = root + [0.0, 0.0, 0.2]
    _, bent = virtual.t_pose()
    bent[0] = quaternions.multiply(bent[0], quaternions.exp(np.array([0.0, 0.0, 1.5])))
    # the chest as it was: only the pelvis turns, by more than a leap
    bent[chest] = quaternions.exp(np.array([0.0, 0.0, -1.5]))
    last = None
    for k in range(N_BEFORE + N_AFTER):
        frame = virtual.frame(before, rotations if k < N_BEFORE // 2 else bent)
        if N_BEFORE // 2 <= k < N_BEFORE:
            frame.positions[pelvis] = np.nan
            frame.status[pelvis] = FILTER_LOST
        elif k == N_BEFORE:
            frame.status[pelvis] = FILTER_REINITIALISED
        estimate = estimator.step(frame)
        now = np.concatenate((estimate.p_world, estimate.posture.end_effectors))
        if k >= N_BEFORE:
            assert np.linalg.norm(now - last, axis=1).max() < SLOW_M
        last = now


@pytest.mark.parametrize('way', [0.0, 1.0])
def test_feet_stay_on_the_floor(virtual, way):
    """A squat that nobody saw, on the spot or elsewhere, does not take the feet down."""
    root, rotations = virtual.t_pose()
    estimator = virtual.estimator()
    _, _, points = virtual.truth(root, rotations)
    floor = points[:, 2].min()
    squat = rotations.copy()
    for side in ('left', 'right'):
        for part, angle in (('thigh', -0.7), ('shank', 1.4), ('foot', -0.7)):
            squat[SEGMENT_INDEX[f'{side}_{part}']] = quaternions.exp([0.0, angle, 0.0])
    _, _, points = virtual.truth(root, squat)
    low = root + [way, 0.0, floor - points[:, 2].min()]
    for k in range(N_BEFORE + N_AFTER):
        pose = (root, rotations) if k < N_BEFORE else (low, squat)
        frame = virtual.frame(*pose)
        if k >= N_BEFORE:
            frame = frame._replace(stamp_ns=frame.stamp_ns + 600_000_000)
        estimate = estimator.step(frame)
        assert estimate.posture.end_effectors[:, 2].min() > floor - SINKS_M
    np.testing.assert_allclose(estimate.posture.root_position, low, atol=1e-9)


def test_the_first_frame_is_no_leap(virtual, rng):
    """It is taken as it comes, also after a reset."""
    estimator = virtual.estimator()
    for _ in range(2):
        pose = random_posture(rng, virtual.place)
        frame = virtual.frame(*pose)
        frame.status[:] = FILTER_REINITIALISED
        _, joints, points = virtual.truth(*pose)
        estimate = estimator.step(frame)
        np.testing.assert_allclose(estimate.p_world, joints, atol=1e-9)
        np.testing.assert_allclose(estimate.posture.end_effectors, points, atol=1e-9)
        estimator.reset()


LAYOUTS = sorted(path.stem for path in (named_files.DATA / 'layouts').glob('*.yaml'))
RATE_HZ = 120.0
N_FRAMES = 600


class Played(NamedTuple):
    q: Quats
    p: Vec3s
    points: Vec3s


def _layout(name):
    return load_layout(named_files.layout_file(name))


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
    Sensors that are back tell what they told before.
    """
    motion, layout = walk_and_clap(N_FRAMES), _layout(name)
    lost = _random_losses(rng, motion.n_frames, len(layout.sensors))
    lost[-240:] = False
    own = _speeds(Played(*motion.world_segments(), motion.end_effectors))
    played = _play(motion, layout, lost, motion.skeleton)
    speed, turn_speed = _speeds(played)
    assert speed < own[0] + 7.0
    assert turn_speed < own[1] + 1.5 * np.pi / 0.3 + TURN_SPEED_RAD_S
    whole = _play(motion, layout, np.zeros_like(lost), motion.skeleton)
    np.testing.assert_allclose(played.p[-1], whole.p[-1], atol=1e-9)
    np.testing.assert_allclose(played.points[-1], whole.points[-1], atol=1e-9)


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
    character, layout = (
        load_character(named_files.character_file('performer')),
        _layout('default14'),
    )
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
N_PATTERNS = 3
# A loss after another one may begin where the body is not yet where it was seen.
WORSE, WORSE_M = 1.4, 0.03
CARRIED_M = 0.15  # more than a pelvis that a chest carries that does not flicker
EASING_M_S = 2.0  # of the losses here; the root is never half a metre off


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


@pytest.mark.parametrize(
    'layout, names',
    [
        ('default14', ('pelvis',)),
        ('default14', ('left_hand', 'right_hand')),
        ('six_point', ('pelvis',)),
        ('six_point', ('left_foot',)),
    ],
)
def test_flicker_is_hardly_worse_than_loss(layout, names, rng):
    index = np.arange(N_FLICKER)
    whole = _play_flicker(layout, names, index < 0)
    always = max(
        _error(_play_flicker(layout, names, index >= start), whole)
        for start in range(60, 440, 120)
    )
    for lost in _patterns(rng):
        played = _play_flicker(layout, names, lost)
        assert _error(played, whole) < WORSE * always + WORSE_M
        assert _speed(played) < _speed(whole) + EASING_M_S


@pytest.mark.parametrize('seen, lost', [(1, 1), (10, 3)])
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
