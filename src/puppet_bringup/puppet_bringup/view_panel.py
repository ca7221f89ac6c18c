# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The viewer's panel: how the graph runs, how much each hand and foot matters, the controls."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from puppet_core.importance_colour import importance_colour
import viser

PREDICTION, INFLUENCE, CHARACTER = 'prediction_s', 'influence_distance_m', 'character'
TITLES = {
    'left_hand': 'left hand', 'right_hand': 'right hand',
    'left_foot': 'left foot', 'right_foot': 'right foot',
}  # fmt: skip
ROW = (
    '<div style="display:flex;align-items:center;font-size:0.85em;margin:2px 0.6em">'
    '<span style="width:6.2em">{title}</span>'
    '<span style="flex:1;background:#e9ecef;border-radius:3px;height:0.8em">'
    '<span style="display:block;width:{percent}%;background:{colour};border-radius:3px;'
    'height:0.8em"></span></span>'
    '<span style="width:2.8em;text-align:right">{value}</span></div>'
)
NUMBERS = (
    '<table style="width:100%;font-size:0.9em;padding:0 0.6em"><tr><td>rate</td>'
    '<td style="text-align:right"><b>{rate}</b></td></tr><tr><td>latency</td>'
    '<td style="text-align:right"><b>{latency}</b></td></tr></table>'
)


class ViewPanel:
    """Text and controls beside the scene."""

    def __init__(
        self, gui: viser.GuiApi, on_setting: Callable[[str, object], None],
        characters: tuple[str, ...], on_arrange: Callable[[], None], follow: bool,
    ) -> None:  # fmt: skip
        gui.set_panel_label('puppet')
        gui.configure_theme(control_layout='floating', control_width='medium', dark_mode=False)
        self._on_setting = on_setting
        self._is_silent = False
        self._numbers = gui.add_html(_numbers_html(None, None))
        with gui.add_folder('Importance'):
            self._bars = gui.add_html(_bars_html({}))
        with gui.add_folder('Tuning'):
            self._controls = {
                CHARACTER: gui.add_dropdown('character', characters or ('-',)),
                PREDICTION: gui.add_slider(
                    'prediction λ [s]', min=0.0, max=0.5, step=0.01, initial_value=0.1
                ),
                INFLUENCE: gui.add_slider(
                    'influence D [m]', min=0.05, max=1.5, step=0.05, initial_value=0.45
                ),
            }
        with gui.add_folder('View'):
            self._side = gui.add_checkbox('side by side', True)
            self._follow = gui.add_checkbox('follow', follow)
            self._balls = gui.add_checkbox('range balls', False)
        for name, control in self._controls.items():
            control.on_update(lambda _, name=name: self._changed(name))
        self._side.on_update(lambda _: on_arrange())

    @property
    def side_by_side(self) -> bool:
        """Whether performer and puppet stand beside each other."""
        return bool(self._side.value)

    @property
    def follow(self) -> bool:
        """Whether the picture follows the performer."""
        return bool(self._follow.value)

    @property
    def range_balls(self) -> bool:
        """Whether the balls are drawn into which hands and feet are drawn."""
        return bool(self._balls.value)

    def show_numbers(self, rate_hz: float | None, latency_ms: tuple[float, float] | None) -> None:
        """Show the frame rate and the median and 99th percentile of the latency."""
        self._numbers.content = _numbers_html(rate_hz, latency_ms)

    def show_importance(self, values: Mapping[str, float]) -> None:
        """Show importance in [0, 1] by end-effector."""
        self._bars.content = _bars_html(values)

    def show_settings(self, values: Mapping[str, object]) -> None:
        """Move the controls to what the nodes have, without telling the nodes."""
        with self._silently():
            for name, value in values.items():
                control = self._controls[name]
                if name == CHARACTER and value not in control.options:
                    control.options = (*control.options, str(value))
                if control.value != value:
                    control.value = value

    def _changed(self, name: str) -> None:
        if not self._is_silent:
            self._on_setting(name, self._controls[name].value)

    @contextmanager
    def _silently(self) -> Iterator[None]:
        self._is_silent = True
        try:
            yield
        finally:
            self._is_silent = False


def _numbers_html(rate_hz: float | None, latency_ms: tuple[float, float] | None) -> str:
    rate = 'waiting' if rate_hz is None else f'{rate_hz:.1f} Hz'
    latency = '-' if latency_ms is None else '{:.1f} ms (p99 {:.1f})'.format(*latency_ms)
    return NUMBERS.format(rate=rate, latency=latency)


def _bars_html(values: Mapping[str, float]) -> str:
    rows = []
    for name, title in TITLES.items():
        value = values.get(name, 0.0)
        red, green, blue = (round(255.0 * c) for c in importance_colour(value))
        colour = f'rgb({red},{green},{blue})'
        rows.append(
            ROW.format(title=title, percent=round(100.0 * value), colour=colour,
                       value=f'{value:.2f}')
        )  # fmt: skip
    return ''.join(rows)
