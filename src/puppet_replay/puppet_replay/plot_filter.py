# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Raw against filtered poses of chosen sensors, what lies between them, and their fates."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from puppet_core.arrays import Floats, Vec3s
from puppet_core.sensor_frames import (
    FILTER_LOST,
    FILTER_OK,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
)
from puppet_replay.plot_figure import (
    AXES_COLOURS,
    DARK,
    GREY,
    legend_above,
    mark_beyond,
    new_figure,
    PURPLE,
    RED,
    span_of,
)
from puppet_replay.plot_series import BAND_SIGMAS, SensorTrack, Series, turned_deg, with_gaps

SENSOR_PX, REST_PX = 880, 70
HEIGHTS = (1.5, 1.1, 1.5, 1.1, 0.75)
XYZ = ('x', 'y', 'z')
FATES = {
    FILTER_REJECTED: ('rejected', RED, 'x'), FILTER_PREDICTED: ('predicted', GREY, '|'),
    FILTER_LOST: ('lost', DARK, 's'), FILTER_REINITIALISED: ('reinitialised', PURPLE, '^'),
}  # fmt: skip
HIGHEST_SHARE = 99.5  # percent of the residuals that the scale shows; those beyond are marked
HEADROOM = 1.3
WRAP = 90.0  # a larger step [deg] is not the sensor's


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


def fates(tracks: Sequence[SensorTrack]) -> dict[str, dict[str, Any]]:
    """Return how many frames of each sensor had which status."""
    names = {FILTER_OK: 'ok'} | {status: name for status, (name, _, _) in FATES.items()}
    return {
        track.name: {name: int(np.sum(track.status == s)) for s, name in names.items()}
        for track in tracks
    }


def draw_filter(tracks: Sequence[SensorTrack], title: str) -> Figure:
    """Return the figure: five panels for each sensor."""
    figure, grid = new_figure(
        HEIGHTS * len(tracks), SENSOR_PX * len(tracks) + REST_PX, title
    )
    panels = [row[0] for row in grid]
    for i, track in enumerate(tracks):
        _sensor(track, panels[5 * i: 5 * i + 5])
    figure.align_ylabels(panels)
    panels[-1].set_xlim(*span_of(*(track.times_s for track in tracks)))
    return figure


def _residuals(track: SensorTrack) -> list[tuple[str, Vec3s, Floats]]:
    return [('position', track.residual_mm, track.band(rotation=False)),
            ('rotation', track.residual_deg, track.band(rotation=True))]


def _sensor(track: SensorTrack, panels: Sequence[Axes]) -> None:
    found = np.isfinite(track.quaternions).all(axis=-1)
    reference = track.quaternions[np.argmax(found)]
    middle = np.nanmean(track.positions, axis=0) if found.any() else np.zeros(3)
    places = (track.raw_positions - middle, track.positions - middle)
    turns = [turned_deg(q, reference) for q in (track.raw_quaternions, track.quaternions)]
    (_, mm, mm_band), (_, deg, deg_band) = _residuals(track)
    _compare(track, panels[0], *places)
    at = ', '.join(f'{value:.2f}' for value in middle)
    panels[0].set_title(f'{track.name}: position less ({at}) m')
    panels[0].set_ylabel('position [m]')
    legend_above(panels[0])
    _difference(track, panels[1], mm, mm_band, 'mm')
    _compare(track, panels[2], *turns)
    panels[2].set_title(f'{track.name}: rotation since the first frame')
    panels[2].set_ylabel('rotation [deg]')
    _difference(track, panels[3], deg, deg_band, 'deg')
    _fate_lanes(track, panels[4])


def _compare(track: SensorTrack, axes: Axes, raw: Vec3s, filtered: Vec3s) -> None:
    """Draw samples as dots and the filtered values as lines; rejected samples are crossed."""
    out = track.status == FILTER_REJECTED
    t, values = with_gaps(track.times_s, _without_wraps(filtered))
    for k, (axis, colour) in enumerate(zip(XYZ, AXES_COLOURS)):
        axes.plot(track.times_s, raw[:, k], linestyle='', marker='.', markersize=3.0,
                  color=colour, alpha=0.45)  # fmt: skip
        axes.plot(t, values[:, k], color=colour, label=f'{axis} filtered')
    axes.plot([], [], linestyle='', marker='.', color=GREY, label='raw')
    limits = axes.get_ylim()
    for k in range(3):
        axes.plot(track.times_s[out], raw[out, k], linestyle='', marker='x', markersize=5.0,
                  color=DARK, label='rejected' if k == 0 and out.any() else None)  # fmt: skip
    axes.set_ylim(*limits)


def _without_wraps(values: Floats) -> Floats:
    """Return values (n, 3) with a hole where a rotation vector of half a turn changes its sign."""
    values = values.copy()
    values[1:][(np.abs(np.diff(values, axis=0)) > WRAP).any(axis=-1)] = np.nan
    return values


def _difference(track: SensorTrack, axes: Axes, residual: Vec3s, band: Floats, unit: str) -> None:
    """Draw raw less filtered, and three standard deviations of the filtered value around 0."""
    ok = (track.status == FILTER_OK) & np.isfinite(residual).all(axis=-1)
    chosen = ok if ok.any() else np.isfinite(residual).all(axis=-1)
    shown = np.abs(residual[chosen]).max(axis=-1) if chosen.any() else np.ones(1)
    limit = HEADROOM * max(float(np.percentile(shown, HIGHEST_SHARE)),
                           float(np.nanmedian(band)) if np.isfinite(band).any() else 0.0, 1e-6)
    t, widest = with_gaps(track.times_s, band.max(axis=-1))
    label = f'±{BAND_SIGMAS:g} σ of the filtered {"place" if unit == "mm" else "rotation"}'
    axes.fill_between(t, -widest, widest, color=GREY, alpha=0.3, linewidth=0.0, label=label)
    for k, colour in enumerate(AXES_COLOURS):
        axes.plot(track.times_s, residual[:, k], linestyle='', marker='.', markersize=3.0,
                  color=colour)  # fmt: skip
    axes.set_ylim(-limit, limit)
    beyond = mark_beyond(axes, track.times_s, residual, limit)
    axes.set_title('raw less filtered' + (f', {beyond} beyond the scale (▲)' if beyond else ''))
    axes.set_ylabel(f'residual [{unit}]')
    legend_above(axes)


def _fate_lanes(track: SensorTrack, axes: Axes) -> None:
    """Draw a mark in the lane of each status that is not OK."""
    for lane, (status, (_, colour, marker)) in enumerate(FATES.items()):
        at = track.times_s[track.status == status]
        axes.plot(at, np.full(len(at), lane), linestyle='', marker=marker, markersize=5.0,
                  color=colour)  # fmt: skip
    axes.set_yticks(range(len(FATES)), [
        f'{name} {np.sum(track.status == status)}' for status, (name, _, _) in FATES.items()
    ])  # fmt: skip
    axes.set_ylim(len(FATES) - 0.4, -0.6)
    axes.set_title(f'{track.name}: frames by status')
