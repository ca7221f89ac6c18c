# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels and arrays of puppet_core.math against numpy, scipy, transforms3d and the algebra."""

import math
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as batch
from puppet_core.math import values
from puppet_core.math.arrays import check_array, read_only
from puppet_core.math.critically_damped import follow
from puppet_core.math.linear_system import factorise_in_place, solve_factorised
from puppet_core.math.quaternions import continuous_rows
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from transforms3d import quaternions as t3d

ALGEBRA_TOL = 1e-14  # a few roundings of numbers of size one
ANGLE_TOL = 4e-15  # [rad]
quick = settings(max_examples=60, deadline=None)

NAMES = 'multiply conjugate normalize rotate rotate_inverse exp log slerp align_sign'.split()
NAMES += ['between', 'angle_between']


@pytest.fixture(scope='module')
def quat():
    def of_arrays(name):
        kernel = getattr(values, name)
        return lambda *args: np.array(
            kernel(*(np.array(a, dtype=float) if np.ndim(a) else a for a in args))
        )

    return SimpleNamespace(**{name: of_arrays(name) for name in NAMES})


def _unit(parts):
    return np.array(parts) / np.linalg.norm(parts)


component = st.floats(-1.0, 1.0, allow_subnormal=False)
general = st.tuples(*[component] * 4).filter(lambda p: np.linalg.norm(p) > 0.1).map(_unit)
directions = st.tuples(*[component] * 3).filter(lambda p: np.linalg.norm(p) > 0.1).map(_unit)
exponents = st.floats(-12.0, -1.0)
near_identity = st.builds(
    lambda d, e: np.append(math.cos(0.5 * 10**e), math.sin(0.5 * 10**e) * d), directions, exponents
)
near_half_turn = st.builds(
    lambda d, e: np.append(math.sin(0.5 * 10**e), math.cos(0.5 * 10**e) * d), directions, exponents
)
half_turn = directions.map(lambda d: np.append(0.0, d))
quats = st.one_of(general, near_identity, near_half_turn, half_turn)
vectors = st.tuples(*[st.floats(-10.0, 10.0, allow_subnormal=False)] * 3).map(np.array)


A, B = np.random.default_rng(5).normal(size=(2, 3))


@pytest.mark.parametrize(
    ('name', 'given', 'wanted'),
    [
        ('vec3', (A,), A),
        ('add', (A, B), A + B),
        ('sub', (A, B), A - B),
        ('scale', (A, 3.5), 3.5 * A),
        ('dot', (A, B), A @ B),
        ('cross', (A, B), np.cross(A, B)),
        ('norm', (A,), np.linalg.norm(A)),
        ('normalized', (A,), A / np.linalg.norm(A)),
        ('clamp', (0.5, 1.0, 2.0), 1.0),
        ('clamp', (2.5, 1.0, 2.0), 2.0),
        ('clamp', (1.5, 1.0, 2.0), 1.5),
        ('smooth_ramp', (-1.0, 2.0), 0.0),
        ('smooth_ramp', (1.0, 2.0), 0.25),
        ('smooth_ramp', (3.0, 2.0), 2.0),
    ],
)
def test_vectors_are_as_in_numpy(name, given, wanted):
    np.testing.assert_allclose(getattr(values, name)(*given), wanted, atol=1e-15)


def _scipy(q):
    return Rotation.from_quat(q[[1, 2, 3, 0]])


def _assert_same_rotation(a, b, tol=ALGEBRA_TOL):
    assert min(np.abs(a - b).max(), np.abs(a + b).max()) <= tol


@quick
@given(quats, quats)
def test_product_is_composition_as_scipy_has_it(quat, a, b):
    np.testing.assert_allclose(quat.multiply(a, b), t3d.qmult(a, b), atol=ALGEBRA_TOL)
    ours = _scipy(quat.multiply(a, b)).as_matrix()
    np.testing.assert_allclose(ours, (_scipy(a) * _scipy(b)).as_matrix(), atol=ALGEBRA_TOL)


@quick
@given(quats, vectors)
def test_rotate_is_scipys(quat, q, v):
    np.testing.assert_allclose(quat.rotate(q, v), _scipy(q).apply(v), atol=1e-13)
    np.testing.assert_allclose(quat.rotate_inverse(q, quat.rotate(q, v)), v, atol=1e-13)
    np.testing.assert_array_equal(quat.conjugate(q), q * [1.0, -1.0, -1.0, -1.0])


@quick
@given(vectors)
def test_exp_is_scipys_rotation_vector(quat, rotvec):
    expected = Rotation.from_rotvec(rotvec).as_quat()[[3, 0, 1, 2]]
    _assert_same_rotation(quat.exp(rotvec), expected)


@quick
@given(quats)
def test_log_is_the_short_way_and_ignores_the_sign(quat, q):
    rotvec = quat.log(q)
    _assert_same_rotation(quat.exp(rotvec), q)
    assert np.linalg.norm(rotvec) <= math.pi + ANGLE_TOL
    if q[0] != 0.0:
        np.testing.assert_array_equal(rotvec, quat.log(-q))


@quick
@given(directions, st.floats(-9.0, math.log10(math.pi) - 1e-9))
def test_log_has_full_relative_precision_for_small_angles(quat, direction, exponent):
    angle = 10.0**exponent
    rotvec = quat.log(quat.exp(angle * direction))
    assert np.linalg.norm(rotvec - angle * direction) <= 2e-15 * angle + 1e-16 * (angle > 0.1)


@quick
@given(quats, quats)
def test_angle_between_is_scipys_magnitude(quat, a, b):
    expected = (_scipy(a).inv() * _scipy(b)).magnitude()
    assert quat.angle_between(a, b) == pytest.approx(expected, abs=1e-13)
    assert quat.angle_between(a, -b) == quat.angle_between(a, b)


@quick
@given(quats, quats, st.floats(0.0, 1.0))
def test_slerp_goes_the_short_way_at_constant_speed(quat, a, b, t):
    """Errata 11."""
    middle = quat.slerp(a, b, t)
    whole = quat.angle_between(a, b)
    assert quat.angle_between(a, middle) == pytest.approx(t * whole, abs=1e-13)
    assert quat.angle_between(middle, b) == pytest.approx((1 - t) * whole, abs=1e-13)


@quick
@given(directions, directions, st.floats(0.1, 10.0), st.floats(0.1, 10.0))
def test_between_turns_one_direction_into_the_other(quat, u, v, u_length, v_length):
    q = quat.between(u_length * u, v_length * v)
    np.testing.assert_allclose(quat.rotate(q, u), v, atol=ALGEBRA_TOL)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=ALGEBRA_TOL)


@quick
@given(directions, directions)
def test_between_is_the_least_rotation(quat, u, v):
    angle = 2.0 * math.atan2(np.linalg.norm(u - v), np.linalg.norm(u + v))
    least = quat.angle_between(np.array([1.0, 0, 0, 0]), quat.between(u, v))
    assert least == pytest.approx(angle, abs=1e-14)


@quick
@given(directions, directions, exponents)
def test_between_is_exact_for_nearly_opposite_vectors(quat, u, aside, exponent):
    """Errata 8: the cross product alone loses its direction here."""
    v = _unit(-u + 10.0**exponent * np.cross(u, aside))
    np.testing.assert_allclose(quat.rotate(quat.between(u, v), u), v, atol=ALGEBRA_TOL)


@pytest.mark.parametrize('u', np.vstack([np.eye(3), -np.eye(3), _unit([1, 1, 1])]))
def test_between_of_opposite_vectors_is_half_a_turn(quat, u):
    q = quat.between(u, -2.0 * u)
    assert abs(q[0]) < ALGEBRA_TOL
    np.testing.assert_allclose(quat.rotate(q, u), -u, atol=ALGEBRA_TOL)


@pytest.mark.parametrize('place', range(4))
def test_nan_never_gets_lost(quat, place):
    bad, good = np.array([1.0, 0, 0, 0]), np.array([0.6, 0.8, 0, 0])
    bad[place] = math.nan
    vector = np.array([1.0, 2.0, 3.0])
    assert np.isnan(quat.multiply(bad, good)).any()
    assert np.isnan(quat.rotate(bad, vector)).any()
    assert np.isnan(quat.log(bad)).any()
    assert np.isnan(quat.slerp(bad, good, 0.5)).any()
    assert math.isnan(quat.angle_between(bad, good))


TOL = 1e-14  # a few roundings of numbers of size one


def _quats(rng, *shape):
    return batch.normalize(rng.normal(size=(*shape, 4)))


@pytest.mark.parametrize(
    ('name', 'kinds'),
    [
        ('multiply', 'qq'),
        ('slerp', 'qqt'),
        ('conjugate', 'q'),
        ('normalize', 'q'),
        ('rotate', 'qv'),
        ('exp', 'v'),
        ('log', 'q'),
    ],
)
def test_functions_agree_with_the_kernels(rng, name, kinds):
    sizes = 10.0 ** rng.uniform(-12, 0.5, (200, 1))
    make = {'q': lambda: _quats(rng, 200), 'v': lambda: sizes * rng.normal(size=(200, 3))}
    arguments = [rng.random(200) if kind == 't' else make[kind]() for kind in kinds]
    ours = getattr(batch, name)(*arguments)
    expected = [getattr(values, name)(*row) for row in zip(*arguments)]
    flip = np.sign(np.sum(ours * expected, axis=1, keepdims=True))
    np.testing.assert_allclose(flip * ours, expected, atol=1e-13)


def test_leading_axes_broadcast(rng):
    q, v = _quats(rng, 5, 1), rng.normal(size=(3, 3))
    many = batch.rotate(q, v)
    assert many.shape == (5, 3, 3)
    np.testing.assert_allclose(many[4, 2], batch.rotate(q[4, 0], v[2]), atol=TOL)
    assert batch.multiply(q, _quats(rng, 7)).shape == (5, 7, 4)
    assert batch.slerp(q, _quats(rng, 7), rng.random(7)).shape == (5, 7, 4)


def test_matrices_are_those_of_transforms3d(rng):
    q = _quats(rng, 30)
    expected = np.array([t3d.quat2mat(row) for row in q])
    np.testing.assert_allclose(batch.to_matrix(q), expected, atol=TOL)


def test_matrix_round_trip_keeps_shape_and_picks_positive_w(rng):
    q = _quats(rng, 4, 6)
    q[0, :, 0] = 0.0  # half turns
    q = batch.normalize(q)
    back = batch.from_matrix(batch.to_matrix(q))
    assert back.shape == q.shape
    assert np.all(back[..., 0] >= 0.0)
    same = np.abs(np.sum(back * q, axis=-1))
    np.testing.assert_allclose(same, 1.0, atol=TOL)


def test_align_signs_makes_a_sign_flipping_sequence_continuous(rng):
    smooth = batch.exp(np.cumsum(0.05 * rng.normal(size=(300, 2, 3)), axis=0))
    flipped = smooth * rng.choice([-1.0, 1.0], size=(300, 2, 1))
    aligned = batch.align_signs(flipped)
    assert np.max(np.linalg.norm(np.diff(aligned, axis=0), axis=-1)) < 0.3
    np.testing.assert_array_equal(aligned[0], flipped[0])
    np.testing.assert_allclose(np.abs(aligned), np.abs(smooth), atol=0.0)


def test_continuous_rows_are_unit_and_nearest_to_the_frame_before(rng):
    q = np.cumsum(rng.normal(size=(30, 4, 4)), axis=0) * rng.choice([-2.0, 2.0], (30, 4, 1))
    out = np.empty_like(q)
    continuous_rows(q, out)
    np.testing.assert_allclose(out, batch.align_signs(batch.normalize(q)), atol=1e-15)


ODE_TOL = 1e-9  # solve_ivp at rtol 1e-12


@pytest.mark.parametrize('dt', [1e-4, 0.01, 0.3])
def test_step_solves_the_critically_damped_equation(dt):
    tau, target = 0.05, 0.8
    state = np.array([0.1, 3.0])

    def rate(_, y):
        return y[1], (target - y[0]) / tau**2 - 2.0 * y[1] / tau

    wanted = solve_ivp(rate, (0.0, dt), state, rtol=1e-12, atol=1e-13).y[:, -1]
    assert follow(state, target, tau, dt) == state[0]
    np.testing.assert_allclose(state, wanted, atol=ODE_TOL)


@pytest.mark.parametrize('n', [1, 4, 12])
def test_factor_solves_positive_definite_systems(n, rng):
    for _ in range(20):
        root = rng.normal(size=(n, n))
        a, b, x = root @ root.T + 0.01 * np.eye(n), rng.normal(size=n), np.empty(n)
        factor = np.tril(a)  # nothing above the diagonal is looked at
        factorise_in_place(factor, n)
        solve_factorised(factor, b, n, x)
        np.testing.assert_allclose(a @ x, b, atol=1e-9)


def test_matrix_that_rounding_made_singular_stays_finite(rng):
    root = rng.normal(size=(12, 4))
    factor, out = np.tril(root @ root.T), np.empty(12)
    factorise_in_place(factor, 12)
    solve_factorised(factor, rng.normal(size=12), 12, out)
    assert np.isfinite(out).all()


def test_fitting_array_passes_uncopied():
    array = np.ones((4, 3))
    assert check_array('offsets', array, (4, 3)) is array


@pytest.mark.parametrize(
    'values', [np.ones((3, 4), np.float32), np.ones((4, 3)).T, [[1, 2, 3, 4]] * 3]
)
def test_everything_becomes_contiguous_float64(values):
    array = check_array('points', values, (3, None))
    assert array.dtype == np.float64 and array.flags.c_contiguous


@pytest.mark.parametrize(
    'values, shape, text',
    [
        ([1.0, 2.0], (3,), 'points: expected shape (3), got (2,)'),
        (np.ones((2, 2)), (None, 3), 'points: expected shape (any, 3), got (2, 2)'),
        ('abc', (3,), "points: expected numbers, got 'abc'"),
        ([[1.0], [2.0, 3.0]], (2, 2), 'points: expected numbers, got [[1.0], [2.0, 3.0]]'),
        ([1.0, np.nan], (2,), 'points: expected finite numbers, got nan at (1,)'),
        ([[1.0, -np.inf]], (1, 2), 'points: expected finite numbers, got -inf at (0, 1)'),
    ],
)
def test_errors_name_the_array_and_both_sides(values, shape, text):
    with pytest.raises(ConfigError) as caught:
        check_array('points', values, shape)
    assert str(caught.value) == text


def test_read_only_is_a_copy_that_refuses_writes():
    source = np.zeros(3)
    kept = read_only(source)
    source[0] = 1.0
    assert kept[0] == 0.0
    with pytest.raises(ValueError, match='read-only'):
        kept[0] = 2.0
