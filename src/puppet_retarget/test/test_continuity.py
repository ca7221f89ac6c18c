# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Smooth input gives smooth output, through every branch of importance and solver.

Whole motions, at 120 Hz and at 12 kHz, then branch by branch: limits, solids, the own body. Limbs
are driven as deep into these as they have a nearest side: no continuous rule takes all that is
inside of a solid to its surface and leaves the surface where it is.
"""

from continuity_runs import (
    Act,
    bend_knees,
    check_smooth,
    HIGH_HZ,
    LOW_HZ,
    phase,
    play,
    SIDES,
    speeds,
    swell,
)
from joint_limit_samples import with_adult_limits
import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_retarget.importance.estimator import IMPORTANCE
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.whole_body import Weights, WholeBodySolver
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

pytestmark = pytest.mark.slow

CONFIG = SolverConfig()
ALLOWED_M = 1e-3  # depth in the own body


def through_itself(*given):
    """Return a solver that knows nothing of its own body."""
    return WholeBodySolver(*given, Weights(inside=0.0))


def on_the_floor(skeleton, rate_hz, vectors, lift):
    """Return the motion of rotation vectors (n, 16, 3), its lower sole `lift` above the floor."""
    rotations = qb.exp(vectors)
    roots = np.zeros((len(vectors), 3))
    motion = Motion.from_rotations(skeleton, rate_hz, roots, rotations)
    roots[:, 2] = lift - motion.end_effectors[:, 2:4, 2].min(axis=1)
    return Motion.from_rotations(skeleton, rate_hz, roots, rotations)


def splits(skeleton, rate_hz):
    """Return legs that spread and close: a short puppet's feet go far out of reach."""
    share = swell(phase(rate_hz))
    vectors = np.zeros((len(share), 16, 3))
    for side, sign in SIDES:
        vectors[:, SEGMENT_INDEX[f'{side}_thigh'], 0] = sign * 0.75 * share
        vectors[:, SEGMENT_INDEX[f'{side}_foot'], 0] = -sign * 0.75 * share
    return on_the_floor(skeleton, rate_hz, vectors, 0.0 * share)


def squat(skeleton, rate_hz):
    """Return knees that bend from straight to deep and back."""
    share = swell(phase(rate_hz))
    vectors = np.zeros((len(share), 16, 3))
    bend_knees(vectors, 1.2 * share)
    return on_the_floor(skeleton, rate_hz, vectors, 0.0 * share)


def jump(skeleton, rate_hz):
    """Return a leap so high that all importance vanishes, and a landing."""
    share = swell(phase(rate_hz))
    vectors = np.zeros((len(share), 16, 3))
    bend_knees(vectors, 0.3 * share)
    return on_the_floor(skeleton, rate_hz, vectors, 1.2 * share**2)


def swing_arms(skeleton, rate_hz):
    """Return straight arms that swing up ahead until the palms are 0.58 m before the body."""
    share = swell(phase(rate_hz))
    vectors = np.zeros((len(share), 16, 3))
    bend_knees(vectors, 0.3)
    rotations = qb.exp(vectors)
    forward = qb.exp(np.stack((0.0 * share, -1.1 * share, 0.0 * share), axis=1))
    for side, sign in SIDES:
        down = qb.exp(np.array([-1.35 * sign, 0.0, 0.0]))
        rotations[:, SEGMENT_INDEX[f'{side}_upper_arm']] = qb.multiply(forward, down)
    return on_the_floor(skeleton, rate_hz, qb.log(rotations), 0.0 * share)


def fastest_frame(result):
    """Return the highest speed of hands and feet at the low rate, whichever frames it takes."""
    every = round(HIGH_HZ / LOW_HZ)
    ends = result.puppet.end_effectors[:, :4]
    return float(np.linalg.norm(ends[every:] - ends[:-every], axis=2).max() * LOW_HZ)


def compare(run):
    """
    Return speeds of input and output at the low rate, of output at the high one, and that.

    The body solver moves hands in bursts as short as a frame at the low rate, which shows less
    of them the more a frame's end falls into one; so any frames of the high rate count too.
    """
    motion, low = run(LOW_HZ)
    _, high = run(HIGH_HZ)
    given = speeds(LOW_HZ, motion.root_positions, motion.end_effectors, motion.rotations)
    slow, fast = (
        speeds(rate, r.puppet.root_positions, r.puppet.end_effectors, r.puppet.rotations)
        for rate, r in ((LOW_HZ, low), (HIGH_HZ, high))
    )
    return given, slow._replace(ends=max(slow.ends, fastest_frame(high))), fast, high


def check(given, low, high, leg_length):
    """Assert that the output's speeds are bounded by the input's and do not grow with the rate."""
    fastest = max(given.ends, given.root)
    assert high.root < 2.1 * fastest
    assert high.ends < 6.0 * fastest
    # near full stretch a joint turns up to 25 times per limb length
    assert high.joints < given.joints + 2.0 * 25.0 / leg_length * fastest
    # bursts shorter than a frame are missed at the low rate; a jump would be a hundredfold
    assert high.root <= 1.6 * low.root
    assert high.ends < 1.25 * low.ends


@pytest.mark.parametrize('puppet', ['short_character', 'tall_character', 'adult_character'])
@pytest.mark.parametrize('move', [splits, squat, jump], ids=lambda move: move.__name__)
def test_smooth_moves_stay_smooth(retarget, adult_character, puppet, move, request):
    """Importance through 0 and 1, goals through reach, balls that vanish and no longer meet."""
    character = request.getfixturevalue(puppet)

    def run(rate_hz):
        motion = move(adult_character.skeleton, rate_hz)
        return motion, retarget(motion, character)

    *figures, out = compare(run)
    check(*figures, character.skeleton.leg_length)
    assert out.rows[:, 2:, IMPORTANCE].max() == 1.0
    if move is jump:
        assert out.rows[:, :, IMPORTANCE].min() == 0.0


def sampled_finer(motion, start, count, times):
    """Return some frames of a motion at a multiple of its rate, on smooth curves between them."""
    coarse = np.arange(count) / motion.rate_hz
    fine = np.arange((count - 1) * times + 1) / (times * motion.rate_hz)
    frames = slice(start, start + count)
    rotations = np.empty((len(fine), 16, 4))
    for segment in range(16):
        own = motion.rotations[frames, segment][:, [1, 2, 3, 0]]
        curve = RotationSpline(coarse, Rotation.from_quat(own))
        rotations[:, segment] = curve(fine).as_quat()[:, [3, 0, 1, 2]]
    roots = CubicSpline(coarse, motion.root_positions[frames])(fine)
    return Motion.from_rotations(motion.skeleton, times * motion.rate_hz, roots, rotations)


@pytest.mark.parametrize('puppet', ['short_character', 'tall_character'])
@pytest.mark.parametrize(
    ('clip', 'start'), [('salsa_10', 400), ('salsa_10', 900), ('martial_04', 300), ('01_14', 1200)]
)
def test_steps_of_joints_fall_with_the_time_between_frames(
    retarget, captured, puppet, clip, start, request
):
    """Frames 16 and 32 times as dense: a joint that jumps steps as far in both."""
    character = request.getfixturevalue(puppet)

    def largest_steps(times):
        out = retarget(sampled_finer(captured(clip), start, 150, times), character)
        turns = out.puppet.rotations[5:]
        return np.linalg.norm(
            qb.log(qb.multiply(qb.conjugate(turns[:-1]), turns[1:])), axis=2
        ).max(0)

    coarse, fine = largest_steps(16), largest_steps(32)
    assert (fine < 0.7 * coarse + 1e-5).all()


@pytest.mark.parametrize('puppet', ['short_character', 'tall_character', 'adult_character'])
@pytest.mark.parametrize('shift', [-0.1, 0.3, 0.6])
def test_hands_to_a_wall_stay_smooth(retarget, adult_character, scene, puppet, shift, request):
    """The puppet's wall stands elsewhere, for a short puppet out of reach: the body bends."""
    character = request.getfixturevalue(puppet)
    wall = scene.thing(
        'box',
        np.array([0.70, 0.0, 1.0]),
        np.array([0.2, 3.0, 2.0]),
        puppet_position=np.array([0.70 + shift, 0.0, 1.0]),
    )
    place = scene(scene.floor, wall)

    def run(rate_hz):
        motion = swing_arms(adult_character.skeleton, rate_hz)
        return motion, retarget(motion, character, place)

    given, low, high, out = compare(run)
    moved = given._replace(ends=given.ends + 6.0 * abs(shift))
    check(moved, low, high, character.skeleton.limb_lengths[0].sum())
    assert out.rows[:, 0, IMPORTANCE].max() > 0.99
    if shift > 0.2 and puppet == 'short_character':
        assert out.body_iterations.max() > 0


PUPPETS = pytest.mark.parametrize('puppet', ['short_character', 'tall_character'])


@pytest.fixture
def act(request, adult_character, puppet):
    return Act(request.getfixturevalue(puppet), adult_character)


def turns(a, b):
    """Return by how much the joints of two runs differ, (n, 16)."""
    return np.abs(a.rotations - b.rotations).max(axis=2)


@PUPPETS
def test_joints_pass_their_limits_smoothly(act, adult_character, tmp_path):
    """All eight kinds of joint pass from free to limited and back, most in swing and twist."""
    free = act.solver(CONFIG)
    act.character = with_adult_limits(act.character, tmp_path)
    limited = act.solver(CONFIG)

    def bend(t):
        u, o = swell(t), np.sin(2.0 * np.pi * t)
        return act.pose(
            t,
            chest=(0.6 * o, 0.9 * u, 0.9 * o),
            head=(0.9 * u, 0.0, 1.8 * o),
            upper_arm=(1.9 * u - 0.9, 1.2 * u, -1.5 * o),
            hand=(1.3 * o, 0.8 * u, 0.5 * o),
            forearm=(0.2 * u, 1.5 * o, 1.6 * u - 1.4),
            thigh=(0.7 * o, -0.3 - 1.9 * u, 0.5 * o),
            shank=(0.0, 0.6 - 0.9 * u, 0.6 * o),
            foot=(0.3 * o, 1.4 * u, 0.5 * o),
        )

    given = play(free, bend(phase(HIGH_HZ)), HIGH_HZ)
    speeds = given.speeds(HIGH_HZ)
    _, high = check_smooth(limited, bend, 2.0 * speeds.ends, 3.0 * speeds.joints)
    is_limited = turns(given, high) > 1e-6
    for name in ('chest', 'head', 'upper_arm', 'forearm', 'hand', 'thigh', 'shank', 'foot'):
        for joint in {name, f'left_{name}', f'right_{name}'} & set(SEGMENT_INDEX):
            assert 0.02 < is_limited[:, SEGMENT_INDEX[joint]].mean() < 0.98, joint


@PUPPETS
@pytest.mark.parametrize(
    ('shape', 'size', 'beyond', 'bend'),
    [
        ('sphere', (0.08, 0.08, 0.08), 0.03, -0.4),
        ('box', (0.1, 0.15, 0.2), 0.06, -0.4),
        ('capsule', (0.06, 0.06, 0.3), 0.04, -0.4),
        ('cylinder', (0.07, 0.07, 0.3), 0.05, -0.4),
        ('sphere', (0.08, 0.08, 0.08), -0.06, -1.2),
    ],
    ids=['sphere', 'box', 'capsule', 'cylinder', 'far side'],
)
def test_palms_leave_solids_smoothly(act, scene, shape, size, beyond, bend):
    """A palm that matters to nothing dips into a solid on its way there and back."""

    def sweep(t):
        lift = 0.3 + 0.2 * np.sin(2.0 * np.pi * t)
        return act.pose(t, upper_arm=(-0.4, lift, -0.9 * swell(t) - 0.2), forearm=(0.0, 0.0, bend))

    stage = act.stage
    free = play(act.solver(CONFIG), sweep(phase(HIGH_HZ)), HIGH_HZ)
    palm, shoulder = free.ends[len(free.ends) // 4, 0], stage.reference + stage.shoulders[0]
    ahead = (palm - shoulder) / np.linalg.norm(palm - shoulder)
    solid = scene.thing(shape, (palm + beyond * ahead) / stage.scale, np.array(size))
    fastest = free.speeds(HIGH_HZ).ends
    solver = act.solver(CONFIG, environment=scene(solid))
    _, high = check_smooth(solver, sweep, 8.0 * fastest, 32.0 / stage.reaches[0] * fastest)
    moved = (turns(free, high)[:, 4:7] > 0.02).any(axis=1)  # what fades afterwards does not count
    assert 0.02 < moved.mean() < 0.95


def depths(played_script, solver, every=20):
    """Return how deep the puppet's general end-effectors are in itself, (n, 8) [m]."""
    return np.array(
        [
            solver.solve(root, hips, rotations, rows, np.inf, self_rows).self_depths.copy()
            for root, hips, rotations, rows, self_rows in zip(*(f[::every] for f in played_script))
        ]
    )


def to_belly(act, t, share):
    u = swell(t)
    script = act.pose(t)
    vectors = qb.log(script.rotations)
    vectors[:, SEGMENT_INDEX['left_upper_arm']] = np.stack(
        (np.full(len(t), -1.0), 0.2 * np.sin(2.0 * np.pi * t) + 0.1, -0.2 - 0.5 * share * u),
        axis=1,
    )
    vectors[:, SEGMENT_INDEX['left_forearm'], 2] = -0.8 - 1.6 * share * u
    script.rotations[:] = qb.exp(vectors)
    return script


def to_sides(act, t, share):
    y = 0.1 * np.sin(2.0 * np.pi * t)
    return act.pose(t, upper_arm=(-0.6 - 0.9 * share * swell(t), y, 0.0))


def together(act, t, share):
    """Return palms that meet ahead of the chest."""
    u = swell(t)
    return act.pose(
        t,
        upper_arm=(-0.5, 0.3 * u, -0.6 - 0.5 * share * u),
        forearm=(0.0, 0.0, -0.4 - 1.7 * share * u),
    )


def knock_knees(act, t, share):
    return act.pose(t, thigh=(-0.35 * share * swell(t), -0.3, 0.0))


@pytest.mark.parametrize(
    ('puppet', 'move', 'share', 'inside'),
    [
        ('short_character', to_belly, 1.2, 0),
        ('short_character', to_sides, 1.2, 4),
        ('tall_character', to_sides, 1.2, 4),
        ('short_character', together, 0.9, 0),
        ('short_character', knock_knees, 1.0, 6),
        ('tall_character', knock_knees, 0.3, 6),
    ],
)
def test_general_end_effectors_leave_the_body_smoothly(act, move, share, inside):
    def dip(t):
        return move(act, t, share)

    off, t = act.solver(CONFIG, through_itself), phase(HIGH_HZ)
    free = play(off, dip(t), HIGH_HZ)
    fastest = free.speeds(HIGH_HZ).ends
    reach = act.stage.reaches[inside % 4]
    # the knee of a straight leg turns on a small circle, out of the way in a wide arc
    _, high = check_smooth(act.solver(CONFIG), dip, 4.0 * fastest, 128.0 / reach * fastest)
    deep = depths(dip(t), off)[:, inside] > ALLOWED_M
    assert 0.02 < deep.mean() < 0.7
    moved = np.linalg.norm(high.ends - free.ends, axis=2)[:, inside] > 0.0
    assert moved[::20][deep].all() and not moved.all()


def wandering(act, t, seed):
    """Return limbs that swing at random, deep into the body as well."""
    rng = np.random.default_rng(seed)
    script = act.pose(t)
    vectors = qb.log(script.rotations)
    for segment in LIMB_SEGMENTS[:, :2].ravel():
        for axis in range(3):
            turns, begins = rng.normal(0.0, 0.5, 2), rng.uniform(0.0, 2.0 * np.pi, 2)
            swings = np.sin(2.0 * np.pi * np.outer((1.0, 2.0), t) + begins[:, None])
            vectors[:, segment, axis] += turns @ swings
    script.rotations[:] = qb.exp(vectors)
    return script


@PUPPETS
def test_limbs_go_round_the_body_at_a_bounded_speed(act):
    """However deep: where the way out changes sides the limb goes over, without a jump."""
    t, jumps = phase(HIGH_HZ), 0
    for seed in range(6):
        script = wandering(act, t, seed)
        kinds = through_itself, WholeBodySolver
        free, pushed = (play(act.solver(CONFIG, k), script, HIGH_HZ) for k in kinds)
        ends, solver = np.empty_like(free.ends), act.solver(CONFIG)
        for i, (root, hips, rotations, rows, self_rows) in enumerate(zip(*script)):
            out = solver.solve(root, hips, rotations, rows, np.inf, self_rows)
            ends[i] = out.end_effectors
        speeds = [
            HIGH_HZ * np.linalg.norm(np.diff(p, axis=0), axis=2).max()
            for p in (free.ends, pushed.ends, ends)
        ]
        reach = act.character.skeleton.limb_lengths.sum(axis=1).max()
        bound = 3.0 * speeds[0] + 3.0 * Weights().rate_rad_s * reach
        assert speeds[1] < bound
        jumps += speeds[2] > bound
    assert jumps > 1  # without a past nothing is bounded
