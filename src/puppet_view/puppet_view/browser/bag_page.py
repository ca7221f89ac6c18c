# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The page of recordings in a browser: performers and puppets, importance, rate and latency."""

from collections.abc import Sequence

import numpy as np
from puppet_core.body import END_EFFECTORS
from puppet_core.math import Vec3s
from puppet_view.browser import played_page
from puppet_view.browser.body import BodyNodes
from puppet_view.browser.panel import (
    HtmlText,
    importance_html,
    latency_text,
    numbers_html,
    text_html,
)
from puppet_view.browser.stage import BrowserStage
from puppet_view.recording import frame_at, Recording

UNKNOWN = 'not recorded'
SIDE_STEP_M = 1.5  # between neighbours in the row


class RecordingPage(played_page.PlayedPage):
    def __init__(self, stage: BrowserStage, recordings: Sequence[Recording]) -> None:
        """Build the page of at least one; the first one's importance is shown."""
        first = recordings[0]
        duration_s = max(recording.duration_s for recording in recordings)
        super().__init__(stage, round(duration_s * first.rate_hz) + 1, first.rate_hz)
        self._recordings = tuple(recordings)
        self._tracks = [body for recording in recordings for body in recording.bodies]
        scene, n_bodies = stage.server.scene, len(self._tracks)
        self.bodies = [BodyNodes(scene, f'body{i}') for i in range(n_bodies)]
        """In the order of the row."""
        for body, track in zip(self.bodies, self._tracks):
            body.set_parts(track.parts(), is_pale=track.is_performer and n_bodies > 1)
        begin = self._tracks[0]
        self._row, front = played_page.row_direction(begin.q_world[0, 0], begin.p_world[:, 0])
        played_page.look_at_row(stage, self._row, front, n_bodies)
        self._add_panel(first, n_bodies)
        self._shifts = np.zeros((n_bodies, 3))
        self._arrange()
        stage.follow(self._places(), 1.0)
        self._draw()

    def _add_panel(self, first: Recording, n_bodies: int) -> None:
        gui = self._stage.server.gui
        self.panel = played_page.PlayedPanel(gui, self.put, self.playback.n_frames)
        tabs = gui.add_tab_group()
        with tabs.add_tab('Importance'):
            is_known = len(first.importance.times_s) > 0
            self.bars = HtmlText(gui, importance_html({}) if is_known else text_html(UNKNOWN))
        with tabs.add_tab('Take'):
            facts = {
                'file': first.name,
                'rate': f'{first.rate_hz:.1f} Hz',
                'latency': latency_text(first.latency_ms) or UNKNOWN,
                'length': f'{first.duration_s:.1f} s',
            }
            HtmlText(gui, numbers_html(facts))
        with tabs.add_tab('View'):
            self.panel.add_view(n_bodies, first.name)

    def _draw(self) -> None:
        state = (self.playback.frame, self.playback.is_playing)
        with self._stage.at_once():
            if state != self._drawn:
                self._drawn = state
                for body, track in zip(self.bodies, self._tracks):
                    frame = frame_at(track.times_s, self.playback.time_s)
                    body.move(track.q_world[frame], track.p_world[frame])
                self._show_importance(self.panel.show_time(self.playback))
            if self.panel.follow.value:
                self._stage.follow(self._places(), played_page.FOLLOW_FRACTION)

    def _show_importance(self, has_bars: bool) -> None:
        first = self._recordings[0]
        times = first.importance.times_s
        if not len(times):
            return
        row = frame_at(times, self.playback.time_s)
        values = np.round(first.importance.environment[row], 2)
        if has_bars:
            self.bars.show(importance_html(dict(zip(END_EFFECTORS, values.tolist()))))
        for body, track in zip(self.bodies, first.bodies):
            if not track.is_performer:
                body.set_importance(values)

    def _arrange(self) -> None:
        """Put the bodies in a row, or where they were; recordings begin in one place."""
        origins = [
            recording.bodies[0].p_world[0, 0]
            for recording in self._recordings
            for _ in recording.bodies
        ]
        step = SIDE_STEP_M if self.panel.side.value else 0.0
        for i, (body, track) in enumerate(zip(self.bodies, self._tracks)):
            aside = (origins[0] - origins[i]) * (1.0, 1.0, 0.0)
            self._shifts[i] = body.world.position = aside + i * step * self._row
            body.set_caption(track.name if self.panel.names.value else '')

    def _places(self) -> Vec3s:
        """Return where the bodies are now, shape (n, 3) [m]."""
        time_s = self.playback.time_s
        roots = [t.p_world[frame_at(t.times_s, time_s), 0] for t in self._tracks]
        return self._shifts + roots
