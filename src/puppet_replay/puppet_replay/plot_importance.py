# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The importance of every end-effector over time, one lane each."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from puppet_core.arrays import Floats
from puppet_core.skeleton import END_EFFECTORS, GENERAL_END_EFFECTORS
from puppet_replay.plot_figure import BLUE, DARK, GREY, new_figure, RED, span_of
from puppet_replay.plot_series import Importances, Series, with_gaps

LANE_PX, REST_PX, GROUP_GAP = 58, 110, 0.55
NOTHING = 1e-6  # a lane that never gets above this has nothing to show
GROUPS = (('environment', BLUE), ('own body', RED))


def importance_series(shown: Importances) -> list[Series]:
    """Return what is drawn."""
    lanes = zip(GROUPS, (END_EFFECTORS, GENERAL_END_EFFECTORS), (shown.environment, shown.body))
    return [
        Series(f'{title} {name}', '', values[:, k])
        for (title, _), names, values in lanes for k, name in enumerate(names)
    ]  # fmt: skip


def draw_importance(shown: Importances, title: str) -> Figure:
    """Return the figure: four lanes of the environment, then eight of the own body."""
    series = importance_series(shown)
    n_environment = len(END_EFFECTORS)
    heights = [1.0] * n_environment + [GROUP_GAP] + [1.0] * len(GENERAL_END_EFFECTORS)
    height_px = round(LANE_PX * sum(heights)) + REST_PX
    figure, grid = new_figure(heights, height_px, title)
    panels = [row[0] for row in grid]
    space = panels.pop(n_environment)
    space.set_axis_off()
    panels[0].set_title('with respect to the environment, 0 .. 1', color=BLUE)
    space.set_title('with respect to the own body, 0 .. 1', color=RED, y=0.0)
    for i, (axes, one) in enumerate(zip(panels, series)):
        colour = BLUE if i < n_environment else RED
        _lane(axes, shown.times_s, one, colour)
    panels[-1].set_xlim(*span_of(shown.times_s))
    return figure


def _lane(axes: Axes, times_s: Floats, one: Series, colour: str) -> None:
    t, values = with_gaps(times_s, one.values)
    axes.fill_between(t, 0.0, values, color=colour, alpha=0.3, linewidth=0.0)
    axes.plot(t, values, color=colour, linewidth=1.2)
    axes.set_ylim(-0.05, 1.08)
    axes.set_yticks([0.0, 1.0])
    name = one.name.removeprefix('environment ').removeprefix('own body ')
    axes.set_ylabel(
        name.replace('_', ' '), rotation=0, ha='right', va='center', color=DARK, labelpad=8
    )
    if not np.nanmax(one.values, initial=0.0) > NOTHING:
        axes.text(0.5, 0.5, '0 throughout', transform=axes.transAxes, ha='center',
                  va='center', color=GREY)  # fmt: skip
