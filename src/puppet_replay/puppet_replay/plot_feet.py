# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The height of the feet against their importance, with the times in which they stand."""

from typing import Any

from matplotlib.figure import Figure
from puppet_replay.plot_figure import BLUE, DARK, legend_above, new_figure, RED, span_of
from puppet_replay.plot_series import contacts, Feet, Series, with_gaps

HEIGHT_PX = 820
SIDES = ('left', 'right')
STANDS = '#f1e3b0'


def feet_series(feet: Feet) -> list[Series]:
    """Return what is drawn."""
    return [
        *(
            Series(f'{body.name} {side} sole height', 'm', body.positions[:, k, 2])
            for body in feet.bodies for k, side in enumerate(SIDES)
        ),
        *(
            Series(f'{side} foot importance', '', feet.importance[:, k])
            for k, side in enumerate(SIDES)
        ),
    ]  # fmt: skip


def feet_contacts(feet: Feet) -> dict[str, Any]:
    """Return the times in which each foot of the performer stands [s]."""
    return {f'{side}_s': found for side, found in zip(SIDES, contacts(feet.bodies[0]))}


def draw_feet(feet: Feet, title: str) -> Figure:
    """Return the figure: for each foot height and importance, as fig. 4.3 of Shin2002."""
    figure, grid = new_figure((1.5, 1.0, 1.5, 1.0), HEIGHT_PX, title)
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
