# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What half and double of each number of the whole-body solver do to a motion."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from puppet_core.body import Motion
from puppet_retarget.offline import (
    copied_angles,
    MotionArrays,
    number,
    report,
    retarget_motion,
    RetargetJob,
    table,
)
from puppet_retarget.solvers import WholeBodySolver
from puppet_retarget.solvers.whole_body import Weights

FACTORS = (0.5, 2.0)
CHANGE = 0.1  # of a figure from which on the table tells of it
AS_IT_IS = 'as it is'
COLUMNS = {
    'goal error p99, mm': lambda f: f['goal_error_mm']['p99'],
    'root jerk': lambda f: f['jerk_ratio']['root'],
    'hands jerk': lambda f: f['jerk_ratio']['hands'],
    'worst joint': lambda f: (f['joint_jerk_ratio'] or {}).get('worst'),
    'snaps': lambda f: f['snaps'],
    'palms p99, mm': lambda f: (f['self_contact_error_mm'] or {}).get('p99'),
    'in itself, mm': lambda f: 1e3 * f['deepest_in_itself_m'],
    'in objects, mm': lambda f: f['surface_depth_mm']['max'],
    'lying, mm': lambda f: (f['lying_height_mm'] or {}).get('worst'),
}
Row = dict[str, float]


def variants() -> Iterator[tuple[str, Weights]]:
    """Yield the numbers as they are, then with each halved and doubled, by name."""
    usual = Weights()
    yield AS_IT_IS, usual
    for name in Weights._fields:
        for factor in FACTORS:
            yield _variant(name, factor), usual._replace(**{name: factor * getattr(usual, name)})


def figures(motion: Motion, job: RetargetJob, weights: Weights, baseline: MotionArrays) -> Row:
    """Return the columns of one run; NaN where there is nothing to measure."""
    leg_length = motion.skeleton.leg_length
    solver = WholeBodySolver(job.character, job.environment, leg_length, job.tuning, weights)
    result = retarget_motion(motion, job, solver=solver)
    found: dict[str, Any] = report(motion, job, result, baseline)
    found['deepest_in_itself_m'] = float(result.self_depths.max())
    values = {name: column(found) for name, column in COLUMNS.items()}
    return {name: np.nan if value is None else float(value) for name, value in values.items()}


def weight_rows(
    motions: Sequence[Motion],
    jobs: Sequence[RetargetJob],
    progress: Callable[[int], object] | None = None,
) -> dict[str, Row]:
    """Return the mean figures over clips and characters of every variant, by its name."""
    runs = [(motion, job, copied_angles(motion, job)) for motion in motions for job in jobs]
    rows = {}
    for name, weights in variants():
        found = [figures(motion, job, weights, baseline) for motion, job, baseline in runs]
        with np.errstate(invalid='ignore'):
            rows[name] = {
                column: float(np.nanmean([row[column] for row in found]))
                if np.isfinite([row[column] for row in found]).any()
                else np.nan
                for column in COLUMNS
            }
        if progress is not None:
            progress(1)
    return rows


def weights_table(rows: dict[str, Row]) -> str:
    """Return for each number which figures half and double of it change by a tenth or more."""
    usual, lines = rows[AS_IT_IS], []
    for name in Weights._fields:
        cells = [_changes(usual, rows[_variant(name, factor)]) for factor in FACTORS]
        lines.append([f'`{name}`', *cells])
    is_now = ', '.join(f'{column} {number(value, 2)}' for column, value in usual.items())
    return table(['', 'half', 'double'], lines) + f'\n\nAs it is: {is_now}.'


def _changes(usual: Row, other: Row) -> str:
    return ', '.join(
        f'{column} {number(other[column], 2)}'
        for column, value in usual.items()
        if abs(other[column] - value) >= CHANGE * abs(value)
    )


def _variant(name: str, factor: float) -> str:
    return f'{name} × {factor:g}'
