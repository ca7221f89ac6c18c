# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The figures: importance in lanes, feet, what the filter did, and latencies."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TYPE_CHECKING

import numpy as np
from puppet_core.body import GENERAL_END_EFFECTORS, SEGMENTS
from puppet_core.drawing import BLUE, DARK, GREEN, GREY, legend_above, new_figure, PURPLE, RED
from puppet_core.math import Floats, Vec3s
from puppet_core.sensor_frames import (
    FILTER_LOST,
    FILTER_OK,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
)
from puppet_replay.plots.reading import (
    BAND_SIGMAS,
    contacts,
    Feet,
    Importances,
    Latency,
    SensorTrack,
    Series,
    turned_deg,
    with_gaps,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

XYZ = {'x': BLUE, 'y': RED, 'z': GREEN}
HIGHEST_SHARE = 99.5  # percent of the values that the scale shows; those beyond are marked
LANE_PX, LANES_REST_PX, GROUP_GAP = 58, 110, 0.55
NOTHING = 1e-6  # a lane that never gets above this has nothing to show
FEET_PX = 820
SIDES = ('left', 'right')
STANDS = '#f1e3b0'
SENSOR_PX, SENSOR_REST_PX = 880, 70
HEIGHTS = (1.5, 1.1, 1.5, 1.1, 0.75)

STATUS_STYLES = {
    FILTER_REJECTED: ('rejected', RED, 'x'),
    FILTER_PREDICTED: ('predicted', GREY, '|'),
    FILTER_LOST: ('lost', DARK, 's'),
    FILTER_REINITIALISED: ('reinitialised', PURPLE, '^'),
}
RESIDUAL_HEADROOM = 1.3
WRAP = 90.0  # a larger step [deg] is not the sensor's
ROW_PX, ROWS_REST_PX = 132, 80
COLUMNS = (3.4, 1.0)
LATENCY_HEADROOM = 1.25
N_BINS = 48
MANY = 500  # values, from which on the dots are small


def span_of(*times_s: Floats) -> tuple[float, float]:
    """Return the ends of the time axis for all these times (n,) [s]."""
    ends = [(float(t[0]), float(t[-1])) for t in times_s if len(t)]
    low, high = min(a for a, _ in ends), max(b for _, b in ends)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def mark_beyond(axes: 'Axes', times_s: Floats, values: Floats, limit: float) -> int:
    """Mark at the edge the times (n,) at which values (n, k) leave +-limit; return how many."""
    with np.errstate(invalid='ignore'):
        beyond = np.abs(values).max(axis=-1) > limit
    at = np.full(beyond.sum(), 0.96 * limit)
    axes.plot(times_s[beyond], at, '^', markersize=4.0, color=DARK, clip_on=True)
    return int(beyond.sum())


class Lanes(NamedTuple):
    """Importances of one kind, below each other."""

    kind: str  # of importance, before a name among all
    title: str
    colour: str
    names: Sequence[str]
    values: Floats  # shape (n, lanes)


def lanes_of(shown: Importances) -> list[Lanes]:
    """Return lanes of all end-effectors, and of those segments that ever rest on something."""
    ends, rests = GENERAL_END_EFFECTORS, shown.rests
    resting = np.flatnonzero(rests.max(axis=0, initial=0.0) > NOTHING)
    names = [SEGMENTS[segment] for segment in resting]
    found = [
        Lanes('environment', 'with respect to the environment', BLUE, ends, shown.environment),
        Lanes('own body', 'with respect to the own body', RED, ends, shown.body),
        Lanes('rest', 'of what else rests on objects', GREEN, names, rests[:, resting]),
    ]
    return [lanes for lanes in found if lanes.names]


def importance_series(shown: Importances) -> list[Series]:
    return [
        Series(f'{lanes.kind} {name}', '', lanes.values[:, k])
        for lanes in lanes_of(shown)
        for k, name in enumerate(lanes.names)
    ]


def draw_importance(shown: Importances, title: str) -> 'Figure':
    """Return the figure: eight lanes of the environment, eight of the own body, then of rests."""
    groups = lanes_of(shown)
    heights = [h for lanes in groups for h in (*[1.0] * len(lanes.names), GROUP_GAP)][:-1]
    height_px = round(LANE_PX * sum(heights)) + LANES_REST_PX
    figure, grid = new_figure(heights, height_px, title)
    panels = [row[0] for row in grid]
    first = 0
    for lanes in groups:
        above = panels[max(first - 1, 0)]
        y = 0.0 if first else None
        above.set_title(f'{lanes.title}, 0 .. 1', color=lanes.colour, y=y)
        if first:
            above.set_axis_off()
        for axes, name, values in zip(panels[first:], lanes.names, lanes.values.T):
            _draw_lane(axes, name, shown.times_s, values, lanes.colour)
        first += len(lanes.names) + 1
    panels[-1].set_xlim(*span_of(shown.times_s))
    return figure


def _draw_lane(axes: 'Axes', name: str, times_s: Floats, shown: Floats, colour: str) -> None:
    t, values = with_gaps(times_s, shown)
    axes.fill_between(t, 0.0, values, color=colour, alpha=0.3, linewidth=0.0)
    axes.plot(t, values, color=colour, linewidth=1.2)
    axes.set_ylim(-0.05, 1.08)
    axes.set_yticks([0.0, 1.0])
    words = name.replace('_', ' ')
    axes.set_ylabel(words, rotation=0, ha='right', va='center', color=DARK, labelpad=8)
    if not np.nanmax(shown, initial=0.0) > NOTHING:
        middle: dict[str, Any] = {'ha': 'center', 'va': 'center', 'color': GREY}
        axes.text(0.5, 0.5, '0 throughout', transform=axes.transAxes, **middle)


def feet_series(feet: Feet) -> list[Series]:
    sides = list(enumerate(SIDES))
    return [
        Series(f'{body.name} {side} sole height', 'm', body.positions[:, k, 2])
        for body in feet.bodies
        for k, side in sides
    ] + [Series(f'{side} foot importance', '', feet.importance[:, k]) for k, side in sides]


def feet_contacts(feet: Feet) -> dict[str, Any]:
    """Return the times in which each foot of the performer stands [s]."""
    return {'stands': {f'{s}_s': found for s, found in zip(SIDES, contacts(feet.bodies[0]))}}


def draw_feet(feet: Feet, title: str) -> 'Figure':
    """Return the figure: for each foot height and importance, as fig. 4.3 of Shin2002."""
    figure, grid = new_figure((1.5, 1.0, 1.5, 1.0), FEET_PX, title)
    panels = [row[0] for row in grid]
    soles = feet.bodies[0]
    for k, (side, stands) in enumerate(zip(SIDES, contacts(soles))):
        height, weight = panels[2 * k], panels[2 * k + 1]
        for axes in (height, weight):
            for j, (start, end) in enumerate(stands):
                label = f'{soles.name} stands' if j == 0 else None
                axes.axvspan(start, end, color=STANDS, linewidth=0.0, label=label, zorder=0.5)
        for i, body in enumerate(feet.bodies):
            t, z = with_gaps(body.times_s, body.positions[:, k, 2])
            height.plot(t, z, color=(DARK, RED)[i], linestyle=('-', '--')[i], label=body.name)
        height.set_title(f'{side} foot')
        height.set_ylabel('height of the sole [m]')
        legend_above(height)
        t, w = with_gaps(feet.times_s, feet.importance[:, k])
        weight.plot(t, w, color=BLUE)
        weight.set_ylim(-0.04, 1.06)
        weight.set_ylabel('importance')
    panels[2].sharey(panels[0])
    figure.align_ylabels(panels)
    panels[-1].set_xlim(*span_of(*(body.times_s for body in feet.bodies), feet.times_s))
    return figure


def filter_series(tracks: Sequence[SensorTrack]) -> list[Series]:
    """Return what is drawn, but for the statuses."""
    found = []
    for track in tracks:
        for kind, residual, band in _residuals(track):
            unit = 'mm' if kind == 'position' else 'deg'
            for k, axis in enumerate(XYZ):
                found.append(Series(f'{track.name} {kind} residual {axis}', unit, residual[:, k]))
                sigma = band[:, k] / BAND_SIGMAS
                found.append(Series(f'{track.name} {kind} sigma {axis}', unit, sigma))
    return found


def status_counts(tracks: Sequence[SensorTrack]) -> dict[str, Any]:
    names = {FILTER_OK: 'ok'} | {status: name for status, (name, _, _) in STATUS_STYLES.items()}
    found = {
        track.name: {name: int(np.sum(track.status == s)) for s, name in names.items()}
        for track in tracks
    }
    return {'frames': found}


def draw_filter(tracks: Sequence[SensorTrack], title: str) -> 'Figure':
    """Return the figure: five panels for each sensor."""
    height_px = SENSOR_PX * len(tracks) + SENSOR_REST_PX
    figure, grid = new_figure(HEIGHTS * len(tracks), height_px, title)
    panels = [row[0] for row in grid]
    for i, track in enumerate(tracks):
        _sensor(track, panels[5 * i : 5 * i + 5])
    figure.align_ylabels(panels)
    panels[-1].set_xlim(*span_of(*(track.times_s for track in tracks)))
    return figure


def _residuals(track: SensorTrack) -> list[tuple[str, Vec3s, Floats]]:
    return [
        ('position', track.residual_mm, track.band(rotation=False)),
        ('rotation', track.residual_deg, track.band(rotation=True)),
    ]


def _sensor(track: SensorTrack, panels: Sequence['Axes']) -> None:
    found = np.isfinite(track.quaternions).all(axis=-1)
    reference = track.quaternions[np.argmax(found)]
    middle = np.nanmean(track.positions, axis=0) if found.any() else np.zeros(3)
    places = (track.raw_positions - middle, track.positions - middle)
    turns = [turned_deg(q, reference) for q in (track.raw_quaternions, track.quaternions)]
    (_, mm, mm_band), (_, deg, deg_band) = _residuals(track)
    _raw_and_filtered(track, panels[0], *places)
    at = ', '.join(f'{value:.2f}' for value in middle)
    panels[0].set_title(f'{track.name}: position less ({at}) m')
    panels[0].set_ylabel('position [m]')
    legend_above(panels[0])
    _difference(track, panels[1], mm, mm_band, 'mm')
    _raw_and_filtered(track, panels[2], *turns)
    panels[2].set_title(f'{track.name}: rotation since the first frame')
    panels[2].set_ylabel('rotation [deg]')
    _difference(track, panels[3], deg, deg_band, 'deg')
    _fate_lanes(track, panels[4])


def _raw_and_filtered(track: SensorTrack, axes: 'Axes', raw: Vec3s, filtered: Vec3s) -> None:
    """Draw samples as dots and the filtered values as lines; rejected samples are crossed."""
    out = track.status == FILTER_REJECTED
    t, values = with_gaps(track.times_s, _without_wraps(filtered))
    for k, (axis, colour) in enumerate(XYZ.items()):
        axes.plot(track.times_s, raw[:, k], '.', markersize=3.0, color=colour, alpha=0.45)
        axes.plot(t, values[:, k], color=colour, label=f'{axis} filtered')
    axes.plot([], [], '.', color=GREY, label='raw')
    limits = axes.get_ylim()
    for k in range(3):
        label = 'rejected' if k == 0 and out.any() else None
        axes.plot(track.times_s[out], raw[out, k], 'x', markersize=5.0, color=DARK, label=label)
    axes.set_ylim(*limits)


def _without_wraps(values: Floats) -> Floats:
    """Return values (n, 3) with a hole where a rotation vector of half a turn changes its sign."""
    values = values.copy()
    values[1:][(np.abs(np.diff(values, axis=0)) > WRAP).any(axis=-1)] = np.nan
    return values


def _difference(
    track: SensorTrack, axes: 'Axes', residual: Vec3s, band: Floats, unit: str
) -> None:
    """Draw raw less filtered, and three standard deviations of the filtered value around 0."""
    ok = (track.status == FILTER_OK) & np.isfinite(residual).all(axis=-1)
    chosen = ok if ok.any() else np.isfinite(residual).all(axis=-1)
    shown = np.abs(residual[chosen]).max(axis=-1) if chosen.any() else np.ones(1)
    limit = RESIDUAL_HEADROOM * max(
        float(np.percentile(shown, HIGHEST_SHARE)),
        float(np.nanmedian(band)) if np.isfinite(band).any() else 0.0,
        1e-6,
    )
    t, widest = with_gaps(track.times_s, band.max(axis=-1))
    label = f'±{BAND_SIGMAS:g} σ of the filtered {"place" if unit == "mm" else "rotation"}'
    axes.fill_between(t, -widest, widest, color=GREY, alpha=0.3, linewidth=0.0, label=label)
    for k, colour in enumerate(XYZ.values()):
        axes.plot(track.times_s, residual[:, k], '.', markersize=3.0, color=colour)
    axes.set_ylim(-limit, limit)
    beyond = mark_beyond(axes, track.times_s, residual, limit)
    axes.set_title('raw less filtered' + (f', {beyond} beyond the scale (▲)' if beyond else ''))
    axes.set_ylabel(f'residual [{unit}]')
    legend_above(axes)


def _fate_lanes(track: SensorTrack, axes: 'Axes') -> None:
    """Draw a mark in the lane of each status that is not OK."""
    for lane, (status, (_, colour, marker)) in enumerate(STATUS_STYLES.items()):
        at = track.times_s[track.status == status]
        axes.plot(at, np.full(len(at), lane), marker, markersize=5.0, color=colour)
    names = [
        f'{name} {np.sum(track.status == status)}'
        for status, (name, _, _) in STATUS_STYLES.items()
    ]
    axes.set_yticks(range(len(STATUS_STYLES)), names)
    axes.set_ylim(len(STATUS_STYLES) - 0.4, -0.6)
    axes.set_title(f'{track.name}: frames by status')


def latency_series(latencies: Sequence[Latency]) -> list[Series]:
    found = []
    for one in latencies:
        found.append(Series(f'{one.topic} since the stamp', 'ms', one.age_ms))
        if one.source:
            found.append(Series(f'{one.topic} since {one.source}', 'ms', one.hop_ms))
    return found


def draw_latency(latencies: Sequence[Latency], title: str) -> 'Figure':
    """Return the figure: a row for each topic, its time line and its histogram."""
    height_px = ROW_PX * len(latencies) + ROWS_REST_PX
    figure, grid = new_figure([1.0] * len(latencies), height_px, title, COLUMNS)
    for one, (line, counts) in zip(latencies, grid):
        counts.sharey(line)
        _latency_row(one, line, counts)
    grid[-1][0].set_xlim(*span_of(*(one.times_s for one in latencies)))
    grid[-1][1].set_xlabel('messages')
    figure.align_ylabels([row[0] for row in grid])
    return figure


def _latency_row(one: Latency, line: 'Axes', counts: 'Axes') -> None:
    heading = f'{one.topic}   {_summary(one.age_ms)}'
    curves = [('since the stamp', one.times_s, one.age_ms, BLUE, 'o')]
    if one.source:
        heading += f'\nsince {one.source}   {_summary(one.hop_ms)}'
        curves.append((f'since {one.source}', one.hop_times_s, one.hop_ms, RED, 's'))
    shown = np.concatenate([values for _, _, values, _, _ in curves])
    top = LATENCY_HEADROOM * max(float(np.percentile(shown, HIGHEST_SHARE)), 0.05)
    low = min(0.0, LATENCY_HEADROOM * float(np.percentile(shown, 100.0 - HIGHEST_SHARE)))
    line.set_title(heading, fontsize=9.5)
    for label, times_s, values, colour, marker in curves:
        size = 1.6 if len(values) > MANY else 3.0
        line.plot(times_s, values, marker, markersize=size, color=colour, label=label)
        mark_beyond(line, times_s, values[:, None], top)
        edges = np.linspace(low, top, N_BINS + 1)
        styles: dict[Literal['stepfilled', 'step'], float] = {'stepfilled': 0.45, 'step': 1.0}
        bars: dict[str, Any] = {'bins': edges.tolist(), 'orientation': 'horizontal'}
        for style, alpha in styles.items():
            shares = np.clip(values, low, top)
            counts.hist(shares, histtype=style, color=colour, alpha=alpha, **bars)
    line.set_ylim(low, top)
    line.set_ylabel('ms', color=DARK)
    if one.source:
        legend_above(line, 1)
    counts.tick_params(labelleft=False)


def _summary(values: Floats) -> str:
    p50, p99 = np.percentile(values, (50, 99))
    return f'p50 {p50:.2f}  p99 {p99:.2f}  max {values.max():.2f} ms'
