# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The page of recordings in a browser: performers and puppets, importance, rate and latency."""

from collections.abc import Sequence

import numpy as np
from puppet_core.body import END_EFFECTORS
from puppet_core.math import Vec3
from puppet_view.browser import panel as panels
from puppet_view.browser import played_page
from puppet_view.browser.stage import BrowserStage
from puppet_view.recording import frame_at, Recording

UNKNOWN = 'not recorded'


class RecordingPage(played_page.PlayedPage):
    def __init__(self, stage: BrowserStage, recordings: Sequence[Recording]) -> None:
        """Build the page of at least one; the first one's importance is shown."""
        self._recordings = tuple(recordings)
        super().__init__(stage, [body for recording in recordings for body in recording.bodies])
        self._add_panel(recordings[0], len(self.bodies))
        self._arrange()
        stage.follow(self._places(), 1.0)
        self._draw()

    def _add_panel(self, first: Recording, n_bodies: int) -> None:
        gui = self._stage.server.gui
        self.panel = played_page.PlayedPanel(gui, self.put, self.playback.n_frames)
        tabs = gui.add_tab_group()
        with tabs.add_tab('Importance'):
            is_known = len(first.importance.times_s) > 0
            self.bars = panels.HtmlText(
                gui, panels.importance_html({}) if is_known else panels.text_html(UNKNOWN)
            )
        with tabs.add_tab('Recording'):
            facts = {
                'file': first.name,
                'rate': f'{first.rate_hz:.1f} Hz',
                'latency': panels.latency_text(first.latency_ms) or UNKNOWN,
                'length': f'{first.duration_s:.1f} s',
            }
            panels.HtmlText(gui, panels.numbers_html(facts))
        with tabs.add_tab('View'):
            self.panel.add_view(n_bodies, first.name)

    def _show(self, is_time_shown: bool) -> None:
        first = self._recordings[0]
        times = first.importance.times_s
        if not len(times):
            return
        row = frame_at(times, self.playback.time_s)
        values = np.round(first.importance.environment[row], 2)
        if is_time_shown:
            self.bars.show(panels.importance_html(dict(zip(END_EFFECTORS, values.tolist()))))
        for body, track in zip(self.bodies, first.bodies):
            if not track.is_performer:
                body.set_importance(values)

    def _origins(self) -> list[Vec3]:
        """Return where the recordings begin, for each of their bodies."""
        return [
            recording.bodies[0].p_world[0, 0]
            for recording in self._recordings
            for _ in recording.bodies
        ]
