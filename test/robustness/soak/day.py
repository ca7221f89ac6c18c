# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What many passes of one motion came to: the same answers, in the same time and memory."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from puppet_core.math import Floats
from robustness.soak.steadiness import (
    Evaluation,
    judge_growth,
    KEPT,
    MISSED,
    Trend,
    trend,
    UNDECIDED,
    warm_up_s,
)

ANGLE_TOLERANCE_RAD = 1e-5  # between the same frame of two passes
PLACE_TOLERANCE_M = 1e-5
MAX_SLOWDOWN = 0.1  # of the time a frame takes, over the whole run
TURN = 2.0 * np.pi
HOUR_S = 3600.0


class Pass(NamedTuple):
    """One pass of the motion."""

    end_s: float  # Simulated time at its end, from the begin of the run [s]
    us_per_frame: float  # Time of the process, without the run's own measurements
    heap_mb: float  # Memory that the process has made itself, at its end
    # Largest difference of a joint's angles from the reference pass, as orientations
    angle_rad: float
    place_m: float  # Largest difference of a joint or end-effector
    largest_rad: float  # Largest joint angle [rad]: angles that pass half a turn go on
    n_out: float  # Answers, a whole number
    n_wrong: float  # Answers that are not finite, a whole number


class Day:
    """
    Passes of the same motion held against one of them.

    Parameters
    ----------
    n_passes : int
        How many there will be at most.
    n_frames : int
        Of a pass.
    n_numbers : int
        Of an answer.
    angles, places : sequence of slice
        Which of them are the angles of joints, Z, Y, X for each [rad], and coordinates [m].

    """

    def __init__(
        self,
        n_passes: int,
        n_frames: int,
        n_numbers: int,
        angles: Sequence[slice] = (),
        places: Sequence[slice] = (),
    ) -> None:
        self.rows = np.full((n_frames, n_numbers), np.nan)
        """The answers of a pass, to be filled in; NaN where there is none."""
        self.is_answered = np.zeros(n_frames, bool)
        """To be set where there is one."""
        self._reference = np.full_like(self.rows, np.nan)
        self._columns = [np.r_[tuple(columns)] for columns in (angles, places) if columns]
        self._passes = np.full((n_passes, len(Pass._fields)), np.nan)
        self._n = 0

    def end(self, end_s: float, us_per_frame: float, heap_mb: float, is_reference: bool) -> None:
        """Close a pass: hold it against the reference, or keep it as that."""
        there = self.is_answered
        rows = self.rows[there]
        if is_reference:
            self._reference[:] = self.rows
        reference = self._reference[there]
        of_angles, of_places = self._columns
        angles = rows[:, of_angles]
        if self._n < len(self._passes):
            self._passes[self._n] = (
                end_s,
                us_per_frame,
                heap_mb,
                _greatest(angle_differences(angles, reference[:, of_angles])),
                _greatest(np.abs(rows[:, of_places] - reference[:, of_places])),
                _greatest(np.abs(angles)),
                len(rows),
                np.count_nonzero(~np.isfinite(rows).all(axis=1)),
            )
            self._n += 1
        self.rows[:] = np.nan
        self.is_answered[:] = False

    def series(self, field: str) -> Floats:
        """Return one field of Pass of all closed passes, shape (n,); a view."""
        return self._passes[: self._n, Pass._fields.index(field)]


def angle_differences(angles: Floats, reference: Floats) -> Floats:
    """
    Return how far the triples of angles of joints are from others that mean the same.

    A rotation has the triples (a, b, c) and (a + pi, pi - b, c + pi), modulo turns; which one
    is published depends on the way there (puppet_core.body.continuous_euler).

    Parameters
    ----------
    angles, reference : ndarray, shape (n, 3 k)
        Z, Y, X of each joint [rad].

    Returns
    -------
    differences : ndarray, shape (n, k)
        The largest of each triple [rad].

    """
    shape = len(angles), -1, 3
    first, second = angles.reshape(shape), reference.reshape(shape)
    other = first * (1.0, -1.0, 1.0) + np.pi
    options = [np.abs(np.remainder(x - second + np.pi, TURN) - np.pi) for x in (first, other)]
    return np.minimum(options[0].max(axis=-1), options[1].max(axis=-1))


class Counts(NamedTuple):
    """What went in and came out, from the calibration on."""

    frames_in: int
    frames_out: int
    not_finite: int


class DayResult(NamedTuple):
    """Evaluations of a run."""

    counts: Counts
    memory: Evaluation
    memory_trend: Trend
    time: Evaluation
    time_trend: Trend
    answers: Evaluation  # KEPT if the worst difference, over its tolerance, is at most 1
    frames: Evaluation

    @property
    def is_missed(self) -> bool:
        """Whether any limit was missed."""
        evaluations = (self.memory, self.time, self.answers, self.frames)
        return any(one.outcome == MISSED for one in evaluations)


def judged(day: Day, frames_in: int) -> DayResult:
    """Return the evaluations of a run, given how many frames went in from the calibration on."""
    counts = Counts(frames_in, int(day.series('n_out').sum()), int(day.series('n_wrong').sum()))
    times_s = day.series('end_s')
    end_s = float(times_s[-1]) if len(times_s) else 0.0
    late = times_s >= warm_up_s(end_s)
    memory = trend(times_s[late], day.series('heap_mb')[late])
    took = trend(times_s[late], day.series('us_per_frame')[late])
    hours = max(end_s / HOUR_S, 1.0)
    usual_us = float(np.median(day.series('us_per_frame')[late])) if late.any() else np.nan
    worst = _greatest(
        day.series('angle_rad') / ANGLE_TOLERANCE_RAD, day.series('place_m') / PLACE_TOLERANCE_M
    )
    outcome = UNDECIDED if np.isnan(worst) else KEPT if worst <= 1.0 else MISSED
    lost = counts.frames_in - counts.frames_out + counts.not_finite
    return DayResult(
        counts,
        judge_growth(memory),
        memory,
        judge_growth(took, MAX_SLOWDOWN * usual_us / hours),
        took,
        Evaluation(outcome, 1.0, worst),
        Evaluation(MISSED if lost or not counts.frames_in else KEPT, 0.0, float(lost)),
    )


def lines(day: Day, result: DayResult) -> list[str]:
    """Return a run as a table for people, a row an hour."""
    found = [
        f'{"hour":>5}{"passes":>8}{"us/frame":>10}{"heap MB":>8}{"angles, rad":>13}'
        f'{"places, m":>11}{"largest, rad":>14}'
    ]
    hours = np.ceil(day.series('end_s') / HOUR_S)
    for hour in np.unique(hours):
        of = hours == hour
        found.append(
            f'{hour:5.0f}{np.count_nonzero(of):8}{np.median(day.series("us_per_frame")[of]):10.1f}'
            f'{day.series("heap_mb")[of][-1]:8.1f}{_greatest(day.series("angle_rad")[of]):13.1e}'
            f'{_greatest(day.series("place_m")[of]):11.1e}'
            f'{_greatest(day.series("largest_rad")[of]):14.2f}'
        )
    counts, memory, took = result.counts, result.memory_trend, result.time_trend
    return [
        *found,
        f'frames: {counts.frames_in} in, {counts.frames_out} out, {counts.not_finite} not finite: '
        f'{result.frames.outcome}',
        f'memory: {memory.per_hour:.3f} MB per simulated hour, 95 % '
        f'{memory.low_per_hour:.3f} .. {memory.high_per_hour:.3f}: {result.memory.outcome}',
        f'time a frame: {took.per_hour:.3f} us per simulated hour, 95 % '
        f'{took.low_per_hour:.3f} .. {took.high_per_hour:.3f}, at most {result.time.limit:.3f}: '
        f'{result.time.outcome}',
        f'same motion, same answer: largest difference is {result.answers.found:.2g} of '
        f'what is allowed, {ANGLE_TOLERANCE_RAD:.0e} rad and {PLACE_TOLERANCE_M:.0e} m: '
        f'{result.answers.outcome}',
    ]


def report(day: Day, result: DayResult) -> dict[str, Any]:
    """Return a run for programs; None where unknown."""
    evaluations = {
        name: {'outcome': one.outcome, 'limit': _number(one.limit), 'found': _number(one.found)}
        for name, one in zip(
            ('memory', 'time', 'answers', 'frames'),
            (result.memory, result.time, result.answers, result.frames),
        )
    }
    return {
        **result.counts._asdict(),
        'is_missed': result.is_missed,
        'evaluations': evaluations,
        'passes': {
            field: [_number(value) for value in day.series(field)] for field in Pass._fields
        },
    }


def _greatest(*series: Floats) -> float:
    known = np.concatenate([values[np.isfinite(values)].ravel() for values in series])
    return float(known.max()) if len(known) else float('nan')


def _number(value: float) -> float | None:
    return float(f'{value:.6g}') if np.isfinite(value) else None
