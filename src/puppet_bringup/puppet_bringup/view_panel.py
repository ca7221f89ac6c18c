# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The viewer's panel: how the graph runs, how much each hand and foot matters, the controls."""

from collections.abc import Callable, Mapping
import math

from puppet_ros.browser_panel import (
    HtmlText,
    importance_html,
    numbers_html,
    QuietPanel,
    ScreenshotButton,
    text_html,
)
import viser

CHARACTER, CALIBRATE = 'character', 'calibrate'
# name of the control, which is the parameter's: title and, until the node has said what it
# takes, the ends of the slider
SLIDERS = {
    'prediction_s': ('prediction λ [s]', 0.0, 1.0),
    'influence_distance_m': ('influence D [m]', 0.0, 10.0),
    'smoothing_s': ('smoothing [s]', 0.0, 1.0),
    'stretch_limit': ('stretch limit', 0.5, 1.0),
    'root_smoothing_s': ('root settles [s]', 0.0, 1.0),
}
STEPS = 200  # of a slider, at least
MAX_LATENCY_MS = 60e3  # more is no latency: the stamps are of another clock, as of a played bag


class ViewPanel(QuietPanel):
    """Text and controls beside the scene."""

    def __init__(
        self, gui: viser.GuiApi, on_setting: Callable[[str, object], None],
        characters: tuple[str, ...], on_arrange: Callable[[], None], follow: bool,
    ) -> None:  # fmt: skip
        """
        Build the panel.

        Parameters
        ----------
        gui : viser.GuiApi
            Where.
        on_setting : callable
            Called with the name of a control and its value, from another thread.
        characters : tuple of str
            Names for the drop-down list.
        on_arrange : callable
            Called when the bodies are to stand otherwise.
        follow : bool
            Whether to follow the performer at first.

        """
        super().__init__(gui, 'puppet')
        self._on_setting = on_setting
        self._numbers = HtmlText(gui, _numbers(None, None))
        tabs = gui.add_tab_group()
        with tabs.add_tab('Importance'):
            self._bars = HtmlText(gui, importance_html({}))
        with tabs.add_tab('Tuning'):
            self.controls: dict[str, viser.GuiDropdownHandle | viser.GuiSliderHandle] = {
                CHARACTER: gui.add_dropdown('character', characters or ('-',))
            }
            """What sets parameters, by the parameters' names."""
            for name, (title, low, high) in SLIDERS.items():
                self.controls[name] = gui.add_slider(
                    title, min=low, max=high, step=slider_step(low, high), initial_value=low
                )
            self._refusal = HtmlText(gui)
        with tabs.add_tab('View'):
            self._side = gui.add_checkbox('side by side', True)
            self._follow = gui.add_checkbox('follow', follow)
            self._names = gui.add_checkbox('names', False)
            self._balls = gui.add_checkbox('range balls', False)
            self.screenshot = ScreenshotButton(gui, 'puppet')
        with tabs.add_tab('Calibrate'):
            gui.add_html(text_html('Stand in the T-pose, still, and press.'))
            self._calibrate = gui.add_button('calibrate')
            self._outcome = HtmlText(gui)
        for name, control in self.controls.items():
            control.on_update(lambda _, name=name: self._changed(name))
        self._calibrate.on_click(lambda _: on_setting(CALIBRATE, None))
        for box in (self._side, self._names):
            box.on_update(lambda _: on_arrange())

    @property
    def side_by_side(self) -> bool:
        """Whether performer and puppets stand beside each other."""
        return bool(self._side.value)

    @property
    def follow(self) -> bool:
        """Whether the picture follows the performer."""
        return bool(self._follow.value)

    @property
    def names(self) -> bool:
        """Whether names are written above the heads."""
        return bool(self._names.value)

    @property
    def range_balls(self) -> bool:
        """Whether the balls are drawn into which hands and feet are drawn."""
        return bool(self._balls.value)

    def show_numbers(self, rate_hz: float | None, latency_ms: tuple[float, float] | None) -> None:
        """Show the frame rate, and median and 99th percentile of the latency [ms] if it is one."""
        self._numbers.show(_numbers(rate_hz, latency_ms))

    def show_importance(self, values: Mapping[str, float]) -> None:
        """Show importance in [0, 1] by end-effector."""
        self._bars.show(importance_html(values))

    def show_settings(self, values: Mapping[str, object]) -> None:
        """Move the controls to what the nodes have, without telling the nodes."""
        with self.silently():
            for name, value in values.items():
                control = self.controls[name]
                if name == CHARACTER and value not in control.options:
                    control.options = (*control.options, str(value))
                if control.value != value:
                    control.value = value

    def show_range(self, name: str, low: float, high: float) -> None:
        """Give a slider the ends that its parameter has."""
        slider = self.controls[name]
        with self.silently():
            slider.min, slider.max, slider.step = low, high, slider_step(low, high)

    def show_refusal(self, text: str) -> None:
        """Show why a value was refused; '' when the next one was taken."""
        self._refusal.show(text_html(text, is_error=True) if text else '')

    def show_calibration(self, text: str, is_error: bool, is_running: bool) -> None:
        """Show what came of a calibration, or that one runs."""
        self._outcome.show(text_html(text, is_error))
        self._calibrate.disabled = is_running

    def _changed(self, name: str) -> None:
        if not self.is_silent:
            self._on_setting(name, self.controls[name].value)


def slider_step(low: float, high: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that gives STEPS steps or more."""
    wanted = (high - low) / STEPS
    power = 10.0 ** math.floor(math.log10(wanted) + 1e-9)
    return max(k * power for k in (1.0, 2.0, 5.0) if k * power <= wanted * (1.0 + 1e-9))


def _numbers(rate_hz: float | None, latency_ms: tuple[float, float] | None) -> str:
    rate = 'waiting' if rate_hz is None else f'{rate_hz:.1f} Hz'
    latency = '-'
    if latency_ms is not None and abs(latency_ms[0]) < MAX_LATENCY_MS:
        latency = '{:.1f} ms (p99 {:.1f})'.format(*latency_ms)
    return numbers_html({'rate': rate, 'latency': latency})
