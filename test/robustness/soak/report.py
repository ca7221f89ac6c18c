# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a long run came to: evaluations, a table for people, and all series for programs."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from puppet_core.math import Floats
from robustness.process_usage import FullUsage
from robustness.soak.record import FrameTally, UsageSeries
from robustness.soak.steadiness import (
    Evaluation,
    judge_count,
    judge_drift,
    judge_growth,
    judge_losses,
    judge_rate,
    MISSED,
    Trend,
    trend,
    warm_up_s,
)

NO_NODES = ('monitor', 'tracker_emulator')  # whose share of the processor is not the graph's
SIGNIFICANT = 6
Drops = Mapping[str, Mapping[str, int]]


class Soak(NamedTuple):
    """A long run."""

    settings: dict[str, Any]  # Of the command; 'rate_hz' is what the tracker was asked for
    duration_s: float
    tally: FrameTally
    series: UsageSeries
    drops: Drops  # Node -> counter of its diagnostics -> by how much it rose


class Judged(NamedTuple):
    """A evaluation and what it is about."""

    what: str
    unit: str
    evaluation: Evaluation
    found: Trend | None = None


def judged(soak: Soak) -> list[Judged]:
    """Return all evaluations."""
    found, series = [], soak.series
    late = series.times_s >= warm_up_s(soak.duration_s)
    for name in series.names:
        growth = trend(series.times_s[late], series.of(name, 'heap_mb')[late])
        found.append(Judged(f'memory of {name}', 'MB/h', judge_growth(growth), growth))
    drift = latency_trend(soak)
    median_ms = soak.tally.latency_ms()['p50']
    found.append(Judged('latency', 'ms/h', judge_drift(drift, median_ms), drift))
    losses = judge_losses(soak.tally.published, soak.tally.lost)
    found.append(Judged('lost frames', '', losses))
    rate = judge_rate(soak.tally.published, soak.settings['rate_hz'], soak.duration_s)
    found.append(Judged('missing frames', '', rate))
    for field in ('threads', 'files'):
        sums = np.sum([series.of(name, field)[late] for name in series.names], axis=0)
        found.append(Judged(field, '', judge_count(sums)))
    return found


def latency_trend(soak: Soak) -> Trend:
    """Return the slope of the medians of whole minutes after the warm-up [ms/h]."""
    minutes = soak.tally.minutes()
    times_s = minutes['time_s']
    whole = (times_s >= warm_up_s(soak.duration_s)) & (times_s + 30.0 <= soak.duration_s + 1.0)
    return trend(times_s[whole], minutes['p50_ms'][whole])


def is_missed(evaluations: list[Judged]) -> bool:
    """Return whether any limit was missed."""
    return any(one.evaluation.outcome == MISSED for one in evaluations)


def lines(soak: Soak, evaluations: list[Judged]) -> list[str]:
    """Return the run as a table for people."""
    series, tally = soak.series, soak.tally
    growth = {one.what: one for one in evaluations}
    found = [
        f'{soak.duration_s / 60.0:.1f} min, of which the first '
        f'{warm_up_s(soak.duration_s) / 60.0:.1f} do not count for slopes',
        f'{"process":18}{"CPU %":>6}{"heap MB: first":>15}{"last":>8}{"growth, MB/h":>14}'
        f'{"95 %":>18}{"threads":>9}{"files":>7}',
    ]
    for name in series.names:
        own, one = series.of(name, 'heap_mb'), growth[f'memory of {name}']
        assert one.found is not None
        found.append(
            f'{name:18}{_mean(series.of(name, "cpu_percent")):6.1f}{_at(own, 0):15.1f}'
            f'{_at(own, -1):8.1f}{one.found.per_hour:14.2f}{_interval(one.found):>18}'
            f'{_at(series.of(name, "threads"), -1):9.0f}{_at(series.of(name, "files"), -1):7.0f}'
            f'  {one.evaluation.outcome}'
        )
    found.append(
        f'{"all nodes":18}{_cpu_percent(series):6.1f}, machine '
        f'{_mean(series.machine_percent):.0f} % busy'
    )
    found += _latency_lines(soak, growth['latency'])
    losses = growth['lost frames'].evaluation
    found.append(
        f'frames: {tally.published} published, {tally.solved} solved, {tally.lost} lost '
        f'({losses.found:.2g} of at most {losses.limit:.0e}): {losses.outcome}'
    )
    missing = growth['missing frames'].evaluation
    found.append(
        f'  of {soak.settings["rate_hz"] * soak.duration_s:.0f} that the rate has, missing '
        f'{missing.found:.2g} of at most {missing.limit:.0e}: {missing.outcome}'
    )
    if tally.lost:
        found.append(
            '  last seen: '
            + ', '.join(f'{where} {count}' for where, count in tally.lost_where().items() if count)
        )
    for node, counters in soak.drops.items():
        risen = ', '.join(f'{key} {count}' for key, count in counters.items() if count)
        if risen:
            found.append(f'  {node}: {risen}')
    for field in ('threads', 'files'):
        evaluation = growth[field].evaluation
        found.append(
            f'{field}: {evaluation.limit:.0f} at first, {evaluation.found:.0f} at last: '
            f'{evaluation.outcome}'
        )
    return found


def report(soak: Soak, evaluations: list[Judged]) -> dict[str, Any]:
    """Return the run for programs: figures, evaluations and all series; None where unknown."""
    series, tally = soak.series, soak.tally
    processes = {
        name: {field: _plain(series.of(name, field)) for field in FullUsage._fields}
        for name in series.names
    }
    return {
        'settings': soak.settings,
        'duration_s': soak.duration_s,
        'is_missed': is_missed(evaluations),
        'evaluations': [_evaluation(one) for one in evaluations],
        'frames': {
            'published': tally.published,
            'solved': tally.solved,
            'lost': tally.lost,
            'last_seen': tally.lost_where(),
        },
        'drops': {node: dict(counters) for node, counters in soak.drops.items()},
        'latency_ms': {key: _number(value) for key, value in tally.latency_ms().items()},
        'cpu_percent': _number(_cpu_percent(series)),
        'minutes': {key: _plain(values) for key, values in tally.minutes().items()},
        'looks': {
            'time_s': _plain(series.times_s),
            'machine_percent': _plain(series.machine_percent),
            'processes': processes,
        },
    }


def _latency_lines(soak: Soak, drift: Judged) -> list[str]:
    times = soak.tally.latency_ms()
    minutes = soak.tally.minutes()['p50_ms']
    n = max(len(minutes) // 10, 1)
    text = ', '.join(f'{name.replace("_", ".")} {value:.2f}' for name, value in times.items())
    assert drift.found is not None
    return [
        f'latency, ms: {text}; medians of minutes: first {_mean(minutes[:n]):.2f}, '
        f'last {_mean(minutes[-n:]):.2f}',
        f'  drift {drift.found.per_hour:.3f} ms/h, 95 % {_interval(drift.found, 3)}, at most '
        f'{drift.evaluation.limit:.2f}: {drift.evaluation.outcome}',
    ]


def _evaluation(one: Judged) -> dict[str, Any]:
    told: dict[str, Any] = {
        'what': one.what,
        'unit': one.unit,
        'outcome': one.evaluation.outcome,
        'found': _number(one.evaluation.found),
        'limit': _number(one.evaluation.limit),
    }
    if one.found is not None:
        told['interval'] = [_number(one.found.low_per_hour), _number(one.found.high_per_hour)]
        told['stretch_s'] = _number(one.found.stretch_s)
    return told


def _cpu_percent(series: UsageSeries) -> float:
    return sum(
        _mean(series.of(name, 'cpu_percent')) for name in series.names if name not in NO_NODES
    )


def _interval(found: Trend, digits: int = 2) -> str:
    if not np.isfinite(found.low_per_hour):
        return '-'
    return f'{found.low_per_hour:.{digits}f} .. {found.high_per_hour:.{digits}f}'


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float('nan')


def _at(values: Floats, place: int) -> float:
    return float(values[place]) if len(values) else float('nan')


def _plain(values: Floats) -> list[float | None]:
    return [_number(value) for value in values]


def _number(value: float) -> float | None:
    return float(f'{value:.{SIGNIFICANT}g}') if np.isfinite(value) else None
