# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""sensor_noise: R recovered from samples, motion told from noise, and the file of both."""

import numpy as np
from puppet_core.io import CalibrationError, InputFileError
from puppet_core.math import quaternions as quaternion_batch
from puppet_filter import sensor_noise
from puppet_filter.sensor_noise import estimate_noise, load_noise, resolution, save_noise
import pytest

N = 2000


def samples(rng, matrix, n=N):
    """Return noisy samples of one resting sensor, quaternion signs at random."""
    deviations = rng.multivariate_normal(np.zeros(6), matrix, n)
    quaternions = quaternion_batch.multiply(
        quaternion_batch.exp(np.array([0.5, -1.0, 2.0])), quaternion_batch.exp(deviations[:, 3:])
    )
    return deviations[:, :3] + [1.0, 2.0, 3.0], rng.choice([-1, 1], (n, 1)) * quaternions


def moved(recording, part, way):
    """Return a recording in motion along an axis (0) [m] or about it (1) [rad]."""
    vectors = way[:, None] * np.array([1.0, 0.0, 0.0])
    if part == 0:
        return recording[0] + vectors, recording[1]
    return recording[0], quaternion_batch.multiply(recording[1], quaternion_batch.exp(vectors))


@pytest.fixture
def matrix(rng):
    a = rng.normal(size=(6, 6))
    scale = np.repeat([5e-4, 9e-4], 3)
    return np.outer(scale, scale) * (a @ a.T / 6.0 + 0.3 * np.eye(6))


def test_full_matrix_is_recovered(rng, matrix):
    estimate = estimate_noise(*samples(rng, matrix))
    scale = np.sqrt(np.diag(matrix))
    # standard error of a correlation from N samples is below 1/sqrt(N); five of them
    np.testing.assert_allclose(
        estimate.matrix / np.outer(scale, scale),
        matrix / np.outer(scale, scale),
        atol=2.0 * 5.0 / np.sqrt(N),
    )
    assert estimate.warning == '' and estimate.n_samples == N
    np.testing.assert_allclose(estimate.position, [1, 2, 3], atol=1e-3)


def test_missing_samples_are_left_out(rng, matrix):
    positions, quaternions = samples(rng, matrix)
    positions[::2] = np.nan
    assert estimate_noise(positions, quaternions).n_samples == N // 2


DRIFTS = {
    'steady': lambda t, rng: t,
    'warming up': lambda t, rng: 1.0 - np.exp(-t / 3.0),
    'random walk': lambda t, rng: np.cumsum(rng.normal(size=len(t))),
    'slipped': lambda t, rng: (t > t[-1] * rng.uniform(0.2, 0.8)).astype(float),
    'slow sway': lambda t, rng: np.sin(2.0 * np.pi * (0.1 * t + rng.random())),
}


@pytest.mark.parametrize('kind', DRIFTS)
@pytest.mark.parametrize('part', [0, 1])
def test_drift_is_found_before_it_matters_and_not_much_sooner(rng, matrix, part, kind):
    """Of a sixth of the noise's variance it would spoil R; of a five-hundredth nobody minds."""
    times = np.arange(1200) / 120.0

    def is_found(share):
        recording = samples(rng, matrix, len(times))
        drift = DRIFTS[kind](times, rng)
        drift *= np.sqrt(share * matrix[3 * part, 3 * part]) / drift.std()
        return bool(estimate_noise(*moved(recording, part, drift)).warning)

    assert sum(is_found(1.0 / 6.0) for _ in range(20)) >= 16
    assert sum(is_found(1.0 / 500.0) for _ in range(20)) <= 1


@pytest.mark.parametrize('part', [0, 1])
def test_outliers_are_left_out_of_the_noise(rng, matrix, part):
    recording = samples(rng, matrix)
    outliers = rng.choice(N, 20, replace=False)
    expected = estimate_noise(*(np.delete(rows, outliers, axis=0) for rows in recording))
    if part == 0:
        recording[0][outliers] += rng.normal(size=(20, 3)) + 0.1
    else:
        recording[1][outliers] = quaternion_batch.exp(rng.normal(size=(20, 3)))
    estimate = estimate_noise(*recording)
    assert estimate.n_outliers == 20 and estimate.n_samples == N - 20 and estimate.warning == ''
    np.testing.assert_array_equal(estimate.matrix, expected.matrix)


@pytest.mark.parametrize('part', [0, 1])
def test_knock_is_no_outlier(rng, matrix, part):
    recording = list(samples(rng, matrix))
    if part == 0:
        recording[0][900:912] += 0.1
    else:
        recording[1][900:912] = quaternion_batch.exp(np.array([0.5, -1.0, 2.2]))
    estimate = estimate_noise(*recording)
    assert estimate.n_outliers == 0 and estimate.warning != ''


QUICK = np.sin(2.0 * np.pi * 3.0 * np.arange(N) / 120.0)  # means of parts agree
SWAYS = [(0, 'was moved', 0.2), (1, 'was turned', 0.2), (0, 'sway slowly', 0.003)]


@pytest.mark.parametrize(('part', 'text', 'size'), [*SWAYS, (1, 'sway slowly', 0.005)])
def test_moving_sensor_is_reported_even_in_a_quiet_hand(rng, matrix, part, text, size):
    sway = QUICK if text == 'sway slowly' else np.sin(np.linspace(0.0, 20.0, N))
    assert text in estimate_noise(*moved(samples(rng, matrix), part, size * sway)).warning


def test_resting_sensor_is_hardly_ever_suspected(rng, matrix):
    warnings = [estimate_noise(*samples(rng, matrix, 300)).warning for _ in range(100)]
    assert sum(map(bool, warnings)) <= 3


@pytest.mark.parametrize('part', [0, 1])
@pytest.mark.parametrize('hertz', [0.3, 2.3, 6.0])
def test_small_sway_under_the_noise_is_found(rng, matrix, hertz, part):
    """A twentieth of the noise's variance in ten seconds, at any phase."""
    times = np.arange(1200) / 120.0

    def is_found():
        recording = samples(rng, matrix, len(times))
        size = np.sqrt(matrix[3 * part, 3 * part] / 20.0)
        sway = size * np.sqrt(2.0) * np.sin(2.0 * np.pi * (hertz * times + rng.random()))
        warning = estimate_noise(*moved(recording, part, sway)).warning
        return warning.startswith('samples sway slowly')

    assert sum(is_found() for _ in range(20)) >= 17


def test_noise_that_the_device_has_filtered_is_no_swing(rng):
    floor, alarms = np.full(6, 1e-12), 0
    for _ in range(150):
        white = rng.normal(size=(1200, 6))
        for k in range(1, len(white)):
            white[k] += 0.5 * white[k - 1]
        alarms += sensor_noise._swings(white, floor)
    assert alarms <= 4


def test_mains_hum_is_noise_and_no_swing(rng, matrix):
    positions, quaternions = samples(rng, matrix)
    hum = np.sin(2.0 * np.pi * 50.0 * np.arange(N) / 120.0)
    positions[:, 0] += np.sqrt(matrix[0, 0]) * hum
    assert estimate_noise(positions, quaternions).warning == ''


def test_variance_is_at_least_that_of_the_devices_steps(rng):
    # quieter than half a step: without a floor R would be a thousandth of the true error
    step_m, step = 144 * 0.0254 / 32768, 1.0 / 32768
    positions = np.round(rng.normal(size=(N, 3)) * 0.02 + 0.2) * step_m + [1.0, 0.0, 0.0]
    positions[:, 0] = step_m * np.round(1.0 / step_m + rng.normal(0.0, 0.3, N))
    quaternions = step * np.round(
        (quaternion_batch.exp(np.array([0.3, 0.2, 0.1])) + rng.normal(0.0, 1e-5, (N, 4))) / step
    )
    estimate = estimate_noise(positions, quaternions)
    assert np.diag(estimate.matrix)[:3].min() >= step_m**2 / 12.0 * 0.95
    assert np.diag(estimate.matrix)[3:].min() >= 4.0 * step**2 / 12.0 * 0.5
    assert resolution(positions, 1e-6) == pytest.approx(step_m, rel=0.02)


def test_silent_axis_still_gives_an_invertible_matrix():
    positions, quaternions = np.zeros((100, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (100, 1))
    estimate = estimate_noise(positions, quaternions)
    assert np.linalg.eigvalsh(estimate.matrix)[0] > 0.0 and estimate.warning == ''


def test_too_few_samples_are_refused(rng, matrix):
    with pytest.raises(CalibrationError, match='expected at least 50 samples.*got 49'):
        estimate_noise(*samples(rng, matrix, 49))


def covariance(rng):
    a = rng.normal(size=(6, 6))
    return 1e-7 * (a @ a.T + np.eye(6))


def test_round_trip_keeps_names_and_numbers(tmp_path, rng):
    noise = {name: covariance(rng) for name in ('pelvis', 'left hand: a', 'no')}
    save_noise(noise, tmp_path / 'noise.yaml')
    loaded = load_noise(tmp_path / 'noise.yaml')
    assert list(loaded) == list(noise)
    for name, matrix in noise.items():
        np.testing.assert_allclose(loaded[name], matrix, rtol=1e-5, atol=1e-13)


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        (('1.000000e-06', '.nan'), r'noise\.yaml:\d+: sensors\.a: expected 36 finite numbers'),
        (('puppet-sensor-noise/1', 'x/1'), 'expected one of puppet-sensor-noise/1'),
        (('1.000000e-06, 0.000000e+00', '1.000000e-06, 5.0e-07'), 'expected a symmetric'),
        (('1.000000e-06', '-1.0e-06'), 'expected a positive definite'),
        (('\nsensors:', '\nsensor:'), 'sensors: expected this key'),
    ],
)
def test_bad_file_is_refused_with_line_and_sensor(tmp_path, change, text):
    path = tmp_path / 'noise.yaml'
    save_noise({'a': 1e-6 * np.eye(6)}, path)
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(InputFileError, match=text):
        load_noise(path)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputFileError, match='none.yaml: expected a readable file'):
        load_noise(tmp_path / 'none.yaml')
