# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The panel beside takes: the time line, importance, rate and latency, how to look."""

from collections.abc import Callable, Mapping

from puppet_retarget.offline.take import Take
from puppet_retarget.time_controls import TimeControls
from puppet_ros.browser_panel import (
    HtmlText,
    importance_html,
    numbers_html,
    QuietPanel,
    ScreenshotButton,
    text_html,
)
import viser

ARRANGE = 'arrange'
UNKNOWN = 'not recorded'


class TakeViewPanel(QuietPanel):
    """Controls and texts beside the scene."""

    def __init__(
        self, gui: viser.GuiApi, on_event: Callable[[str, object], None], take: Take,
        n_frames: int, n_bodies: int,
    ) -> None:  # fmt: skip
        """
        Build the panel.

        Parameters
        ----------
        gui : viser.GuiApi
            Where.
        on_event : callable
            Called with a name and a value, from another thread.
        take : Take
            Whose importance, rate and latency are shown.
        n_frames, n_bodies : int
            Of all takes.

        """
        super().__init__(gui, 'puppet view')
        self.time = TimeControls(gui, self, on_event, n_frames)
        """The time line."""
        tabs = gui.add_tab_group()
        with tabs.add_tab('Importance'):
            has_importance = take.importance is not None
            self._bars = HtmlText(
                gui, importance_html({}) if has_importance else text_html(UNKNOWN)
            )
        with tabs.add_tab('Take'):
            HtmlText(gui, numbers_html(_facts(take)))
        with tabs.add_tab('View'):
            self.side = gui.add_checkbox('side by side', n_bodies > 1)
            self.follow = gui.add_checkbox('follow', True)
            self.names = gui.add_checkbox('names', n_bodies > 1)
            self.screenshot = ScreenshotButton(gui, take.name)
        for box in (self.side, self.names):
            box.on_update(lambda _: on_event(ARRANGE, None))

    @property
    def bars(self) -> str:
        """Return the bars as they are shown."""
        return self._bars.html

    def show_importance(self, values: Mapping[str, float]) -> None:
        """Show importance in [0, 1] by end-effector."""
        self._bars.show(importance_html(values))


def _facts(take: Take) -> dict[str, str]:
    latency = UNKNOWN
    if take.latency_ms is not None:
        latency = '{:.1f} ms (p99 {:.1f})'.format(*take.latency_ms)
    return {
        'file': take.name, 'rate': f'{take.rate_hz:.1f} Hz', 'latency': latency,
        'length': f'{take.duration_s:.1f} s',
    }  # fmt: skip
