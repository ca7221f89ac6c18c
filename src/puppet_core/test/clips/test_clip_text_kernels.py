# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers in bulk: bit for bit what float() reads, byte for byte what '%.nf' writes."""

from collections.abc import Iterator
from fractions import Fraction
import math

from hypothesis import example, given, settings
from hypothesis import strategies as st
import numpy as np
from puppet_core.clips.text import (
    format_rows,
    POWERS,
    read_decimals,
    read_floats,
    scaled,
    scaled_integer,
)
import pytest

finite = st.floats(allow_nan=False, allow_infinity=False)
moderate = st.floats(-1e6, 1e6)
words = st.one_of(
    finite.map(repr),
    moderate.map('{:.8f}'.format),
    moderate.map('{:.6g}'.format),
    st.from_regex(
        r'[+-]?(\d{1,18}\.\d{0,9}|\.\d{1,9}|\d{1,18})([eE][+-]?\d{1,2})?', fullmatch=True
    ),
).filter(lambda word: word.isascii())
PLACES = (1, 3, 8, 12)


@settings(deadline=None, max_examples=300)
@given(st.lists(words, min_size=1, max_size=30), st.sampled_from([' ', '\n', '\t ', '\x1d']))
def test_every_number_is_read_as_python_reads_it(numbers: list[str], space: str) -> None:
    text = space + space.join(numbers) + '\n'
    expected = np.array([float(word) for word in numbers])
    values = read_floats(text, len(numbers))
    if values is None:  # several that cannot be made in bulk: the general way is taken
        assert len(numbers) - 1 > 0
        return
    assert values.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    'word',
    [
        '1',
        '-0',
        '+.5',
        '3.',
        '1e22',
        '1e-22',
        '-1.17755e-14',
        '999999999999999',
        '0.000000000000001',
        '1E+5',
        '7.62852e-016',
        '000000000000000000001.5',
        '-1.94126e-19',
        '0e-44',
        '123456789012345e-44',
    ],
)
def test_usual_numbers_are_read_in_bulk(word: str) -> None:
    out = np.empty(1)
    data = np.frombuffer(bytearray(word, 'ascii'), dtype=np.uint8)
    powers = 10.0 ** np.arange(23)
    assert read_decimals(data, powers, out, np.empty((0, 3), dtype=np.int64)) == (1, 0)
    assert out.tobytes() == np.array(float(word)).tobytes()


@pytest.mark.parametrize(
    'word',
    [
        '',
        'nan',
        '-inf',
        '1_000',
        '1,5',
        '0x10',
        '1.2.3',
        'abc',
        '--1',
        '.',
        '-',
        '1e',
        '1e+',
        'e5',
        '1e999',
        '1 2',
        '1\N{NO-BREAK SPACE}',
        '٣',
    ],
)
def test_what_is_not_one_number_is_left_to_the_general_way(word: str) -> None:
    assert read_floats(word, 1) is None


def test_small_numbers_are_rounded_once() -> None:
    """Divisors that one float does not hold, and quotients that are next to a half."""
    rng = np.random.default_rng(7)
    for _ in range(20_000):
        mantissa = int(rng.integers(1, 10 ** int(rng.integers(1, 16))))
        power = int(rng.integers(23, 45))
        value = scaled(float(mantissa), -power, POWERS)
        assert value == float(f'{mantissa}e-{power}')
    hard = list(_next_to_a_half())
    values = [scaled(float(mantissa), -power, POWERS) for mantissa, power in hard]
    for (mantissa, power), value in zip(hard, values):
        assert np.isnan(value) or value == float(f'{mantissa}e-{power}')
    assert 0 < np.isnan(values).sum() < len(values)  # some are nearer than can be told


def _next_to_a_half() -> Iterator[tuple[int, int]]:
    """Yield m and p such that m / 10^p is nearly half way between two floats: convergents."""
    for power in range(23, 45):
        for exponent in range(-150, 60, 3):
            rest = Fraction(10**power) * Fraction(2) ** exponent
            numerators, denominators = [0, 1], [1, 0]
            while numerators[-1] < 10**15:
                whole = math.floor(rest)
                for terms in (numerators, denominators):
                    terms.append(whole * terms[-1] + terms[-2])
                odd = denominators[-1] % 2 == 1 and 2**53 < denominators[-1] < 2**54
                if odd and 0 < numerators[-1] < 10**15:
                    yield numerators[-1], power
                if rest == whole:
                    break
                rest = 1 / (rest - whole)


def test_an_absurd_count_wants_no_memory() -> None:
    assert read_floats('1 2 3', 10**15) is None
    assert read_floats('1 2 3', 4) is None and read_floats('1 2 3', 2) is None


def test_numbers_that_are_not_exact_in_bulk_are_read_alone() -> None:
    numbers = [f'{x:.3f}' for x in np.arange(20.0)]
    numbers[7], numbers[11] = '0.1234567890123456789', '1.5e-300'
    values = read_floats(' '.join(numbers), 20)
    assert values is not None and values.tolist() == [float(word) for word in numbers]


@settings(deadline=None, max_examples=300)
@given(st.lists(moderate | finite, min_size=1, max_size=12), st.sampled_from(PLACES))
@example([0.0, -0.0, 1e-300, -1e-300, 0.5, 1.5, 2.5, 0.125, 0.375], 1)
@example([1e15, -1e300], 8)
def test_every_number_is_written_as_python_writes_it(values: list[float], places: int) -> None:
    rows = np.array([values, values[::-1]])
    lines = [' '.join(f'{value:.{places}f}' for value in row) for row in rows.tolist()]
    assert format_rows(rows, places) == '\n'.join(lines) + '\n'


@pytest.mark.parametrize('places', PLACES)
def test_the_half_between_two_decimals_is_decided_by_the_true_value(places: int) -> None:
    """Neighbours of halves: where a product rounded first would be wrong."""
    rng = np.random.default_rng(5)
    halves = (rng.integers(0, 10**7, 3000) + 0.5) / 10.0**places
    values = np.concatenate([np.nextafter(halves, way) for way in (-np.inf, np.inf)] + [halves])
    expected = ''.join(f'{value:.{places}f}\n' for value in values.tolist())
    assert format_rows(values[:, np.newaxis], places) == expected


def test_what_is_too_large_to_round_is_said() -> None:
    assert np.isnan(scaled_integer(1e9, 1e8)) and np.isnan(scaled_integer(np.nan, 1e8))
    assert format_rows(np.array([[1e9, np.inf]]), 8) == '1000000000.00000000 inf\n'
